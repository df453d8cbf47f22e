package trace

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"math/rand/v2"
	"sync/atomic"
)

// interner maps byte strings to values. It is a hash table with open addressing. Strings of up to 15 bytes, as nearly all of a trace are,
// are packed into two words, so that a lookup takes a multiplication and usually two memory accesses. A random seed keeps anyone from making
// a trace whose strings collide.
//
// One goroutine adds strings. Others may look up strings at the same time: they find a string or do not find it yet.
type interner[V any] struct {
	table atomic.Pointer[internTable[V]]
	count int
	longs int // strings that are not short
	seed  [2]uint64
	hash  maphash.Seed // of strings that are not short
}

// internTable is what lookups read. Its slices never move, and an entry is written before its place.
type internTable[V any] struct {
	places  []uint64         // the high half of a hash and a number plus 1; 0 if the place is free; a power of two long, at most half full
	entries []internEntry[V] // by number
	long    []string         // strings that are not short; nil until there is one
	seed    [2]uint64
}

// internEntry is a string and its value. Of a short string, lo and hi are the bytes, with the length plus 1 in the top byte of hi. Of
// another one, the top byte of hi is that of longString, the rest of hi is its hash, and lo is its index in internTable.long.
type internEntry[V any] struct {
	lo, hi uint64
	value  V
}

const (
	maxShort   = 15
	longString = 0xff << 56
	highHalf   = 0xffffffff << 32
)

func newInterner[V any]() *interner[V] {
	t := &interner[V]{seed: [2]uint64{rand.Uint64(), rand.Uint64()}, hash: maphash.MakeSeed()}
	t.resize(64, false)
	return t
}

// find returns the value of b, which must not be changed, or nil if b is not known.
func (t *interner[V]) find(b []byte) *V {
	table := t.table.Load()
	if len(b) > maxShort {
		return table.findLong(b, t.longHash(b))
	}
	return table.find(pack(b))
}

// find returns the value of a short string, or nil.
func (t *internTable[V]) find(lo, hi uint64) *V {
	hash := t.hash(lo, hi)
	mask := uint64(len(t.places) - 1)
	for i := hash; ; i++ {
		place := atomic.LoadUint64(&t.places[i&mask])
		if place == 0 {
			return nil
		}
		if e := t.at(place, hash); e != nil && e.lo == lo && e.hi == hi {
			return &e.value
		}
	}
}

// at returns the entry that a place with a hash may name, or nil.
func (t *internTable[V]) at(place, hash uint64) *internEntry[V] {
	if place == 0 || (place^hash)&highHalf != 0 {
		return nil
	}
	return &t.entries[uint32(place)-1]
}

// findLong returns the value of a string that is not short and has the given hash, or nil.
func (t *internTable[V]) findLong(b []byte, hi uint64) *V {
	hash := t.hash(0, hi)
	mask := uint64(len(t.places) - 1)
	for i := hash; ; i++ {
		place := atomic.LoadUint64(&t.places[i&mask])
		if place == 0 {
			return nil
		}
		if e := t.at(place, hash); e != nil && e.hi == hi && t.long[e.lo] == string(b) {
			return &e.value
		}
	}
}

// add adds b, which is not known yet.
func (t *interner[V]) add(b []byte, value V) {
	table := t.table.Load()
	if t.count == len(table.entries) {
		table = t.resize(2*len(table.places), t.longs > 0)
	}
	e := internEntry[V]{value: value}
	if len(b) > maxShort {
		if t.longs == 0 {
			table = t.resize(len(table.places), true)
		}
		e.lo, e.hi = uint64(t.longs), t.longHash(b)
		table.long[t.longs] = string(b)
		t.longs++
	} else {
		e.lo, e.hi = pack(b)
	}
	table.entries[t.count] = e
	table.place(t.count)
	t.count++
}

// resize makes a copy of the table with so many places, and with room for strings that are not short if there are any.
func (t *interner[V]) resize(places int, long bool) *internTable[V] {
	table := &internTable[V]{places: make([]uint64, places), entries: make([]internEntry[V], places/2), seed: t.seed}
	if long {
		table.long = make([]string, places/2)
	}
	if old := t.table.Load(); old != nil {
		copy(table.entries, old.entries)
		copy(table.long, old.long)
	}
	for number := range t.count {
		table.place(number)
	}
	t.table.Store(table)
	return table
}

// place makes an entry known.
func (t *internTable[V]) place(number int) {
	e := &t.entries[number]
	lo := e.lo
	if e.hi >= longString {
		lo = 0
	}
	hash := t.hash(lo, e.hi)
	mask := uint64(len(t.places) - 1)
	i := hash
	for t.places[i&mask] != 0 {
		i++
	}
	atomic.StoreUint64(&t.places[i&mask], hash&highHalf|uint64(number+1))
}

// hash returns the hash of two words.
func (t *internTable[V]) hash(lo, hi uint64) uint64 {
	h, l := bits.Mul64(lo^t.seed[0], hi^t.seed[1])
	return h ^ l
}

func (t *interner[V]) longHash(b []byte) uint64 {
	return maphash.Bytes(t.hash, b)>>8 | longString
}

// pack returns the bytes and the length of a short string as two words. If the capacity of the
// slice allows it, pack loads 16 bytes and masks those behind the string.
func pack(b []byte) (lo, hi uint64) {
	n := len(b)
	if cap(b) >= 16 {
		w := b[:16]
		lo, hi = binary.LittleEndian.Uint64(w), binary.LittleEndian.Uint64(w[8:])
		if n < 8 {
			lo &= 1<<(8*n) - 1
			hi = 0
		} else {
			hi &= 1<<(8*(n-8)) - 1
		}
	} else {
		var w [16]byte
		copy(w[:], b)
		lo, hi = binary.LittleEndian.Uint64(w[:]), binary.LittleEndian.Uint64(w[8:])
	}
	return lo, hi | (uint64(n)+1)<<56
}

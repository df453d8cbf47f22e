package trace

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"math/rand/v2"
	"sync/atomic"
)

// interner numbers byte strings from 0 on, in the order of first appearance. It is a hash table
// with open addressing. Strings of up to 15 bytes, as nearly all of a trace are, are packed into
// two words of the table, so that a lookup takes a multiplication and usually one memory access. A
// random seed keeps anyone from making a trace whose strings collide.
//
// One goroutine adds strings. Others may look up strings in the table at the same time: they find a
// string or do not find it yet.
type interner struct {
	table atomic.Pointer[internTable]
	count uint32
	longs uint32 // strings that do not fit their slot
	seed  [2]uint64
	hash  maphash.Seed // of long strings
}

// internTable is what lookups read. Its slices never move. A slot is written once, its number last.
type internTable struct {
	slots []internSlot // a power of two long, at most half full
	long  []string     // strings that do not fit their slot; nil until there is one
	seed  [2]uint64
}

// internSlot is a string and its number. Of a short string, lo and hi are the bytes, with the
// length plus 1 in the top byte of hi, so that no string equals an empty slot. Of a long one, the
// top byte of hi is that of longString, the rest of hi is its hash, and lo is its index in
// internTable.long.
type internSlot struct {
	lo, hi uint64
	id     uint32 // number plus 1; 0 is an empty slot
}

const (
	maxShort   = 15
	longString = 0xff << 56
)

func newInterner() *interner {
	t := &interner{seed: [2]uint64{rand.Uint64(), rand.Uint64()}, hash: maphash.MakeSeed()}
	t.table.Store(&internTable{slots: make([]internSlot, 64), seed: t.seed})
	return t
}

// find returns the number of b and whether it has one.
func (t *interner) find(b []byte) (uint32, bool) {
	table := t.table.Load()
	if len(b) > maxShort {
		return table.findLong(b, t.longHash(b))
	}
	return table.find(pack(b))
}

// find returns the number of a short string.
func (t *internTable) find(lo, hi uint64) (uint32, bool) {
	mask := uint64(len(t.slots) - 1)
	for i := t.home(lo, hi); ; i++ {
		s := &t.slots[i&mask]
		id := atomic.LoadUint32(&s.id)
		if id == 0 {
			return 0, false
		}
		if s.lo == lo && s.hi == hi {
			return id - 1, true
		}
	}
}

// findLong returns the number of a string that is not short and has the given hash.
func (t *internTable) findLong(b []byte, hi uint64) (uint32, bool) {
	mask := uint64(len(t.slots) - 1)
	for i := t.home(0, hi); ; i++ {
		s := &t.slots[i&mask]
		id := atomic.LoadUint32(&s.id)
		if id == 0 {
			return 0, false
		}
		if s.hi == hi && t.long[s.lo] == string(b) {
			return id - 1, true
		}
	}
}

// add numbers b, which has no number yet.
func (t *interner) add(b []byte) uint32 {
	t.count++
	table := t.table.Load()
	if int(t.count)*2 > len(table.slots) {
		table = t.resize(2*len(table.slots), t.longs > 0)
	}
	s := internSlot{id: t.count}
	if len(b) > maxShort {
		if t.longs == 0 {
			table = t.resize(len(table.slots), true)
		}
		s.lo, s.hi = uint64(t.longs), t.longHash(b)
		table.long[t.longs] = string(b)
		t.longs++
	} else {
		s.lo, s.hi = pack(b)
	}
	table.place(s)
	return t.count - 1
}

// resize makes a copy of the table with so many slots, and with room for long strings if there are any.
func (t *interner) resize(slots int, long bool) *internTable {
	old := t.table.Load()
	table := &internTable{slots: make([]internSlot, slots), seed: t.seed}
	if long {
		table.long = make([]string, slots/2)
		copy(table.long, old.long)
	}
	for _, s := range old.slots {
		if s.id != 0 {
			table.place(s)
		}
	}
	t.table.Store(table)
	return table
}

func (t *internTable) place(s internSlot) {
	key := s.lo
	if s.hi >= longString {
		key = 0
	}
	mask := uint64(len(t.slots) - 1)
	i := t.home(key, s.hi)
	for t.slots[i&mask].id != 0 {
		i++
	}
	to := &t.slots[i&mask]
	to.lo, to.hi = s.lo, s.hi
	atomic.StoreUint32(&to.id, s.id)
}

// home returns the hash of two words.
func (t *internTable) home(lo, hi uint64) uint64 {
	h, l := bits.Mul64(lo^t.seed[0], hi^t.seed[1])
	return h ^ l
}

func (t *interner) longHash(b []byte) uint64 {
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

// numbered is a list to which one goroutine adds, while others may read: what they know the number of.
type numbered[T any] struct {
	all   atomic.Pointer[[]T] // of which the first count are in use; it never moves, but is replaced
	count int
}

// add adds v with the next number.
func (n *numbered[T]) add(v T) {
	all := n.load()
	if n.count == len(all) {
		all = append(make([]T, 0, max(64, 2*len(all))), all...)
		all = all[:cap(all)]
		n.all.Store(&all)
	}
	all[n.count] = v
	n.count++
}

// load returns a slice with all that had been added, and room for more.
func (n *numbered[T]) load() []T {
	if all := n.all.Load(); all != nil {
		return *all
	}
	return nil
}

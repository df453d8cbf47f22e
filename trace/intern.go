package trace

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"math/rand/v2"
)

// interner numbers byte strings from 0 on, in the order of first appearance. It is a hash table
// with open addressing. Strings of up to 15 bytes, as nearly all of a trace are, are packed into
// two words of the table, so that a lookup takes a multiplication and usually one memory access. A
// random seed keeps anyone from making a trace whose strings collide.
type interner struct {
	slots []internSlot // a power of two long, at most half full
	count uint32
	long  []string // strings that do not fit their slot
	seed  [2]uint64
	hash  maphash.Seed // of long strings
}

// internSlot is a string and its number. Of a short string, lo and hi are the bytes, with the
// length plus 1 in the top byte of hi, so that no string equals an empty slot. Of a long one, the
// top byte of hi is that of longString, the rest of hi is its hash, and lo is its index in
// interner.long.
type internSlot struct {
	lo, hi uint64
	id     uint32 // number plus 1; 0 is an empty slot
}

const (
	maxShort   = 15
	longString = 0xff << 56
)

func newInterner() interner {
	return interner{
		slots: make([]internSlot, 64),
		seed:  [2]uint64{rand.Uint64(), rand.Uint64()},
		hash:  maphash.MakeSeed(),
	}
}

// find returns the number of b and whether it has one.
func (t *interner) find(b []byte) (uint32, bool) {
	if len(b) > maxShort {
		return t.findLong(b)
	}
	lo, hi := pack(b)
	mask := uint64(len(t.slots) - 1)
	for i := t.home(lo, hi); ; i++ {
		s := &t.slots[i&mask]
		if s.lo == lo && s.hi == hi {
			return s.id - 1, true
		}
		if s.id == 0 {
			return 0, false
		}
	}
}

func (t *interner) findLong(b []byte) (uint32, bool) {
	hi := t.longHash(b)
	mask := uint64(len(t.slots) - 1)
	for i := t.home(0, hi); ; i++ {
		s := &t.slots[i&mask]
		if s.id == 0 {
			return 0, false
		}
		if s.hi == hi && t.long[s.lo] == string(b) {
			return s.id - 1, true
		}
	}
}

// add numbers b, which has no number yet.
func (t *interner) add(b []byte) uint32 {
	t.count++
	s := internSlot{id: t.count}
	if len(b) > maxShort {
		s.lo, s.hi = uint64(len(t.long)), t.longHash(b)
		t.long = append(t.long, string(b))
	} else {
		s.lo, s.hi = pack(b)
	}
	if int(t.count)*2 > len(t.slots) {
		old := t.slots
		t.slots = make([]internSlot, 2*len(old))
		for _, s := range old {
			if s.id != 0 {
				t.place(s)
			}
		}
	}
	t.place(s)
	return t.count - 1
}

func (t *interner) place(s internSlot) {
	key := s.lo
	if s.hi >= longString {
		key = 0
	}
	mask := uint64(len(t.slots) - 1)
	i := t.home(key, s.hi)
	for t.slots[i&mask].id != 0 {
		i++
	}
	t.slots[i&mask] = s
}

// home returns the hash of two words.
func (t *interner) home(lo, hi uint64) uint64 {
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

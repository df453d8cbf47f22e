package trace

import "hash/maphash"

// interner numbers byte strings densely from 0 in order of first appearance.
// It is a hash table with open addressing: a lookup costs one hash and, as a
// rule, one comparison, and allocates nothing. The hash is seeded at random, so
// that no trace can be made to collide.
type interner struct {
	seed  maphash.Seed
	slots []internSlot // a power of two long, at most half full
	keys  []string
}

type internSlot struct {
	hash uint32
	id   uint32 // number plus 1; 0 is an empty slot
}

func newInterner() interner {
	return interner{seed: maphash.MakeSeed(), slots: make([]internSlot, 64)}
}

// find returns the number of b and whether it has one.
func (t *interner) find(b []byte) (uint32, bool) {
	hash := uint32(maphash.Bytes(t.seed, b))
	mask := uint32(len(t.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		s := t.slots[i]
		if s.id == 0 {
			return 0, false
		}
		if s.hash == hash && t.keys[s.id-1] == string(b) {
			return s.id - 1, true
		}
	}
}

// add numbers b, which has no number yet.
func (t *interner) add(b []byte) uint32 {
	t.keys = append(t.keys, string(b))
	id := uint32(len(t.keys))
	if len(t.keys)*2 > len(t.slots) {
		old := t.slots
		t.slots = make([]internSlot, 2*len(old))
		for _, s := range old {
			if s.id != 0 {
				t.place(s)
			}
		}
	}
	t.place(internSlot{uint32(maphash.Bytes(t.seed, b)), id})
	return id - 1
}

func (t *interner) place(s internSlot) {
	mask := uint32(len(t.slots) - 1)
	i := s.hash & mask
	for t.slots[i].id != 0 {
		i = (i + 1) & mask
	}
	t.slots[i] = s
}

package lockset

import (
	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/vclock"
)

// access is a stored access of a group.
type access struct {
	epoch vclock.Epoch // 0 for a free entry
	ctx   heisen.Context
	// checked means that every other access, earlier or later, has been checked against this
	// access, or one that it repeats, with the group's present locks.
	checked bool
}

// accessTable is a set of accesses, at most one per slot: a hash table with open addressing. Its hash
// is the slot itself, so that slots, which are usually small and dense, do not collide.
type accessTable struct {
	entries []access // the length is 0 or a power of two; at least a quarter are free
	count   uint32
}

func (t *accessTable) full() bool { return 4*(int(t.count)+1) > 3*len(t.entries) }

// get returns the slot's access, or nil.
func (t *accessTable) get(slot uint32) *access {
	if t.count == 0 {
		return nil
	}
	if at := t.find(slot); at.epoch != 0 {
		return at
	}
	return nil
}

// find returns the entry of a slot's access, or the free entry for it. The table must not have
// length 0.
func (t *accessTable) find(slot uint32) *access {
	mask := uint32(len(t.entries) - 1)
	for i := slot & mask; ; i = (i + 1) & mask {
		if at := &t.entries[i]; at.epoch == 0 || at.epoch.Slot() == slot {
			return at
		}
	}
}

// add adds an access of a slot that has none.
func (t *accessTable) add(m access) {
	if t.full() {
		old := t.entries
		t.entries = make([]access, max(4, 2*len(old)))
		for _, m := range old {
			if m.epoch != 0 {
				*t.find(m.epoch.Slot()) = m
			}
		}
	}
	*t.find(m.epoch.Slot()) = m
	t.count++
}

// removeAny removes one access. The table must not be empty. Later entries move into the gap, so that
// linear probing does not stop early.
func (t *accessTable) removeAny() {
	mask := len(t.entries) - 1
	gap := 0
	for t.entries[gap].epoch == 0 {
		gap++
	}
	for i := (gap + 1) & mask; t.entries[i].epoch != 0; i = (i + 1) & mask {
		home := int(t.entries[i].epoch.Slot()) & mask
		if (i-home)&mask >= (i-gap)&mask {
			t.entries[gap] = t.entries[i]
			gap = i
		}
	}
	t.entries[gap] = access{}
	t.count--
}

func (t *accessTable) clear() {
	if t.count > 0 {
		clear(t.entries)
		t.count = 0
	}
}

// shrink drops the memory of a table if it is much more than n accesses need. The table must be empty.
func (t *accessTable) shrink(n int) {
	if len(t.entries) > 8*max(n, 1) {
		t.entries = nil
	}
}

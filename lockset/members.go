package lockset

import (
	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/vclock"
)

// member is one access of a group.
type member struct {
	epoch vclock.Epoch // 0 if there is none
	ctx   heisen.Context
	// judged says that all that came before it, or since, was judged with it or
	// with an access that it stands for, under the group's locks.
	judged bool
}

// table is a set of members, at most one for each slot: a hash table with open
// addressing whose hash is the slot itself, so that the usual slots, which are
// small and dense, never collide.
type table struct {
	places []member // length 0 or a power of two; at least a quarter are free
	count  uint32
}

func (t *table) full() bool { return 4*(int(t.count)+1) > 3*len(t.places) }

// get returns the slot's member, or nil.
func (t *table) get(slot uint32) *member {
	if t.count == 0 {
		return nil
	}
	if at := t.find(slot); at.epoch != 0 {
		return at
	}
	return nil
}

// find returns the place of a slot's member, or the free one where it belongs.
// The table must not have length 0.
func (t *table) find(slot uint32) *member {
	mask := uint32(len(t.places) - 1)
	for i := slot & mask; ; i = (i + 1) & mask {
		if at := &t.places[i]; at.epoch == 0 || at.epoch.Slot() == slot {
			return at
		}
	}
}

// add adds a member of a slot that has none.
func (t *table) add(m member) {
	if t.full() {
		old := t.places
		t.places = make([]member, max(4, 2*len(old)))
		for _, m := range old {
			if m.epoch != 0 {
				*t.find(m.epoch.Slot()) = m
			}
		}
	}
	*t.find(m.epoch.Slot()) = m
	t.count++
}

// removeAny removes one of the members, of which there must be some, and closes
// the gap so that probing never meets a hole before its goal.
func (t *table) removeAny() {
	mask := len(t.places) - 1
	gap := 0
	for t.places[gap].epoch == 0 {
		gap++
	}
	for i := (gap + 1) & mask; t.places[i].epoch != 0; i = (i + 1) & mask {
		home := int(t.places[i].epoch.Slot()) & mask
		if (i-home)&mask >= (i-gap)&mask {
			t.places[gap] = t.places[i]
			gap = i
		}
	}
	t.places[gap] = member{}
	t.count--
}

func (t *table) clear() {
	if t.count > 0 {
		clear(t.places)
		t.count = 0
	}
}

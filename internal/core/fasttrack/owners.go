package fasttrack

// Which thread has made an entry. The latest threads of a slot are known by the time of their
// starts, those of orphan entries by the entry itself. When Reclaim gives an entry the epoch of
// another slot, the number of its thread goes to a table.

// movedOwner is the thread of an entry with an epoch of another slot.
type movedOwner struct {
	entry uint64
	id    uint32
}

const (
	maxMovedOwners  = 1 << 15
	movedOwnerTries = 8
	unknownOwner    = 1<<32 - 1
)

// How entries with epochs of other slots are in a slot.
const (
	ownersOwn   = iota // there are none
	ownersMoved        // there are some
	ownersLost         // there are some that the table has no room for
)

// Owner returns the number of the thread that made an entry, and whether it is known. If several
// threads have made accesses at the same place and Reclaim has given them the same epoch, it is not
// known, or that of one of these.
//
//go:nosplit
func (t *Table) Owner(entry uint64) (id uint32, known bool) {
	s, time := uint32(slotIndex(entry)), uint32(entry>>placeBits&maxTime)
	switch {
	case s >= firstOrphanSlot:
		id = (s-firstOrphanSlot)<<orphanBits | time&(1<<orphanBits-1)
		return id, id != unknownOwner
	case s >= ownedSlots:
		return 0, false
	}
	if how := t.perSlot[s].owned; how != ownersOwn {
		for i := range uint64(movedOwnerTries) {
			if m := &t.moved[movedAt(entry, i)]; m.entry == entry {
				return m.id, m.id != unknownOwner
			}
		}
		if how == ownersLost {
			return 0, false
		}
	}
	return t.threadAt(s, time)
}

// threadAt returns the thread that had a slot at a time.
//
//go:nosplit
func (t *Table) threadAt(s, time uint32) (id uint32, known bool) {
	if l, in := t.lapTail(s, time); in {
		return l.id, true
	}
	h := &t.perSlot[s%maxSlots]
	n := h.starts.Load()
	for i := uint32(1); i <= min(n, maxOwners); i++ {
		if since := h.owners[(n-i)%maxOwners].since.Load(); uint32(since>>32) <= time {
			return uint32(since), true
		}
	}
	return 0, false
}

// movedAt returns the position of an entry in the table at the given try.
//
//go:nosplit
func movedAt(entry, try uint64) uint64 {
	return (entry*0x9E3779B97F4A7C15>>40 + try) % maxMovedOwners
}

// beginOwners begins to make the table of moved owners anew.
func (t *Table) beginOwners() {
	for s := range t.slots.Load() {
		h := &t.perSlot[s%maxSlots]
		t.reclaim.owned[s%maxSlots], h.owned = h.owned, ownersOwn
	}
	if t.anyMoved {
		for i := range t.moved {
			if t.moved[i].entry != 0 {
				*oldMovedOwnerAt(uint32(i)) = t.moved[i]
				t.moved[i] = movedOwner{}
			}
		}
	}
	t.anyMoved = false
}

// ownerBefore is Owner for an entry that has not been replaced, or that stays.
func (t *Table) ownerBefore(entry uint64) (id uint32, moved bool) {
	s := uint32(slotIndex(entry))
	if s >= ownedSlots {
		return unknownOwner, false
	}
	if how := t.reclaim.owned[s]; how != ownersOwn {
		for i := range uint64(movedOwnerTries) {
			if m := oldMovedOwnerAt(uint32(movedAt(entry, i))); m.entry == entry {
				return m.id, true
			}
		}
		if how == ownersLost {
			return unknownOwner, true
		}
	}
	if id, known := t.threadAt(s, uint32(entry>>placeBits&maxTime)); known {
		return id, false
	}
	return unknownOwner, false
}

// keepOwner notes that an entry stays, and returns it.
func (t *Table) keepOwner(n uint64) uint64 {
	if s := slotIndex(n); s < ownedSlots && t.reclaim.owned[s] != ownersOwn {
		if id, moved := t.ownerBefore(n); moved {
			t.addMovedOwner(n, id)
		}
	}
	return n
}

// moveOwner notes that an entry becomes another one.
func (t *Table) moveOwner(n, to uint64) {
	if slotIndex(to) < ownedSlots {
		id, _ := t.ownerBefore(n)
		t.addMovedOwner(to, id)
	}
}

// addMovedOwner adds an entry to the table.
func (t *Table) addMovedOwner(n uint64, id uint32) {
	t.anyMoved = true
	h := &t.perSlot[slotIndex(n)%maxSlots]
	h.owned = max(h.owned, ownersMoved)
	for i := range uint64(movedOwnerTries) {
		switch m := &t.moved[movedAt(n, i)]; m.entry {
		case 0:
			*m = movedOwner{n, id}
			return
		case n:
			if m.id != id {
				m.id = unknownOwner
			}
			return
		}
	}
	h.owned = ownersLost
}

// orphan returns the epoch in an orphan slot for an entry.
func (t *Table) orphan(n uint64) uint64 {
	id, _ := t.ownerBefore(n)
	return uint64(firstOrphanSlot+id>>orphanBits)<<timeBits | 1<<orphanBits | uint64(id)&(1<<orphanBits-1)
}

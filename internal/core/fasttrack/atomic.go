package fasttrack

// AtomicInPlace is an atomic operation in one go: what it sees and publishes through the object at
// addr, and between these, unless it is noted, the access of the given kind to the word of c, which is
// locked, with the given head. It returns the new head, and whether that was all: not if it takes
// memory, or there is a race. What it has done then makes no difference to who does all of it.
//
//go:nosplit
func (t *Table) AtomicInPlace(th *Thread, c *Cell, head, addr, place uint64, kind uint32, recorded bool) (uint64, bool) {
	i := uint32(head >> headExtension)
	x := extensionAt(i)
	s := &x.release
	switch {
	case i == 0:
		if kind != AtomicRead {
			return head, false
		}
	case x.number() != uint32(addr&7)+1 || !x.sharedRelease.empty() ||
		kind != AtomicWrite && !t.knowsRelease(th, s.word.Load()) && !t.acquireInPlace(th, x, s):
		return head, false
	}
	if !recorded {
		next := t.AccessNoRace(th, c, head, place, 1<<(addr&7), kind)
		if next == 0 {
			return head, false
		}
		head = next
	}
	if kind == AtomicRead {
		return head, true
	}
	// An update has seen all that is there, a store does away with it.
	th.reuse.lock = 0
	return head, t.hasNextEpoch(th) && t.releaseStoreInPlace(th, x, s)
}

// BeginLoad returns what Unchanged is to be called with, after the word of c was loaded with an
// atomic operation of thread th, for which the cell is not locked because there is nothing to learn from
// what was published; a head of 0 if that is not so. If the operation is not noted already, LoadAgain is
// to be called first.
//
//go:nosplit
func (t *Table) BeginLoad(th *Thread, c *Cell, addr uint64) (head uint64, turns uint32, recorded bool) {
	head = c.head.Load()
	if head&headLock != 0 {
		return 0, 0, false
	}
	mask := uint64(1) << (addr & 7)
	if n, old, _ := c.ownEntry(th, head, mask|AtomicRead<<kindShift); n != nil {
		recorded = th.sameEpoch(old)
	} else if recorded = t.sameEpochLoad(th, c, head, mask); !recorded {
		return 0, 0, false
	}
	i := uint32(head >> headExtension)
	if i == 0 {
		return head, 0, recorded
	}
	x := extensionAt(i)
	s := &x.release
	turns = s.version.Load()
	// Who was publishing when the turn was counted has finished, or the cell is locked.
	if c.head.Load() != head || x.number() != uint32(addr&7)+1 {
		return 0, 0, false
	}
	if !t.knowsRelease(th, s.word.Load()) {
		return 0, 0, false
	}
	return head, turns, recorded
}

// sameEpochLoad is NotedAtomic for loads, of a cell that is not locked, also of notes in a crowd.
//
//go:nosplit
func (t *Table) sameEpochLoad(th *Thread, c *Cell, head, mask uint64) bool {
	return c.SameEpochAtomic(th, head, mask, AtomicRead) || sameEpochInOverflow(th, head, mask, AtomicRead)
}

// LoadUnchanged reports whether nothing was published since Known. Who changes the word of an atomic
// operation publishes before the cell is unlocked.
//
//go:nosplit
func (c *Cell) LoadUnchanged(head uint64, turns uint32) bool {
	i := uint32(head >> headExtension)
	return c.head.Load() == head && (i == 0 || extensionAt(i).release.version.Load() == turns)
}

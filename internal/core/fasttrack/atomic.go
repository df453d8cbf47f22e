package fasttrack

// AtomicInPlace is an atomic operation on the byte at addr: it acquires from and releases to the
// object there, and, unless recorded is set, records an access of the kind. The cell is locked and
// has the given head. It returns the new head and whether it could do all of that. It can't if
// memory must be allocated or there is a race; then the caller does everything again, which is
// harmless.
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
	// An update has acquired all that is there, a store discards it.
	th.reuse.lock = 0
	return head, t.hasNextEpoch(th) && t.releaseStoreInPlace(th, x, s)
}

// BeginLoad begins an atomic load without the cell's lock. That works if the release clock of the
// object has nothing that the thread has not learned. It returns what LoadUnchanged needs after the
// load, or a head of 0 if the cell must be locked. If the load is not recorded yet, RefreshLoad
// must be called first.
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
	} else if recorded = t.sameEpochLoad(th, c, head, mask); !recorded && head&headOverflow == 0 {
		return 0, 0, false
	}
	i := uint32(head >> headExtension)
	if i == 0 {
		return head, 0, recorded
	}
	x := extensionAt(i)
	s := &x.release
	turns = s.version.Load()
	// A release that was in progress when the version was loaded has finished, or the cell is
	// locked.
	if c.head.Load() != head || x.number() != uint32(addr&7)+1 {
		return 0, 0, false
	}
	if !t.knowsRelease(th, s.word.Load()) {
		return 0, 0, false
	}
	return head, turns, recorded
}

// sameEpochLoad is SameEpochAtomic for loads, of an unlocked cell, including the overflow set.
//
//go:nosplit
func (t *Table) sameEpochLoad(th *Thread, c *Cell, head, mask uint64) bool {
	return c.SameEpochAtomic(th, head, mask, AtomicRead) || sameEpochInOverflow(th, head, mask, AtomicRead)
}

// LoadUnchanged reports whether nothing was released since BeginLoad. Atomic writes release before
// they unlock the cell.
//
//go:nosplit
func (c *Cell) LoadUnchanged(head uint64, turns uint32) bool {
	i := uint32(head >> headExtension)
	return c.head.Load() == head && (i == 0 || extensionAt(i).release.version.Load() == turns)
}

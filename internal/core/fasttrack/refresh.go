package fasttrack

import "sync/atomic"

// An access that repeats an earlier one of the thread in a later epoch needs no comparison if
// nothing that conflicts came between. Its entry is refreshed: it gets the current epoch and place,
// by a compare-and-swap, without the cell's lock.

// Lookup looks for an entry of the thread for a plain access to the bytes in mask.
//
// It returns same if an entry makes the access redundant: READ SAME EPOCH or WRITE SAME EPOCH. In
// overflow sets it looks for reads only. Otherwise, if an entry of the same access in an earlier
// epoch can be refreshed, it returns where the entry is, its value, and the head; RefreshFound
// refreshes it. Entries of an earlier thread of the same slot are the thread's own.
//
//go:nosplit
func (c *Cell) Lookup(th *Thread, mask uint64, write bool) (same bool, at *atomic.Uint64, head, old uint64) {
	head, old = c.head.Load(), c.first.Load()
	d := head >> headEntries
	if descCovers(d, mask, write) {
		if th.sameEpoch(old) {
			return true, nil, 0, 0
		}
		if slotOf(old^th.Epoch) == 0 && (write && d>>kindShift&7 == Write || d&descMask == mask) {
			// The entries of others need not be loaded.
			if !write && noAtomics(head) || plainOnly(head) && d&bytesMask == mask && (d>>descBits|d>>(2*descBits))&mask == 0 {
				return false, &c.first, head, old
			}
			return false, nil, 0, 0
		}
	}
	if d >>= descBits; d == 0 {
		return false, nil, 0, 0
	}
	side := th.sideHint & 1
	for range cellEntries - 1 {
		if what := d >> (side * descBits) & descMask; descCovers(what, mask, write) {
			at = sideEntry(c, side)
			if old = at.Load(); th.sameEpoch(old) {
				return true, nil, 0, 0
			}
			if slotOf(old^th.Epoch) == 0 {
				if what == mask && noAtomics(head) { // d is of a read
					th.sideHint = side
					return false, at, head, old
				}
				return false, nil, 0, 0
			}
		}
		side ^= 1
	}
	return !write && sameEpochInOverflow(th, head, mask, Read), nil, 0, 0
}

// CanRefreshFirst reports whether the first entry can be refreshed for an access with descriptor
// desc: it is that of the thread's own earlier access, and the others are not about these bytes, or
// one of them is a write and the access a read. Then Cell.Refresh alone does what RefreshFound
// does.
//
//go:nosplit
func (th *Thread) CanRefreshFirst(head, first, desc uint64) bool {
	beside := head >> (headEntries + descBits) & (1<<(2*descBits) - 1)
	return head&(headLock|headOverflow|headAtomics|descMask<<headEntries) == desc<<headEntries && slotOf(first^th.Epoch) == 0 &&
		((beside|beside>>descBits)&bytesMask&desc == 0 || beside>>kindShift == Write && desc>>kindShift == Read)
}

// hasSideEntries reports whether a cell with the given head has more than the first entry, or an
// extension. Otherwise Lookup finds nothing that SameEpochByte, CanRefreshFirst or AccessOwn would
// not.
//
//go:nosplit
func hasSideEntries(head uint64) bool { return head>>(headEntries+descBits) != 0 }

// Load returns the head of the cell and its first entry.
//
//go:nosplit
func (c *Cell) Load() (head, first uint64) { return c.head.Load(), c.first.Load() }

// Refresh replaces an entry of the thread, old, with one of the current epoch, without the lock. It
// reports whether the head was the given one all the time.
//
// Other threads may have moved the entry since the head was loaded, and put another entry of this
// thread in its place. Then the lock is visible, or the head has changed. The same holds if the
// owner of the lock examines or removes the old entry meanwhile.
//
//go:nosplit
func (c *Cell) Refresh(th *Thread, n *atomic.Uint64, head, old, entry uint64) bool {
	if c.head.Load() != head || !n.CompareAndSwap(old, entry) {
		return false
	}
	th.lastAccess = entry >> placeBits // the entry may stay even if Refresh fails
	return c.head.Load() == head && n.Load() == entry
}

// plainOnly reports whether a cell with the given head is unlocked and has entries of plain
// accesses only.
//
// Then the thread's own read entry can be refreshed without a comparison. A write in the cell was
// compared with that entry, whichever came first. A write that came later and did not race has
// removed the entry.
//
//go:nosplit
func plainOnly(head uint64) bool { return head&(headLock|headOverflow|headAtomics) == 0 }

// noAtomics is plainOnly for reads: the cell may have an overflow set without atomic writes.
//
//go:nosplit
func noAtomics(head uint64) bool {
	return plainOnly(head) || head&(headLock|headAtomics) == 0 && extensionAt(uint32(head>>headExtension)).atomicWrites.Load() == 0
}

// RefreshFound refreshes the entry that Lookup has found, and reports whether it could.
//
//go:nosplit
func (t *Table) RefreshFound(th *Thread, c *Cell, at *atomic.Uint64, head, old, entry uint64) bool {
	aside := false
	if at == &c.first {
		second, third := head>>(headEntries+descBits)&descMask, head>>(headEntries+2*descBits)&descMask
		aside = (second != 0 && second>>kindShift == Read || third != 0 && third>>kindShift == Read) && t.moveToSide(th, c, head, old, entry)
	}
	// An atomic operation may have been added to the overflow set, which does not show in the head.
	return (aside || c.Refresh(th, at, head, old, entry)) && (head&headOverflow == 0 || noAtomics(head))
}

// refresh is Lookup and RefreshFound.
//
//go:nosplit
func (t *Table) refresh(th *Thread, c *Cell, entry, mask uint64, write bool) bool {
	same, at, head, old := c.Lookup(th, mask, write)
	return same || at != nil && t.RefreshFound(th, c, at, head, old, entry)
}

// ownEntry returns the entry of the thread, or of an earlier one of its slot, that has exactly the
// given descriptor, and its side, -1 if it is the first. It avoids loading the entries of others.
//
//go:nosplit
func (c *Cell) ownEntry(th *Thread, head, what uint64) (n *atomic.Uint64, old uint64, side int32) {
	rest := head >> headEntries
	if old = c.first.Load(); rest&descMask == what && slotOf(old^th.Epoch) == 0 {
		return &c.first, old, -1
	}
	rest = rest >> descBits & (1<<(2*descBits) - 1)
	if rest == 0 {
		return nil, 0, 0
	}
	at := th.sideHint & 1
	for range cellEntries - 1 {
		if rest>>(at*descBits)&descMask == what {
			n = sideEntry(c, at)
			if old = n.Load(); slotOf(old^th.Epoch) == 0 {
				return n, old, int32(at)
			}
		}
		at ^= 1
	}
	return nil, 0, 0
}

// RefreshLoad records an atomic load by refreshing the entry of an earlier load of the same bytes.
// Atomic loads race with plain writes only, so no comparison is needed, as for plain reads: a plain
// write removes the entry, or races with it.
//
//go:nosplit
func (t *Table) RefreshLoad(th *Thread, c *Cell, place, mask uint64) bool {
	head := c.head.Load()
	if head&headLock != 0 {
		return false
	}
	entry := th.Epoch | place
	n, old, side := c.ownEntry(th, head, mask|AtomicRead<<kindShift)
	if n == nil {
		return head&headOverflow != 0 && c.refreshLoadInOverflow(th, head, entry, mask)
	}
	if side >= 0 {
		th.sideHint = uint32(side)
	} else if head&headOverflow == 0 && head>>(headEntries+descBits)&(1<<(2*descBits)-1) != 0 && t.moveToSide(th, c, head, old, entry) {
		return true
	}
	return c.Refresh(th, n, head, old, entry)
}

// refreshLoadInOverflow is RefreshLoad for an entry of the overflow set. As with Refresh, whoever
// moves or removes the entry at the same time holds the lock, or has left traces in what is loaded
// again afterwards.
//
//go:nosplit
func (c *Cell) refreshLoadInOverflow(th *Thread, head, entry, mask uint64) bool {
	x := extensionAt(uint32(head >> headExtension))
	overflow := x.overflow.Load()
	first, start, count, size := x.search(overflow, entry)
	if first == 0 {
		return false
	}
	what := mask | AtomicRead<<kindShift
	for i := start; i < start+count; i++ {
		m := overflowAt(first + i&(size-1))
		n := m.entry.Load()
		if n == 0 && size > 1<<minOverflowLog {
			return false
		}
		if slotOf(n^entry) != 0 || m.desc.Load() != what {
			continue
		}
		if c.head.Load() != head || x.overflow.Load() != overflow || !m.entry.CompareAndSwap(n, entry) {
			return false
		}
		th.lastAccess = entry >> placeBits // the entry may stay even if this fails
		return c.head.Load() == head && x.overflow.Load() == overflow && m.desc.Load() == what && m.entry.Load() == entry
	}
	return false
}

// moveToSide moves the thread's first entry, old, to a side when another thread has an entry of the
// same kind: each thread then refreshes its own side entry, and neither waits for the cache line of
// the other.
//
// An entry of another kind may have to take the first place. Its own thread then no longer finds it
// where it was, so it must be ordered before.
//
//go:nosplit
func (t *Table) moveToSide(th *Thread, c *Cell, head, old, entry uint64) bool {
	what := head >> headEntries & descMask
	var left, others uint32 // sides with an entry of the kind, and those of other threads
	for side := range uint32(2) {
		if d := head >> (headEntries + (1+side)*descBits) & descMask; d != 0 && (d^what)>>kindShift == 0 {
			left |= 1 << side
			if slotOf(sideEntry(c, side).Load()^entry) != 0 {
				others |= 1 << side
			}
		}
	}
	if others == 0 || left == 3 {
		return false
	}
	side := left & 1
	shift := headEntries + (1+side)*descBits
	wrote := head >> shift & descMask
	if !c.head.CompareAndSwap(head, head|headLock) {
		return false
	}
	n := sideEntry(c, side).Load()
	if c.first.Load() != old || wrote != 0 && slotOf(n^entry) != 0 && !t.covers(th, n>>placeBits) {
		c.Unlock(head) // it has just changed, or races
		return false
	}
	if wrote != 0 {
		storeRelease(&c.first, n)
	}
	storeRelease(sideEntry(c, side), entry)
	th.sideHint, th.lastAccess = side, entry>>placeBits
	c.Unlock(head ^ (wrote^what)<<headEntries ^ (wrote^what)<<shift)
	return true
}

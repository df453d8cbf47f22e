package fasttrack

import "sync/atomic"

// What a thread does again, in another epoch: where nothing is to be compared, the note that it has left is
// made one of the present epoch.

// Lookup reports whether it is noted that the thread has read, or written, the bytes of the word that are set
// in mask in its present epoch, or has done more: then to do it again makes no difference. In crowds it looks
// for reads only. Otherwise it finds the note, if that is all there is to do, that the thread, or an earlier one
// that had its slot, has left of the same in another epoch: Again makes it one of the present epoch, if it still
// is the given one, in a cell with the given head.
//
//go:nosplit
func (c *Cell) Lookup(th *Thread, mask uint64, write bool) (recorded bool, at *atomic.Uint64, head, old uint64) {
	head, old = c.head.Load(), c.first.Load()
	d := head >> headEntries
	if descCovers(d, mask, write) {
		if th.sameEpoch(old) {
			return true, nil, 0, 0
		}
		if slotOf(old^th.Epoch) == 0 && (write && d>>kindShift&7 == Write || d&descMask == mask) {
			// What others have noted beside it need not be fetched.
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
				if what == mask && noAtomics(head) { // of a read
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

// CanRefreshFirst reports whether, in a cell with the given head and first note, that is the note that Look would find for
// what is given, bytes and kind, and nothing of these bytes is noted beside it, or only a write, if it is of a
// read: then Renew is Again.
//
//go:nosplit
func (th *Thread) CanRefreshFirst(head, first, what uint64) bool {
	beside := head >> (headEntries + descBits) & (1<<(2*descBits) - 1)
	return head&(headLock|headOverflow|headAtomics|descMask<<headEntries) == what<<headEntries && slotOf(first^th.Epoch) == 0 &&
		((beside|beside>>descBits)&bytesMask&what == 0 || beside>>kindShift == Write && what>>kindShift == Read)
}

// hasSideEntries reports whether a cell with the given head has more than a note. Otherwise Look finds nothing that
// NotedByte, Left or AccessOwn does not.
//
//go:nosplit
func hasSideEntries(head uint64) bool { return head>>(headEntries+descBits) != 0 }

// Load returns the head of the cell, and its first note.
//
//go:nosplit
func (c *Cell) Load() (head, first uint64) { return c.head.Load(), c.first.Load() }

// Refresh makes one of the thread's notes, old, one of its present epoch, without the lock, while
// the head stays as it is, and reports whether it did. Since the head was looked at, others may have moved a note
// of the thread, of something else, to where old was found: then there is the lock to be seen, or another head.
// So it is where whoever has the lock meanwhile looks at the old note, or takes it away; or there is another note.
//
//go:nosplit
func (c *Cell) Refresh(th *Thread, n *atomic.Uint64, head, old, entry uint64) bool {
	if c.head.Load() != head || !n.CompareAndSwap(old, entry) {
		return false
	}
	th.lastAccess = entry >> placeBits // the note may stay even if this has to be done otherwise
	return c.head.Load() == head && n.Load() == entry
}

// plainOnly reports whether a cell with the given head is not locked, and has notes of plain accesses only.
// Then a thread can note a read again without a comparison: a write that is noted was compared with its
// earlier one, whichever came first, and one that came later and did not race has taken that note away.
//
//go:nosplit
func plainOnly(head uint64) bool { return head&(headLock|headOverflow|headAtomics) == 0 }

// noAtomics is plain for who only reads: then there may be a crowd, too, of plain accesses.
//
//go:nosplit
func noAtomics(head uint64) bool {
	return plainOnly(head) || head&(headLock|headAtomics) == 0 && extensionAt(uint32(head>>headExtension)).atomicWrites.Load() == 0
}

// RefreshFound makes the note that Look has found one of the present epoch, and reports whether it could.
//
//go:nosplit
func (t *Table) RefreshFound(th *Thread, c *Cell, at *atomic.Uint64, head, old, entry uint64) bool {
	aside := false
	if at == &c.first {
		second, third := head>>(headEntries+descBits)&descMask, head>>(headEntries+2*descBits)&descMask
		aside = (second != 0 && second>>kindShift == Read || third != 0 && third>>kindShift == Read) && t.moveToSide(th, c, head, old, entry)
	}
	// An atomic operation may have come to a crowd, of which the head does not tell.
	return (aside || c.Refresh(th, at, head, old, entry)) && (head&headOverflow == 0 || noAtomics(head))
}

// refresh is Look and Again.
//
//go:nosplit
func (t *Table) refresh(th *Thread, c *Cell, entry, mask uint64, write bool) bool {
	recorded, at, head, old := c.Lookup(th, mask, write)
	return recorded || at != nil && t.RefreshFound(th, c, at, head, old, entry)
}

// ownEntry returns the thread's note, or an earlier one's that had its slot, that says exactly what is
// given, in a cell with the given head, and on which side of the cell it is, -1 if in it. What others have
// noted on a side is not looked at if it can be helped.
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

// RefreshLoad notes an atomic load where there is a note of another of the same bytes by the thread, or an
// earlier one that had its slot. Loads race with plain writes only, so nothing is to be compared, as with
// plain reads.
//
//go:nosplit
func (t *Table) RefreshLoad(th *Thread, c *Cell, place, mask uint64) bool {
	head := c.head.Load()
	if head&(headLock|headOverflow) != 0 {
		return false
	}
	entry := th.Epoch | place
	n, old, side := c.ownEntry(th, head, mask|AtomicRead<<kindShift)
	if n == nil {
		return false
	}
	if side >= 0 {
		th.sideHint = uint32(side)
	} else if head>>(headEntries+descBits)&(1<<(2*descBits)-1) != 0 && t.moveToSide(th, c, head, old, entry) {
		return true
	}
	return c.Refresh(th, n, head, old, entry)
}

// moveToSide is for the thread's first note, old, that is to be made one of the present epoch, where
// somebody else does the same with the word, too: that goes on beside the cell, each on a side, so
// that nobody has to wait for what another one has noted. A note of something else may have to take
// the place of the first, if the thread covers it: then its own thread can no longer look for it.
//
//go:nosplit
func (t *Table) moveToSide(th *Thread, c *Cell, head, old, entry uint64) bool {
	what := head >> headEntries & descMask
	var left, others uint32 // the sides that somebody has for the same, and those that others have
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
		c.Unlock(head) // it has just changed, or is a race
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

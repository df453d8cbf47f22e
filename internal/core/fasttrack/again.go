package fasttrack

import "sync/atomic"

// What a thread does again, in another epoch: where nothing is to be compared, the note that it has left is
// made one of the present epoch.

// Look reports whether it is noted that the thread has read, or written, the bytes of the word that are set
// in mask in its present epoch, or has done more: then to do it again makes no difference. In crowds it looks
// for reads only. Otherwise it finds the note, if that is all there is to do, that the thread, or an earlier one
// that had its slot, has left of the same in another epoch: Again makes it one of the present epoch, if it still
// is the given one, in a cell with the given head.
//
//go:nosplit
func (c *Cell) Look(th *Thread, mask uint64, write bool) (noted bool, at *atomic.Uint64, head, old uint64) {
	head, old = c.head.Load(), c.first.Load()
	d := head >> headNotes
	if says(d, mask, write) {
		if th.unseen(old) {
			return true, nil, 0, 0
		}
		if slotOf(old^th.Epoch) == 0 && (write && d>>noteKind&7 == Write || d&noteMask == mask) {
			// What others have noted beside it need not be fetched.
			if !write && onlyRead(head) || plain(head) && d&noteBytes == mask && (d>>noteBits|d>>(2*noteBits))&mask == 0 {
				return false, &c.first, head, old
			}
			return false, nil, 0, 0
		}
	}
	if d >>= noteBits; d == 0 {
		return false, nil, 0, 0
	}
	side := th.side & 1
	for range cellNotes - 1 {
		if what := d >> (side * noteBits) & noteMask; says(what, mask, write) {
			at = asideOf(c, side)
			if old = at.Load(); th.unseen(old) {
				return true, nil, 0, 0
			}
			if slotOf(old^th.Epoch) == 0 {
				if what == mask && onlyRead(head) { // of a read
					th.side = side
					return false, at, head, old
				}
				return false, nil, 0, 0
			}
		}
		side ^= 1
	}
	return !write && notedInCrowd(th, head, mask, Read), nil, 0, 0
}

// Left reports whether, in a cell with the given head and first note, that is the note that Look would find for
// what is given, bytes and kind, and nothing of these bytes is noted beside it, or only a write, if it is of a
// read: then Renew is Again.
//
//go:nosplit
func (th *Thread) Left(head, first, what uint64) bool {
	beside := head >> (headNotes + noteBits) & (1<<(2*noteBits) - 1)
	return head&(headLock|headCrowd|headAtomics|noteMask<<headNotes) == what<<headNotes && slotOf(first^th.Epoch) == 0 &&
		((beside|beside>>noteBits)&noteBytes&what == 0 || beside>>noteKind == Write && what>>noteKind == Read)
}

// several reports whether a cell with the given head has more than a note. Otherwise Look finds nothing that
// NotedByte, Left or AccessOwn does not.
//
//go:nosplit
func several(head uint64) bool { return head>>(headNotes+noteBits) != 0 }

// Says returns the head of the cell, and its first note.
//
//go:nosplit
func (c *Cell) Says() (head, first uint64) { return c.head.Load(), c.first.Load() }

// Renew makes one of the thread's notes, old, one of its present epoch, without the lock, while
// the head stays as it is, and reports whether it did. Since the head was looked at, others may have moved a note
// of the thread, of something else, to where old was found: then there is the lock to be seen, or another head.
// So it is where whoever has the lock meanwhile looks at the old note, or takes it away; or there is another note.
//
//go:nosplit
func (c *Cell) Renew(th *Thread, n *atomic.Uint64, head, old, note uint64) bool {
	if c.head.Load() != head || !n.CompareAndSwap(old, note) {
		return false
	}
	th.last = note >> placeBits // the note may stay even if this has to be done otherwise
	return c.head.Load() == head && n.Load() == note
}

// plain reports whether a cell with the given head is not locked, and has notes of plain accesses only.
// Then a thread can note a read again without a comparison: a write that is noted was compared with its
// earlier one, whichever came first, and one that came later and did not race has taken that note away.
//
//go:nosplit
func plain(head uint64) bool { return head&(headLock|headCrowd|headAtomics) == 0 }

// onlyRead is plain for who only reads: then there may be a crowd, too, of plain accesses.
//
//go:nosplit
func onlyRead(head uint64) bool {
	return plain(head) || head&(headLock|headAtomics) == 0 && extraAt(uint32(head>>headExtra)).changes.Load() == 0
}

// Again makes the note that Look has found one of the present epoch, and reports whether it could.
//
//go:nosplit
func (t *Table) Again(th *Thread, c *Cell, at *atomic.Uint64, head, old, note uint64) bool {
	aside := false
	if at == &c.first {
		second, third := head>>(headNotes+noteBits)&noteMask, head>>(headNotes+2*noteBits)&noteMask
		aside = (second != 0 && second>>noteKind == Read || third != 0 && third>>noteKind == Read) && t.stepAside(th, c, head, old, note)
	}
	// An atomic operation may have come to a crowd, of which the head does not tell.
	return (aside || c.Renew(th, at, head, old, note)) && (head&headCrowd == 0 || onlyRead(head))
}

// noteAgain is Look and Again.
//
//go:nosplit
func (t *Table) noteAgain(th *Thread, c *Cell, note, mask uint64, write bool) bool {
	noted, at, head, old := c.Look(th, mask, write)
	return noted || at != nil && t.Again(th, c, at, head, old, note)
}

// own returns the thread's note, or an earlier one's that had its slot, that says exactly what is
// given, in a cell with the given head, and on which side of the cell it is, -1 if in it. What others have
// noted on a side is not looked at if it can be helped.
//
//go:nosplit
func (c *Cell) own(th *Thread, head, what uint64) (n *atomic.Uint64, old uint64, side int32) {
	rest := head >> headNotes
	if old = c.first.Load(); rest&noteMask == what && slotOf(old^th.Epoch) == 0 {
		return &c.first, old, -1
	}
	rest = rest >> noteBits & (1<<(2*noteBits) - 1)
	if rest == 0 {
		return nil, 0, 0
	}
	at := th.side & 1
	for range cellNotes - 1 {
		if rest>>(at*noteBits)&noteMask == what {
			n = asideOf(c, at)
			if old = n.Load(); slotOf(old^th.Epoch) == 0 {
				return n, old, int32(at)
			}
		}
		at ^= 1
	}
	return nil, 0, 0
}

// LoadAgain notes an atomic load where there is a note of another of the same bytes by the thread, or an
// earlier one that had its slot. Loads race with plain writes only, so nothing is to be compared, as with
// plain reads.
//
//go:nosplit
func (t *Table) LoadAgain(th *Thread, c *Cell, place, mask uint64) bool {
	head := c.head.Load()
	if head&(headLock|headCrowd) != 0 {
		return false
	}
	note := th.Epoch | place
	n, old, side := c.own(th, head, mask|AtomicRead<<noteKind)
	if n == nil {
		return false
	}
	if side >= 0 {
		th.side = uint32(side)
	} else if head>>(headNotes+noteBits)&(1<<(2*noteBits)-1) != 0 && t.stepAside(th, c, head, old, note) {
		return true
	}
	return c.Renew(th, n, head, old, note)
}

// stepAside is for the thread's first note, old, that is to be made one of the present epoch, where
// somebody else does the same with the word, too: that goes on beside the cell, each on a side, so
// that nobody has to wait for what another one has noted. A note of something else may have to take
// the place of the first, if the thread covers it: then its own thread can no longer look for it.
//
//go:nosplit
func (t *Table) stepAside(th *Thread, c *Cell, head, old, note uint64) bool {
	what := head >> headNotes & noteMask
	var left, others uint32 // the sides that somebody has for the same, and those that others have
	for side := range uint32(2) {
		if d := head >> (headNotes + (1+side)*noteBits) & noteMask; d != 0 && (d^what)>>noteKind == 0 {
			left |= 1 << side
			if slotOf(asideOf(c, side).Load()^note) != 0 {
				others |= 1 << side
			}
		}
	}
	if others == 0 || left == 3 {
		return false
	}
	side := left & 1
	shift := headNotes + (1+side)*noteBits
	wrote := head >> shift & noteMask
	if !c.head.CompareAndSwap(head, head|headLock) {
		return false
	}
	n := asideOf(c, side).Load()
	if c.first.Load() != old || wrote != 0 && slotOf(n^note) != 0 && !t.covers(th, n>>placeBits) {
		c.Unlock(head) // it has just changed, or is a race
		return false
	}
	if wrote != 0 {
		storeRelease(&c.first, n)
	}
	storeRelease(asideOf(c, side), note)
	th.side, th.last = side, note>>placeBits
	c.Unlock(head ^ (wrote^what)<<headNotes ^ (wrote^what)<<shift)
	return true
}

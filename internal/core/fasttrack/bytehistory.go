package fasttrack

import "sync/atomic"

// Text is written and read byte by byte, at many places of the program, so its words soon need more
// entries than a cell has. As long as each byte of such a word has at most one plain write and one
// plain read, the cell has the history of each byte instead of entries: W_x and R_x of the paper. An
// access looks at the bytes that it concerns, and at nothing else. An atomic operation, or a second
// reader that is concurrent with the first, turns the histories into entries again.
//
// The descriptor of the first entry then has headBytes instead of a kind, and no bytes; there are no
// other entries and no overflow set. The first entry has historyTag and the number of the histories,
// which are in the memory of a small overflow set.

const (
	headBytes    = 7 << (headEntries + kindShift)
	historyBits  = orphanBits
	historyMask  = 1<<historyBits - 1
	historyTag   = firstOrphanSlot << (timeBits + placeBits) // no entry: those of orphans have the bit above orphanBits
	wordBytes    = 8
	historiesLog = minOverflowLog
)

// hasBytes reports whether a cell with the given head has histories of bytes.
//
//go:nosplit
func hasBytes(head uint64) bool { return head&headBytes == headBytes }

// byteWrite returns the epoch and place of the last write of byte b, if any. first is the first entry
// of a cell with histories.
//
//go:nosplit
func byteWrite(first uint64, b uint64) *atomic.Uint64 {
	return &overflowAt(first&historyMask<<historiesLog + b&(wordBytes-1)).entry
}

// byteRead is byteWrite for the last read.
//
//go:nosplit
func byteRead(first uint64, b uint64) *atomic.Uint64 {
	return &overflowAt(first&historyMask<<historiesLog + b&(wordBytes-1)).desc
}

// SameEpochInBytes reports whether the history of byte b, if the cell has one, makes an access
// redundant. head and first are the cell's. It needs no lock.
//
//go:nosplit
func (c *Cell) SameEpochInBytes(th *Thread, head, first uint64, b uint64, write bool) bool {
	if !hasBytes(head) || first>>historyBits != historyTag>>historyBits {
		return false
	}
	same := th.sameEpoch(byteWrite(first, b).Load()) || !write && th.sameEpoch(byteRead(first, b).Load())
	return same && c.head.Load() == head && c.first.Load() == first // else the histories may be those of another word
}

// AccessBytes handles plain accesses to a word with histories of bytes if there is no race, and no
// concurrent reader. head is that of the cell.
//
//go:nosplit
func (t *Table) AccessBytes(th *Thread, c *Cell, head, entry, mask uint64, write bool) bool {
	if !hasBytes(head) || head&headLock != 0 || !c.head.CompareAndSwap(head, head|headLock) {
		return false
	}
	done := t.accessHistories(th, c.first.Load(), entry, mask, write)
	c.Unlock(head)
	return done
}

// accessHistories is AccessBytes for a locked cell. If it returns false, it may have recorded the
// access for some of the bytes.
//
//go:nosplit
func (t *Table) accessHistories(th *Thread, first, entry, mask uint64, write bool) bool {
	before := entry >> placeBits // an epoch that is ordered before, if it is not zero
	for b := uint64(0); mask>>b != 0; b++ {
		if mask>>b&1 == 0 {
			continue
		}
		wrote, read := byteWrite(first, b), byteRead(first, b)
		w, r := wrote.Load(), read.Load()
		if th.sameEpoch(w) || !write && th.sameEpoch(r) {
			continue
		}
		for _, n := range [...]uint64{w, r} {
			if e := n >> placeBits; n != 0 && e != before && slotOf(n^entry) != 0 {
				if !t.covers(th, e) {
					return false
				}
				before = e
			}
		}
		if !write {
			storeRelease(read, entry)
			continue
		}
		storeRelease(wrote, entry)
		if r != 0 {
			storeRelease(read, 0)
		}
	}
	th.lastAccess = entry >> placeBits
	return true
}

// accessToBytes records a plain access in a locked cell whose entries have no room for it, and turns
// these into histories of bytes. It returns the new head, or 0, and has changed nothing, if histories do
// not suffice or there is a race.
//
//go:nosplit
func (t *Table) accessToBytes(th *Thread, c *Cell, head, entry, mask uint64, write bool) uint64 {
	if head>>headExtension != 0 || !plainOnly(head) { // so there is no set of readers
		return 0
	}
	at := t.newOverflow(historiesLog)
	if at == 0 {
		return 0
	}
	first := historyTag | uint64(at)>>historiesLog
	if !c.fillHistories(head, first) || !t.accessHistories(th, first, entry, mask, write) {
		t.freeOverflowEntries(at, historiesLog)
		return 0
	}
	storeRelease(&c.first, first)
	return headBytes
}

// fillHistories copies the entries of a locked cell to histories, and reports whether these suffice.
//
//go:nosplit
func (c *Cell) fillHistories(head, first uint64) bool {
	for i := range uint32(cellEntries) {
		d := head >> ((headEntries + i*descBits) & 63) & descMask
		n := c.entryAt(i).Load()
		for b := uint64(0); d&bytesMask>>b != 0; b++ {
			if d>>b&1 == 0 {
				continue
			}
			to := byteRead(first, b)
			if d>>kindShift == Write {
				to = byteWrite(first, b)
			}
			if to.Load() != 0 {
				return false
			}
			storeRelease(to, n)
		}
	}
	return true
}

// spillBytes turns the histories of a locked cell into entries, and returns the new head.
//
//go:nosplit
func (t *Table) spillBytes(c *Cell, head uint64) uint64 {
	first := c.first.Load()
	head &^= headBytes
	storeRelease(&c.first, 0)
	for b := range uint64(wordBytes) {
		head = t.addEntry(c, head, byteWrite(first, b).Load(), 1<<b, Write)
		head = t.addEntry(c, head, byteRead(first, b).Load(), 1<<b, Read)
	}
	t.freeHistories(first)
	return head
}

// addEntry adds an entry for the bytes in mask, if it is not 0, and returns the new head.
//
//go:nosplit
func (t *Table) addEntry(c *Cell, head, entry uint64, mask, kind uint32) uint64 {
	if entry == 0 {
		return head
	}
	free := uint32(cellEntries)
	for i := range uint32(cellEntries) {
		shift := (headEntries + i*descBits) & 63
		d := head >> shift & descMask
		if d == 0 {
			free = min(free, i)
		} else if d>>kindShift == uint64(kind) && c.entryAt(i).Load() == entry {
			return head | uint64(mask)<<shift
		}
	}
	if free == cellEntries {
		return t.addToOverflow(head, entry, mask, kind)
	}
	storeRelease(c.entryAt(free), entry)
	return head | uint64(mask|kind<<kindShift)<<((headEntries+free*descBits)&63)
}

// clearBytes removes the histories of the bytes in mask of a locked cell, and returns the new head.
//
//go:nosplit
func (t *Table) clearBytes(c *Cell, head uint64, mask uint64) uint64 {
	first, left := c.first.Load(), uint64(0)
	for b := range uint64(wordBytes) {
		if mask>>b&1 != 0 {
			storeRelease(byteWrite(first, b), 0)
			storeRelease(byteRead(first, b), 0)
		}
		left |= byteWrite(first, b).Load() | byteRead(first, b).Load()
	}
	if left != 0 {
		return head
	}
	storeRelease(&c.first, 0)
	t.freeHistories(first)
	return head &^ headBytes
}

// freeHistories frees the histories of a cell that no longer refers to them.
//
//go:nosplit
func (t *Table) freeHistories(first uint64) {
	t.freeOverflowEntries(uint32(first&historyMask<<historiesLog), historiesLog)
}

// reclaimBytes is ReclaimCell for a cell with histories.
func (t *Table) reclaimBytes(c *Cell, head uint64) {
	first := c.first.Load()
	for b := range uint64(wordBytes) {
		for _, at := range [...]*atomic.Uint64{byteWrite(first, b), byteRead(first, b)} {
			if n := at.Load(); n != 0 {
				storeRelease(at, t.replaceEntry(n))
			}
		}
	}
	c.Unlock(t.clearBytes(c, head, 0))
}

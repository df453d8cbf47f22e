package happens

import "sync/atomic"

// Cell is what is known of a word of 8 bytes: up to three notes, and the number of an
// extra for what does not fit. It is changed under the lock in its head. A thread may
// look without the lock for a note of its own present epoch, for only the thread
// makes those: if it is there, the thread has left it, and if somebody is about to
// take it away, that is another side of a race.
type Cell struct {
	head  atomic.Uint64
	notes [cellNotes]atomic.Uint64
}

// The parts of a head: the lock; whether there is a crowd; for each note the bytes that
// it is about, none if there is no note, and its kind; the number of the extra.
const (
	cellNotes = 3

	headLock       = 1 << 0
	headCrowd      = 1 << 1
	headNotes      = 2
	noteBits       = 11
	noteBytes      = 1<<8 - 1
	noteKind       = 8
	noteMask       = 1<<noteBits - 1
	headExtra      = headNotes + cellNotes*noteBits
	headExtraBits  = 64 - headExtra
	placeMask      = 1<<placeBits - 1
	headAllNotes   = (1<<headExtra - 1) &^ (1<<headNotes - 1)
	headWriteNotes = 1 << noteKind
)

// Noted reports whether the thread has read, or written, the byte with the given number
// in the word in its present epoch, or has done more: then to do it again makes no
// difference.
//
//go:nosplit
func (c *Cell) Noted(th *Thread, byteAt uint64, write bool) bool {
	e := th.Epoch
	i := uint32(headNotes)
	switch {
	case c.notes[0].Load()^e <= placeMask:
	case c.notes[1].Load()^e <= placeMask:
		i += noteBits
	case c.notes[2].Load()^e <= placeMask:
		i += 2 * noteBits
	default:
		return false
	}
	d := c.head.Load() >> i
	if write {
		return d>>noteKind&7 == Write && d>>byteAt&1 != 0
	}
	return d>>noteKind&7 <= Write && d>>byteAt&1 != 0
}

// lock returns the head of the cell, which is locked from then on.
//
//go:nosplit
func (c *Cell) lock() uint64 {
	for {
		head := c.head.Load()
		if head&headLock == 0 && c.head.CompareAndSwap(head, head|headLock) {
			return head
		}
		pauseSpinning()
	}
}

// unlock unlocks the cell, with a new head.
//
//go:nosplit
func (c *Cell) unlock(head uint64) { storeRelease(&c.head, head) }

// Lock locks the cell for a synchronisation.
//
//go:nosplit
func (c *Cell) Lock() (head uint64) { return c.lock() }

// Unlock is its end.
//
//go:nosplit
func (c *Cell) Unlock(head uint64) { c.unlock(head) }

// Empty reports whether nothing is known of the word.
//
//go:nosplit
func (c *Cell) Empty() bool { return c.head.Load() == 0 }

// conflict reports whether accesses of two kinds make a race.
//
//go:nosplit
func conflict(x, y uint32) bool {
	switch {
	case x == Write || y == Write:
		return true
	case x == Read:
		return y >= AtomicWrite
	case y == Read:
		return x >= AtomicWrite
	}
	return false
}

// replaces reports whether a later access of kind by is remembered instead of one of
// kind k that is ordered before it.
//
//go:nosplit
func replaces(by, k uint32) bool {
	return by == k || by == Write || by >= AtomicWrite && k >= AtomicWrite
}

// Access compares an access to bytes of the word at addr, those set in mask, with what
// is known of them, and notes it.
//
//go:nosplit
func (t *Table) Access(th *Thread, c *Cell, addr, place uint64, mask, kind uint32, races *Races) {
	c.unlock(t.access(th, c, c.lock(), addr, place, mask, kind, races))
}

// access is Access for a cell that is locked, with the given head. It returns the new
// one.
//
//go:nosplit
func (t *Table) access(th *Thread, c *Cell, head, addr, place uint64, mask, kind uint32, races *Races) uint64 {
	note := th.Epoch | place
	into, free, left := uint32(cellNotes), uint32(cellNotes), mask
	for i := range uint32(cellNotes) {
		d := uint32(head>>(headNotes+i*noteBits)) & noteMask
		if d == 0 {
			free = i
			continue
		}
		n := c.note(i).Load()
		if both := d & mask; both != 0 {
			var keep bool
			keep, left = t.meet(th, n, addr, d>>noteKind, kind, both, left, races)
			if !keep {
				if d &^= both; d&noteBytes == 0 {
					d, free = 0, i
				}
				head = head&^(noteMask<<(headNotes+i*noteBits)) | uint64(d)<<(headNotes+i*noteBits)
			}
		}
		if d != 0 && n == note && d>>noteKind == kind {
			into = i
		}
	}
	if head&headCrowd != 0 {
		head, left = t.accessCrowd(th, head, note, addr, mask, kind, left, races)
	}
	if left == 0 {
		return head
	}
	th.last = th.Epoch >> placeBits
	if into == cellNotes && (free == cellNotes || kind == Read && head&headCrowd != 0) {
		return t.addToCrowd(c, head, note, left, kind)
	}
	if into < cellNotes {
		return head | uint64(left)<<(headNotes+into*noteBits)
	}
	storeRelease(c.note(free), note)
	return head | uint64(left|kind<<noteKind)<<(headNotes+free*noteBits)
}

//go:nosplit
func (c *Cell) note(i uint32) *atomic.Uint64 { return &c.notes[i%4%cellNotes] }

// meet compares an access of the given kind with a note of kind k that it shares bytes
// with. It returns whether the note is still needed for these, and what is left to
// be noted.
//
//go:nosplit
func (t *Table) meet(th *Thread, n, addr uint64, k, kind, both, left uint32, races *Races) (keep bool, rest uint32) {
	if n^th.Epoch <= placeMask && (k == kind || k == Write) {
		return true, left &^ both // it says as much, and whoever came since has seen it
	}
	before := t.covers(th, n>>placeBits)
	if !before && conflict(k, kind) {
		races.add(n, addr, k, both)
	}
	return !(kind == Write || before && replaces(kind, k)), left
}

// Clear forgets what is known of bytes of a word, when they begin a new life.
//
//go:nosplit
func (t *Table) Clear(c *Cell, mask uint32) {
	if c.Empty() {
		return
	}
	head := c.lock()
	if mask == noteBytes {
		t.dropExtras(head)
		c.unlock(0)
		return
	}
	for i := uint32(headNotes); i < headExtra; i += noteBits {
		d := uint32(head>>i) & noteMask &^ mask
		if d&noteBytes == 0 {
			d = 0
		}
		head = head&^(noteMask<<i) | uint64(d)<<i
	}
	c.unlock(t.clearExtras(head, mask))
}

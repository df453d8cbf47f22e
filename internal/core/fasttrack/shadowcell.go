package fasttrack

import "sync/atomic"

// Cell is what is known of a word of 8 bytes: a note, beside which there may be two more
// elsewhere, and the number of an extra for what does not fit. It is changed under the
// lock in its head. A thread may look without the lock for a note of its own present epoch,
// for only the thread makes those: if it is there, the thread has left it, and if somebody
// is about to take it away, that is another side of a race.
type Cell struct {
	head  atomic.Uint64
	first atomic.Uint64
}

// The parts of a head: the lock; whether there is a crowd; for each note the bytes that
// it is about, none if there is no note, and its kind; the number of the extra.
const (
	cellEntries = 3

	headLock          = 1 << 0
	headOverflow      = 1 << 1
	headEntries       = 2
	descBits          = 11
	bytesMask         = 1<<8 - 1
	kindShift         = 8
	descMask          = 1<<descBits - 1
	headExtension     = headEntries + cellEntries*descBits
	headExtensionBits = 64 - headExtension
	placeMask         = 1<<placeBits - 1
	// The bits of kinds that only atomic operations have, of all notes.
	headAtomics = 6 << kindShift * (1<<headEntries + 1<<(headEntries+descBits) + 1<<(headEntries+2*descBits))
)

// SameEpochByte is what Look reports, for one byte of the word, if the note is the first: it takes little to
// find that out.
//
//go:nosplit
func (c *Cell) SameEpochByte(th *Thread, b uintptr, write bool) bool {
	if !th.sameEpoch(c.first.Load()) {
		return false
	}
	head := c.head.Load()
	if write {
		return head>>(b&7)&(1<<headEntries) != 0 && head&(7<<(headEntries+kindShift)) == Write<<(headEntries+kindShift)
	}
	return head>>(b&7)&(1<<headEntries) != 0 && head&(6<<(headEntries+kindShift)) == 0
}

// SameEpochWord is NotedByte for all bytes of the word.
//
//go:nosplit
func (c *Cell) SameEpochWord(th *Thread, write bool) bool {
	if !th.sameEpoch(c.first.Load()) {
		return false
	}
	desc := c.head.Load() >> headEntries
	if write {
		return desc&(bytesMask|7<<kindShift) == bytesMask|Write<<kindShift
	}
	return desc&(bytesMask|6<<kindShift) == bytesMask
}

// descCovers reports whether a note, of which d has the bytes and the kind, is of a write of
// these bytes, or a read if write is not set.
//
//go:nosplit
func descCovers(d, mask uint64, write bool) bool {
	if write {
		return mask&^d == 0 && d>>kindShift&7 == Write
	}
	return mask&^d == 0 && d>>kindShift&7 <= Write
}

// SameEpochAtomic is what Look reports, for an atomic operation on a cell that is locked, with the given
// head.
//
//go:nosplit
func (c *Cell) SameEpochAtomic(th *Thread, head, mask uint64, kind uint32) bool {
	if th.lastAccess < th.since>>placeBits {
		return false // nothing is noted yet
	}
	// What others have noted beside the cell need not be fetched: so the thread's own note is what is looked at.
	side := th.sideHint & 1
	for i := range uint32(cellEntries) {
		at, shift := &c.first, uint32(headEntries)
		if i != 0 {
			at, shift = sideEntry(c, side), headEntries+(1+side)*descBits
			side ^= 1
		}
		d := head >> (shift & 63) & descMask
		if mask&^d != 0 || subsumes>>(d>>kindShift<<3+uint64(kind))&1 == 0 {
			continue
		}
		if n := at.Load(); slotOf(n^th.Epoch) == 0 {
			return th.sameEpoch(n)
		}
	}
	return false
}

// Lock returns the head of the cell, which is locked from then on. It does not look first, for that
// would be one more time that the word has to come from another processor; who has the lock knows
// the head, so that of a locked cell only the lock has to be there.
//
//go:nosplit
func (c *Cell) Lock() uint64 {
	if head := c.head.Swap(headLock); head&headLock == 0 {
		return head
	}
	return c.lockSlow()
}

// lockSlow is Lock for a cell that somebody else has locked.
//
//go:nosplit
func (c *Cell) lockSlow() uint64 {
	for tries := uint32(0); ; tries++ {
		pauseSpinning(tries) // or its holder has to wait for the cell
		if c.head.Load()&headLock == 0 {
			if head := c.head.Swap(headLock); head&headLock == 0 {
				return head
			}
		}
	}
}

// Unlock unlocks the cell, with a new head.
//
//go:nosplit
func (c *Cell) Unlock(head uint64) { storeRelease(&c.head, head) }

// Empty reports whether nothing is known of the word.
//
//go:nosplit
func (c *Cell) Empty() bool { return c.head.Load() == 0 }

//go:nosplit
func (c *Cell) entryAt(i uint32) *atomic.Uint64 {
	if i == 0 {
		return &c.first
	}
	return sideEntry(c, (i-1)&1)
}

// TryClear forgets all that is known of a word that nobody accesses, and reports
// whether it could: Clear can what it can't.
//
//go:nosplit
func (c *Cell) TryClear() bool {
	head := c.head.Load()
	if head>>headExtension != 0 || head&headLock != 0 {
		return false
	}
	if head != 0 {
		storeRelease(&c.head, 0)
	}
	return true
}

// Clear forgets what is known of bytes of a word, when they begin a new life.
//
//go:nosplit
func (t *Table) Clear(c *Cell, mask uint32) {
	if c.Empty() {
		return
	}
	head := c.Lock()
	if mask == bytesMask {
		t.freeExtensions(head)
		c.Unlock(0)
		return
	}
	for i := uint32(headEntries); i < headExtension; i += descBits {
		d := uint32(head>>i) & descMask &^ mask
		if d&bytesMask == 0 {
			d = 0
		}
		head = head&^(descMask<<i) | uint64(d)<<i
	}
	c.Unlock(t.clearExtensions(head, mask))
}

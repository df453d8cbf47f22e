package fasttrack

import "sync/atomic"

// Cell is the shadow cell of a word of 8 bytes: a head, the first entry, and the number of an
// extension for what does not fit. Two more entries are beside the cell (see sideEntry).
//
// The cell is changed under the lock in its head. A thread may look for an entry of its own epoch
// without the lock. Only the thread creates such entries. If another thread is removing the entry
// at that moment, its access races with this one.
type Cell struct {
	head  atomic.Uint64
	first atomic.Uint64
}

// The parts of a head, from the lowest bit: the lock; whether there is an overflow set; whether an
// entry may stand for a set of readers; a descriptor for each entry, which has the accessed bytes (none if there is no entry) and the kind;
// the number of the extension.
const (
	cellEntries = 3

	headLock          = 1 << 0
	headOverflow      = 1 << 1
	headReaders       = 1 << 2
	headEntries       = 3
	descBits          = 11
	bytesMask         = 1<<8 - 1
	kindShift         = 8
	descMask          = 1<<descBits - 1
	headExtension     = headEntries + cellEntries*descBits
	headExtensionBits = 64 - headExtension
	placeMask         = 1<<placeBits - 1
	// The bits that only kinds of atomic operations have, in all descriptors.
	headAtomics = 6 << kindShift * (1<<headEntries + 1<<(headEntries+descBits) + 1<<(headEntries+2*descBits))
)

// SameEpochByte reports whether the first entry makes an access to byte b of the word redundant:
// READ SAME EPOCH or WRITE SAME EPOCH. It is the shortest test; Lookup tests all entries.
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

// SameEpochBeside is SameEpochByte for reads and the other entries of the cell: of words that several
// threads read, most have theirs there.
//
//go:nosplit
func (c *Cell) SameEpochBeside(th *Thread, b uintptr) bool {
	side := th.sideHint & 1
	beside := c.head.Load() >> (headEntries + descBits)
	if d := beside >> (side * descBits); d>>(b&7)&1 != 0 && d&(6<<kindShift) == 0 && th.sameEpoch(sideEntry(c, side).Load()) {
		return true
	}
	side ^= 1
	d := beside >> (side * descBits)
	return d>>(b&7)&1 != 0 && d&(6<<kindShift) == 0 && th.sameEpoch(sideEntry(c, side).Load())
}

// SameEpochWord is SameEpochByte for all bytes of the word.
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

// descCovers reports whether descriptor d has all bytes in mask, and is of a write, or, unless
// write is set, of a plain access.
//
//go:nosplit
func descCovers(d, mask uint64, write bool) bool {
	if write {
		return mask&^d == 0 && d>>kindShift&7 == Write
	}
	return mask&^d == 0 && d>>kindShift&7 <= Write
}

// SameEpochAtomic reports whether an entry of the thread makes an atomic operation of a kind
// redundant. The cell is locked and has the given head.
//
//go:nosplit
func (c *Cell) SameEpochAtomic(th *Thread, head, mask uint64, kind uint32) bool {
	if th.lastAccess < th.since>>placeBits {
		return false // no access in the same-epoch range
	}
	// Start at the side of the thread's own entries: the cache lines of other threads' entries need
	// not be loaded.
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

// Lock locks the cell and returns its head. It swaps without loading first, which would fetch the
// cache line twice. The owner knows the head, so the locked cell needs nothing but the lock bit.
//
//go:nosplit
func (c *Cell) Lock() uint64 {
	if head := c.head.Swap(headLock); head&headLock == 0 {
		return head
	}
	return c.lockSlow()
}

// lockSlow is Lock for a cell that another thread has locked.
//
//go:nosplit
func (c *Cell) lockSlow() uint64 {
	for tries := uint32(0); ; tries++ {
		pauseSpinning(tries) // else the owner would have to wait for the cache line
		if c.head.Load()&headLock == 0 {
			if head := c.head.Swap(headLock); head&headLock == 0 {
				return head
			}
		}
	}
}

// Unlock stores a new head, which unlocks the cell.
//
//go:nosplit
func (c *Cell) Unlock(head uint64) { storeRelease(&c.head, head) }

// Empty reports whether the word has no history.
//
//go:nosplit
func (c *Cell) Empty() bool { return c.head.Load() == 0 }

// entryAt returns entry i.
//
//go:nosplit
func (c *Cell) entryAt(i uint32) *atomic.Uint64 {
	if i == 0 {
		return &c.first
	}
	return sideEntry(c, (i-1)&1)
}

// TryClear removes the history of a word that no thread accesses at the time, and reports whether
// it could. If not, Clear can.
//
//go:nosplit
func (c *Cell) TryClear() bool {
	head := c.head.Load()
	if head>>headExtension != 0 || head&headLock != 0 || hasBytes(head) {
		return false
	}
	if head != 0 {
		storeRelease(&c.head, 0)
	}
	return true
}

// Clear removes the history of the bytes in mask, when a new object begins there.
//
//go:nosplit
func (t *Table) Clear(c *Cell, mask uint32) {
	if c.Empty() {
		return
	}
	head := c.Lock()
	if hasBytes(head) {
		head = t.clearBytes(c, head, uint64(mask))
	}
	if mask == bytesMask {
		t.freeExtensions(head)
		c.Unlock(0)
		return
	}
	for i := uint32(headEntries); i < headExtension && !hasBytes(head); i += descBits {
		d := uint32(head>>i) & descMask &^ mask
		if d&bytesMask == 0 {
			d = 0
		}
		head = head&^(descMask<<i) | uint64(d)<<i
	}
	c.Unlock(t.clearExtensions(head, mask))
}

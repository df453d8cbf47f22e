package fasttrack

import "sync/atomic"

// extension is what does not fit into a cell: the release clocks of a synchronization object at a
// byte of the word. A word has a list of extensions, one for each such byte. The first one also has
// the word's overflow set.
type extension struct {
	release       releaseClock // by all operations but ReleaseShared
	sharedRelease releaseClock // by ReleaseShared
	next          uint32
	// 1 plus the byte of the object, 0 if there is none; above that, the number of times that an
	// acquire has learned something (see lockreuse.go). BeginLoad reads it without the cell's lock.
	object atomic.Uint32

	// The overflow set: the index of its first entry, above the logarithm of its size.
	overflow     atomic.Uint64
	overflowUsed uint32 // entries that have been used
	// The numbers of plain reads, of plain writes, and of atomic operations that write. Readers
	// load the last without the cell's lock.
	reads, writes uint32
	atomicWrites  atomic.Uint32
	// The bytes that entries of the overflow set have, by kind, and perhaps bytes of earlier entries.
	bytes [numKinds]uint8
	// The entries of a small set before this number may be in use. Loaded without the cell's lock.
	smallUsed atomic.Uint32
	note      uint32 // of the host about the object, see SetNote

	inline inlineClock // of release, if its clock is inlined
}

// overflowEntry is an entry of an overflow set with its descriptor. If the descriptor has no bytes,
// the entry is free. Small sets are searched as a whole. Large ones are hash tables by slot, with
// open addressing.
type overflowEntry struct {
	entry atomic.Uint64
	desc  atomic.Uint64
}

const (
	minOverflowLog  = 3 // logarithm of the size
	overflowShift   = 8
	overflowLogMask = 1<<overflowShift - 1
	maxOverflowLog  = 20
)

// slotOf returns the slot of an entry, with the lap: entries for which it is the same are a thread's
// own, or of threads that are ordered before it (see tails.go).
//
//go:nosplit
func slotOf(entry uint64) uint64 { return entry >> (placeBits + lapBits) }

// hashSlot returns the position in a set at which the search for entries of the same slot begins.
// Slots are dense, hence the multiplication: it keeps the runs of used entries short.
//
//go:nosplit
func hashSlot(entry uint64) uint64 { return slotIndex(entry) * 0x9E3779B97F4A7C15 >> 40 }

// search returns the set of x and where the search for an entry begins: how many positions from the
// first entry there are, and at which of them, modulo size. A small set is searched from its
// start, as far as it is used.
//
//go:nosplit
func (x *extension) search(overflow, entry uint64) (first, start, count, size uint64) {
	first, size = overflow>>overflowShift, uint64(1)<<(overflow&overflowLogMask)
	if size == 1<<minOverflowLog {
		return first, 0, uint64(x.smallUsed.Load()), size
	}
	return first, hashSlot(entry), size, size
}

// sameEpochInOverflow reports whether the overflow set, if there is one, has an entry of the thread
// that makes an access of a kind redundant. It does not need the lock.
//
//go:nosplit
func sameEpochInOverflow(th *Thread, head, mask uint64, kind uint32) bool {
	if head&headOverflow == 0 {
		return false
	}
	x := extensionAt(uint32(head >> headExtension))
	overflow := x.overflow.Load()
	first, start, count, size := x.search(overflow, th.Epoch)
	if first == 0 {
		return false
	}
	for i := start; i < start+count; i++ {
		m := overflowAt(first + i&(size-1))
		n := m.entry.Load()
		if n == 0 && size > 1<<minOverflowLog {
			return false
		}
		if th.sameEpoch(n) {
			// An entry that is reused gets its epoch before its descriptor; and the whole set may
			// have been replaced.
			if w := m.desc.Load(); mask&^w == 0 && subsumes>>(8*(w>>kindShift)+uint64(kind))&1 != 0 && m.entry.Load() == n {
				return x.overflow.Load() == overflow
			}
		}
	}
	return false
}

// refreshInOverflow is AccessNoRace for reads and atomic loads that refresh an entry of the
// overflow set of a locked cell.
//
//go:nosplit
func (t *Table) refreshInOverflow(th *Thread, head, entry uint64, mask, kind uint32) bool {
	x := extensionAt(uint32(head >> headExtension))
	if kind == Read && x.atomicWrites.Load() != 0 {
		return false
	}
	first, start, count, size := x.search(x.overflow.Load(), entry)
	for i := start; i < start+count; i++ {
		m := overflowAt(first + i&(size-1))
		n := m.entry.Load()
		if n == 0 && size > 1<<minOverflowLog {
			return false
		}
		if slotOf(n^entry) == 0 && m.desc.Load() == uint64(mask|kind<<kindShift) {
			storeRelease(&m.entry, entry)
			th.lastAccess = entry >> placeBits
			return true
		}
	}
	return false
}

// smallOverflow reports whether the overflow set has the smallest size.
//
//go:nosplit
func (x *extension) smallOverflow() bool { return x.overflow.Load()&overflowLogMask == minOverflowLog }

// accessSmallOverflow is AccessNoRace for a plain access with descriptor what, to a word with a
// small overflow set. If it returns 0, it may have removed entries that the access replaces;
// AccessLocked records the access nevertheless.
//
//go:nosplit
func (t *Table) accessSmallOverflow(th *Thread, c *Cell, head, entry, what uint64) uint64 {
	const all = cellEntries + 1<<minOverflowLog
	x := extensionAt(uint32(head >> headExtension))
	entries, end := x.overflow.Load()>>overflowShift, cellEntries+uint64(x.smallUsed.Load())
	free, recorded, used := uint64(all), false, false
	if end < all {
		free = end
	}
	for i := range end {
		var at *atomic.Uint64
		var was uint64
		if i < cellEntries {
			at, was = c.entryAt(uint32(i)), head>>((headEntries+i*descBits)&63)&descMask
		} else {
			m := overflowAt(entries + i - cellEntries)
			at, was = &m.entry, m.desc.Load()
		}
		if was == 0 {
			free = min(free, i)
			continue
		}
		if (was^what)>>kindShift != 0 && was&what&bytesMask == 0 {
			used = used || i >= cellEntries
			continue
		}
		n, now := at.Load(), was
		switch how := was>>kindShift<<3 + what>>kindShift; {
		case n == entry && (was^what)>>kindShift == 0:
			now, recorded = was|what, true
		case was&what&bytesMask == 0 || relevant>>(how&63)&1 == 0:
		case slotOf(n^entry) != 0 && !t.covers(th, n>>placeBits):
			if conflicts>>(how&63)&1 != 0 {
				return 0
			}
		case replaces>>(how&63)&1 != 0:
			if now &^= what & bytesMask; now&bytesMask == 0 {
				now, free = 0, min(free, i)
			}
		}
		used = used || i >= cellEntries && now != 0
		switch {
		case now == was:
		case i < cellEntries:
			head ^= (was ^ now) << ((headEntries + i*descBits) & 63)
		default:
			storeRelease(&overflowAt(entries+i-cellEntries).desc, now)
			if now == 0 {
				x.count(uint32(was>>kindShift), -1)
			} else {
				x.addBytes(uint32(now>>kindShift), uint32(now))
			}
		}
	}
	if !recorded {
		if free == all {
			return 0
		}
		if n := c.first.Load(); free != 0 && slotOf(n^entry) == 0 { // the new entry becomes the first
			old := head >> headEntries & descMask
			head ^= (old ^ what) << headEntries
			storeRelease(&c.first, entry)
			entry, what = n, old
		}
		if free < cellEntries {
			storeRelease(c.entryAt(uint32(free)), entry)
			head |= what << ((headEntries + free*descBits) & 63)
		} else {
			x.fill(entries, free-cellEntries, entry, what)
			used = true
		}
		th.lastAccess = th.Epoch >> placeBits
	}
	if !used {
		head &^= headOverflow
	}
	return head
}

// fill sets a free entry of the overflow set of x, by its position.
//
//go:nosplit
func (x *extension) fill(first, at, entry, what uint64) {
	m := overflowAt(first + at)
	storeRelease(&m.entry, entry)
	storeRelease(&m.desc, what)
	x.count(uint32(what>>kindShift), 1)
	x.addBytes(uint32(what>>kindShift), uint32(what))
	if uint32(at) >= x.smallUsed.Load() {
		storeRelease32(&x.smallUsed, uint32(at)+1)
	}
}

// addBytes records the bytes of an entry of a kind.
//
//go:nosplit
func (x *extension) addBytes(kind, mask uint32) { x.bytes[kind%numKinds] |= uint8(mask) }

// mayConflict reports whether an access of a kind to the bytes in mask may conflict with an entry of
// the overflow set.
//
//go:nosplit
func (x *extension) mayConflict(kind, mask uint32) bool {
	b := &x.bytes
	with := b[Write]
	switch kind {
	case Read:
		with |= b[AtomicWrite] | b[AtomicUpdate]
	case Write:
		with |= b[Read] | b[AtomicRead] | b[AtomicWrite] | b[AtomicUpdate]
	case AtomicWrite, AtomicUpdate:
		with |= b[Read]
	}
	return uint32(with)&mask != 0
}

// accessOverflow is accessEntries for the overflow set of a locked cell, which it does not add to.
//
//go:nosplit
func (t *Table) accessOverflow(th *Thread, head, entry, addr uint64, mask, kind, left uint32, races *Races) (uint64, uint32) {
	x := extensionAt(uint32(head >> headExtension))
	first, start, count, size := x.search(x.overflow.Load(), entry)
	// A small set is quickly searched, and some entries may become free. In a large one only entries of
	// the own slot matter, unless there may be a conflict.
	own := size > 1<<minOverflowLog && !x.mayConflict(kind, mask)
	used := false
	for i := start; i < start+count; i++ {
		m := overflowAt(first + i&(size-1))
		n, w := m.entry.Load(), uint32(m.desc.Load())
		if n == 0 {
			if own {
				return head, left // the remaining entries do not matter
			}
			continue
		}
		switch both := w & mask & bytesMask; {
		case both == 0 || own && slotIndex(n) != slotIndex(entry):
		case th.sameEpoch(n) && subsumes>>(8*(w>>kindShift)+kind)&1 != 0:
			left &^= both
		case !t.compareEntry(th, n, addr, w>>kindShift, kind, both, races):
			if w &^= both; w&bytesMask == 0 {
				x.count(w>>kindShift, -1)
				w = 0
			}
			storeRelease(&m.desc, uint64(w))
		}
		used = used || w != 0
	}
	if !used && !own {
		t.releaseOverflow(x)
		head &^= headOverflow
	}
	return head, left
}

// releaseOverflow frees the overflow set of an extension, which has no entries. It keeps small
// sets: the word soon needs one again.
//
//go:nosplit
func (t *Table) releaseOverflow(x *extension) {
	if !x.smallOverflow() {
		t.freeOverflow(x)
	}
}

// count adds to the number of entries of a kind.
//
//go:nosplit
func (x *extension) count(kind uint32, by int32) {
	switch {
	case kind == Read:
		if x.reads += uint32(by); x.reads == 0 {
			x.bytes[Read] = 0
		}
	case kind == Write:
		if x.writes += uint32(by); x.writes == 0 {
			x.bytes[Write] = 0
		}
	case kind >= AtomicWrite:
		n := x.atomicWrites.Load() + uint32(by)
		if storeRelease32(&x.atomicWrites, n); n == 0 {
			x.bytes[AtomicWrite], x.bytes[AtomicUpdate] = 0, 0
		}
	}
}

// countNone records that the overflow set is empty.
//
//go:nosplit
func (x *extension) countNone() {
	x.overflowUsed, x.reads, x.writes, x.bytes = 0, 0, 0, [numKinds]uint8{}
	storeRelease32(&x.atomicWrites, 0)
	storeRelease32(&x.smallUsed, 0)
}

// addToOverflow adds an entry to the overflow set of a cell and returns the new head.
//
//go:nosplit
func (t *Table) addToOverflow(head, entry uint64, mask, kind uint32) uint64 {
	i := uint32(head >> headExtension)
	if i == 0 {
		if i = t.newExtension(); i == 0 {
			return head
		}
		head |= uint64(i) << headExtension
	}
	x := extensionAt(i)
	if head&headOverflow == 0 {
		if x.overflow.Load() == 0 {
			first := t.newOverflow(minOverflowLog)
			if first == 0 {
				return head
			}
			storeRelease(&x.overflow, uint64(first)<<overflowShift|minOverflowLog)
		}
		x.countNone()
		head |= headOverflow
	}
	for !x.put(entry, mask, kind) {
		if !t.growOverflow(x) {
			return head
		}
	}
	return head
}

// put adds an entry to the overflow set, and reports whether there was room.
//
//go:nosplit
func (x *extension) put(entry uint64, mask, kind uint32) bool {
	first, start, _, size := x.search(x.overflow.Load(), entry)
	for i := start; i < start+size; i++ {
		m := overflowAt(first + i&(size-1))
		n, w := m.entry.Load(), m.desc.Load()
		switch {
		case n == entry && w>>kindShift == uint64(kind) && w != 0:
			storeRelease(&m.desc, w|uint64(mask))
			x.addBytes(kind, mask)
			return true
		case size == 1<<minOverflowLog:
			if w != 0 {
				continue
			}
		case n == 0:
			if 4*uint64(x.overflowUsed) >= 3*size {
				return false
			}
			x.overflowUsed++
		case w != 0 || slotIndex(n) != slotIndex(entry):
			continue // an entry of another slot ends no search, so it must not be replaced
		}
		x.fill(first, i&(size-1), entry, uint64(mask|kind<<kindShift))
		return true
	}
	return false
}

// growOverflow moves the entries that are in use to a larger overflow set.
//
//go:nosplit
func (t *Table) growOverflow(x *extension) bool {
	overflow := x.overflow.Load()
	first, log := overflow>>overflowShift, uint32(overflow&overflowLogMask)
	size, used := uint64(1)<<log, uint64(0)
	for i := range size {
		if overflowAt(first+i).desc.Load() != 0 {
			used++
		}
	}
	larger := log
	if 2*used >= size {
		larger++
	}
	fresh := t.newOverflow(larger)
	if fresh == 0 {
		return false
	}
	reads, writes, changes := x.reads, x.writes, x.atomicWrites.Load()
	x.overflowUsed, x.bytes = 0, [numKinds]uint8{}
	storeRelease(&x.overflow, uint64(fresh)<<overflowShift|uint64(larger))
	for i := range size {
		m := overflowAt(first + i)
		if w := uint32(m.desc.Load()); w != 0 {
			x.put(m.entry.Load(), w&bytesMask, w>>kindShift)
		}
	}
	// put has counted them again. The counts must not drop in between, because others read them
	// without the lock.
	x.reads, x.writes = x.reads-reads, x.writes-writes
	storeRelease32(&x.atomicWrites, x.atomicWrites.Load()-changes)
	t.freeOverflowEntries(uint32(first), log)
	return true
}

// freeOverflow frees the overflow set of an extension.
//
//go:nosplit
func (t *Table) freeOverflow(x *extension) {
	overflow := x.overflow.Load()
	storeRelease(&x.overflow, 0)
	if overflow != 0 {
		t.freeOverflowEntries(uint32(overflow>>overflowShift), uint32(overflow&overflowLogMask))
	}
}

// freeExtensions frees the extensions that the head of a cell refers to.
//
//go:nosplit
func (t *Table) freeExtensions(head uint64) {
	for i := uint32(head >> headExtension); i != 0; {
		x := extensionAt(i)
		next := x.next
		t.freeOverflow(x)
		t.clearRelease(&x.release)
		t.clearRelease(&x.sharedRelease)
		x.next = 0
		t.removeObject(x)
		t.free(extensions, i)
		i = next
	}
}

// clearExtensions removes overflow entries and objects at the bytes in mask, and returns the new
// head.
//
//go:nosplit
func (t *Table) clearExtensions(head uint64, mask uint32) uint64 {
	if head&headOverflow != 0 {
		x := extensionAt(uint32(head >> headExtension))
		overflow := x.overflow.Load()
		first, size := overflow>>overflowShift, uint64(1)<<(overflow&overflowLogMask)
		for i := range size {
			m := overflowAt(first + i)
			w := uint32(m.desc.Load())
			if w&mask&bytesMask == 0 {
				continue
			}
			if w &^= mask; w&bytesMask == 0 {
				x.count(w>>kindShift, -1)
				w = 0
			}
			storeRelease(&m.desc, uint64(w))
		}
	}
	for i := uint32(head >> headExtension); i != 0; i = extensionAt(i).next {
		x := extensionAt(i)
		if n := x.number(); n != 0 && mask>>(n-1)&1 != 0 {
			t.clearRelease(&x.release)
			t.clearRelease(&x.sharedRelease)
			t.removeObject(x)
		}
	}
	return head
}

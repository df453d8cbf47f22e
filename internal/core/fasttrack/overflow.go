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

// slotOf returns the slot of an entry.
//
//go:nosplit
func slotOf(entry uint64) uint64 { return entry >> (placeBits + timeBits) }

// hashSlot returns the position in a set at which the search for entries of the same slot begins.
// Slots are dense, hence the multiplication: it keeps the runs of used entries short.
//
//go:nosplit
func hashSlot(entry uint64) uint64 { return slotOf(entry) * 0x9E3779B97F4A7C15 >> 40 }

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
	first, size := overflow>>overflowShift, uint64(1)<<(overflow&overflowLogMask)
	if first == 0 {
		return false
	}
	for i := uint64(0); i < size; i++ {
		m := overflowAt(first + (hashSlot(th.Epoch)+i)&(size-1))
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
	overflow := x.overflow.Load()
	first, size := overflow>>overflowShift, uint64(1)<<(overflow&overflowLogMask)
	for i := uint64(0); i < size; i++ {
		m := overflowAt(first + (hashSlot(entry)+i)&(size-1))
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
	entries := x.overflow.Load() >> overflowShift
	free, recorded, used := uint64(all), false, false
	for i := range uint64(all) {
		var n, was uint64
		if i < cellEntries {
			n, was = c.entryAt(uint32(i)).Load(), head>>((headEntries+i*descBits)&63)&descMask
		} else {
			m := overflowAt(entries + i - cellEntries)
			n, was = m.entry.Load(), m.desc.Load()
		}
		if was == 0 {
			free = min(free, i)
			continue
		}
		now := was
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
		if i < cellEntries {
			head ^= (was ^ now) << ((headEntries + i*descBits) & 63)
			continue
		}
		if used = used || now != 0; now != was {
			storeRelease(&overflowAt(entries+i-cellEntries).desc, now)
			if now == 0 {
				x.count(uint32(was>>kindShift), -1)
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
			overflowAt(entries+free-cellEntries).fill(x, entry, what)
			used = true
		}
		th.lastAccess = th.Epoch >> placeBits
	}
	if !used {
		head &^= headOverflow
	}
	return head
}

// fill sets a free entry of the overflow set of x.
//
//go:nosplit
func (m *overflowEntry) fill(x *extension, entry, what uint64) {
	storeRelease(&m.entry, entry)
	storeRelease(&m.desc, what)
	x.count(uint32(what>>kindShift), 1)
}

// accessOverflow is accessEntries for the overflow set of a locked cell, which it does not add to.
//
//go:nosplit
func (t *Table) accessOverflow(th *Thread, head, entry, addr uint64, mask, kind, left uint32, races *Races) (uint64, uint32) {
	x := extensionAt(uint32(head >> headExtension))
	overflow := x.overflow.Load()
	first, size := overflow>>overflowShift, uint64(1)<<(overflow&overflowLogMask)
	own := false // only entries of the own slot matter
	switch {
	case size == 1<<minOverflowLog: // quickly searched, and some may become free
	case kind == Read:
		own = x.writes|x.atomicWrites.Load() == 0
	case kind == AtomicRead:
		own = x.writes == 0
	case kind != Write:
		own = x.reads|x.writes == 0
	}
	used := false
	for i := uint64(0); i < size; i++ {
		m := overflowAt(first + (hashSlot(entry)+i)&(size-1))
		n, w := m.entry.Load(), uint32(m.desc.Load())
		if n == 0 {
			if own {
				return head, left // the remaining entries do not matter
			}
			continue
		}
		switch both := w & mask & bytesMask; {
		case both == 0 || own && slotOf(n) != slotOf(entry):
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
		x.reads += uint32(by)
	case kind == Write:
		x.writes += uint32(by)
	case kind >= AtomicWrite:
		storeRelease32(&x.atomicWrites, x.atomicWrites.Load()+uint32(by))
	}
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
		x.overflowUsed, x.reads, x.writes = 0, 0, 0
		storeRelease32(&x.atomicWrites, 0)
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
	overflow := x.overflow.Load()
	first, size := overflow>>overflowShift, uint64(1)<<(overflow&overflowLogMask)
	for i := uint64(0); i < size; i++ {
		m := overflowAt(first + (hashSlot(entry)+i)&(size-1))
		n, w := m.entry.Load(), m.desc.Load()
		switch {
		case n == entry && w>>kindShift == uint64(kind) && w != 0:
			storeRelease(&m.desc, w|uint64(mask))
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
		case w != 0 || slotOf(n) != slotOf(entry):
			continue // an entry of another slot ends no search, so it must not be replaced
		}
		m.fill(x, entry, uint64(mask|kind<<kindShift))
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
	x.overflowUsed = 0
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

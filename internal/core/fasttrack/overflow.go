package fasttrack

import "sync/atomic"

// extension is what does not fit into a cell: of a synchronisation object what was published
// through it, and of the first extra of a cell a crowd of further notes. A word has one
// for each of its bytes at which there is an object.
type extension struct {
	release       releaseClock // by all but ReleaseShared
	sharedRelease releaseClock // by ReleaseShared
	next          uint32
	// One more than the byte of the object, 0 if there is none; and above that, how often somebody
	// has learnt something by taking the lock. Known looks at it without the cell's lock.
	object atomic.Uint32

	// The crowd: the number of its first mark, above the logarithm of its size.
	overflow     atomic.Uint64
	overflowUsed uint32 // that are not empty
	// How many are of plain reads, of plain writes, and of atomic operations that write. Who reads looks at the
	// last without the cell's lock.
	reads, writes uint32
	atomicWrites  atomic.Uint32

	inline inlineClock // of published, if its clock is within
}

// overflowEntry is a note in a crowd, and the bytes that it is about, below its kind; without a byte
// it may be used again. Of a small crowd all are looked at. In a large one marks are found by the slot of
// their epochs, by open addressing.
type overflowEntry struct {
	entry atomic.Uint64
	desc  atomic.Uint64
}

const (
	minOverflowLog  = 2 // logarithm of the size
	overflowShift   = 8
	overflowLogMask = 1<<overflowShift - 1
	maxOverflowLog  = 20
)

//go:nosplit
func slotOf(entry uint64) uint64 { return entry >> (placeBits + timeBits) }

// hashSlot returns where the marks of the slot of a note are in a crowd, or behind that. Slots are
// dense, so they are spread, or nobody would come to an empty mark soon.
//
//go:nosplit
func hashSlot(entry uint64) uint64 { return slotOf(entry) * 0x9E3779B97F4A7C15 >> 40 }

// sameEpochInOverflow reports whether there is a note in the crowd of a cell with the given head, if it has one,
// that suffices instead of one of the given kind.
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
			// A mark that is used again has another note first; and all of them may have gone to another crowd.
			if w := m.desc.Load(); mask&^w == 0 && subsumes>>(8*(w>>kindShift)+uint64(kind))&1 != 0 && m.entry.Load() == n {
				return x.overflow.Load() == overflow
			}
		}
	}
	return false
}

// refreshInOverflow is AccessAgain for plain and atomic reads, where the earlier one is in the crowd of
// a locked cell.
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

// smallOverflow reports whether the crowd of an extra is.
//
//go:nosplit
func (x *extension) smallOverflow() bool { return x.overflow.Load()&overflowLogMask == minOverflowLog }

// accessSmallOverflow is AccessAgain for a plain access that says what is given, to a word with a small crowd. If
// it returns 0, marks may be gone that the access does away with; AccessLocked notes it all the same.
//
//go:nosplit
func (t *Table) accessSmallOverflow(th *Thread, c *Cell, head, entry, what uint64) uint64 {
	const all = cellEntries + 1<<minOverflowLog
	x := extensionAt(uint32(head >> headExtension))
	marks := x.overflow.Load() >> overflowShift
	free, recorded, used := uint64(all), false, false
	for i := range uint64(all) {
		var n, was uint64
		if i < cellEntries {
			n, was = c.entryAt(uint32(i)).Load(), head>>((headEntries+i*descBits)&63)&descMask
		} else {
			m := overflowAt(marks + i - cellEntries)
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
			storeRelease(&overflowAt(marks+i-cellEntries).desc, now)
			if now == 0 {
				x.count(uint32(was>>kindShift), -1)
			}
		}
	}
	if !recorded {
		if free == all {
			return 0
		}
		if n := c.first.Load(); free != 0 && slotOf(n^entry) == 0 { // the new note is to be the first
			old := head >> headEntries & descMask
			head ^= (old ^ what) << headEntries
			storeRelease(&c.first, entry)
			entry, what = n, old
		}
		if free < cellEntries {
			storeRelease(c.entryAt(uint32(free)), entry)
			head |= what << ((headEntries + free*descBits) & 63)
		} else {
			overflowAt(marks+free-cellEntries).fill(x, entry, what)
			used = true
		}
		th.lastAccess = th.Epoch >> placeBits
	}
	if !used {
		head &^= headOverflow
	}
	return head
}

// fill puts a note into a mark of the extra's crowd that is not in use.
//
//go:nosplit
func (m *overflowEntry) fill(x *extension, entry, what uint64) {
	storeRelease(&m.entry, entry)
	storeRelease(&m.desc, what)
	x.count(uint32(what>>kindShift), 1)
}

// accessOverflow is the part of AccessLocked that concerns the crowd.
//
//go:nosplit
func (t *Table) accessOverflow(th *Thread, head, entry, addr uint64, mask, kind, left uint32, races *Races) (uint64, uint32) {
	x := extensionAt(uint32(head >> headExtension))
	overflow := x.overflow.Load()
	first, size := overflow>>overflowShift, uint64(1)<<(overflow&overflowLogMask)
	own := false // only marks of the own slot matter
	switch {
	case size == 1<<minOverflowLog: // all are soon looked at, and some may go
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
				return head, left // the other marks do not matter
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

// releaseOverflow takes back the crowd of an extra, of which no mark is in use. What has had a crowd soon has
// another one: so a small one is kept for that.
//
//go:nosplit
func (t *Table) releaseOverflow(x *extension) {
	if !x.smallOverflow() {
		t.freeOverflow(x)
	}
}

// count counts a mark of a kind.
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

// addToOverflow adds a note to the crowd of a cell, which is made if there is none. It
// returns the new head.
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

// put puts a note into the crowd, unless that is too full.
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
			continue // only a mark of the same slot is used again, or others could not be found
		}
		m.fill(x, entry, uint64(mask|kind<<kindShift))
		return true
	}
	return false
}

// growOverflow makes the crowd larger, without the marks that are not in use.
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
	// They were counted twice: nobody is to find that there are fewer.
	x.reads, x.writes = x.reads-reads, x.writes-writes
	storeRelease32(&x.atomicWrites, x.atomicWrites.Load()-changes)
	t.freeOverflowEntries(uint32(first), log)
	return true
}

// freeOverflow takes the crowd of an extra back.
//
//go:nosplit
func (t *Table) freeOverflow(x *extension) {
	overflow := x.overflow.Load()
	storeRelease(&x.overflow, 0)
	if overflow != 0 {
		t.freeOverflowEntries(uint32(overflow>>overflowShift), uint32(overflow&overflowLogMask))
	}
}

// freeExtensions takes everything back that the head of a cell refers to.
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

// clearExtensions forgets the marks and objects at bytes of a word. It returns the new head.
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

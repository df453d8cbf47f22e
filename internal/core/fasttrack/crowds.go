package fasttrack

import "sync/atomic"

// extra is what does not fit into a cell: of a synchronisation object what was published
// through it, and of the first extra of a cell a crowd of further notes. A word has one
// for each of its bytes at which there is an object.
type extra struct {
	published stamp // by all but ReleaseShared
	readers   stamp // by ReleaseShared
	next      uint32
	// One more than the byte of the object, 0 if there is none; and above that, how often somebody
	// has learnt something by taking the lock. Known looks at it without the cell's lock.
	object atomic.Uint32

	// The crowd: the number of its first mark, above the logarithm of its size.
	crowd atomic.Uint64
	marks uint32 // that are not empty
	// How many are of plain reads, of plain writes, and of atomic operations that write. Who reads looks at the
	// last without the cell's lock.
	reads, writes uint32
	changes       atomic.Uint32

	times few // of published, if its clock is within
}

// mark is a note in a crowd, and the bytes that it is about, below its kind; without a byte
// it may be used again. Of a small crowd all are looked at. In a large one marks are found by the slot of
// their epochs, by open addressing.
type mark struct {
	note atomic.Uint64
	what atomic.Uint64
}

const (
	firstCrowd  = 2 // logarithm of the size
	crowdShift  = 8
	crowdSizes  = 1<<crowdShift - 1
	maxCrowdLog = 20
)

//go:nosplit
func slotOf(note uint64) uint64 { return note >> (placeBits + timeBits) }

// home returns where the marks of the slot of a note are in a crowd, or behind that. Slots are
// dense, so they are spread, or nobody would come to an empty mark soon.
//
//go:nosplit
func home(note uint64) uint64 { return slotOf(note) * 0x9E3779B97F4A7C15 >> 40 }

// notedInCrowd reports whether there is a note in the crowd of a cell with the given head, if it has one,
// that suffices instead of one of the given kind.
//
//go:nosplit
func notedInCrowd(th *Thread, head, mask uint64, kind uint32) bool {
	if head&headCrowd == 0 {
		return false
	}
	x := extraAt(uint32(head >> headExtra))
	crowd := x.crowd.Load()
	first, size := crowd>>crowdShift, uint64(1)<<(crowd&crowdSizes)
	if first == 0 {
		return false
	}
	for i := uint64(0); i < size; i++ {
		m := markAt(first + (home(th.Epoch)+i)&(size-1))
		n := m.note.Load()
		if n == 0 && size > 1<<firstCrowd {
			return false
		}
		if th.unseen(n) {
			// A mark that is used again has another note first; and all of them may have gone to another crowd.
			if w := m.what.Load(); mask&^w == 0 && suffices>>(8*(w>>noteKind)+uint64(kind))&1 != 0 && m.note.Load() == n {
				return x.crowd.Load() == crowd
			}
		}
	}
	return false
}

// againInCrowd is AccessAgain for plain and atomic reads, where the earlier one is in the crowd of
// a locked cell.
//
//go:nosplit
func (t *Table) againInCrowd(th *Thread, head, note uint64, mask, kind uint32) bool {
	x := extraAt(uint32(head >> headExtra))
	if kind == Read && x.changes.Load() != 0 {
		return false
	}
	crowd := x.crowd.Load()
	first, size := crowd>>crowdShift, uint64(1)<<(crowd&crowdSizes)
	for i := uint64(0); i < size; i++ {
		m := markAt(first + (home(note)+i)&(size-1))
		n := m.note.Load()
		if n == 0 && size > 1<<firstCrowd {
			return false
		}
		if slotOf(n^note) == 0 && m.what.Load() == uint64(mask|kind<<noteKind) {
			storeRelease(&m.note, note)
			th.last = note >> placeBits
			return true
		}
	}
	return false
}

// small reports whether the crowd of an extra is.
//
//go:nosplit
func (x *extra) small() bool { return x.crowd.Load()&crowdSizes == firstCrowd }

// accessFew is AccessAgain for a plain access that says what is given, to a word with a small crowd. If
// it returns 0, marks may be gone that the access does away with; AccessLocked notes it all the same.
//
//go:nosplit
func (t *Table) accessFew(th *Thread, c *Cell, head, note, what uint64) uint64 {
	const all = cellNotes + 1<<firstCrowd
	x := extraAt(uint32(head >> headExtra))
	marks := x.crowd.Load() >> crowdShift
	free, noted, used := uint64(all), false, false
	for i := range uint64(all) {
		var n, was uint64
		if i < cellNotes {
			n, was = c.note(uint32(i)).Load(), head>>((headNotes+i*noteBits)&63)&noteMask
		} else {
			m := markAt(marks + i - cellNotes)
			n, was = m.note.Load(), m.what.Load()
		}
		if was == 0 {
			free = min(free, i)
			continue
		}
		now := was
		switch how := was>>noteKind<<3 + what>>noteKind; {
		case n == note && (was^what)>>noteKind == 0:
			now, noted = was|what, true
		case was&what&noteBytes == 0 || matters>>(how&63)&1 == 0:
		case slotOf(n^note) != 0 && !t.covers(th, n>>placeBits):
			if conflicts>>(how&63)&1 != 0 {
				return 0
			}
		case replaces>>(how&63)&1 != 0:
			if now &^= what & noteBytes; now&noteBytes == 0 {
				now, free = 0, min(free, i)
			}
		}
		if i < cellNotes {
			head ^= (was ^ now) << ((headNotes + i*noteBits) & 63)
			continue
		}
		if used = used || now != 0; now != was {
			storeRelease(&markAt(marks+i-cellNotes).what, now)
			if now == 0 {
				x.count(uint32(was>>noteKind), -1)
			}
		}
	}
	if !noted {
		if free == all {
			return 0
		}
		if n := c.first.Load(); free != 0 && slotOf(n^note) == 0 { // the new note is to be the first
			old := head >> headNotes & noteMask
			head ^= (old ^ what) << headNotes
			storeRelease(&c.first, note)
			note, what = n, old
		}
		if free < cellNotes {
			storeRelease(c.note(uint32(free)), note)
			head |= what << ((headNotes + free*noteBits) & 63)
		} else {
			markAt(marks+free-cellNotes).fill(x, note, what)
			used = true
		}
		th.last = th.Epoch >> placeBits
	}
	if !used {
		head &^= headCrowd
	}
	return head
}

// fill puts a note into a mark of the extra's crowd that is not in use.
//
//go:nosplit
func (m *mark) fill(x *extra, note, what uint64) {
	storeRelease(&m.note, note)
	storeRelease(&m.what, what)
	x.count(uint32(what>>noteKind), 1)
}

// accessCrowd is the part of AccessLocked that concerns the crowd.
//
//go:nosplit
func (t *Table) accessCrowd(th *Thread, head, note, addr uint64, mask, kind, left uint32, races *Races) (uint64, uint32) {
	x := extraAt(uint32(head >> headExtra))
	crowd := x.crowd.Load()
	first, size := crowd>>crowdShift, uint64(1)<<(crowd&crowdSizes)
	own := false // only marks of the own slot matter
	switch {
	case size == 1<<firstCrowd: // all are soon looked at, and some may go
	case kind == Read:
		own = x.writes|x.changes.Load() == 0
	case kind == AtomicRead:
		own = x.writes == 0
	case kind != Write:
		own = x.reads|x.writes == 0
	}
	used := false
	for i := uint64(0); i < size; i++ {
		m := markAt(first + (home(note)+i)&(size-1))
		n, w := m.note.Load(), uint32(m.what.Load())
		if n == 0 {
			if own {
				return head, left // the other marks do not matter
			}
			continue
		}
		switch both := w & mask & noteBytes; {
		case both == 0 || own && slotOf(n) != slotOf(note):
		case th.unseen(n) && suffices>>(8*(w>>noteKind)+kind)&1 != 0:
			left &^= both
		case !t.meet(th, n, addr, w>>noteKind, kind, both, races):
			if w &^= both; w&noteBytes == 0 {
				x.count(w>>noteKind, -1)
				w = 0
			}
			storeRelease(&m.what, uint64(w))
		}
		used = used || w != 0
	}
	if !used && !own {
		t.disperse(x)
		head &^= headCrowd
	}
	return head, left
}

// disperse takes back the crowd of an extra, of which no mark is in use. What has had a crowd soon has
// another one: so a small one is kept for that.
//
//go:nosplit
func (t *Table) disperse(x *extra) {
	if !x.small() {
		t.freeCrowd(x)
	}
}

// count counts a mark of a kind.
//
//go:nosplit
func (x *extra) count(kind uint32, by int32) {
	switch {
	case kind == Read:
		x.reads += uint32(by)
	case kind == Write:
		x.writes += uint32(by)
	case kind >= AtomicWrite:
		storeRelease32(&x.changes, x.changes.Load()+uint32(by))
	}
}

// addToCrowd adds a note to the crowd of a cell, which is made if there is none. It
// returns the new head.
//
//go:nosplit
func (t *Table) addToCrowd(head, note uint64, mask, kind uint32) uint64 {
	i := uint32(head >> headExtra)
	if i == 0 {
		if i = t.newExtra(); i == 0 {
			return head
		}
		head |= uint64(i) << headExtra
	}
	x := extraAt(i)
	if head&headCrowd == 0 {
		if x.crowd.Load() == 0 {
			first := t.newMarks(firstCrowd)
			if first == 0 {
				return head
			}
			storeRelease(&x.crowd, uint64(first)<<crowdShift|firstCrowd)
		}
		x.marks, x.reads, x.writes = 0, 0, 0
		storeRelease32(&x.changes, 0)
		head |= headCrowd
	}
	for !x.put(note, mask, kind) {
		if !t.growCrowd(x) {
			return head
		}
	}
	return head
}

// put puts a note into the crowd, unless that is too full.
//
//go:nosplit
func (x *extra) put(note uint64, mask, kind uint32) bool {
	crowd := x.crowd.Load()
	first, size := crowd>>crowdShift, uint64(1)<<(crowd&crowdSizes)
	for i := uint64(0); i < size; i++ {
		m := markAt(first + (home(note)+i)&(size-1))
		n, w := m.note.Load(), m.what.Load()
		switch {
		case n == note && w>>noteKind == uint64(kind) && w != 0:
			storeRelease(&m.what, w|uint64(mask))
			return true
		case size == 1<<firstCrowd:
			if w != 0 {
				continue
			}
		case n == 0:
			if 4*uint64(x.marks) >= 3*size {
				return false
			}
			x.marks++
		case w != 0 || slotOf(n) != slotOf(note):
			continue // only a mark of the same slot is used again, or others could not be found
		}
		m.fill(x, note, uint64(mask|kind<<noteKind))
		return true
	}
	return false
}

// growCrowd makes the crowd larger, without the marks that are not in use.
//
//go:nosplit
func (t *Table) growCrowd(x *extra) bool {
	crowd := x.crowd.Load()
	first, log := crowd>>crowdShift, uint32(crowd&crowdSizes)
	size, used := uint64(1)<<log, uint64(0)
	for i := range size {
		if markAt(first+i).what.Load() != 0 {
			used++
		}
	}
	larger := log
	if 2*used >= size {
		larger++
	}
	fresh := t.newMarks(larger)
	if fresh == 0 {
		return false
	}
	reads, writes, changes := x.reads, x.writes, x.changes.Load()
	x.marks = 0
	storeRelease(&x.crowd, uint64(fresh)<<crowdShift|uint64(larger))
	for i := range size {
		m := markAt(first + i)
		if w := uint32(m.what.Load()); w != 0 {
			x.put(m.note.Load(), w&noteBytes, w>>noteKind)
		}
	}
	// They were counted twice: nobody is to find that there are fewer.
	x.reads, x.writes = x.reads-reads, x.writes-writes
	storeRelease32(&x.changes, x.changes.Load()-changes)
	t.freeMarks(uint32(first), log)
	return true
}

// freeCrowd takes the crowd of an extra back.
//
//go:nosplit
func (t *Table) freeCrowd(x *extra) {
	crowd := x.crowd.Load()
	storeRelease(&x.crowd, 0)
	if crowd != 0 {
		t.freeMarks(uint32(crowd>>crowdShift), uint32(crowd&crowdSizes))
	}
}

// dropExtras takes everything back that the head of a cell refers to.
//
//go:nosplit
func (t *Table) dropExtras(head uint64) {
	for i := uint32(head >> headExtra); i != 0; {
		x := extraAt(i)
		next := x.next
		t.freeCrowd(x)
		t.reset(&x.published)
		t.reset(&x.readers)
		x.next = 0
		t.vacate(x)
		t.giveBack(extras, i)
		i = next
	}
}

// clearExtras forgets the marks and objects at bytes of a word. It returns the new head.
//
//go:nosplit
func (t *Table) clearExtras(head uint64, mask uint32) uint64 {
	if head&headCrowd != 0 {
		x := extraAt(uint32(head >> headExtra))
		crowd := x.crowd.Load()
		first, size := crowd>>crowdShift, uint64(1)<<(crowd&crowdSizes)
		for i := range size {
			m := markAt(first + i)
			w := uint32(m.what.Load())
			if w&mask&noteBytes == 0 {
				continue
			}
			if w &^= mask; w&noteBytes == 0 {
				x.count(w>>noteKind, -1)
				w = 0
			}
			storeRelease(&m.what, uint64(w))
		}
	}
	for i := uint32(head >> headExtra); i != 0; i = extraAt(i).next {
		x := extraAt(i)
		if n := x.number(); n != 0 && mask>>(n-1)&1 != 0 {
			t.reset(&x.published)
			t.reset(&x.readers)
			t.vacate(x)
		}
	}
	return head
}

// The memory of extras and marks.

//go:nosplit
func (t *Table) newExtra() uint32 {
	i := t.take(extras, maxExtras)
	if i != 0 {
		extraAt(i).next = 0
	}
	return i
}

// newMarks returns the first of empty marks, 0 if there are none.
//
//go:nosplit
func (t *Table) newMarks(log uint32) uint32 {
	l := &t.memory
	if log > maxCrowdLog {
		t.full.Store(1)
		return 0
	}
	l.lock()
	first := l.crowd[log]
	if first != 0 {
		l.crowd[log] = uint32(markAt(uint64(first)).what.Load())
	} else if size := uint32(1) << log; l.marks+2*size < maxMarks {
		first = max(l.marks, size)
		l.marks = first + size
	}
	l.unlock()
	if first == 0 {
		t.full.Store(1)
		return 0
	}
	for i := range uint64(1) << log {
		m := markAt(uint64(first) + i)
		storeRelease(&m.what, 0)
		storeRelease(&m.note, 0)
	}
	return first
}

//go:nosplit
func (t *Table) freeMarks(first, log uint32) {
	l := &t.memory
	l.lock()
	storeRelease(&markAt(uint64(first)).what, uint64(l.crowd[log]))
	l.crowd[log] = first
	l.unlock()
}

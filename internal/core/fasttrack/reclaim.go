package fasttrack

// Reclaim makes the slots of ended threads available to new ones. Entries of their accesses stay in
// cells, and may still race. So each such entry is replaced by one that races with the same later
// accesses, but belongs to one of few slots:
//
//   - An entry that no clock covers, and so none ever will, such as one in a tail (tails.go), becomes
//     one of an orphan slot, of which clocks have no times. Its time holds the number of the thread.
//   - An entry that the clocks of all live threads cover races with nothing any more, and goes.
//   - Of all other entries that the same clocks cover (see coverage.go), the epoch of one stands
//     for all. Its slot is kept.
//
// Then no entry has an epoch of the other slots of ended threads. Their times in all clocks become
// 0, and a new thread may take such a slot as if nobody had had it.
//
// The clocks that count are those of live threads, release clocks, and the times of the last
// Collect. docs/design/happens-before-in-programs.md has the proof.

// The states of slots during a reclamation.
const (
	slotUnused = iota // nobody has had it, or it is an orphan slot
	slotLive          // a live thread has it
	slotEnded         // its threads have ended
	slotKept          // and some entries in it remain
)

// reclaimer is the state of a reclamation. Weights, marks and classes are memory of the host, which
// is zero between reclamations.
type reclaimer struct {
	state         [maxSlots]uint8
	end           [maxSlots]uint32 // where the marks of a slot end, and those of the next begin
	last          [maxSlots]uint32 // the latest time of an entry of a kept slot
	filling       bool
	threads, live uint32 // the number of live threads, and of their slots
	kept, classes uint32
	from, to      uint64          // an epoch and the result of replacement
	owned         [maxSlots]uint8 // see owners.go
}

// class has the epoch that stands for all with a coverage.
type class struct {
	coverage, epoch uint64
}

const maxClasses = 1 << 16

// A reclamation is a sequence of calls, while no thread is inside another method: BeginReclaim,
// ReclaimFrom for each thread, FindCoverage, ReclaimCell for each cell, FinishReclaim, and
// ForgetReclaimed for each thread. They need a stack of a few kilobytes.

// BeginReclaim begins a reclamation.
func (t *Table) BeginReclaim() {
	r := &t.reclaim
	*r = reclaimer{}
	for s := range t.slots.Load() {
		r.state[s%maxSlots] = slotEnded
	}
	if t.sharing.Load() != 0 {
		for s := uint32(ownedSlots); s < firstOrphanSlot; s++ {
			r.state[s] = slotEnded
		}
	}
	for _, s := range t.ended.freeSlots[:t.ended.free] {
		r.state[s%maxSlots] = slotUnused
	}
	if s := t.collectionSlot; s != 0 {
		r.state[(s-1)%maxSlots] = slotLive
		r.live++
	}
}

// ReclaimFrom tells the reclamation of a thread.
func (t *Table) ReclaimFrom(th *Thread) {
	if th.Epoch == 0 {
		return
	}
	r := &t.reclaim
	if s := slotIndex(th.Epoch) % maxSlots; r.state[s] != slotLive {
		r.state[s] = slotLive
		r.live++
	}
	r.threads++
	if th.clock != 0 {
		w := weightAt(th.clock)
		w.sum += random(threadClocks + uint64(r.threads))
		w.threads++
	}
}

// FindCoverage finds out which clocks cover what ended threads did. It reports whether there is
// memory for that. If not, the reclamation ends.
func (t *Table) FindCoverage() bool {
	t.weigh()
	if !t.sortMarks() {
		t.ended.taken, t.ended.tails = 0, 0
		storeRelease32(&t.slotsLow, 0)
		releaseScratch()
		return false
	}
	t.beginOwners()
	t.beginReaders()
	return true
}

// replacement returns the epoch that takes the place of that of entry n, 0 if none need be left.
func (t *Table) replacement(n uint64) uint64 {
	r, e := &t.reclaim, n>>placeBits
	s, time := uint32(e>>timeBits)%maxSlots, uint32(e&maxTime)
	if l, in := t.lapTail(s, time); in {
		return t.replaceTail(n, l)
	}
	coverage, threads := r.coverage(s, time)
	switch {
	case coverage == 0:
		return t.orphan(n)
	case threads == r.threads:
		return 0
	case r.state[s] != slotKept:
		// Half of the slots must become free.
		if e = t.representative(coverage, e, (t.ownSlots()-min(r.live, t.ownSlots()))/2); e == 0 {
			t.ForgottenEpochs.Add(1)
			return 0
		}
		s, time = uint32(e>>timeBits)%maxSlots, uint32(e&maxTime)
	}
	r.last[s] = max(r.last[s], time)
	return e
}

// representative returns the epoch that stands for all with the coverage of e: e itself if there
// is none yet. It returns 0 if another slot had to be kept and so many are kept already.
func (t *Table) representative(coverage, e uint64, most uint32) uint64 {
	r := &t.reclaim
	for i := uint32(coverage); ; i++ {
		c := classAt(i % maxClasses)
		switch {
		case c.coverage == coverage:
			return c.epoch
		case c.coverage != 0:
			continue
		}
		s := e >> timeBits % maxSlots
		if r.classes >= maxClasses/2 || r.state[s] != slotKept && r.kept >= most {
			return 0
		}
		if r.state[s] != slotKept {
			r.state[s] = slotKept
			r.kept++
		}
		r.classes++
		*c = class{coverage, e}
		return e
	}
}

// findClass returns the epoch that stands for all with a coverage, 0 if there is none.
func findClass(coverage uint64) uint64 {
	for i := uint32(coverage); ; i++ {
		if c := classAt(i % maxClasses); c.coverage == coverage || c.coverage == 0 {
			return c.epoch
		}
	}
}

// replaceEntry returns the entry that takes the place of n, 0 if none need be left.
func (t *Table) replaceEntry(n uint64) uint64 {
	r, e := &t.reclaim, n>>placeBits
	s := uint32(e>>timeBits) % maxSlots
	if s >= firstOrphanSlot {
		return t.replaceOrphan(n)
	}
	if r.state[s] < slotEnded {
		if _, in := t.lapTail(s, uint32(e&maxTime)); !in {
			return t.keepOwner(n)
		}
	}
	if e != r.from || r.owned[e>>timeBits%maxSlots] != ownersOwn { // else it is as in the word before
		r.from, r.to = e, t.replacement(n)
	}
	if r.to == 0 {
		return 0
	}
	to := r.to<<placeBits | n&placeMask
	if r.to == e {
		return t.keepOwner(n)
	}
	t.moveOwner(n, to)
	return to
}

// replaceEntries is replaceEntry for entries of cells and overflow sets, which may stand for sets of
// readers.
func (t *Table) replaceEntries(n uint64) uint64 {
	if isReaders(n) {
		return t.replaceReaders(n)
	}
	return t.replaceEntry(n)
}

// ReclaimCell replaces the entries of a cell.
func (t *Table) ReclaimCell(c *Cell) {
	head := c.head.Load()
	if hasBytes(head) {
		t.reclaimBytes(c, head)
		return
	}
	next := head &^ headReaders
	for i := range uint32(cellEntries) {
		shift := headEntries + i*descBits
		if head>>shift&descMask == 0 {
			continue
		}
		n := c.entryAt(i).Load()
		to := t.replaceEntries(n)
		if isReaders(to) {
			next |= headReaders
		}
		switch to {
		case n:
		case 0:
			next &^= descMask << shift
		default:
			storeRelease(c.entryAt(i), to)
			next = c.merge(next, i)
		}
	}
	if head&headOverflow != 0 {
		next = t.reclaimOverflow(next)
	}
	if next != head {
		c.Unlock(next)
	}
}

// merge removes entry i, or one before it, if one of the two suffices. It returns the new head.
func (c *Cell) merge(head uint64, i uint32) uint64 {
	shift := headEntries + i*descBits
	for k := range i {
		at := headEntries + k*descBits
		d, w := head>>shift&descMask, head>>at&descMask
		switch {
		case d == 0 || w == 0 || !sameClass(c.entryAt(i).Load(), c.entryAt(k).Load()):
		case includes(w, d):
			head &^= descMask << shift
		case includes(d, w):
			head &^= descMask << at
		}
	}
	return head
}

// replaceOrphan returns the entry that takes the place of one of an orphan slot: after a collection,
// one with the epoch of that collection.
func (t *Table) replaceOrphan(n uint64) uint64 {
	if t.orphansForgotten {
		return 0
	}
	e := t.afterOrphan()
	if e == 0 {
		return n
	}
	id, _ := t.Owner(n)
	to := e<<placeBits | n&placeMask
	t.addMovedOwner(to, id)
	return to
}

// sameClass reports whether two entries race with the same accesses of later threads as far as
// their epochs are concerned.
func sameClass(n, m uint64) bool {
	if isReaders(n) || isReaders(m) {
		return n == m
	}
	return n>>placeBits == m>>placeBits || slotIndex(n) >= firstOrphanSlot && slotIndex(m) >= firstOrphanSlot
}

// includes reports whether d is a descriptor of the same kind as w and has all its bytes.
func includes(d, w uint64) bool { return (d^w)>>kindShift == 0 && w&^d == 0 }

// reclaimOverflow replaces the entries of the overflow set of a cell and returns the new head.
func (t *Table) reclaimOverflow(head uint64) uint64 {
	x := extensionAt(uint32(head >> headExtension))
	overflow := x.overflow.Load()
	first, size := overflow>>overflowShift, uint64(1)<<(overflow&overflowLogMask)
	used, changed := uint64(0), false
	for i := range size {
		m := overflowAt(first + i)
		if m.desc.Load() == 0 {
			continue
		}
		n := m.entry.Load()
		to := t.replaceEntries(n)
		if to != n {
			changed = true
			storeRelease(&m.entry, to)
		}
		if to != 0 {
			used++
		} else {
			storeRelease(&m.desc, 0)
		}
	}
	if !changed {
		return head
	}
	// The entries belong elsewhere in a large set, and some suffice for others.
	log := uint32(minOverflowLog)
	for used > 1<<minOverflowLog && 4*used > 3<<log {
		log++
	}
	x.countNone()
	storeRelease(&x.overflow, 0)
	if used != 0 {
		fresh := t.newOverflow(log)
		if fresh == 0 {
			return head &^ headOverflow
		}
		storeRelease(&x.overflow, uint64(fresh)<<overflowShift|uint64(log))
		for i := range size {
			m := overflowAt(first + i)
			if w := m.desc.Load(); w != 0 {
				x.putMerged(m.entry.Load(), w)
			}
		}
	} else {
		head &^= headOverflow
	}
	t.freeOverflowEntries(uint32(first), uint32(overflow&overflowLogMask))
	return head
}

// putMerged is put, with a descriptor, unless an entry of the set suffices.
func (x *extension) putMerged(entry, desc uint64) {
	first, start, count, size := x.search(x.overflow.Load(), entry)
	for i := start; i < start+count; i++ {
		m := overflowAt(first + i&(size-1))
		n, w := m.entry.Load(), m.desc.Load()
		if n == 0 {
			break
		}
		if w == 0 || !sameClass(n, entry) {
			continue
		}
		if includes(w, desc) {
			return
		}
		if slotIndex(n) == slotIndex(entry) && includes(desc, w) {
			storeRelease(&m.entry, entry)
			storeRelease(&m.desc, desc)
			x.addBytes(uint32(desc>>kindShift), uint32(desc))
			return
		}
	}
	x.put(entry, uint32(desc&bytesMask), uint32(desc>>kindShift))
}

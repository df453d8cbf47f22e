package fasttrack

import "sync/atomic"

// A vector clock has a time for each slot rather than for each thread. A new thread takes over the
// slot of an ended one and continues with its time, if all accesses of the latter are ordered
// before its own start, except those after its last release (tails.go). Then clocks express the same
// order as if each thread had its own slot. Slots of other ended threads are reclaimed when free
// slots become few (reclaim.go).

// slot is the state of a slot. It is changed under the lock of endedSlots, except the time, which
// its thread changes. The time changes so often that it is in a cache line apart from what other
// threads load.
type slot struct {
	time   atomic.Uint32    // the current time of its thread
	owners [maxOwners]owner // its latest threads, in a ring
	// A thread that covers an epoch of the slot at transitiveFrom or later, or before
	// transitiveBelow, has learned all that the slot's thread had learned then.
	transitiveFrom, transitiveBelow atomic.Uint32
	starts                          atomic.Uint32 // the number of threads it has had
	lastAccess                      uint64        // lastAccess of the last thread that has ended
	lastPublished                   uint64        // the last epoch that an ended thread has published
	owned                           uint8         // see owners.go
	tails                           uint32        // of ended threads, see tails.go
	_                               [88]byte
}

// owner is a thread that had a slot: the time of its start, above the thread's number.
type owner struct{ since atomic.Uint64 }

const (
	maxOwners    = 32
	maxEnded     = 1 << slotBits
	takeoverScan = 16 // the number of ended threads whose slots a new thread considers
)

// endedSlots has the slots whose threads have ended, and those without a history, which any new
// thread may take.
type endedSlots struct {
	locked atomic.Uint32
	count  uint32
	hand   uint32 // where the next search starts
	slots  [maxEnded]uint32

	free      uint32 // slots that were in use and have no history
	freeSlots [maxEnded]uint32
	tails     uint32 // the number of tails since the last reclamation (tails.go)
	used      uint32 // slots with a history after the last reclamation
	left      uint32 // slots without one, 0 if there was no reclamation
	taken     uint32 // threads since then that took one, or found none
	wait      uint32 // so many threads before the next reclamation
}

// lock locks the slots.
//
//go:nosplit
func (l *endedSlots) lock() {
	for tries := uint32(0); !l.locked.CompareAndSwap(0, 1); tries++ {
		pauseSpinning(tries)
	}
}

//go:nosplit
func (l *endedSlots) unlock() { storeRelease32(&l.locked, 0) }

// Fork begins a new thread that has learned all that its parent, if any, has: FORK. id is its
// number.
//
//go:nosplit
func (t *Table) Fork(parent, child *Thread, id uint32) {
	child.id, child.unchangedSince, child.lastAccess, child.clock, child.firstBlock, child.sharesSlot = id, noEpoch, 0, 0, 0, false
	child.sources = [maxSources]uint64{}
	child.generation, child.collectedIn = t.generation.Load(), 0
	if parent != nil {
		child.setClock(t.raise(ref(parent.clock), parent.Epoch>>placeBits))
		if !parent.sharesSlot {
			child.sources[0] = parent.Epoch >> placeBits
		}
	}
	t.assignSlot(parent, child)
	if parent != nil {
		parent.reuse.lock = 0
		parent.lastPublished = parent.Epoch >> placeBits
		parent.unchangedSince = parent.lastPublished
		if parent.sharesSlot {
			parent.unchangedSince = noEpoch
		}
		t.advance(parent)
	}
}

// assignSlot gives the child a slot.
//
//go:nosplit
func (t *Table) assignSlot(parent, child *Thread) {
	l := &t.ended
	l.lock()
	s := uint32(maxSlots)
	if parent != nil {
		s = t.takeover(parent)
	}
	if s == maxSlots {
		s = t.freshSlot()
	}
	if s == maxSlots {
		t.sharing.Store(1)
		l.unlock()
		t.SlotSharers.Add(1)
		s = ownedSlots + child.id%sharedSlots
		child.sharesSlot = true
		h := &t.perSlot[s%maxSlots]
		child.startSlot(s, h.time.Add(1))
		return
	}
	h := &t.perSlot[s%maxSlots]
	time := h.time.Load() + 1
	if from := h.transitiveFrom.Load(); from != 0 {
		child.lastAccess = h.lastAccess
		below := h.transitiveBelow.Load()
		if below == from && t.covers(parent, h.lastPublished) {
			storeRelease32(&h.transitiveBelow, time)
		} else if below != 0 && !t.covers(parent, uint64(s)<<timeBits|uint64(below-1)) {
			storeRelease32(&h.transitiveBelow, 0) // the child counts as covering what it has not learned
		}
	} else {
		storeRelease32(&h.transitiveBelow, time)
	}
	storeRelease32(&h.transitiveFrom, time)
	storeRelease32(&h.time, time)
	n := h.starts.Load()
	storeRelease(&h.owners[n%maxOwners].since, uint64(time)<<32|uint64(child.id))
	storeRelease32(&h.starts, n+1)
	l.unlock()
	child.startSlot(s, time)
}

// How low slots are. The host should call Reclaim: if clocks are long, when that is worth the time;
// if slots are few, soon; if they are scarce, before it begins many more threads, which may have to
// share slots.
const (
	SlotsPlenty = iota
	ClocksLong
	SlotsFew
	SlotsScarce
)

// SlotsLow returns how low slots are.
//
//go:nosplit
func (t *Table) SlotsLow() uint32 { return t.slotsLow.Load() }

// ReclaimDue reports whether slots are low or clocks long, or whether so many threads have got slots
// without a history since the last reclamation, if that has helped, or whether there may be no room
// for further tails.
func (t *Table) ReclaimDue(after uint32) bool {
	l := &t.ended
	return t.slotsLow.Load() != 0 || l.taken >= max(l.wait, after) || l.tails >= max(maxTails*t.slots.Load(), 16*after)
}

// ownSlots returns the number of slots that threads may have for themselves.
//
//go:nosplit
func (t *Table) ownSlots() uint32 {
	if t.slotLimit != 0 {
		return t.slotLimit
	}
	return ownedSlots
}

// freshSlot returns a slot without a history, maxSlots if there is none. The caller holds the lock
// of t.ended.
//
//go:nosplit
func (t *Table) freshSlot() uint32 {
	l, s, limit := &t.ended, uint32(maxSlots), t.ownSlots()
	if l.free != 0 {
		l.free--
		s = l.freeSlots[l.free%maxEnded]
	} else if n := t.slots.Load(); n < limit {
		s = n
		storeRelease32(&t.slots, n+1)
	}
	l.taken++
	left, few := l.free+limit-t.slots.Load(), limit/4
	if l.left != 0 {
		few = min(few, l.left/2)
	}
	switch {
	case l.taken < max(l.wait, limit/16):
	case left <= few && left <= limit/16:
		storeRelease32(&t.slotsLow, SlotsScarce)
	case left <= few:
		storeRelease32(&t.slotsLow, SlotsFew)
	case limit-left >= limit/16+2*l.used:
		storeRelease32(&t.slotsLow, ClocksLong)
	}
	return s
}

// startSlot begins the thread's first epoch in a slot.
//
//go:nosplit
func (th *Thread) startSlot(s, time uint32) {
	th.Epoch = (uint64(s)<<timeBits | uint64(time)) << placeBits
	th.begun, th.lastPublished, th.reuse.lock = th.Epoch, 0, 0
	th.forgetPartner()
	th.resetSameEpoch()
}

// takeover returns the slot of an ended thread that a child of parent may take over, maxSlots if
// there is none.
//
//go:nosplit
func (t *Table) takeover(parent *Thread) uint32 {
	l := &t.ended
	for range min(takeoverScan, l.count) {
		if l.hand >= l.count {
			l.hand = 0
		}
		s := l.slots[l.hand%maxEnded]
		h := &t.perSlot[s%maxSlots]
		if all := t.covers(parent, h.lastAccess); all || t.endsInTail(parent, s, h) {
			if !all {
				t.leaveTail(s, h)
			}
			l.count--
			l.slots[l.hand%maxEnded] = l.slots[l.count%maxEnded]
			return s
		}
		l.hand++
	}
	return maxSlots
}

// End ends a thread.
//
//go:nosplit
func (t *Table) End(th *Thread) {
	if th.Epoch == 0 {
		return
	}
	t.unrefClock(th.clock)
	th.setClock(0)
	if !th.sharesSlot {
		t.freeSlot(th)
	}
	th.Epoch = 0
	th.resetSameEpoch()
	th.generation = t.generation.Load() - 1 // not up to date
}

// freeSlot makes the thread's slot available to new threads.
//
//go:nosplit
func (t *Table) freeSlot(th *Thread) {
	s := uint32(slotIndex(th.Epoch))
	h := &t.perSlot[s%maxSlots]
	l := &t.ended
	if h.time.Load() >= maxTime-1 {
		return // no time is left in it
	}
	l.lock()
	h.lastAccess = th.lastAccess
	switch {
	case th.generation != t.generation.Load(): // a collection has published the current epoch
		h.lastPublished = th.Epoch >> placeBits
	case th.lastPublished != 0: // else that of the thread before, which this one may have learned
		h.lastPublished = th.lastPublished
	}
	if h.lastAccess <= h.lastPublished || t.hasNextLap(s, h) { // else nobody could take it over
		l.slots[l.count%maxEnded] = s
		l.count++
	}
	l.unlock()
}

// advance begins the thread's next epoch after it has published the current one.
//
//go:nosplit
func (t *Table) advance(th *Thread) {
	s := uint32(slotIndex(th.Epoch))
	h := &t.perSlot[s%maxSlots]
	if th.sharesSlot && !t.slotsLeft() {
		time := h.time.Add(1)
		if time >= maxTime {
			t.exhausted.Store(1)
		}
		th.Epoch = (uint64(s)<<timeBits | uint64(time&maxTime)) << placeBits
		th.resetSameEpoch()
		return
	}
	if !t.hasNextEpoch(th) {
		// The thread continues in another slot.
		th.setClock(t.raise(th.clock, th.Epoch>>placeBits))
		th.unchangedSince, th.sources, th.lastAccess, th.sharesSlot = noEpoch, [maxSources]uint64{}, 0, false
		t.assignSlot(nil, th)
		return
	}
	t.nextEpoch(th)
}

// slotsLeft reports whether a thread that shares a slot can have one of its own.
//
//go:nosplit
func (t *Table) slotsLeft() bool { return t.ended.left > t.ownSlots()/16 && t.slotsLow.Load() == 0 }

// hasNextEpoch reports whether the thread has a slot of its own with time for another epoch.
//
//go:nosplit
func (t *Table) hasNextEpoch(th *Thread) bool {
	return !th.sharesSlot && uint32(th.Epoch>>placeBits)&maxTime < maxTime-1
}

// nextEpoch increments the thread's time.
//
//go:nosplit
func (t *Table) nextEpoch(th *Thread) {
	th.Epoch += 1 << placeBits
	th.resetSameEpoch()
	storeRelease32(&t.perSlot[slotIndex(th.Epoch)%maxSlots].time, uint32(th.Epoch>>placeBits)&maxTime)
}

// Collect records the times of all threads for AcquireCollected, and makes them begin a new epoch.
// The caller guarantees that no thread is inside another method. Call it only if AcquireCollected
// may follow.
//
//go:nosplit
func (t *Table) Collect() {
	t.collectTails()
	for s := range t.slots.Load() {
		t.collected[s%maxSlots] = t.perSlot[s%maxSlots].time.Load()
	}
	if t.sharing.Load() != 0 {
		for s := uint32(ownedSlots); s < firstOrphanSlot; s++ {
			t.collected[s] = t.perSlot[s].time.Load()
		}
	}
	t.generation.Add(1)
}

// AcquireCollected orders the thread after everything that was done before the last Collect: an
// object is collected after all accesses to it.
//
//go:nosplit
func (t *Table) AcquireCollected(th *Thread) {
	if th.collectedIn == t.generation.Load() {
		return // done already
	}
	th.collectedIn = t.generation.Load()
	for s := range t.slots.Load() {
		t.raiseCollected(th, s)
	}
	if t.sharing.Load() != 0 {
		for s := uint32(ownedSlots); s < firstOrphanSlot; s++ {
			t.raiseCollected(th, s)
		}
	}
	th.unchangedSince, th.sources = noEpoch, [maxSources]uint64{}
}

// raiseCollected orders the thread after what was done in a slot before the last Collect.
//
//go:nosplit
func (t *Table) raiseCollected(th *Thread, s uint32) {
	if time := t.collected[s%maxSlots]; time != 0 {
		th.setClock(t.raise(th.clock, uint64(s)<<timeBits|uint64(time)))
	}
}

// knowsClock reports whether the thread has learned all that the thread of e had learned when it
// published e. It is conservative: false is always safe.
//
//go:nosplit
func (t *Table) knowsClock(th *Thread, e uint64) bool {
	return e == th.unchangedSince || t.covers(th, e) && t.transitive(e)
}

// transitive reports whether covering epoch e, which its thread published, implies having learned
// all that the thread had learned then. It does if the slot has had no other thread since, or if
// the next thread had learned all of the one before. It is conservative.
//
//go:nosplit
func (t *Table) transitive(e uint64) bool {
	h := &t.perSlot[uint32(e>>timeBits)%maxSlots]
	time := uint32(e & maxTime)
	return time >= h.transitiveFrom.Load() || time < h.transitiveBelow.Load()
}

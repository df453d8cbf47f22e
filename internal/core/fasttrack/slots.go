package fasttrack

import "sync/atomic"

// Slots. Threads are many, so clocks have a time for each slot, which threads hand on. A
// new thread takes over the slot of an ended one, and goes on with its time, if every
// access of that one is ordered before its own start: then the order between accesses
// that clocks express is the same as if every thread had a slot of its own.

// slot is who had a slot of clocks. It is changed under the lock of endings, or, the
// time, by its thread: it does that so often that what others look at is not near.
type slot struct {
	time atomic.Uint32   // the present one of who has it
	had  [tenures]tenure // the latest of them, by number
	// Whoever covers an epoch from here on, or one before floor, knows all that its thread
	// knew.
	from, floor atomic.Uint32
	starts      atomic.Uint32 // threads that have had it
	ended       uint32        // whether it has ended
	last        uint64        // of the latest that has ended
	told        uint64        // by it
	_           [88]byte
}

// tenure is which thread had a slot, from a time on: the time above the thread's number.
type tenure struct{ since atomic.Uint64 }

const (
	tenures      = 32
	maxEnded     = 1 << slotBits
	takeoverScan = 16 // ended threads that a new one looks at for a slot
)

// endings is the slots whose thread has ended.
type endings struct {
	held  atomic.Uint32
	count uint32
	hand  uint32 // where the next scan starts
	slots [maxEnded]uint32
}

//go:nosplit
func (l *endings) lock() {
	for tries := uint32(0); !l.held.CompareAndSwap(0, 1); tries++ {
		pauseSpinning(tries)
	}
}

//go:nosplit
func (l *endings) unlock() { storeRelease32(&l.held, 0) }

// Fork begins a thread, which is new, with what its parent knows, if it has one.
//
//go:nosplit
func (t *Table) Fork(parent, child *Thread, id uint32) {
	child.id, child.said, child.last, child.clock, child.low, child.shared = id, unsaid, 0, 0, 0, false
	child.through = [throughs]uint64{}
	child.life, child.collected = t.life.Load(), 0
	if parent != nil {
		child.learn(t.raise(share(parent.clock), parent.Epoch>>placeBits))
		if !parent.shared {
			child.through[0] = parent.Epoch >> placeBits
		}
	}
	t.enter(parent, child)
	if parent != nil {
		parent.hidden.lock = 0
		parent.told = parent.Epoch >> placeBits
		parent.said = parent.told
		if parent.shared {
			parent.said = unsaid
		}
		t.advance(parent)
	}
}

// enter gives the child a slot.
//
//go:nosplit
func (t *Table) enter(parent, child *Thread) {
	l := &t.endings
	l.lock()
	s := uint32(maxSlots)
	if parent != nil {
		s = t.takeover(parent)
	}
	if s == maxSlots {
		if n := t.slots.Load(); n < ownSlots {
			s = n
			storeRelease32(&t.slots, n+1)
		}
	}
	if s == maxSlots {
		l.unlock()
		t.Crowded.Add(1)
		s = ownSlots + child.id%commons
		child.shared = true
		h := &t.holders[s%maxSlots]
		child.begin(s, h.time.Add(1))
		return
	}
	h := &t.holders[s%maxSlots]
	time := h.time.Load() + 1
	if from := h.from.Load(); from != 0 {
		child.last = h.last
		if h.floor.Load() == from && t.covers(parent, h.told) {
			storeRelease32(&h.floor, time)
		}
	} else {
		storeRelease32(&h.floor, time)
	}
	storeRelease32(&h.from, time)
	storeRelease32(&h.time, time)
	n := h.starts.Load()
	storeRelease(&h.had[n%tenures].since, uint64(time)<<32|uint64(child.id))
	storeRelease32(&h.starts, n+1)
	h.ended = 0
	l.unlock()
	child.begin(s, time)
}

//go:nosplit
func (th *Thread) begin(s, time uint32) {
	th.Epoch = (uint64(s)<<timeBits | uint64(time)) << placeBits
	th.told, th.hidden.lock = 0, 0
	th.learntMuch()
	th.begins()
}

// takeover returns the slot of an ended thread that a child of parent may have, maxSlots
// if there is none.
//
//go:nosplit
func (t *Table) takeover(parent *Thread) uint32 {
	l := &t.endings
	for range min(takeoverScan, l.count) {
		if l.hand >= l.count {
			l.hand = 0
		}
		s := l.slots[l.hand%maxEnded]
		if t.covers(parent, t.holders[s%maxSlots].last) {
			l.count--
			l.slots[l.hand%maxEnded] = l.slots[l.count%maxEnded]
			return s
		}
		l.hand++
	}
	return maxSlots
}

// End is told that a thread has ended.
//
//go:nosplit
func (t *Table) End(th *Thread) {
	if th.Epoch == 0 {
		return
	}
	t.drop(th.clock)
	th.learn(0)
	if !th.shared {
		t.leave(th)
	}
	th.Epoch = 0
	th.begins()
	th.life = t.life.Load() - 1 // it does not live
}

// leave frees the thread's slot.
//
//go:nosplit
func (t *Table) leave(th *Thread) {
	s := uint32(slotOf(th.Epoch))
	h := &t.holders[s%maxSlots]
	l := &t.endings
	if h.time.Load() >= maxTime-1 {
		return // there is no time left in it
	}
	l.lock()
	h.last, h.told, h.ended = th.last, th.told, 1
	l.slots[l.count%maxEnded] = s
	l.count++
	l.unlock()
}

// advance ends the thread's epoch, which has just been published.
//
//go:nosplit
func (t *Table) advance(th *Thread) {
	s := uint32(slotOf(th.Epoch))
	h := &t.holders[s%maxSlots]
	if th.shared {
		time := h.time.Add(1)
		if time >= maxTime {
			t.full.Store(1)
		}
		th.Epoch = (uint64(s)<<timeBits | uint64(time&maxTime)) << placeBits
		th.begins()
		return
	}
	if !t.another(th) {
		// The past of the thread is in another slot from now on.
		th.learn(t.raise(th.clock, th.Epoch>>placeBits))
		th.said, th.through, th.last = unsaid, [throughs]uint64{}, 0
		t.enter(nil, th)
		return
	}
	t.step(th)
}

// another reports whether the thread has its slot for itself, with time left for another epoch.
//
//go:nosplit
func (t *Table) another(th *Thread) bool {
	return !th.shared && uint32(th.Epoch>>placeBits)&maxTime < maxTime-1
}

// step goes on to the next epoch of a slot.
//
//go:nosplit
func (t *Table) step(th *Thread) {
	th.Epoch += 1 << placeBits
	th.begins()
	storeRelease32(&t.holders[slotOf(th.Epoch)%maxSlots].time, uint32(th.Epoch>>placeBits)&maxTime)
}

// Collect notes what everybody has done so far, for those that call Collected. It is called while no thread
// is inside another method; and only if there may be such calls, for everybody begins a new epoch then.
//
//go:nosplit
func (t *Table) Collect() {
	for s := range t.slots.Load() {
		t.collected[s%maxSlots] = t.holders[s%maxSlots].time.Load()
	}
	if t.Crowded.Load() != 0 {
		for s := uint32(ownSlots); s < maxSlots; s++ {
			t.collected[s] = t.holders[s].time.Load()
		}
	}
	t.life.Add(1)
}

// Collected orders the thread after all that was done when Collect was called last: an
// object is dead after everything that anybody did to it.
//
//go:nosplit
func (t *Table) Collected(th *Thread) {
	if th.collected == t.life.Load() {
		return // it knows that already
	}
	th.collected = t.life.Load()
	for s := range t.slots.Load() {
		t.learnCollected(th, s)
	}
	if t.Crowded.Load() != 0 {
		for s := uint32(ownSlots); s < maxSlots; s++ {
			t.learnCollected(th, s)
		}
	}
	th.said, th.through = unsaid, [throughs]uint64{}
}

//go:nosplit
func (t *Table) learnCollected(th *Thread, s uint32) {
	if time := t.collected[s%maxSlots]; time != 0 {
		th.learn(t.raise(th.clock, uint64(s)<<timeBits|uint64(time)))
	}
}

// Holder returns the number of the thread that had the slot of a note at its time, and
// whether that is known.
//
//go:nosplit
func (t *Table) Holder(note uint64) (id uint32, known bool) {
	e := note >> placeBits
	s, time := uint32(e>>timeBits), e&maxTime
	if s >= ownSlots {
		return 0, false
	}
	h := &t.holders[s%maxSlots]
	n := h.starts.Load()
	for i := uint32(1); i <= min(n, tenures); i++ {
		if since := h.had[(n-i)%tenures].since.Load(); since>>32 <= time {
			return uint32(since), true
		}
	}
	return 0, false
}

// knows reports whether the thread has seen all that the thread of e, an epoch that it
// published, had seen then. To cover e is enough if the slot has had no other thread
// since, and otherwise if the next one knew all of the one before. In doubt the answer
// is no, which is always safe.
//
//go:nosplit
func (t *Table) knows(th *Thread, e uint64) bool {
	return e == th.said || t.covers(th, e) && t.same(e)
}

// same reports whether who covers epoch e, that its thread published, knows all that the
// thread knew then, as far as that is sure.
//
//go:nosplit
func (t *Table) same(e uint64) bool {
	h := &t.holders[uint32(e>>timeBits)%maxSlots]
	time := uint32(e & maxTime)
	return time >= h.from.Load() || time < h.floor.Load()
}

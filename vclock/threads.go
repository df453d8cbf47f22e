package vclock

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/shadow"
)

// Errors that Order.Err wraps.
var (
	// ErrTooManyThreads means that more than MaxSlots threads were unordered with each other, or
	// that one thread published 2^44 times. All later events were ignored.
	ErrTooManyThreads = errors.New("too many threads or steps")
	// ErrEndedThread means that a thread was joined, had another event, or could be waited for by a
	// hidden call, so long after its end that its clock had been dropped. All earlier events were
	// then ordered before all later events of the threads concerned, so that races may be missed,
	// but none are invented.
	ErrEndedThread = errors.New("use of an ended thread whose clock was dropped")
	// ErrForgotten means that Compact has dropped accesses that later ones may race with, because
	// there were too many classes of them.
	ErrForgotten = errors.New("accesses of ended threads were forgotten")
)

// thread is the state of a thread: what it has seen of other slots, and the epoch of its own.
type thread struct {
	id       heisen.Thread
	ended    bool
	joined   bool
	ownsSlot bool  // whether an ended thread still has its slot
	epoch    Epoch // its present epoch
	// lastAccess is the latest epoch in which the thread, or an earlier owner of its slot,
	// accessed something. A clock that covers it is ordered after all accesses of the slot.
	lastAccess    Epoch
	tenureStart   Epoch  // first epoch of the thread's tenure
	lastPublished Epoch  // last published epoch, or notPublished if the clock has changed since
	round         uint64 // of barriers, in which the thread had its last event
	clock         Clock  // the time of the thread's own slot is out of date
}

// covers reports whether e happens before what t does next.
func (t *thread) covers(e Epoch) bool {
	return e>>timeBits == t.epoch>>timeBits || e.Time() <= t.clock.time(e.Slot())
}

// isOwn reports whether e is an epoch of t's present tenure.
func (t *thread) isOwn(e Epoch) bool { return e>>timeBits == t.epoch>>timeBits && e >= t.tenureStart }

// nextPublished returns the epoch that t publishes next. If t has neither accessed anything nor
// seen anything new since its last publication, that epoch serves again: no clock can distinguish
// the two publications.
func (t *thread) nextPublished() Epoch {
	if t.lastPublished == t.epoch-1 && t.lastAccess != t.epoch {
		return t.lastPublished
	}
	return t.epoch
}

// clockChanges must be called before t's clock changes.
func (t *thread) clockChanges() { t.lastPublished = notPublished }

const notPublished = ^Epoch(0)

// noteAccess records that t accesses something in its present epoch.
func (t *thread) noteAccess() { t.lastAccess = t.epoch }

// tenure is the ownership of a slot by a thread, from a time on. All publications of the slot's
// earlier owners happen before the tenure, except those of the last unknown times. The greatest
// value of unknown means all times.
type tenure struct {
	start   uint64
	thread  heisen.Thread
	unknown uint32
}

func newTenure(id heisen.Thread, from, known uint64) tenure {
	return tenure{from, id, uint32(min(from-known, math.MaxUint32))}
}

// known returns the latest time whose publications happen before the tenure.
func (t *tenure) known() uint64 {
	if t.unknown == math.MaxUint32 {
		return 0
	}
	return t.start - uint64(t.unknown)
}

// slot is an index of all vector clocks. The accesses of successive tenures are ordered by
// happens-before, so that for the question whether an access happened before another, the slot
// behaves like a single thread.
//
// After a Compact a slot may be without a thread: vacant, or sealed.
type slot struct {
	holder  *thread
	tenures []tenure
	sealed  bool
}

const (
	// keptClocks is the number of threads, those with the lowest numbers, whose final clocks are
	// dropped by a compaction only, and only if there have been no joins. The clock of another thread is
	// dropped when its slot gets a new owner, and by any compaction after the thread was joined.
	// Traces with joins have few threads. Go programs may have millions, but have no joins.
	keptClocks = 4096

	// takeoverScan bounds how many ended threads a new thread examines to find a slot.
	takeoverScan = 16
)

// threads is the table of all threads and all slots.
type threads struct {
	pool   *pool
	byID   *shadow.Memory[*thread] // those whose clocks have not been dropped
	gone   intervals               // the others
	slots  []slot
	vacant []uint32 // slots without a thread, the lowest last
	ended  []uint32 // slots whose thread has ended, in any order
	hand   int      // index into ended where the next scan starts
	free   []*thread
	err    error
	failed bool // with ErrTooManyThreads

	onDrop func(heisen.Thread) // called with each thread whose clock is dropped; may be nil

	// For compactions.
	limits     compactLimits
	compactAt  compactLimits // when the next one pays
	numTenures int           // of all slots
	started    int           // threads since the last one
	strangers  int           // threads without a parent since the last one
	visited    int           // epochs and clocks at the last one
	joins      bool          // there has been a Join
	sealed     int           // slots
	forgotten  uint64        // epochs that were dropped although they may race
}

// dropped stands for all threads whose clock has been dropped. It is read-only.
var dropped = &thread{ended: true}

func newThreads(p *pool) threads {
	ts := threads{pool: p, byID: shadow.New[*thread](nil, nil), limits: defaultLimits}
	ts.planCompaction(0)
	ts.strangers = -1 // the first thread
	return ts
}

// find returns the thread id, or nil.
func (ts *threads) find(id heisen.Thread) *thread {
	if t := ts.byID.Peek(threadKey(id)); t != nil && *t != nil {
		return *t
	}
	if ts.gone.has(id) {
		return dropped
	}
	return nil
}

// threadKey returns the index of a thread in byID: a word of its own, which is the densest layout.
func threadKey(id heisen.Thread) heisen.Object { return 8 * heisen.Object(id) }

// get returns the running thread id. A thread without a Fork starts with an empty clock, and an
// ended thread resumes. After ErrTooManyThreads, get returns nil.
func (ts *threads) get(id heisen.Thread) *thread {
	if p := ts.byID.Peek(threadKey(id)); p != nil && *p != nil && !(*p).ended && !ts.failed {
		return *p
	}
	return ts.begin(id)
}

// begin is get for a thread that is not running.
func (ts *threads) begin(id heisen.Thread) *thread {
	t := ts.find(id)
	switch {
	case ts.failed:
		return nil
	case t == nil:
		return ts.start(id, nil)
	case !t.ended:
		return t
	case t == dropped:
		ts.err = fmt.Errorf("%w: thread %d has events after its end", ErrEndedThread, id)
		if t = ts.start(id, nil); t != nil {
			ts.joinAll(t)
		}
		return t
	case t.ownsSlot:
		ts.ended = slices.DeleteFunc(ts.ended, func(s uint32) bool { return s == t.epoch.Slot() })
	default:
		// Another thread has its slot.
		t.clock.raise(ts.pool, t.epoch)
		if !ts.assign(t, ts.emptySlot(), 1, 0) {
			return nil
		}
	}
	t.ended = false
	return t
}

// start creates the thread id, with the clock of its parent if there is one.
func (ts *threads) start(id heisen.Thread, parent *thread) *thread {
	t := new(thread)
	if n := len(ts.free); n > 0 {
		t, ts.free = ts.free[n-1], ts.free[:n-1]
	}
	*t = thread{id: id}
	s, from, known := uint32(MaxSlots), uint64(1), uint64(0)
	ts.started++
	if parent == nil {
		ts.strangers++
	} else {
		t.clock = parent.clock.Copy()
		t.clock.raise(ts.pool, parent.epoch)
		if free, ok := ts.takeover(parent); ok {
			s, from = free, ts.slots[free].holder.epoch.Time()+1
			known = t.clock.Time(free)
		}
	}
	if s == MaxSlots {
		s = ts.emptySlot()
	}
	if !ts.assign(t, s, from, known) {
		return nil
	}
	ts.gone.remove(id)
	*ts.byID.At(threadKey(id)) = t
	return t
}

// emptySlot returns a slot that is zero in all clocks, and removes it from the list.
func (ts *threads) emptySlot() uint32 {
	n := len(ts.vacant) - 1
	if n < 0 {
		return uint32(len(ts.slots))
	}
	s := ts.vacant[n]
	ts.vacant = ts.vacant[:n]
	return s
}

// takeover finds the slot of an ended thread that a child of parent may have, and removes it from
// the list. Every access of the ended thread must happen before the parent's present. Then no
// clock can distinguish the accesses of the two threads from those of a single thread. The ended
// thread may have published something that the parent has not seen, such as a final
// WaitGroup.Done. hasSeen takes care of that.
func (ts *threads) takeover(parent *thread) (uint32, bool) {
	for range min(takeoverScan, len(ts.ended)) {
		if ts.hand >= len(ts.ended) {
			ts.hand = 0
		}
		s := ts.ended[ts.hand]
		if parent.covers(ts.slots[s].holder.lastAccess) {
			n := len(ts.ended) - 1
			ts.ended[ts.hand] = ts.ended[n]
			ts.ended = ts.ended[:n]
			return s, true
		}
		ts.hand++
	}
	return 0, false
}

// hasSeen reports whether t has seen everything that the thread of e, an epoch that it published,
// had seen at e. If the time of the slot in t's clock is of the same tenure as e, it is enough
// that t covers e. If it is of the next tenure, t may have seen that tenure without the
// publications between e and its start, and has seen e only if the tenure itself started with e
// known. If it is of a later tenure, the answer is false, which is always safe.
func (ts *threads) hasSeen(t *thread, e Epoch) bool {
	if !t.covers(e) {
		return false
	}
	tenures := ts.slots[e.Slot()].tenures
	if e.Time() >= tenures[len(tenures)-1].start {
		return true
	}
	next := sort.Search(len(tenures), func(i int) bool { return tenures[i].start > e.Time() })
	seen := t.epoch.Time()
	if t.epoch.Slot() != e.Slot() {
		seen = t.clock.Time(e.Slot())
	}
	return seen < tenures[next].start ||
		e.Time() <= tenures[next].known() && (next+1 == len(tenures) || seen < tenures[next+1].start)
}

// assign gives slot s to t, from a time on. It reports false if the slot or the time is out of
// range.
func (ts *threads) assign(t *thread, s uint32, from, known uint64) bool {
	if s >= MaxSlots || from > maxTime {
		ts.fail(t.id)
		return false
	}
	if int(s) == len(ts.slots) {
		ts.slots = append(ts.slots, slot{})
		ts.pool.slots = len(ts.slots)
	}
	sl := &ts.slots[s]
	t.epoch = MakeEpoch(s, from)
	t.tenureStart, t.lastPublished = t.epoch, notPublished
	t.lastAccess = MakeEpoch(s, 0)
	if old := sl.holder; old != nil {
		t.lastAccess = old.lastAccess
		old.ownsSlot = false
		if old.id >= keptClocks {
			ts.drop(old)
		}
	}
	sl.holder = t
	sl.tenures = append(sl.tenures, newTenure(t.id, from, known))
	ts.numTenures++
	t.ownsSlot = true
	return true
}

// drop forgets an ended thread that has no slot.
func (ts *threads) drop(t *thread) {
	t.clock.drop(ts.pool)
	ts.byID.Clear(threadKey(t.id), 8)
	ts.gone.add(t.id)
	ts.free = append(ts.free, t)
	if ts.onDrop != nil {
		ts.onDrop(t.id)
	}
}

func (ts *threads) fail(id heisen.Thread) {
	ts.failed = true
	ts.err = errors.Join(ts.err, fmt.Errorf("%w: thread %d", ErrTooManyThreads, id))
}

// publish ends t's epoch after a publication, unless the publication was that of the last
// published epoch.
func (ts *threads) publish(t *thread) {
	if t.nextPublished() == t.epoch {
		ts.advance(t)
	}
}

// advance ends t's epoch after a publication.
func (ts *threads) advance(t *thread) {
	if t.epoch&maxTime == maxTime {
		ts.fail(t.id)
		return
	}
	t.lastPublished = t.epoch
	t.epoch++
}

// fork starts the thread id. If it has started already, fork orders its future after parent.
func (ts *threads) fork(parent *thread, id heisen.Thread) {
	switch child := ts.find(id); {
	case child == parent:
		return
	case child == nil:
		ts.start(id, parent)
	default:
		if child = ts.get(id); child != nil {
			child.clockChanges()
			child.clock.join(ts.pool, &parent.clock)
			child.clock.raise(ts.pool, parent.epoch)
		}
	}
	ts.advance(parent)
}

// end marks t as ended. Its slot is free under the condition that takeover checks.
func (ts *threads) end(t *thread) {
	if !t.ended {
		t.ended = true
		ts.ended = append(ts.ended, t.epoch.Slot())
	}
}

// join orders t after everything that the thread id did, and ends that thread.
func (ts *threads) join(t *thread, id heisen.Thread) {
	ts.joins = true
	u := ts.find(id)
	switch u {
	case nil, t:
		return
	case dropped:
		ts.err = fmt.Errorf("%w: thread %d is joined", ErrEndedThread, id)
		ts.joinAll(t)
		return
	}
	t.clockChanges()
	t.clock.join(ts.pool, &u.clock)
	t.clock.raise(ts.pool, u.epoch)
	if u.ownsSlot {
		ts.advance(u)
		ts.end(u)
	}
	u.joined = true
}

// joinAll orders t after all earlier events.
func (ts *threads) joinAll(t *thread) {
	t.clockChanges()
	for i := range ts.slots {
		if u := ts.slots[i].holder; u != nil && u != t {
			t.clock.join(ts.pool, &u.clock)
			t.clock.raise(ts.pool, u.epoch)
			ts.advance(u)
		}
	}
	ts.coverSealed(t)
}

// coverSealed orders t after everything that sealed slots stand for. The caller has called clockChanges.
func (ts *threads) coverSealed(t *thread) {
	for i := 0; i < len(ts.slots) && ts.sealed > 0; i++ {
		if ts.slots[i].sealed {
			t.clock.raise(ts.pool, MakeEpoch(uint32(i), maxTime))
		}
	}
}

// threadOf returns the thread that owned e's slot at e's time.
func (ts *threads) threadOf(e Epoch) heisen.Thread {
	if int(e.Slot()) >= len(ts.slots) {
		return 0
	}
	s := &ts.slots[e.Slot()]
	switch {
	case s.sealed:
		return heisen.Thread(e.Time() & anyThread)
	case len(s.tenures) == 0:
		return 0
	}
	return s.tenures[ts.tenureOf(e)].thread
}

// tenureOf returns the index of the tenure of e, in a slot that has tenures.
func (ts *threads) tenureOf(e Epoch) int {
	tenures := ts.slots[e.Slot()].tenures
	i := sort.Search(len(tenures), func(i int) bool { return tenures[i].start > e.Time() })
	return max(i, 1) - 1
}

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
	// ErrTooMany says that more than MaxSlots threads were unordered with each
	// other, or that one advanced 2^44 times. Events from there on were not
	// judged.
	ErrTooMany = errors.New("vclock: too many threads or steps")
	// ErrForgotten says that a thread was joined, or went on, so long after its
	// end that its clock was no longer known. Everything that had happened by
	// then was taken to be ordered before what followed, so races may have been
	// missed, but none invented.
	ErrForgotten = errors.New("vclock: late use of an ended thread")
)

// thread is the clock of a thread: what it has seen of other slots, and where it
// stands in its own.
type thread struct {
	id    heisen.Thread
	ended bool
	holds bool  // whether it still holds its slot, if it has ended
	epoch Epoch // its present epoch
	// last is the latest epoch in which it, or an earlier holder of its slot,
	// accessed something: a clock that covers it is ordered after all accesses
	// of the slot.
	last  Epoch
	from  Epoch  // where its hold of its slot begins
	said  Epoch  // the epoch that it published last, or unsaid if its clock has changed since
	acted uint64 // when it acted last; see barriers
	clock Clock  // the time of its own slot is out of date
}

// covers reports whether e happens before what t does next.
func (t *thread) covers(e Epoch) bool {
	return e>>timeBits == t.epoch>>timeBits || t.clock.Covers(e)
}

// published reports whether e is an epoch of t itself. If not, it may still be
// one of an earlier hold of a slot.
func (t *thread) published(e Epoch) bool { return e>>timeBits == t.epoch>>timeBits && e >= t.from }

// present returns the epoch that t publishes next. While it has neither accessed
// nor learnt anything since it published last, that is once more the same: nobody
// can tell.
func (t *thread) present() Epoch {
	if t.said == t.epoch-1 && t.last != t.epoch {
		return t.said
	}
	return t.epoch
}

// learn notes that t's clock is about to change.
func (t *thread) learn() { t.said = unsaid }

const unsaid = ^Epoch(0)

// touch notes that t accessed something in its present epoch.
func (t *thread) touch() { t.last = t.epoch }

// tenure is a thread's hold of a slot, from a time on. What the slot's earlier
// holders had published happens before it, but for as many of the last times as
// unknown says; one that does not fit stands for all.
type tenure struct {
	from    uint64
	thread  heisen.Thread
	unknown uint32
}

func newTenure(id heisen.Thread, from, known uint64) tenure {
	return tenure{from, id, uint32(min(from-known, math.MaxUint32))}
}

// known returns up to which time what was published happens before the tenure.
func (t *tenure) known() uint64 {
	if t.unknown == math.MaxUint32 {
		return 0
	}
	return t.from - uint64(t.unknown)
}

// slot of all vector clocks. The accesses of its tenures follow each other in
// happens-before order, so that for asking whether an access was earlier the slot
// as a whole behaves like one long thread.
type slot struct {
	holder  *thread
	tenures []tenure
}

const (
	// keepClocks is for how many threads the clock at their end is kept for
	// ever; those of threads with higher numbers go when their slot does. Traces
	// with joins have few threads, and Go programs, which may have millions, have
	// no joins.
	keepClocks = 4096

	// takeoverScan is how many ended threads a new thread looks at for a slot.
	takeoverScan = 16
)

// threads is the table of all threads, and of the slots.
type threads struct {
	pool  *pool
	byID  *shadow.Memory[known]
	slots []slot
	ended []uint32 // slots whose thread has ended, in no order
	hand  int      // where in ended the next scan starts
	free  []*thread
	err   error
	dead  bool // ErrTooMany has happened
}

// known is what is known of a thread for ever.
type known struct {
	thread *thread // forgotten for one whose clock is forgotten
	from   Epoch   // its first
}

// forgotten stands for threads whose clock has been forgotten. It is never
// changed.
var forgotten = &thread{ended: true}

func newThreads(p *pool) threads {
	return threads{pool: p, byID: shadow.New[known](nil, nil)}
}

// find returns the entry for id, or nil.
func (ts *threads) find(id heisen.Thread) *thread {
	if k := ts.byID.Peek(entry(id)); k != nil {
		return k.thread
	}
	return nil
}

// entry returns where byID has a thread: at a word of its own, the densest way.
func entry(id heisen.Thread) heisen.Object { return 8 * heisen.Object(id) }

// get returns the running thread id: one that nobody forked starts with an empty
// clock, and one that has ended goes on. It returns nil once there are too many.
func (ts *threads) get(id heisen.Thread) *thread {
	t := ts.find(id)
	switch {
	case ts.dead:
		return nil
	case t == nil:
		return ts.start(id, nil)
	case !t.ended:
		return t
	case t == forgotten:
		ts.err = fmt.Errorf("%w: thread %d goes on after its end", ErrForgotten, id)
		if t = ts.start(id, nil); t != nil {
			ts.barrier(t)
		}
		return t
	case t.holds:
		ts.ended = slices.DeleteFunc(ts.ended, func(s uint32) bool { return s == t.epoch.Slot() })
	default:
		// Its past is in another slot now.
		t.clock.raise(ts.pool, t.epoch)
		if !ts.enter(t, uint32(len(ts.slots)), 1, 0) {
			return nil
		}
	}
	t.ended = false
	return t
}

// start makes the thread id, which is new, with the clock of its parent if it
// has one.
func (ts *threads) start(id heisen.Thread, parent *thread) *thread {
	t := new(thread)
	if n := len(ts.free); n > 0 {
		t, ts.free = ts.free[n-1], ts.free[:n-1]
	}
	*t = thread{id: id}
	s, from, known := uint32(len(ts.slots)), uint64(1), uint64(0)
	if parent != nil {
		t.clock = parent.clock.Copy()
		t.clock.raise(ts.pool, parent.epoch)
		if free, ok := ts.takeover(parent); ok {
			s, from = free, ts.slots[free].holder.epoch.Time()+1
			known = t.clock.Time(free)
		}
	}
	if !ts.enter(t, s, from, known) {
		return nil
	}
	k := ts.byID.At(entry(id))
	k.thread, k.from = t, t.epoch
	return t
}

// takeover looks for the slot of an ended thread that a child of parent may
// have, and takes it off the list: every access of the ended thread must happen
// before the parent's present. Then no clock can tell the accesses of the two
// threads in one slot from those of one thread. Of what the ended thread has
// published and the parent not seen (as it last told a WaitGroup that it is done)
// see knows.
func (ts *threads) takeover(parent *thread) (uint32, bool) {
	for range min(takeoverScan, len(ts.ended)) {
		if ts.hand >= len(ts.ended) {
			ts.hand = 0
		}
		s := ts.ended[ts.hand]
		if parent.covers(ts.slots[s].holder.last) {
			n := len(ts.ended) - 1
			ts.ended[ts.hand] = ts.ended[n]
			ts.ended = ts.ended[:n]
			return s, true
		}
		ts.hand++
	}
	return 0, false
}

// knows reports whether t has seen everything that the thread at e, an epoch that
// it published, had seen then. To cover e is enough while the slot's time, as t
// knows it, is of the same tenure. Time of the next tenure may have come to t
// without what was published in between, unless that tenure began with it; of
// later ones no more is asked, for not to know is always safe.
func (ts *threads) knows(t *thread, e Epoch) bool {
	if !t.covers(e) {
		return false
	}
	tenures := ts.slots[e.Slot()].tenures
	if e.Time() >= tenures[len(tenures)-1].from {
		return true
	}
	next := sort.Search(len(tenures), func(i int) bool { return tenures[i].from > e.Time() })
	seen := t.epoch.Time()
	if t.epoch.Slot() != e.Slot() {
		seen = t.clock.Time(e.Slot())
	}
	return seen < tenures[next].from ||
		e.Time() <= tenures[next].known() && (next+1 == len(tenures) || seen < tenures[next+1].from)
}

// enter gives slot s to t, from a time on. It reports false if the slot or the
// time does not exist.
func (ts *threads) enter(t *thread, s uint32, from, known uint64) bool {
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
	t.from, t.said = t.epoch, unsaid
	t.last = MakeEpoch(s, 0)
	if old := sl.holder; old != nil {
		t.last = old.last
		old.holds = false
		if old.id >= keepClocks {
			old.clock.drop(ts.pool)
			ts.byID.At(entry(old.id)).thread = forgotten
			ts.free = append(ts.free, old)
		}
	}
	sl.holder = t
	sl.tenures = append(sl.tenures, newTenure(t.id, from, known))
	t.holds = true
	return true
}

func (ts *threads) fail(id heisen.Thread) {
	ts.dead = true
	ts.err = errors.Join(ts.err, fmt.Errorf("%w: thread %d", ErrTooMany, id))
}

// publish ends t's epoch, which has just been published, unless it is present
// that has been published.
func (ts *threads) publish(t *thread) {
	if t.present() == t.epoch {
		ts.advance(t)
	}
}

// advance ends t's epoch, which has just been published.
func (ts *threads) advance(t *thread) {
	if t.epoch&maxTime == maxTime {
		ts.fail(t.id)
		return
	}
	t.said = t.epoch
	t.epoch++
}

// fork starts the thread id, or if it has started already orders it after parent
// from here on.
func (ts *threads) fork(parent *thread, id heisen.Thread) {
	switch child := ts.find(id); {
	case child == parent:
		return
	case child == nil:
		ts.start(id, parent)
	default:
		if child = ts.get(id); child != nil {
			child.learn()
			child.clock.join(ts.pool, &parent.clock)
			child.clock.raise(ts.pool, parent.epoch)
		}
	}
	ts.advance(parent)
}

// end frees t's slot, under the condition that takeover checks.
func (ts *threads) end(t *thread) {
	if !t.ended {
		t.ended = true
		ts.ended = append(ts.ended, t.epoch.Slot())
	}
}

// join orders t after everything that the thread id did. A thread that is joined
// has ended.
func (ts *threads) join(t *thread, id heisen.Thread) {
	u := ts.find(id)
	switch u {
	case nil, t:
		return
	case forgotten:
		ts.err = fmt.Errorf("%w: thread %d is joined", ErrForgotten, id)
		ts.barrier(t)
		return
	}
	t.learn()
	t.clock.join(ts.pool, &u.clock)
	t.clock.raise(ts.pool, u.epoch)
	if u.holds {
		ts.advance(u)
		ts.end(u)
	}
}

// barrier orders t after everything that has happened so far.
func (ts *threads) barrier(t *thread) {
	t.learn()
	for i := range ts.slots {
		if u := ts.slots[i].holder; u != t {
			t.clock.join(ts.pool, &u.clock)
			t.clock.raise(ts.pool, u.epoch)
			ts.advance(u)
		}
	}
}

// threadOf returns the thread that had e's slot at e's time.
func (ts *threads) threadOf(e Epoch) heisen.Thread {
	if int(e.Slot()) >= len(ts.slots) {
		return 0
	}
	tenures := ts.slots[e.Slot()].tenures
	i := sort.Search(len(tenures), func(i int) bool { return tenures[i].from > e.Time() })
	return tenures[max(i, 1)-1].thread
}

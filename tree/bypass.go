package tree

import (
	"math"
	"time"

	"github.com/heisen-go/heisen"
)

// bypass decides when the filter steps aside because it does not pay.
//
// The filter examines a window of events. If the events that it dropped were worth less to the
// detector than the examination of the window cost, it bypasses a larger number of events, and then
// examines a window again. There are two modes.
//
// With bypassAccesses it forwards all accesses and still examines everything else. On resume it
// forgets all accesses, which it may do at any time.
//
// With bypassAll it forwards all events. On resume it also forgets all threads and locks, and treats
// the past of every thread as published. A lock that a thread holds without the filter's knowledge
// causes no loss: its release is then that of a lock that the thread does not hold, and publishes.
// The filter does not enter bypassAll while dropped accesses rely on a held lock, because it must see
// the next operation of that lock. Nor does it if the detector uses locks for more than order: then
// it must see when a thread takes a lock that another one holds, or frees its memory, because that
// ends the lock and all that it protected.
type bypass struct {
	eventCost    int64 // cost of an event to the detector, in nanoseconds
	mayBypassAll bool  // whether bypassAll is permitted
	mode         bypassMode
	warmedUp     bool           // whether the first window after a resume is over
	window       uint64         // length of the window, in events
	maxWindow    uint64         // its greatest length
	length       uint64         // length of a bypass, in windows
	nextDecision uint64         // number of the event before which decide is called
	start        counters       // counters at the start of the window or bypass
	use          heisen.LockUse // the detector's lockUse; Filter.lockUse is LocksAsEvents with bypassAccesses
}

type bypassMode uint8

const (
	filtering bypassMode = iota
	bypassAccesses
	bypassAll
)

const (
	firstWindow   = 1 << 13
	longestWindow = 1 << 16
	bypassFactor  = 64
)

// counters counts what the filter has done.
type counters struct {
	events, bypassed      uint64 // all events, and those that were not examined
	accesses              uint64 // examined
	dropped, droppedLocks uint64 // dropped accesses and lock operations
	searches, switches    uint64 // searches of the overflow table; switches to another thread
}

// enableBypass lets the filter step aside when it does not pay for a detector to which an event costs
// so much; 0 is the default cost.
func (f *Filter) enableBypass(eventCost time.Duration) {
	if eventCost == 0 {
		eventCost = defaultDetectorCost
	}
	f.bypass = bypass{
		eventCost:    eventCost.Nanoseconds(),
		mayBypassAll: f.lockUse == heisen.LocksAsOrder && f.contexts == nil,
		window:       firstWindow, maxWindow: longestWindow, length: bypassFactor, nextDecision: firstWindow,
	}
}

// disableBypass makes the filter examine all events.
func (f *Filter) disableBypass() { f.bypass = bypass{nextDecision: math.MaxUint64} }

// decide chooses the mode for the next events.
func (f *Filter) decide() {
	s := &f.bypass
	if s.mode != filtering {
		f.bypassed += f.events - s.start.events
		f.resume()
		s.warmedUp = false
	} else if !s.warmedUp {
		s.warmedUp = true
	} else if f.pays() {
		s.window = min(s.window, firstWindow)
	} else {
		f.forwardDeferred()
		s.mode, s.use = bypassAccesses, f.lockUse
		if s.mayBypassAll && f.canBypassAll() {
			s.mode = bypassAll
		} else {
			f.lockUse = heisen.LocksAsEvents
		}
		s.start, s.nextDecision = f.counters, f.events+s.length*s.window
		s.window = min(2*s.window, s.maxWindow)
		return
	}
	s.start, s.nextDecision = f.counters, f.events+s.window
}

// pays reports whether the events dropped in the window were worth more than its examination.
func (f *Filter) pays() bool {
	was, is := &f.bypass.start, &f.counters
	events, accesses := is.events-was.events, is.accesses-was.accesses
	left := is.dropped - was.dropped + is.droppedLocks - was.droppedLocks
	further, changes := is.searches-was.searches, is.switches-was.switches
	const toSee, toHandOn, toLookFurther, toChange = 5, 5, 10, 12 // nanoseconds
	costs := toSee*events + toHandOn*(events-left) + toChange*changes +
		accesses*missCost(f.history.young.Stats().Bytes) +
		further*(toLookFurther+missCost(f.history.overflow.bytes()))
	return int64(left)*f.bypass.eventCost >= int64(costs)
}

// missCost estimates the cost of cache misses per look-up in a table of so many bytes, in nanoseconds.
func missCost(bytes uint64) uint64 {
	switch {
	case bytes < 1<<17:
		return 0
	case bytes < 1<<20:
		return 4
	}
	return 10
}

// canBypassAll reports whether no dropped access relies on a lock that is still held.
func (f *Filter) canBypassAll() bool {
	may := true
	f.locks.Each(func(p **lock) {
		if s := *p; s != nil && s != &f.message {
			may = may && s.release.unused()
			for _, p := range s.readers {
				may = may && p.unused()
			}
		}
	})
	return may
}

// unused reports whether no dropped access relies on the reacquisition of p.
func (p *pendingRelease) unused() bool {
	return p.by == nil || p.pending || p.reliance == p.by.reliance
}

// resume ends a bypass. It forgets the state that the filter has not updated since its start.
func (f *Filter) resume() {
	if f.bypass.mode == bypassAll {
		f.forgetThreads()
		f.missedLocks = true
	}
	f.bypass.mode, f.lockUse = filtering, f.bypass.use
	f.time++
	f.history.since = f.time
	f.publishAll()
	for _, t := range f.byNumber {
		if t != nil {
			t.version++ // for accesses that were forwarded
		}
	}
	if f.contexts != nil {
		f.rebuildHeld()
	}
}

// isSimpleLockOp handles the common case of a lock operation with bypassAccesses. It reports false, and
// changes nothing, in any other case.
func (f *Filter) isSimpleLockOp(r *heisen.Record) bool {
	s := f.recentLock(r)
	if s == nil || f.contexts == nil || s.readHolds > 0 {
		return false
	}
	t := f.current
	if r.Op == heisen.Acquire {
		if s.owner != nil {
			return false
		}
		s.owner, s.depth = t, 1
		return true
	}
	if s.owner != t || s.depth != 1 {
		return false
	}
	s.owner, s.depth = nil, 0
	return true
}

// rebuildHeld rebuilds the lists of held locks of all threads from the state of the locks, because the
// lists are not updated with bypassAccesses. Any order of the locks is right.
func (f *Filter) rebuildHeld() {
	for _, t := range f.byNumber {
		if t == nil {
			continue
		}
		t.held.clear()
		t.keyStale = true
		for _, s := range t.shared {
			if s.object.epoch == s.epoch {
				t.held.push(s.epoch<<1 | 1)
			}
		}
	}
	f.locks.Each(func(p **lock) {
		if s := *p; s != nil && s != &f.message && s.owner != nil {
			for range s.depth {
				s.owner.held.push(s.epoch << 1)
			}
		}
	})
}

// forgetThreads forgets all threads and locks.
func (f *Filter) forgetThreads() {
	f.locks.Each(func(p **lock) {
		if s := *p; s != nil && s != &f.message {
			s.owner, s.depth, s.readHolds, s.release = nil, 0, 0, pendingRelease{}
			for _, p := range s.readers {
				*p = pendingRelease{}
			}
		}
	})
	f.locks.Clear(0, math.MaxUint64)
	f.locks.Clear(math.MaxUint64, 1)
	for _, t := range f.byNumber {
		if t != nil {
			*t = thread{releases: t.releases[:0], shared: t.shared[:0]}
			f.spare = append(f.spare, t)
		}
	}
	clear(f.byNumber)
	f.byNumber, f.unused = f.byNumber[:0], f.unused[:0]
	f.threads.Clear(0, math.MaxUint64)
	clear(f.recent[:])
	f.current = nil
}

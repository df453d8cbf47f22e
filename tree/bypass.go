package tree

import (
	"math"
	"time"

	"github.com/heisen-go/heisen"
)

// bypass is when the filter stands aside because it does not pay.
//
// The filter looks at a number of events, and if all that it left out of them was
// worth less to the detector than the look, it rests for a larger number and then looks again. It dozes or sleeps.
//
// Dozing, it hands on all accesses as they come and sees everything else. When it
// wakes up it forgets the accesses that it knew, as it may at any time.
//
// Asleep, it hands on all events. When it wakes up it forgets the threads and
// locks too, which takes no more than to publish all that threads did: a lock
// that a thread holds unknown to the filter is as good as none, for its release
// is then one of a lock that the thread does not hold, and publishes. It does not
// fall asleep while accesses have been dropped because a thread holds a lock, for
// it must see what becomes of the lock; nor in front of a detector to which locks
// are not just order, for there it must see who takes a lock that somebody holds,
// or gives its memory away: the lock ends, with all that it protected.
type bypass struct {
	eventCost    int64 // what an event costs the detector, in nanoseconds
	mayBypassAll bool  // whether the filter may fall asleep, not only doze
	mode         bypassMode
	warmedUp     bool           // whether it has looked long enough to begin to judge
	window       uint64         // for how many events it looks before that, and then again
	maxWindow    uint64         // look at most
	length       uint64         // for how many times as long it rests
	nextDecision uint64         // number of the event before which it judges, or wakes up
	start        counters       // the filter's when it began to look, or to rest
	use          heisen.LockUse // the detector's, while the filter dozes: then that is LockEvents
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

// counters is what the filter has done, in numbers of times.
type counters struct {
	events, bypassed      uint64 // all that came in, and those of them not looked at
	accesses              uint64 // looked at
	dropped, droppedLocks uint64 // accesses and lock operations left out
	searches, switches    uint64 // accesses that took a look further than at their variable; other threads came
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

// disableBypass keeps the filter awake.
func (f *Filter) disableBypass() { f.bypass = bypass{nextDecision: math.MaxUint64} }

// decide judges what is to become of the next events.
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

// pays reports whether what was left out since the last judgement was worth the
// look at all events.
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

// missCost is how many nanoseconds a look at a table of so many bytes takes
// because caches do not have it.
func missCost(bytes uint64) uint64 {
	switch {
	case bytes < 1<<17:
		return 0
	case bytes < 1<<20:
		return 4
	}
	return 10
}

// canBypassAll reports whether no access has been dropped that would have to be handed
// on if somebody else came to a lock.
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

// unused reports whether no access has been dropped because p was called back.
func (p *pendingRelease) unused() bool {
	return p.by == nil || p.pending || p.reliance == p.by.reliance
}

// resume forgets what the filter has not followed since it began to rest.
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
			t.version++ // for accesses that were handed on
		}
	}
	if f.contexts != nil {
		f.rebuildHeld()
	}
}

// isSimpleLockOp takes what locks are taken and released by most, while the filter
// dozes. It reports false, and leaves all as it is, if r is not such.
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

// rebuildHeld makes what threads hold what it is by what is known of locks, for
// threads do not follow it while the filter dozes. Any order of the locks will do.
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

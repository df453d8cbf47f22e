package tree

import (
	"math"

	"github.com/heisen-go/heisen"
)

// rest is when the filter stands aside because it does not pay.
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
type rest struct {
	worth   int64 // what an event costs the detector, in nanoseconds
	sleeps  bool  // whether the filter may fall asleep, not only doze
	state   wakefulness
	warm    bool           // whether it has looked long enough to begin to judge
	look    uint64         // for how many events it looks before that, and then again
	longest uint64         // look at most
	factor  uint64         // for how many times as long it rests
	due     uint64         // number of the event before which it judges, or wakes up
	begun   effort         // the filter's when it began to look, or to rest
	use     heisen.LockUse // the detector's, while the filter dozes: then that is LockEvents
}

type wakefulness uint8

const (
	awake wakefulness = iota
	dozing
	asleep
)

const (
	firstLook   = 1 << 13
	longestLook = 1 << 16
	restFactor  = 64
)

// effort is what the filter has done, in numbers of times.
type effort struct {
	events, rested   uint64 // all that came in, and those of them not looked at
	accesses         uint64 // looked at
	dropped, locks   uint64 // accesses and lock operations left out
	further, changes uint64 // accesses that took a look further than at their variable; other threads came
}

// mayRest lets the filter rest when it does not pay.
func (f *Filter) mayRest() {
	f.rest = rest{
		worth: defaultDetectorCost.Nanoseconds(), sleeps: f.use == heisen.LocksAsOrder,
		look: firstLook, longest: longestLook, factor: restFactor, due: firstLook,
	}
}

// neverRest keeps the filter awake.
func (f *Filter) neverRest() { f.rest = rest{due: math.MaxUint64} }

// turn judges what is to become of the next events.
func (f *Filter) turn() {
	s := &f.rest
	if s.state != awake {
		f.rested += f.events - s.begun.events
		f.wake()
		s.warm = false
	} else if !s.warm {
		s.warm = true
	} else if f.pays() {
		s.look = min(s.look, firstLook)
	} else {
		f.catchUp()
		s.state, s.use = dozing, f.use
		if s.sleeps && f.maySleep() {
			s.state = asleep
		} else {
			f.use = heisen.LocksAsEvents
		}
		s.begun, s.due = f.effort, f.events+s.factor*s.look
		s.look = min(2*s.look, s.longest)
		return
	}
	s.begun, s.due = f.effort, f.events+s.look
}

// pays reports whether what was left out since the last judgement was worth the
// look at all events.
func (f *Filter) pays() bool {
	was, is := &f.rest.begun, &f.effort
	events, accesses := is.events-was.events, is.accesses-was.accesses
	left := is.dropped - was.dropped + is.locks - was.locks
	further, changes := is.further-was.further, is.changes-was.changes
	const toSee, toHandOn, toLookFurther, toChange = 5, 5, 10, 12 // nanoseconds
	costs := toSee*events + toHandOn*(events-left) + toChange*changes +
		accesses*missing(f.history.young.Stats().Bytes) +
		further*(toLookFurther+missing(f.history.more.bytes()))
	return int64(left)*f.rest.worth >= int64(costs)
}

// missing is how many nanoseconds a look at a table of so many bytes takes
// because caches do not have it.
func missing(bytes uint64) uint64 {
	switch {
	case bytes < 1<<17:
		return 0
	case bytes < 1<<20:
		return 4
	}
	return 10
}

// maySleep reports whether no access has been dropped that would have to be handed
// on if somebody else came to a lock.
func (f *Filter) maySleep() bool {
	may := true
	f.objects.Each(func(p **object) {
		if s := *p; s != nil && s != &f.mixed {
			may = may && s.release.free()
			for _, p := range s.readers {
				may = may && p.free()
			}
		}
	})
	return may
}

// free reports whether no access has been dropped because p was called back.
func (p *pledge) free() bool { return p.by == nil || p.pending || p.across == p.by.across }

// wake forgets what the filter has not followed since it began to rest.
func (f *Filter) wake() {
	if f.rest.state == asleep {
		f.forgetThreads()
		f.slept = true
	}
	f.rest.state, f.use = awake, f.rest.use
	f.time++
	f.history.since = f.time
	f.publishAll()
	for _, t := range f.numbers {
		if t != nil {
			t.version++ // for accesses that were handed on
		}
	}
	if f.contexts != nil {
		f.recollect()
	}
}

// isOrdinary takes what locks are taken and released by most, while the filter
// dozes. It reports false, and leaves all as it is, if r is not such.
func (f *Filter) isOrdinary(r *heisen.Record) bool {
	s := f.near(r)
	if s == nil || f.contexts == nil || s.reads > 0 {
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

// recollect makes what threads hold what it is by what is known of locks, for
// threads do not follow it while the filter dozes. Any order of the locks will do.
func (f *Filter) recollect() {
	for _, t := range f.numbers {
		if t == nil {
			continue
		}
		t.held.clear()
		t.stale = true
		for _, s := range t.shared {
			if s.object.life == s.life {
				t.held.push(s.life<<1 | 1)
			}
		}
	}
	f.objects.Each(func(p **object) {
		if s := *p; s != nil && s != &f.mixed && s.owner != nil {
			for range s.depth {
				s.owner.held.push(s.life << 1)
			}
		}
	})
}

// forgetThreads forgets all threads and locks.
func (f *Filter) forgetThreads() {
	f.objects.Each(func(p **object) {
		if s := *p; s != nil && s != &f.mixed {
			s.owner, s.depth, s.reads, s.release = nil, 0, 0, pledge{}
			for _, p := range s.readers {
				*p = pledge{}
			}
		}
	})
	f.objects.Clear(0, math.MaxUint64)
	f.objects.Clear(math.MaxUint64, 1)
	for _, t := range f.numbers {
		if t != nil {
			*t = thread{given: t.given[:0], shared: t.shared[:0]}
			f.spare = append(f.spare, t)
		}
	}
	clear(f.numbers)
	f.numbers, f.unused = f.numbers[:0], f.unused[:0]
	f.threads.Clear(0, math.MaxUint64)
	clear(f.recent[:])
	f.current = nil
}

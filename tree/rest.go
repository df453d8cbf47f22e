package tree

import (
	"math"

	"github.com/heisen-go/heisen"
)

// rest is when the filter stands aside because it does not pay.
//
// In front of a detector that says what an event costs it, it looks at a number
// of events, and if all that it left out of them was worth less than the look, it
// hands on a larger number as they come. Then it begins anew. What it knew of
// threads, locks and accesses is forgotten, which takes no more than to publish
// all that threads did: a lock that a thread holds unknown to the filter is as
// good as none, for its release is then one of a lock that the thread does not
// hold, and publishes. It does not rest while accesses have been dropped because
// a thread holds a lock, for it must see what becomes of the lock.
//
// Locksets are another matter (a lock that is taken while somebody holds it, as
// ErrLock has it, takes protection from accesses that were made under it), so the
// filter rests only in front of a detector to which locks are order.
type rest struct {
	worth   int64 // what an event costs the detector, in nanoseconds; 0 if the filter never rests
	asleep  bool
	look    uint64 // for how many events it looks before it judges, longest at most
	longest uint64
	factor  uint64 // for how many times as long it rests then
	due     uint64 // number of the event at which it judges, or wakes up
	since   uint64 // number of the event at which it has begun to look, or to rest
	left    uint64 // events left out by then
}

const (
	firstLook  = 1 << 13
	maxLook    = 1 << 17
	restFactor = 16

	// What the filter takes for an event, roughly, in nanoseconds.
	costOfLeavingOut = 5
	costOfKeeping    = 10
)

// restable lets the filter rest in front of d, if that makes sense.
func (f *Filter) restable(d heisen.Detector) {
	f.rest = rest{due: math.MaxUint64}
	if c, ok := d.(heisen.Coster); ok && c.EventCost() > 0 && f.use == heisen.LockOrder {
		f.rest = rest{worth: c.EventCost().Nanoseconds(), look: firstLook, longest: maxLook, factor: restFactor, due: firstLook}
	}
}

// neverRest keeps the filter awake.
func (f *Filter) neverRest() { f.rest = rest{due: math.MaxUint64} }

// turn judges what is to become of the next events.
func (f *Filter) turn() {
	s := &f.rest
	switch {
	case s.asleep:
		f.rested += f.events - s.since
		f.wake()
		s.asleep = false
	case f.pays():
		s.look = min(s.look, firstLook)
	case f.mayRest():
		f.catchUp()
		s.asleep, s.since, s.due = true, f.events, f.events+s.factor*s.look
		s.look = min(2*s.look, s.longest)
		return
	}
	s.since, s.left, s.due = f.events, f.dropped+f.locks, f.events+s.look
}

// pays reports whether what was left out since the last judgement was worth the
// look at all events.
func (f *Filter) pays() bool {
	s := &f.rest
	left := int64(f.dropped + f.locks - s.left)
	kept := int64(f.events-s.since) - left
	return left*(s.worth-costOfLeavingOut) >= kept*costOfKeeping
}

// hasRested reports whether threads may hold locks unknown to the filter.
func (f *Filter) hasRested() bool { return f.history.since > 0 }

// mayRest reports whether no access has been dropped that would have to be handed
// on if somebody else came to a lock.
func (f *Filter) mayRest() bool {
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

// wake forgets everything.
func (f *Filter) wake() {
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
	f.time++
	f.history.since = f.time
}

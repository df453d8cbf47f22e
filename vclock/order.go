package vclock

import (
	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/shadow"
)

// Order is the happens-before relation of a stream of events, as the ops of
// package heisen define it. A detector shows it every event and asks it how the
// present relates to the past:
//
//	before the event is judged    order.Arrive(r)
//	the event as a point in time  e := order.Touch(r.Thread)
//	was a remembered e earlier?   order.Before(e, r.Thread)
//	after it was judged           order.Leave(r)
//
// The two halves differ for sync/atomic operations only, which are accesses and
// synchronisation at once.
//
// # Slots
//
// Threads are many, so vector clocks are indexed by slots, which threads hand
// on. A new thread takes over the slot of an ended one, and goes on with its
// time, if every access of that one happens before its own start; the order
// between accesses that clocks express is then the same as if every thread had a
// slot of its own. A program with ten million goroutines, of which a hundred run
// at a time and are waited for, directly or through a semaphore, has clocks of
// about a hundred times. A goroutine whose accesses nobody is ever ordered after
// keeps its slot. Thread gives the way back.
//
// # Costs
//
// A synchronisation takes constant time where one side has seen the other
// already, which includes taking a lock that the thread itself released last and
// every publication to an object whose publications it has seen; otherwise a
// step per slot at most, blocks of 64 slots that both clocks share counting as
// one. Memory is about 600 bytes per 512 bytes of address space with
// synchronisation objects in it, 64 bytes per object, a clock for every thread
// and object that cannot share one, and about 30 bytes for every thread that
// ever was. In steady state nothing is allocated.
//
// An Order belongs to one goroutine.
type Order struct {
	pool    pool
	threads threads
	objects *shadow.Memory[*object] // by the object's first byte
	free    *object

	barriers *barriers // nil if BarrierPairs order nothing
}

// object is a synchronisation object.
type object struct {
	published stamp   // by all ops but ReleaseShared
	readers   stamp   // by ReleaseShared
	next      *object // in the list of free objects
}

// stamp is what one or more threads published: the times of clock and, if not
// zero, last.
type stamp struct {
	clock Clock
	// last, if not zero, says that the stamp is exactly one thread's clock at
	// the end of this epoch. Who knows last then knows it all.
	last Epoch
}

// Option says what an Order, or a detector that has one, takes into account.
type Option func(*Order)

// BarrierPairs makes Hide and Reveal events part of the order, as their doc
// comments define it, so that there are no false alarms on traces from which the
// events within hidden calls are missing (TREE and RDIT, section 4.2). symbols has
// the sets of objects that the calls reach; without it, each reaches everything.
//
// Every event then takes a lookup of what it touches and publishes its thread's
// clock there, so that an access costs some hundred nanoseconds and about 50 bytes
// per word; an event of a pair takes a step per object that the pair reaches. The
// order is exact as long as sets of objects have spans that are equal or do not
// overlap, and objects live and die as a whole; otherwise events of pairs may be
// ordered that need not be, and races missed for it.
func BarrierPairs(symbols *heisen.Symbols) Option {
	return func(o *Order) { o.acceptBarriers(symbols) }
}

// NewOrder returns the order of an empty stream.
func NewOrder(options ...Option) *Order {
	o := new(Order)
	o.threads = newThreads(&o.pool)
	o.objects = shadow.New(nil, o.forget)
	for _, option := range options {
		option(o)
	}
	return o
}

// Arrive orders the event's thread after what the event waits for or sees. It
// also ends the life of what Alloc and Free name.
func (o *Order) Arrive(r *heisen.Record) {
	if t := o.threads.get(r.Thread); t != nil {
		o.arrive(t, r)
	}
}

// Leave publishes what the event's thread has done, the event included, as far
// as the event does so.
func (o *Order) Leave(r *heisen.Record) {
	if t := o.threads.get(r.Thread); t != nil {
		o.leave(t, r)
	}
}

// Touch returns the present epoch of a thread, for a detector to remember an
// access by. It must be called for every access that a later Before is asked
// about, between Arrive and Leave.
func (o *Order) Touch(id heisen.Thread) Epoch {
	t := o.threads.get(id)
	if t == nil {
		return 0
	}
	t.touch()
	return t.epoch
}

// Before reports whether what happened at e, which Touch returned, happens
// before the present of a thread, or is by that thread itself.
func (o *Order) Before(e Epoch, id heisen.Thread) bool {
	t := o.threads.get(id)
	return t == nil || t.covers(e)
}

// Clock returns the vector clock of a thread at present, its own slot included.
func (o *Order) Clock(id heisen.Thread) Clock {
	t := o.threads.get(id)
	if t == nil {
		return Clock{}
	}
	c := t.clock.Copy()
	c.raise(&o.pool, t.epoch)
	return c
}

// Seen returns what a thread has seen of others: its vector clock, in which the
// time of its own slot may be out of date. It takes constant time. A detector
// that keeps clocks and has no more use for one gives it back with Drop.
func (o *Order) Seen(id heisen.Thread) Clock {
	t := o.threads.get(id)
	if t == nil {
		return Clock{}
	}
	return t.clock.Copy()
}

// Drop makes c, which came from the order or is a Copy of such, zero, and lets
// the order use its memory again.
func (o *Order) Drop(c *Clock) { c.drop(&o.pool) }

// Thread returns the thread that touched e. It takes time logarithmic in the
// number of threads that had the slot.
func (o *Order) Thread(e Epoch) heisen.Thread { return o.threads.threadOf(e) }

// Slots returns how many slots are in use, which is the length of clocks.
func (o *Order) Slots() int { return len(o.threads.slots) }

// Err returns what made the order incomplete: an error that wraps ErrTooMany or
// ErrForgotten, or nil.
func (o *Order) Err() error { return o.threads.err }

func (o *Order) arrive(t *thread, r *heisen.Record) {
	switch r.Op {
	case heisen.AtomicRead, heisen.AtomicUpdate, heisen.AcquireShared, heisen.Receive, heisen.Acquire:
		o.enter(t, r.Op, o.peek(r.Object))
	case heisen.Join:
		if id, ok := threadOf(r.Object); ok {
			o.threads.join(t, id)
		}
	case heisen.Alloc, heisen.Free:
		o.objects.Clear(r.Object, r.Value)
	}
	if o.barriers != nil {
		o.enterBarriers(t, r)
	}
}

// enter orders t after what its event sees through the object s, if there is
// one.
func (o *Order) enter(t *thread, op heisen.Op, s *object) {
	switch {
	case s == nil || op == heisen.AtomicWrite:
	case op != heisen.Acquire:
		o.see(t, &s.published)
	default:
		if !t.published(s.published.last) {
			o.see(t, &s.published)
		}
		if !s.readers.zero() {
			o.see(t, &s.readers)
		}
	}
}

func (o *Order) leave(t *thread, r *heisen.Record) {
	if o.barriers != nil {
		o.leaveBarriers(t, r)
	}
	switch r.Op {
	case heisen.AtomicWrite, heisen.AtomicUpdate, heisen.Send, heisen.Release, heisen.ReleaseShared:
		o.publish(t, r.Op, o.object(r.Object))
	case heisen.Fork:
		if id, ok := threadOf(r.Object); ok {
			o.threads.fork(t, id)
		}
	case heisen.End:
		o.threads.end(t)
	}
}

// publish makes what t has done known through the object s.
func (o *Order) publish(t *thread, op heisen.Op, s *object) {
	switch op {
	case heisen.AtomicWrite:
		o.replace(t, &s.published, t.present())
		o.reset(&s.readers)
		o.threads.publish(t)
	case heisen.AtomicUpdate, heisen.Send:
		o.merge(t, &s.published)
	case heisen.Release:
		if s.published.last != t.present() { // otherwise all is as it was
			o.merge(t, &s.published)
		}
		if !s.readers.zero() && o.seen(t, &s.readers) { // the writer publishes on their behalf
			o.reset(&s.readers)
		}
	case heisen.ReleaseShared:
		o.merge(t, &s.readers)
	}
}

// threadOf returns the thread that the object of a Fork or Join names, and
// whether there can be one.
func threadOf(obj heisen.Object) (heisen.Thread, bool) {
	return obj.Thread(), heisen.Object(obj.Thread()) == obj
}

// see joins t's clock with a stamp.
func (o *Order) see(t *thread, s *stamp) {
	if s.zero() || s.last != 0 && o.threads.knows(t, s.last) {
		return
	}
	if t.said != unsaid && s.clock.Covers(t.said) {
		// Whoever covers what t said knows all that t knows, for t has learnt
		// nothing since: so it is when a lock comes back to t.
		t.clock.drop(&o.pool)
		t.clock = s.clock.Copy()
	} else {
		t.clock.join(&o.pool, &s.clock)
	}
	t.learn()
	t.clock.raise(&o.pool, s.last)
}

// seen reports whether t covers all of a stamp.
func (o *Order) seen(t *thread, s *stamp) bool {
	if s.last != 0 {
		return o.threads.knows(t, s.last)
	}
	return s.clock.lessEqBut(&o.pool, &t.clock, t.epoch.Slot())
}

// replace makes t's clock, at the end of epoch e, all that the stamp holds: in
// constant time, for the stamp shares it, or has the memory for a copy of a short
// one, so that t need not copy it when it goes on.
func (o *Order) replace(t *thread, s *stamp, e Epoch) {
	if s.clock.v != t.clock.v && !s.clock.overwrite(&o.pool, &t.clock) {
		s.clock.drop(&o.pool)
		s.clock = t.clock.Copy()
	}
	s.last = e
}

// merge publishes t's clock through the stamp, besides what is there.
func (o *Order) merge(t *thread, s *stamp) {
	e := t.present()
	if o.seen(t, s) {
		o.replace(t, s, e)
	} else {
		s.clock.join(&o.pool, &t.clock)
		s.clock.raise(&o.pool, s.last)
		s.clock.raise(&o.pool, e)
		s.last = 0
	}
	o.threads.publish(t)
}

func (o *Order) reset(s *stamp) {
	s.clock.drop(&o.pool)
	s.last = 0
}

func (s *stamp) zero() bool { return s.last == 0 && s.clock.v == nil }

// peek returns the object whose first byte is obj, or nil.
func (o *Order) peek(obj heisen.Object) *object {
	if s := o.objects.Peek(obj); s != nil {
		return *s
	}
	return nil
}

// object returns the object whose first byte is obj, making it if need be.
func (o *Order) object(obj heisen.Object) *object {
	p := o.objects.At(obj)
	if *p == nil {
		if o.free == nil {
			*p = new(object)
		} else {
			*p, o.free = o.free, o.free.next
		}
		(*p).next = nil
	}
	return *p
}

// forget ends the life of an object.
func (o *Order) forget(p **object) {
	s := *p
	if s == nil {
		return
	}
	o.reset(&s.published)
	o.reset(&s.readers)
	s.next, o.free = o.free, s
	*p = nil
}

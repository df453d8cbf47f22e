package vclock

import (
	"errors"
	"fmt"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/option"
	"github.com/heisen-go/heisen/internal/shadow"
)

// Order is the happens-before relation of a stream of events, as the ops of package heisen define
// it. A detector passes every event to Observe and then to Publish, and between the two compares
// the event with earlier ones:
//
//	order.Observe(r)                // what r waits for or reads now happens before r
//	e := order.Access(r.Thread)     // r as a point in time, to remember
//	order.Before(earlier, r.Thread) // did a remembered access happen before r?
//	order.Publish(r)                // what r publishes can be observed from now on
//
// The two calls differ for events that both wait and publish: sync/atomic operations, which are
// also accesses.
//
// The zero Order is the order of an empty stream. An Order must be used by one goroutine at a time.
//
// # Slots
//
// Go programs have millions of goroutines, so vector clocks are indexed by slots, which threads
// reuse. A new thread takes over the slot of an ended one, and continues its time, if every access
// of the ended thread happens before the new one starts. The clocks then order accesses as if
// every thread had a slot of its own. A program with ten million goroutines has clocks of about a
// hundred times if a hundred of them run at a time and all are waited for, directly or through a
// semaphore. Nothing ever waits for other goroutines, such as those of a server's connections. A
// detector that calls Compact makes their slots available, too. Thread maps an epoch back to its thread.
//
// # Cost
//
// A synchronization takes constant time if one side has already seen the other. That includes
// taking a lock that the thread itself released last, and every publication to an object whose
// publications the thread has seen. Otherwise it takes a step per slot, or one step per 64 slots
// where the two clocks share memory.
//
// Memory is about 600 bytes per 512 bytes of address space that contain synchronization objects,
// 64 bytes per object, and a clock for every thread and object that cannot share one. Without Compact,
// a slot for every ended thread is added that no other thread has taken over, and 16 bytes for
// every thread that ever had a slot. In steady state nothing is allocated.
type Order struct {
	pool    pool
	threads threads
	objects *shadow.Memory[*syncObject] // by the object's first byte; nil before the first event
	free    *syncObject

	barriers *barriers // nil without WithBarrierPairs
}

// syncObject is a synchronization object. It stores a release clock for ReleaseShared, and one for
// all other ops that publish.
type syncObject struct {
	published releaseClock
	readers   releaseClock
	next      *syncObject // in the list of free objects
}

// releaseClock is what one or more threads published: the times of clock, and epoch if it is not
// zero.
type releaseClock struct {
	clock Clock
	// epoch, if not zero, is the last published epoch of a thread, and the release clock is exactly
	// that thread's clock at its end. A thread that has seen epoch has therefore seen the whole.
	epoch Epoch
}

// NewOrder returns the order of an empty stream. The error wraps heisen.ErrOption.
func NewOrder(opts ...Option) (*Order, error) {
	var c orderConfig
	apply := make([]orderOption, len(opts))
	for i, o := range opts {
		if o != nil {
			apply[i] = o.applyOrder
		}
	}
	if err := option.Apply("vclock.NewOrder", &c, apply); err != nil {
		return nil, err
	}
	return newOrder(c), nil
}

func newOrder(c orderConfig) *Order {
	o := new(Order)
	o.init()
	if c.barrierPairs {
		o.enableBarriers(c.symbols)
	}
	return o
}

func (o *Order) init() {
	o.threads = newThreads(&o.pool)
	o.objects = shadow.New(nil, o.forget)
}

// thread returns a running thread, or nil after ErrTooManyThreads.
func (o *Order) thread(id heisen.Thread) *thread {
	if o.objects == nil {
		o.init()
	}
	return o.threads.get(id)
}

// Observe orders the event's thread after everything that the event waits for or reads. An Alloc
// or Free also ends the synchronization objects in its memory. The record is only read, and only
// during the call.
func (o *Order) Observe(r *heisen.Record) {
	if t := o.thread(r.Thread); t != nil {
		o.observe(t, r)
	}
}

// Publish publishes the past of the event's thread, the event included, if the event is one that
// publishes. The record is only read, and only during the call.
func (o *Order) Publish(r *heisen.Record) {
	if t := o.thread(r.Thread); t != nil {
		o.publish(t, r)
	}
}

// Access records that a thread accesses something and returns its present epoch, for Before. A
// detector must call it, between Observe and Publish, for every access that it remembers. It
// returns 0 after ErrTooManyThreads. It takes constant time.
func (o *Order) Access(id heisen.Thread) Epoch {
	t := o.thread(id)
	if t == nil {
		return 0
	}
	t.noteAccess()
	return t.epoch
}

// Before reports whether the access at e, an epoch that Access returned, was made by thread id or
// happens before its present. It takes constant time.
func (o *Order) Before(e Epoch, id heisen.Thread) bool {
	t := o.thread(id)
	return t == nil || t.covers(e)
}

// Clock returns the present vector clock of a thread, with the time of its own slot.
func (o *Order) Clock(id heisen.Thread) Clock {
	t := o.thread(id)
	if t == nil {
		return Clock{}
	}
	c := t.clock.Copy()
	c.raise(&o.pool, t.epoch)
	return c
}

// Observed returns what a thread has observed of others: its vector clock, in which the time of
// its own slot may be out of date. It takes constant time. Recycle returns the clock's memory.
func (o *Order) Observed(id heisen.Thread) Clock {
	t := o.thread(id)
	if t == nil {
		return Clock{}
	}
	return t.clock.Copy()
}

// Recycle makes a clock zero and lets the order reuse its memory. The clock must come from the
// order, or be a Copy of such a clock. Not to call it is safe: the garbage collector frees the
// memory.
func (o *Order) Recycle(c *Clock) {
	if c != nil {
		c.drop(&o.pool)
	}
}

// Thread returns the thread of an epoch that Access returned. It takes time logarithmic in the
// number of threads that had the slot.
func (o *Order) Thread(e Epoch) heisen.Thread {
	return o.threads.threadOf(e)
}

// Slots returns the number of slots in use, which is the length of clocks.
func (o *Order) Slots() int {
	return len(o.threads.slots)
}

// Err returns an error that wraps ErrTooManyThreads, ErrEndedThread or ErrForgotten if the order is
// not exact, and nil otherwise.
func (o *Order) Err() error {
	if o.threads.forgotten > 0 {
		return errors.Join(o.threads.err, fmt.Errorf("%w: %d", ErrForgotten, o.threads.forgotten))
	}
	return o.threads.err
}

func (o *Order) observe(t *thread, r *heisen.Record) {
	switch r.Op {
	case heisen.AtomicRead, heisen.AtomicUpdate, heisen.AcquireShared, heisen.Receive, heisen.Acquire:
		o.observeObject(t, r.Op, o.find(r.Object))
	case heisen.Join:
		if id, ok := threadOf(r.Object); ok {
			o.threads.join(t, id)
		}
	case heisen.Alloc, heisen.Free:
		o.objects.Clear(r.Object, r.Value)
	}
	if o.barriers != nil {
		o.observeBarriers(t, r)
	}
}

// observeObject orders t after what its event, an op on the object s, observes. s may be nil.
func (o *Order) observeObject(t *thread, op heisen.Op, s *syncObject) {
	switch {
	case s == nil || op == heisen.AtomicWrite:
	case op != heisen.Acquire:
		o.acquire(t, &s.published)
	default:
		if !t.isOwn(s.published.epoch) {
			o.acquire(t, &s.published)
		}
		if !s.readers.zero() {
			o.acquire(t, &s.readers)
		}
	}
}

func (o *Order) publish(t *thread, r *heisen.Record) {
	if o.barriers != nil {
		o.publishBarriers(t, r)
	}
	switch r.Op {
	case heisen.AtomicWrite, heisen.AtomicUpdate, heisen.Send, heisen.Release, heisen.ReleaseShared:
		o.publishTo(t, r.Op, o.object(r.Object))
	case heisen.Fork:
		if id, ok := threadOf(r.Object); ok {
			o.threads.fork(t, id)
		}
	case heisen.End:
		o.threads.end(t)
	}
}

// publishTo publishes t's past through the object s.
func (o *Order) publishTo(t *thread, op heisen.Op, s *syncObject) {
	switch op {
	case heisen.AtomicWrite:
		o.replace(t, &s.published, t.nextPublished())
		o.clear(&s.readers)
		o.threads.publish(t)
	case heisen.AtomicUpdate, heisen.Send:
		o.release(t, &s.published)
	case heisen.Release:
		if s.published.epoch != t.nextPublished() { // otherwise nothing has changed
			o.release(t, &s.published)
		}
		if !s.readers.zero() && o.covered(t, &s.readers) { // the writer's release includes theirs
			o.clear(&s.readers)
		}
	case heisen.ReleaseShared:
		o.release(t, &s.readers)
	}
}

// threadOf returns the thread that the object of a Fork or Join names. It reports false if the
// object is not a thread.
func threadOf(obj heisen.Object) (heisen.Thread, bool) {
	return obj.Thread(), heisen.Object(obj.Thread()) == obj
}

// acquire joins t's clock with a release clock.
func (o *Order) acquire(t *thread, s *releaseClock) {
	if s.zero() || s.epoch != 0 && o.threads.hasSeen(t, s.epoch) {
		return
	}
	if t.lastPublished != notPublished && s.clock.Covers(t.lastPublished) {
		// The release clock covers t's last publication, and t has seen nothing since.
		// So it covers t's clock, as when t takes a lock that it released before.
		t.clock.drop(&o.pool)
		t.clock = s.clock.Copy()
	} else {
		t.clock.join(&o.pool, &s.clock)
	}
	t.clockChanges()
	t.clock.raise(&o.pool, s.epoch)
}

// covered reports whether t has seen everything in a release clock.
func (o *Order) covered(t *thread, s *releaseClock) bool {
	if s.epoch != 0 {
		return o.threads.hasSeen(t, s.epoch)
	}
	return s.clock.lessEqBut(&o.pool, &t.clock, t.epoch.Slot())
}

// replace sets a release clock to t's clock at the end of epoch e. It takes constant time: the
// two share memory, or the clock is short and the release clock has memory for a copy, so that t
// need not copy its own clock at its next change.
func (o *Order) replace(t *thread, s *releaseClock, e Epoch) {
	if s.clock.v != t.clock.v && !s.clock.overwrite(&o.pool, &t.clock) {
		s.clock.drop(&o.pool)
		s.clock = t.clock.Copy()
	}
	s.epoch = e
}

// release adds t's clock to a release clock.
func (o *Order) release(t *thread, s *releaseClock) {
	e := t.nextPublished()
	if o.covered(t, s) {
		o.replace(t, s, e)
	} else {
		s.clock.join(&o.pool, &t.clock)
		s.clock.raise(&o.pool, s.epoch)
		s.clock.raise(&o.pool, e)
		s.epoch = 0
	}
	o.threads.publish(t)
}

func (o *Order) clear(s *releaseClock) {
	s.clock.drop(&o.pool)
	s.epoch = 0
}

func (s *releaseClock) zero() bool { return s.epoch == 0 && s.clock.v == nil }

// find returns the synchronization object whose first byte is obj, or nil.
func (o *Order) find(obj heisen.Object) *syncObject {
	if s := o.objects.Peek(obj); s != nil {
		return *s
	}
	return nil
}

// object returns the synchronization object whose first byte is obj, a new one if there is none.
func (o *Order) object(obj heisen.Object) *syncObject {
	p := o.objects.At(obj)
	if *p == nil {
		if o.free == nil {
			*p = new(syncObject)
		} else {
			*p, o.free = o.free, o.free.next
		}
		(*p).next = nil
	}
	return *p
}

// forget recycles an object whose memory is reused.
func (o *Order) forget(p **syncObject) {
	s := *p
	if s == nil {
		return
	}
	o.clear(&s.published)
	o.clear(&s.readers)
	s.next, o.free = o.free, s
	*p = nil
}

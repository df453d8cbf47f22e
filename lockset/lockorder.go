package lockset

import (
	"errors"
	"fmt"
	"math"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/shadow"
	"github.com/heisen-go/heisen/vclock"
)

// LockOrder reports potential deadlocks: threads that take locks in such orders
// that in another schedule they could wait for each other for ever. It is the
// Goodlock algorithm (Havelund, SPIN 2000; Bensalem and Havelund, PADTAD 2005)
// for cycles of any length, for read-write locks, and for streams without end.
//
// # What is reported
//
// An acquisition by which a thread may have to wait is a dependency: the thread,
// the lock it wants, the locks it holds at this time. Dependencies of two or
// more different threads are a potential deadlock if they can be put in a circle
// such that
//
//   - each waits for a lock that the next one holds;
//   - no gate lock keeps two of them apart: the locks that they hold are
//     pairwise different, but for locks that both hold for reading;
//   - no two of them are ordered by Fork, Join, Send and Receive: what must have
//     ended before the other began cannot wait for it.
//
// Every such circle is reported once per cycle of sites, whichever comes first.
// One that passes a site twice is left out if one with no other sites has been
// reported: ten philosophers at one line of code are one bug.
//
// Read-write locks follow sync.RWMutex, where a writer that waits keeps new
// readers out. To take a lock for writing is two steps, each of which can wait:
// for other writers, and then, with that hold, for the readers to leave. A
// reader waits for writers, also for those that are still waiting. Readers do
// not wait for readers, but a thread that takes a lock for reading twice waits
// for a writer that came in between, and the writer for the thread.
//
// An acquisition by a thread that has the lock for writing does not wait. Nor
// does one with the flag heisen.NoWait, a successful TryLock: what it takes can
// be waited for by others.
//
// # What that means
//
// In a complete trace of threads that do nothing but take and release locks,
// start each other and wait for each other's end, every deadlock that another
// schedule reaches, in which threads wait for locks in a circle, is reported,
// within the bounds below. (A circle with a thread in it that waits for
// another's end is not one of locks.) The reverse does not hold: a report can be
// of a state that no schedule reaches, for what comes before the acquisitions
// can keep them apart: locks that were taken and released again earlier, data,
// messages. So a report claims no deadlock.
//
// Messages count as order, for that is how a Go program waits for goroutines, but
// for those with the flag heisen.Chance. Where another message might have come
// instead all the same, as from a channel that is a semaphore, a deadlock can be
// missed. Atomic operations are no order
// here.
//
// An acquisition that never ended is in no trace: a deadlock that does happen is
// seen if another schedule before, or other threads, show its parts.
//
// # Costs
//
// A thread that takes a lock again, at the same site, with the same locks held,
// and that has neither sent nor received anything since, costs a few tens of
// nanoseconds and no memory. A dependency that is new, or is between different
// messages, is searched for cycles if its locks are on any; most programs have
// none, which an order of the graph's strongly connected components tells in
// constant time. Cycles of two are always looked for, longer ones with a total
// effort of about a million steps and 64 for each acquisition.
//
// Each live lock takes about 150 bytes, each lock with a set of held locks and a
// site that it was taken with about 200. Of each such, 8 moments are remembered,
// a thread and a time, of 40 bytes and a vector clock that the moments of a
// thread between two messages share; Limit bounds their number. If there are
// more, one goes that happens before another, and if there is none, the new one. So cycles of two are missed only if more than 8 threads that
// nothing orders take the lock in the same way; longer ones also if one thread
// takes it at more than 8 times between messages, and the cycle needs an earlier
// time than the last 8. Alloc and Free of a lock's memory forget all that want or
// hold it. Memory for the order of messages is that of vclock.Order.
type LockOrder struct {
	sink  heisen.Sink
	limit int

	events       uint64
	acquisitions uint64

	order   *vclock.Order
	moment  uint64 // counts the events that may have changed the order
	version uint64 // numbers what threads know of others

	threads *shadow.Memory[*lockThread] // by thread
	all     []*lockThread
	last    *lockThread
	locks   *shadow.Memory[*lockNode] // by address
	ids     uint64                    // of locks

	sets         heldSets
	graph        lockGraph
	dependencies map[dependencyKey]*dependency
	stored       int // places remembered

	search  search
	dropped uint64 // dependencies that were not remembered
}

// DefaultLimit is how many dependencies a LockOrder remembers if no Limit is
// given: about 150 MB of them.
const DefaultLimit = 1 << 20

// ErrLimit is wrapped by the error of LockOrder's Flush if there were more
// dependencies than it was to remember, or more ways through them than it could
// follow: potential deadlocks may have been missed.
var ErrLimit = errors.New("lockset: the lock-order graph is incomplete")

// LockOrderOption is an option of NewLockOrder.
type LockOrderOption func(*LockOrder)

// Limit sets how many dependencies are remembered; the default is DefaultLimit,
// and below 1 is no limit. Later ones are still compared with those; see
// ErrLimit.
func Limit(dependencies int) LockOrderOption {
	return func(d *LockOrder) {
		if d.limit = dependencies; dependencies < 1 {
			d.limit = math.MaxInt
		}
	}
}

// NewLockOrder returns a LockOrder that reports to sink; nil is a sink that
// discards. The accesses of its findings are acquisitions, each of which waits for a lock that the next one
// holds, and the last for one that the first holds; the last is the latest. Their
// contexts say where the locks held were taken.
func NewLockOrder(sink heisen.Sink, options ...LockOrderOption) *LockOrder {
	if sink == nil {
		sink = func(heisen.Finding) {}
	}
	d := &LockOrder{
		sink:         sink,
		limit:        DefaultLimit,
		order:        new(vclock.Order),
		threads:      shadow.New[*lockThread](nil, nil),
		dependencies: map[dependencyKey]*dependency{},
	}
	d.locks = shadow.New(nil, d.endLock)
	d.sets.init(&d.limit)
	d.graph.init()
	d.search.init(d)
	for _, option := range options {
		option(d)
	}
	return d
}

// Handle implements heisen.Detector.
func (d *LockOrder) Handle(e heisen.Event) { d.handle(heisen.AsRecord(e)) }

// HandleRecords implements heisen.RecordHandler.
func (d *LockOrder) HandleRecords(records []heisen.Record) {
	for i := range records {
		d.handle(&records[i])
	}
}

// Flush reports what made findings incomplete, as an error that wraps ErrLimit
// or an error of vclock.Order.
func (d *LockOrder) Flush() error {
	err := d.order.Err()
	if d.dropped > 0 {
		err = errors.Join(err, fmt.Errorf("%w: %d dependencies came after the first %d", ErrLimit, d.dropped, d.limit))
	}
	if d.search.unfinished > 0 {
		err = errors.Join(err, fmt.Errorf("%w: %d searches for cycles of more than two were cut off", ErrLimit, d.search.unfinished))
	}
	return err
}

func (d *LockOrder) handle(r *heisen.Record) {
	d.events++
	switch r.Op {
	case heisen.Acquire:
		d.acquire(r, writing)
	case heisen.AcquireShared:
		d.acquire(r, reading)
	case heisen.Release:
		d.release(r, writing)
	case heisen.ReleaseShared:
		d.release(r, reading)
	case heisen.Receive, heisen.Join:
		if r.Flags&heisen.Chance != 0 {
			return
		}
		d.handleOrder(r)
		d.observes(d.find(r.Thread))
	case heisen.Fork:
		d.handleOrder(r)
		if child := r.Object.Thread(); heisen.Object(child) == r.Object {
			d.observes(d.find(child))
		}
	case heisen.Send:
		d.handleOrder(r)
	case heisen.End:
		d.handleOrder(r)
		d.end(r.Thread)
	case heisen.Alloc, heisen.Free:
		d.order.Observe(r)
		d.locks.Clear(r.Object, r.Value)
	}
}

// handleOrder shows the order an event. Locks are no part of it.
func (d *LockOrder) handleOrder(r *heisen.Record) {
	d.order.Observe(r)
	d.order.Publish(r)
	d.moment++
}

// observes notes that t may know more of others than before.
func (d *LockOrder) observes(t *lockThread) {
	if t != nil {
		d.version++
		t.version = d.version
	}
}

func (d *LockOrder) acquire(r *heisen.Record, m mode) {
	d.acquisitions++
	t, l := d.threadOf(r.Thread), d.lockAt(r.Object)
	d.endStaleHolds(l, t, m)
	if m == reading && !l.readWrite {
		d.setReadWrite(l)
	}
	if l.writer == t || r.Flags&heisen.NoWait != 0 {
		t.hold(l, m, d.sets.with(t.set, l, m))
		return
	}
	t.refresh(d)
	e := t.recentFor(l, r.Site)
	dep := e.dep
	if dep == nil || dep.lock != l || dep.set != t.set || dep.site != r.Site || dep.mode != m {
		dep = d.dependency(l, t.set, r.Site, m)
		e.dep, e.stamp = dep, 0
	}
	if e.stamp != t.snapshot {
		e.stamp = t.snapshot
		d.recordDependency(dep, t, r)
	}
	t.hold(l, m, dep.withLock)
}

func (d *LockOrder) release(r *heisen.Record, m mode) {
	p := d.locks.Peek(r.Object)
	if p == nil || *p == nil {
		return
	}
	l := *p
	if t := d.find(r.Thread); t != nil && t.release(d, l, m) {
		return
	}
	// Go lets any goroutine unlock a mutex.
	if m == writing {
		if l.writer != nil {
			l.writer.release(d, l, m)
		}
		return
	}
	if l.readers > 0 {
		for _, t := range d.all {
			if t.release(d, l, m) {
				return
			}
		}
	}
}

// endStaleHolds ends the holds of others that an acquisition of l by t shows to be over.
func (d *LockOrder) endStaleHolds(l *lockNode, t *lockThread, m mode) {
	if l.writer != nil && l.writer != t {
		for w := l.writer; w.release(d, l, writing); {
		}
	}
	if m == writing && l.readers > 0 && l.readers > t.reads(l) {
		for _, u := range d.all {
			for u != t && u.release(d, l, reading) {
			}
		}
	}
}

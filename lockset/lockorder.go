package lockset

import (
	"errors"
	"fmt"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/intake"
	"github.com/heisen-go/heisen/internal/shadow"
	"github.com/heisen-go/heisen/vclock"
)

// LockOrder reports potential deadlocks: lock-order cycles, in which threads take locks in orders
// that in another schedule make them wait for each other forever. It is the Goodlock algorithm
// (Havelund, SPIN 2000; Bensalem and Havelund, PADTAD 2005) for cycles of any length, for
// read-write locks, and for streams of any length. Its findings have Detector "lockorder" and Kind
// heisen.Deadlock. The zero LockOrder is ready to use and discards its findings.
//
// # Algorithm
//
// An acquisition that may have to wait is a dependency: the thread, the lock that it acquires, and
// the locks that it holds at this time. Two or more dependencies are a potential deadlock if they
// can be arranged in a cycle such that
//
//   - each waits for a lock that the next one holds;
//   - they are by pairwise different threads;
//   - no guard (gate lock) excludes two of them: the sets of held locks are pairwise disjoint,
//     except for locks that both hold for reading;
//   - no two of them are ordered by Fork, Join, Send and Receive. An acquisition that must have
//     ended before the other began cannot wait for it.
//
// Each cycle is reported once per cycle of sites, wherever it begins. A cycle that passes a site
// twice is not reported if a cycle of a subset of its sites has been: ten philosophers at one line
// of code are one bug.
//
// Read-write locks follow sync.RWMutex, in which a waiting writer blocks new readers. To acquire
// such a lock for writing takes two steps that can wait: for other writers, and then, while
// blocking them, for the readers to release it. A reader waits for writers, including waiting ones.
// Readers do not wait for readers. But a thread that acquires a lock for reading twice waits for a
// writer that came in between, and the writer waits for the thread.
//
// An acquisition by a thread that holds the lock for writing does not wait. Nor does one with the
// flag heisen.NoWait, a successful TryLock. Other threads can wait for the lock that it acquires.
//
// # Findings
//
// The accesses of a finding are acquisitions. Each waits for a lock that the thread of the next
// one holds, and the last, which is the latest, for a lock that the thread of the first one holds.
// Their contexts say where the held locks were taken.
//
// # Guarantees
//
// Take a complete trace of threads that only acquire and release locks, start each other and wait
// for each other's end. Every deadlock in another schedule of these threads, in which threads wait
// for locks in a cycle, is reported, within the bounds below. A cycle in which a thread waits for
// another one's end is not a lock-order cycle. The converse does not hold: data, messages, or locks
// that were released before can make the cycle infeasible. So a report does not claim a deadlock.
//
// Messages count as order, except those with the flag heisen.Chance, because Go programs wait for
// goroutines by messages. If another message could have come instead, as from a channel that is a
// semaphore, a deadlock may be missed. Atomic operations are not order here.
//
// An acquisition that never succeeded is not in a trace. A deadlock that did happen is found if
// the acquisitions of its cycle succeeded at another time or in other threads.
//
// # Cost
//
// An acquisition at the same site, with the same locks held, and with no message since, costs a few
// tens of nanoseconds and no memory. A new dependency, or one between different messages, is
// searched for cycles if its edge is on a cycle of the graph. An order of the graph's strongly
// connected components decides that in constant time. The searches for cycles of two dependencies have a
// total budget of 134 million steps and 512 per acquisition, which is spent only where hundreds of locks are
// held at the same time. Those for longer ones have one of about a million steps and 64 per acquisition.
//
// Held locks are paths that share what they have in common, so that memory does not depend on how many are
// held at the same time. A thread that releases another lock than its latest pays for it with the next
// acquisition: a step for each later one that it holds. These steps have a budget of a million and 16 per
// acquisition. Beyond it, acquisitions are not searched for cycles.
//
// Each live lock takes about 200 bytes, and each combination of lock, held locks, their order, and site about
// 450. For each combination 8 occurrences are stored, of 40 bytes and a vector clock that the
// occurrences of a thread between two messages share. WithMaxDependencies bounds their number. A
// ninth occurrence replaces one that happens before another one, and is itself not stored if there
// is no such. So a cycle of two is missed only if more than 8 unordered threads acquire the lock in
// the same way. A longer cycle is also missed if a thread has more than 8 such occurrences between
// messages and the cycle needs one before the last 8. Alloc and Free of a lock's memory drop all
// its dependencies. See vclock.Order for the memory of messages.
type LockOrder struct {
	sink  heisen.Sink
	limit int

	intake       intake.Check
	events       uint64
	acquisitions uint64

	order   *vclock.Order
	moment  uint64 // counts the events of order
	version uint64 // numbers the clocks that threads have observed

	threads *shadow.Memory[*lockThread] // by thread
	all     []*lockThread
	last    *lockThread
	locks   *shadow.Memory[*lockNode] // by address
	ids     uint64                    // the latest number of a lock

	paths        map[pathKey]*path
	graph        lockGraph
	dependencies map[dependencyKey]*dependency
	stored       int    // occurrences stored
	rebuilt      uint64 // steps of lockThread.present

	search  search
	dropped uint64 // dependencies that were not stored

	spareHolds *hold
}

// ErrLimit is wrapped by the error of LockOrder.Flush if there were more dependencies or paths of held locks than
// WithMaxDependencies permits, or if a budget was spent; see LockOrder. Potential deadlocks may
// be missing.
var ErrLimit = errors.New("the lock-order graph is incomplete")

// NewLockOrder returns a LockOrder detector for one stream. The error wraps heisen.ErrOption.
func NewLockOrder(opts ...LockOrderOption) (*LockOrder, error) {
	c := defaultLockOrder()
	err := applyAll("lockset.NewLockOrder", &c, opts, func(o LockOrderOption) func(*lockOrderConfig) error { return o.applyLockOrder })
	if err != nil {
		return nil, err
	}
	d := new(LockOrder)
	d.init(c)
	return d, nil
}

func (d *LockOrder) init(c lockOrderConfig) {
	d.sink, d.limit, d.order = c.sink, c.limit, new(vclock.Order)
	d.threads = shadow.New[*lockThread](nil, nil)
	d.dependencies = map[dependencyKey]*dependency{}
	d.locks = shadow.New(nil, d.endLock)
	d.paths = map[pathKey]*path{}
	d.graph.init()
	d.search.init(d)
	if c.whole {
		d.intake.CheckReleases()
	}
}

// ensureInit makes a zero LockOrder usable.
func (d *LockOrder) ensureInit() {
	if d.order == nil {
		d.init(defaultLockOrder())
	}
}

// Skip implements heisen.Skipper.
func (d *LockOrder) Skip(events uint64) {
	d.intake.Skipped(events)
	d.events += events
}

// Flush implements heisen.Detector. It returns an error that wraps ErrLimit,
// vclock.ErrEndedThread, vclock.ErrTooManyThreads or vclock.ErrForgotten if potential deadlocks may
// be missing, and those that heisen.Detector names.
func (d *LockOrder) Flush() error {
	d.ensureInit()
	err := errors.Join(d.order.Err(), d.intake.Flush())
	if d.dropped > 0 {
		err = errors.Join(err, fmt.Errorf("%w: %d dependencies were not stored, because there are more than %d, or too many locks are released out of order", ErrLimit, d.dropped, d.limit))
	}
	if d.search.unfinished > 0 {
		err = errors.Join(err, fmt.Errorf("%w: %d searches for cycles ran out of budget", ErrLimit, d.search.unfinished))
	}
	return err
}

// Handle implements heisen.Detector.
func (d *LockOrder) Handle(e heisen.Event) {
	d.ensureInit()
	d.handle(heisen.AsRecord(e))
}

func (d *LockOrder) handle(r *heisen.Record) {
	d.events++
	if !d.intake.Take(r, d.events) {
		return
	}
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
		if r.Op == heisen.Join {
			if t := r.Object.Thread(); heisen.Object(t) == r.Object && t != r.Thread {
				d.end(t)
			}
			if d.order.Grown() {
				d.compactOrder()
			}
		}
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
		if d.order.Grown() {
			d.compactOrder()
		}
	case heisen.Alloc, heisen.Free:
		d.order.Observe(r)
		d.locks.Clear(r.Object, r.Value)
	}
}

// handleOrder hands an event to the order. Lock operations are not part of it.
func (d *LockOrder) handleOrder(r *heisen.Record) {
	d.order.Observe(r)
	d.order.Publish(r)
	d.moment++
}

// observes must be called after an event by which t may have observed others.
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
	waits := l.writer != t && r.Flags&heisen.NoWait == 0
	before, known := t.present(d)
	switch {
	case !known:
		if waits {
			d.dropped++
		}
		t.hold(d, l, m, nil)
		return
	case !waits:
		t.hold(d, l, m, d.path(before, l, m))
		return
	}
	t.refresh(d)
	e := t.recentFor(before, l, r.Site)
	dep := e.dep
	if dep == nil || dep.path.lock != l || dep.path.before != before || dep.site != r.Site || dep.path.mode != m {
		dep = d.dependency(d.path(before, l, m), r.Site)
		e.dep, e.stamp = dep, 0
	}
	if e.stamp != t.snapshot {
		e.stamp = t.snapshot
		d.recordDependency(dep, t, r)
	}
	t.hold(d, l, m, dep.path)
}

func (d *LockOrder) release(r *heisen.Record, m mode) {
	p := d.locks.Peek(r.Object)
	if p == nil || *p == nil {
		return
	}
	l := *p
	if t := d.find(r.Thread); t != nil {
		if h := t.holdOf(l, m); h != nil {
			d.drop(h)
			return
		}
	}
	// In Go any goroutine may unlock a mutex.
	for h := l.holds; h != nil; h = h.nextOfLock {
		if h.mode == m {
			d.drop(h)
			return
		}
	}
}

// endStaleHolds ends the holds of other threads that exclude an acquisition of l by t, which has just
// succeeded.
func (d *LockOrder) endStaleHolds(l *lockNode, t *lockThread, m mode) {
	if (l.writer == nil || l.writer == t) && (m == reading || l.readers == 0) {
		return
	}
	for h := l.holds; h != nil; {
		next := h.nextOfLock
		if h.thread != t && (m == writing || h.mode == writing) {
			d.drop(h)
		}
		h = next
	}
}

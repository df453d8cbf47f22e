package lockset

import (
	"errors"
	"fmt"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/intake"
	"github.com/heisen-go/heisen/internal/locksets"
	"github.com/heisen-go/heisen/internal/shadow"
	"github.com/heisen-go/heisen/vclock"
)

// Eraser reports variables that threads share and write without a common lock, by the algorithm of
// Savage et al. (TOCS 1997). Its findings have Detector "eraser" and Kind heisen.Discipline. A
// finding is a violation of the locking discipline and no proof of a race: the program may order
// the accesses by messages, of which Eraser looks at those that WithHandOver describes only. The zero Eraser is ready to use and
// discards its findings.
//
// # The discipline
//
// A variable is virgin until its first access, and again after its memory is allocated or freed.
// It is exclusive while one thread accesses it: this is initialization, which needs no lock. The
// first access by a second thread makes it shared. From then on, that access included, each access
// intersects the variable's candidate set with the locks that its thread holds. The candidate set
// starts as the set of all locks. A write makes the variable shared-modified. If the candidate set
// of a shared-modified variable is empty, the access is reported, and the variable is ignored from
// then on.
//
// Agarwal, Sasturkar, Wang and Stoller, "Optimized Run-Time Race Detection and Atomicity Checking
// Using Partial Discovered Types" (section 2.1), define the discipline in this way. In particular,
// the locks and writes of the first thread, before the variable is shared, do not count, and the
// access that makes the variable shared is already checked.
//
// Read-write locks follow Savage et al.: a read removes the locks that its thread holds in no mode
// from the candidates, and a write removes those that its thread does not hold exclusively.
//
// Operations of sync/atomic need no lock among themselves. They count as accesses under one
// additional lock that all atomic operations hold and no other access holds. So a variable needs
// no other lock if it is only accessed atomically once it is shared, or if it is accessed both
// plainly and atomically under a mutex. A plain access without a lock that the atomic accesses
// also hold violates the discipline as soon as there is a write. An operation of a lock that is
// memory of the program (heisen.LockWord) is an atomic update of it, under the locks held before.
//
// With WithHandOver, an exclusive variable may change its owner. If a message leads from the owner's
// last access to an access by another thread, that thread is the new owner, and the variable is still
// exclusive. Messages are Fork, Join, Send and Receive: the ways in which programs hand over what they
// have initialized. The completion of a sync.Once is one. Without the option, messages have no effect.
//
// # Guarantees
//
// If there is no finding for a variable, then only one thread accessed it, or no thread wrote it
// once it was shared, or all accesses since then held a common lock, exclusively for writes, or
// all were atomic. With WithHandOver, several threads may have accessed it instead of one, each after
// a message from the one before. The converse does not hold: a variable that is written under two
// locks and read under either of them is reported, although it is safe.
//
// # Findings
//
// A finding has two accesses: the reported one, complete, and the last earlier one by another
// thread, of which the index is unknown and the size is 1. Locks is the last candidate set that was
// neither empty nor the set of all locks, if there was one: a lock in it would have protected the
// variable if the access had held it. There is one finding per variable and allocation epoch. Bytes that every access so far
// touched together are one variable. Neighboring variables that one access violates in the same
// way have one finding.
//
// # Cost
//
// An access costs a few nanoseconds while the candidates do not change, and memory is 37 bytes per
// accessed word. In steady state only findings are allocated.
type Eraser struct {
	table  *locksets.Table // nil before the first event of a zero Eraser
	locks  *locksets.Tracker
	atomic locksets.Lock // held by atomic operations

	memory        *shadow.Memory[variable]
	objects       *objects  // nil without WithObjectGranularity
	handOver      *handOver // nil without WithHandOver
	sink          heisen.Sink
	intake        intake.Check
	events        uint64
	lastViolation violation
	reports       uint64
}

// NewEraser returns an Eraser detector for one stream. The error wraps heisen.ErrOption.
func NewEraser(opts ...EraserOption) (*Eraser, error) {
	c := defaultEraser()
	err := applyAll("lockset.NewEraser", &c, opts, func(o EraserOption) func(*eraserConfig) error { return o.applyEraser })
	if err != nil {
		return nil, err
	}
	d := new(Eraser)
	d.init(c)
	return d, nil
}

func (d *Eraser) init(c eraserConfig) {
	d.table, d.sink, d.memory = locksets.NewTable(), c.sink, shadow.New[variable](nil, nil)
	d.locks = locksets.NewTracker(d.table)
	d.atomic = d.table.NewLock(0)
	if c.byObject {
		d.objects = newObjects()
	}
	if c.handOver {
		d.handOver = newHandOver()
	}
	if c.whole {
		d.intake.CheckReleases()
	}
}

// ensureInit makes a zero Eraser usable.
func (d *Eraser) ensureInit() {
	if d.table == nil {
		d.init(defaultEraser())
	}
}

// Handle implements heisen.Detector.
func (d *Eraser) Handle(e heisen.Event) {
	d.ensureInit()
	d.handle(heisen.AsRecord(e))
}

// HandleRecords implements heisen.RecordHandler.
func (d *Eraser) HandleRecords(batch []heisen.Record) {
	d.ensureInit()
	for i := range batch {
		d.handle(&batch[i])
	}
}

// Skip implements heisen.Skipper.
func (d *Eraser) Skip(events uint64) {
	d.intake.Skipped(events)
	d.events += events
}

// LockUse implements heisen.LockUser.
func (*Eraser) LockUse() heisen.LockUse { return heisen.LocksAsSets }

// Flush implements heisen.Detector. With WithHandOver, it returns an error that wraps
// vclock.ErrEndedThread, vclock.ErrTooManyThreads or vclock.ErrForgotten if violations may be missing
// because it does not know all messages. It always returns those that heisen.Detector names.
func (d *Eraser) Flush() error {
	err := d.intake.Flush()
	if d.handOver != nil {
		err = errors.Join(d.handOver.order.Err(), err)
	}
	return err
}

// Violations returns the number of findings.
func (d *Eraser) Violations() uint64 {
	return d.reports
}

func (d *Eraser) handle(r *heisen.Record) {
	d.events++
	if !d.intake.Take(r, d.events) {
		return
	}
	switch r.Op {
	case heisen.Read, heisen.Write, heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate:
		d.access(r, r.Op)
		if r.Op == heisen.AtomicWrite {
			d.locks.Handle(r)
		}
	case heisen.Alloc, heisen.Free:
		d.memory.Clear(r.Object, r.Value)
		if d.objects != nil {
			d.objects.end(r.Object, r.Value)
			if r.Op == heisen.Alloc {
				d.objects.begin(r.Object, r.Value)
			}
		}
		d.locks.Handle(r)
	default:
		if r.Flags != 0 && r.Access() != heisen.Invalid { // a lock in memory
			d.access(r, r.Access())
		}
		d.locks.Handle(r)
		d.compact()
	}
	if d.handOver != nil {
		d.handOver.synchronize(r)
		if d.handOver.grown(r.Op) {
			d.compactOrder()
		}
	}
}

// access handles r as an access by op.
func (d *Eraser) access(r *heisen.Record, op heisen.Op) {
	switch {
	case d.objects != nil:
		d.accessObjects(r, op)
	case r.Len > 1:
		d.accessRange(r, op, r.Object, r.Size())
	default:
		d.accessByte(r, op)
	}
}

func (d *Eraser) accessByte(r *heisen.Record, op heisen.Op) {
	v := d.memory.At(r.Object)
	if v.state == exclusive && v.last.thread == r.Thread {
		v.last, v.lastOp = location{r.Thread, r.Site, r.Context}, op
		if d.handOver != nil {
			d.handOver.own(v, r.Thread)
		}
		return
	}
	if v.state == violated {
		return
	}
	if why := d.transition(v, r, op); why.broken {
		d.report(r, op, r.Object, r.Object, why)
	}
}

func (d *Eraser) accessRange(r *heisen.Record, op heisen.Op, o heisen.Object, size uint64) {
	for c := d.memory.Range(o, size); c.Next(); {
		if why := d.transition(c.State(), r, op); why.broken {
			d.report(r, op, c.Object(), c.Object(), why)
		}
	}
}

// accessObjects handles r as an access to whole objects, and to variables outside of objects.
func (d *Eraser) accessObjects(r *heisen.Record, op heisen.Op) {
	if r.Len <= 1 {
		if o := d.objects.at(r.Object); o != nil {
			d.accessObject(r, op, o, r.Object)
		} else {
			d.accessByte(r, op)
		}
		return
	}
	first, last := r.Object, lastByte(r.Object, r.Size())
	for {
		o, end := d.objects.find(first)
		end = min(end, last)
		if o != nil {
			d.accessObject(r, op, o, first)
		} else {
			d.accessRange(r, op, first, uint64(end-first)+1)
		}
		if end == last {
			return
		}
		first = end + 1
	}
}

func (d *Eraser) accessObject(r *heisen.Record, op heisen.Op, o *object, at heisen.Object) {
	other := o.otherAt
	if o.state != virgin && o.last.thread != r.Thread {
		other = o.lastAt
	}
	if why := d.transition(&o.variable, r, op); why.broken {
		why.object = o
		d.report(r, op, o.base, other, why)
	}
	o.lastAt, o.otherAt = at, other
}

// compact drops the locksets that are no longer used, if there are many.
func (d *Eraser) compact() {
	if !d.table.Grown() {
		return
	}
	d.table.Compact(func(k *locksets.Compaction) {
		d.locks.KeepSets(k)
		d.memory.Each(func(v *variable) { k.Keep(&v.candidates) })
		if d.objects != nil {
			d.objects.each(func(o *object) { k.Keep(&o.candidates) })
		}
		k.KeepLock(d.atomic)
	})
}

// compactOrder makes the order of messages forget threads that have ended.
func (d *Eraser) compactOrder() {
	d.handOver.known = false
	d.handOver.order.Compact(nil, func(k *vclock.Compaction) {
		d.memory.Each(func(v *variable) { v.keep(k) })
		if d.objects != nil {
			d.objects.each(func(o *object) { o.keep(k) })
		}
	})
}

// report reports r, an access by op to the variable or object at an address, unless it has just
// reported the same violation of a neighbor.
func (d *Eraser) report(r *heisen.Record, op heisen.Op, at, earlier heisen.Object, why violation) {
	why.event = d.events
	if why == d.lastViolation {
		return
	}
	d.lastViolation = why
	d.reports++
	locks, atomically := d.lastCandidates(why.candidates)
	d.sink(heisen.Finding{
		Detector: "eraser",
		Kind:     heisen.Discipline,
		Object:   at,
		Message:  why.message(op, len(locks), atomically),
		Accesses: []heisen.Access{{
			Op: why.op, Thread: why.earlier.thread, Object: earlier, Size: 1,
			Site: why.earlier.site, Context: why.earlier.ctx,
		}, accessOf(r, op, d.events)},
		Locks: locks,
	})
}

// accessOf is heisen.AccessOf of a record that is an access by op.
func accessOf(r *heisen.Record, op heisen.Op, index uint64) heisen.Access {
	a := heisen.AccessOf(r, index)
	a.Op = op
	return a
}

// lastCandidates returns the addresses of the locks of a set, and whether the set contains the lock of
// atomic operations.
func (d *Eraser) lastCandidates(s locksets.ID) (locks []heisen.Object, atomically bool) {
	for _, l := range d.table.Append(nil, s) {
		if l == d.atomic {
			atomically = true
		} else {
			locks = append(locks, d.table.Object(l))
		}
	}
	return locks, atomically
}

func (w *violation) message(op heisen.Op, locks int, atomically bool) string {
	switch {
	case w.readOnly:
		return fmt.Sprintf("%v of a variable that was shared without a common lock", op.Words())
	case locks == 1:
		return fmt.Sprintf("%v without the lock that was held at all accesses since it became shared", op.Words())
	case locks > 1:
		return fmt.Sprintf("%v without any of the %d locks that were held at all accesses since it became shared", op.Words(), locks)
	case atomically:
		return fmt.Sprintf("plain %v of a variable that was accessed atomically since it became shared", op.Words())
	}
	return fmt.Sprintf("%v by a second thread without a lock", op.Words())
}

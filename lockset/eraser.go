package lockset

import (
	"fmt"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/shadow"
)

// Eraser reports violations of the locking discipline that every variable which
// threads share and write is protected by a lock of its own: the algorithm of
// Savage et al. (TOCS 1997). Its name in findings is "eraser", their Kind
// heisen.Discipline. A violation is no proof of a race: the program may order
// the accesses by messages, which Eraser does not look at.
//
// # The discipline
//
// A variable begins, and begins anew when its memory is allocated or freed, with
// all locks as candidates, read-only and not shared, and so it stays while one
// thread accesses it: this is initialisation, which needs no lock. The first
// access by a second thread hands the variable over. From then on, that access
// included, the variable is shared, each access by any thread takes from the
// candidates the locks that its thread does not hold, and a write ends its being
// read-only. If then no candidate is left of a variable that is not read-only,
// the access at hand is reported, and the variable is not looked at any more.
//
// Agarwal, Sasturkar, Wang and Stoller, "Optimized Run-Time Race Detection and
// Atomicity Checking Using Partial Discovered Types" (section 2.1), state it so,
// with the attributes lkset, shar and rdonly. In the states of Savage et al.,
// which are kept here: not yet accessed is virgin; not shared is exclusive;
// shared and read-only is shared; the rest is shared-modified. In particular the
// locks of the first thread before the hand-over do not count, its writes then
// do not end being read-only, and the access that hands over is judged already.
//
// Read-write locks are those of Savage et al.: a read takes away the locks that
// its thread holds in no mode, a write those that its thread does not hold
// exclusively.
//
// Operations of sync/atomic need no lock among themselves: they count as
// accesses under one more lock, which belongs to them all and which no other
// access holds. So a variable that is accessed atomically after its hand-over
// needs no other lock, nor does one that is accessed under a mutex, now plainly
// and now atomically; but plain accesses without a lock that the atomic ones hold
// too violate the discipline, as soon as there is a write. A lock that is memory
// of the program (heisen.LockWord) is updated atomically by who takes or releases
// it, under the locks held before.
//
// If there is no finding for a variable, then, one thread alone accessed it, or
// nobody wrote it since the hand-over, or all accesses since then held a common
// lock, writes exclusively, or all were atomic. The reverse is not promised: a
// variable that is written under two locks and read under either is reported,
// although it is safe.
//
// # Findings
//
// A finding has two accesses: the one that is reported, as it was, and the last
// one by another thread before it, of which the index is unknown and the size is
// 1. Locks has the candidates that were the last, if the variable ever had some
// but not all: those that would have protected it had the access held them.
// There is one finding for each variable and life. Bytes that every access so
// far touched together are one variable, and neighbours that one access
// violates in the same way are reported as one.
//
// # Costs
//
// An access costs a few nanoseconds while the candidates do not change, and
// memory 37 bytes per touched word (see Table and Holds for locks). In steady
// state nothing is allocated but findings.
type Eraser struct {
	table  *Table
	locks  *Tracker
	atomic Lock // held by atomic operations

	memory        *shadow.Memory[variable]
	objects       *objects // nil unless ByObject
	sink          heisen.Sink
	events        uint64
	lastViolation violation // the latest
	reports       uint64
}

// EraserOption is an option of NewEraser.
type EraserOption func(*Eraser)

// ByObject keeps the state for each allocated object instead of for each
// variable, as the paper's implementation does: one candidate set protects all
// fields. It is coarser and takes less memory. The objects are the ranges that
// Alloc events begin; accesses outside of them are judged by variable, as usual.
func ByObject() EraserOption {
	return func(d *Eraser) { d.objects = newObjects() }
}

// NewEraser returns a detector that reports to sink; nil is a sink that
// discards.
func NewEraser(sink heisen.Sink, options ...EraserOption) *Eraser {
	if sink == nil {
		sink = func(heisen.Finding) {}
	}
	d := &Eraser{table: NewTable(), sink: sink, memory: shadow.New[variable](nil, nil)}
	d.locks = NewTracker(d.table)
	d.atomic = d.table.NewLock(0)
	for _, option := range options {
		option(d)
	}
	return d
}

// Handle implements heisen.Detector.
func (d *Eraser) Handle(e heisen.Event) { d.handle(heisen.AsRecord(e)) }

// HandleRecords implements heisen.RecordHandler.
func (d *Eraser) HandleRecords(batch []heisen.Record) {
	for i := range batch {
		d.handle(&batch[i])
	}
}

// Skip implements heisen.Skipper.
func (d *Eraser) Skip(events uint64) { d.events += events }

// LockUse implements heisen.LockUser.
func (*Eraser) LockUse() heisen.LockUse { return heisen.LocksAsSets }

// Flush implements heisen.Detector. There is never an error.
func (d *Eraser) Flush() error { return nil }

// Violations returns how many findings there were.
func (d *Eraser) Violations() uint64 { return d.reports }

func (d *Eraser) handle(r *heisen.Record) {
	d.events++
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
}

// access takes r as an access by op.
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

// accessObjects takes r as an access to whole objects, and to variables where
// there is no object.
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

// compact gives up the sets that are no longer used, if there are many.
func (d *Eraser) compact() {
	if !d.table.Grown() {
		return
	}
	d.table.Compact(func(k *Compaction) {
		d.locks.KeepSets(k)
		d.memory.Each(func(v *variable) { k.Keep(&v.candidates) })
		if d.objects != nil {
			d.objects.keepSets(k)
		}
		k.KeepLock(d.atomic)
	})
}

// report makes a finding of r, an access by op to the variable or object at which
// why judges, unless it is the same as that of a neighbour.
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

// lastCandidates returns the real locks of a set, and whether it has the one of
// atomic operations.
func (d *Eraser) lastCandidates(s ID) (locks []heisen.Object, atomically bool) {
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
		return fmt.Sprintf("%v of a variable that was shared without a common lock", op)
	case locks == 1:
		return fmt.Sprintf("%v without the lock that was held at all accesses since it is shared", op)
	case locks > 1:
		return fmt.Sprintf("%v without any of the %d locks that were held at all accesses since it is shared", op, locks)
	case atomically:
		return fmt.Sprintf("plain %v of a variable that was accessed atomically since it is shared", op)
	}
	return fmt.Sprintf("%v by a second thread without a lock", op)
}

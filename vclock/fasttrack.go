package vclock

import (
	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/shadow"
)

// FastTrack is the epoch-optimised happens-before detector of Flanagan and
// Freund, "FastTrack: Efficient and Precise Dynamic Race Detection" (PLDI 2009),
// extended by sync/atomic operations, by accesses to ranges of bytes and by the
// places of both accesses in what it finds. Its name in findings is "fasttrack".
//
// It reports only true races of the observed order, and for every byte that
// races the first one: the earliest access that races with an earlier access.
// After that it may miss further races of the same bytes. The later access of a
// finding is complete; of the earlier one the index is unknown, the object is
// the byte where the two meet first, and the size is 1. One access may make
// several findings, with different earlier ones.
//
// Why the first race is never missed. Consider a byte and its accesses before
// its first race; the claim is that for each of them, a, that has been
// forgotten, every later access e that races with a also races with some access
// b that is remembered. It suffices that b comes after a, that a happens before
// b, and that e conflicts with b: then e, which does not come before b in the
// trace, cannot happen after b, for it would happen after a. Accesses are
// forgotten in these ways only:
//   - a plain write forgets everything before it, which all conflicts with it
//     and so happens before it, and itself conflicts with every access;
//   - a plain or atomic read, an atomic write or update takes the place of the same
//     kind of access that happens before it: of its own slot, or, as in the case
//     of READ EXCLUSIVE, of another one;
//   - an access is not remembered if its thread has done the same, or a plain
//     write, in the same epoch and that is remembered: no clock tells the two
//     apart, and what conflicts with the one conflicts with the other.
//
// An atomic write does not forget plain reads, for a later atomic write would
// race with them but not with it. Bytes share a state only as long as every
// access so far touched both or neither, so the argument holds for each byte by
// itself.
//
// # Costs
//
// An access in the same epoch as the last one costs a few nanoseconds and
// memory 37 bytes per touched word; see Order for synchronisation. A variable that is read by threads in no order, or accessed
// atomically, takes about 20 to 40 bytes for each of them besides. In steady
// state nothing is allocated but findings.
type FastTrack struct {
	order     *Order
	sink      heisen.Sink
	memory    *shadow.Memory[variable]
	histories histories
	current   *thread // the thread of the last event
	events    uint64
	races     uint64
	found     []earlier // of the present event's findings
}

// NewFastTrack returns a detector that reports to sink; nil is a sink that
// discards.
func NewFastTrack(sink heisen.Sink, options ...Option) *FastTrack {
	if sink == nil {
		sink = func(heisen.Finding) {}
	}
	f := &FastTrack{order: NewOrder(options...), sink: sink, current: forgotten}
	f.memory = shadow.New(f.histories.clone, f.histories.forget)
	return f
}

// Handle implements heisen.Detector.
func (f *FastTrack) Handle(e heisen.Event) { f.handle(heisen.AsRecord(e)) }

// HandleRecords implements heisen.RecordHandler.
func (f *FastTrack) HandleRecords(batch []heisen.Record) {
	for i := range batch {
		f.handle(&batch[i])
	}
}

// Skip implements heisen.Skipper.
func (f *FastTrack) Skip(events uint64) { f.events += events }

// LockUse implements heisen.LockUser.
func (*FastTrack) LockUse() heisen.LockUse { return heisen.LockOrder }

// Flush implements heisen.Detector. The error is that of Order.Err.
func (f *FastTrack) Flush() error { return f.order.Err() }

// Races returns how many findings there were.
func (f *FastTrack) Races() uint64 { return f.races }

func (f *FastTrack) handle(r *heisen.Record) {
	f.events++
	t := f.current
	if t.id != r.Thread || t.ended {
		if t = f.order.threads.get(r.Thread); t == nil {
			return
		}
		f.current = t
	}
	if f.order.barriers != nil {
		f.order.arrive(t, r)
		f.judge(t, r)
		f.order.leave(t, r)
		return
	}
	switch r.Op {
	case heisen.Read:
		if r.Len > 1 {
			f.readRange(t, r)
			return
		}
		// [FT READ SAME EPOCH]. A read after t's own write in the same epoch
		// is one too: whoever races with it races with the write.
		if v := f.memory.At(r.Object); v.read != t.epoch && v.write != t.epoch {
			f.read(t, v, r, r.Object)
		}
	case heisen.Write:
		if r.Len > 1 {
			f.writeRange(t, r)
			return
		}
		// [FT WRITE SAME EPOCH]
		if v := f.memory.At(r.Object); v.write != t.epoch {
			f.write(t, v, r, r.Object)
		}
	case heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate:
		s := f.order.peek(r.Object)
		f.order.enter(t, r.Op, s)
		if r.Len > 1 {
			f.atomicRange(t, r)
		} else {
			f.atomic(t, f.memory.At(r.Object), r, r.Object)
		}
		if r.Op == heisen.AtomicRead {
			return
		}
		if s == nil {
			s = f.order.object(r.Object)
		}
		f.order.publish(t, r.Op, s)
	case heisen.Alloc, heisen.Free:
		f.memory.Clear(r.Object, r.Value)
		f.order.arrive(t, r)
	default: // [FT ACQUIRE], [FT RELEASE], [FT FORK], [FT JOIN] and their kin
		f.order.arrive(t, r)
		if r.Flags != 0 && r.Access() != heisen.Invalid { // a lock in memory
			f.atomic(t, f.memory.At(r.Object), r, r.Object)
		}
		f.order.leave(t, r)
	}
}

// judge compares an event that has been ordered with the past and remembers it.
// It is what handle does apart from ordering.
func (f *FastTrack) judge(t *thread, r *heisen.Record) {
	switch r.Access() {
	case heisen.Invalid:
		if r.Op == heisen.Alloc || r.Op == heisen.Free {
			f.memory.Clear(r.Object, r.Value)
		}
	case heisen.Read:
		f.readRange(t, r)
	case heisen.Write:
		f.writeRange(t, r)
	default:
		f.atomicRange(t, r)
	}
}

func (f *FastTrack) readRange(t *thread, r *heisen.Record) {
	for c := f.memory.Range(r.Object, r.Size()); c.Next(); {
		if v := c.State(); v.read != t.epoch && v.write != t.epoch {
			f.read(t, v, r, c.Object())
		}
	}
	f.found = f.found[:0]
}

func (f *FastTrack) writeRange(t *thread, r *heisen.Record) {
	for c := f.memory.Range(r.Object, r.Size()); c.Next(); {
		if v := c.State(); v.write != t.epoch {
			f.write(t, v, r, c.Object())
		}
	}
	f.found = f.found[:0]
}

func (f *FastTrack) atomicRange(t *thread, r *heisen.Record) {
	for c := f.memory.Range(r.Object, r.Size()); c.Next(); {
		f.atomic(t, c.State(), r, c.Object())
	}
	f.found = f.found[:0]
}

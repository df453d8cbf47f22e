package vclock

import (
	"errors"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/intake"
	"github.com/heisen-go/heisen/internal/shadow"
)

// FastTrack is the happens-before detector of Flanagan and Freund, "FastTrack: Efficient and
// Precise Dynamic Race Detection" (PLDI 2009), extended by sync/atomic operations, accesses to
// ranges of bytes, and the sites of both accesses. Its name in findings is "fasttrack".
//
// It reports only true races of the observed order, and for every byte that races the first race:
// the earliest access that races with an earlier access. After that it may miss further races of
// the same byte. The later access of a finding is complete. Of the earlier access the index is
// unknown, the object is the first byte that both touch, and the size is 1. One access may have
// several findings, with different earlier accesses.
//
// The zero FastTrack is ready to use and discards its findings.
//
// # Why the first race is never missed
//
// Consider a byte and its accesses before its first race. The claim: if an access a was dropped
// from the shadow cell, then every later access e that races with a also races with an access b
// in the cell. It suffices that b comes after a, that a happens before b, and that e conflicts
// with b. Then e cannot happen after b, because it would happen after a. Accesses are dropped in
// these ways only:
//   - A plain write drops everything before it. All of that conflicts with the write, hence
//     happens before it, and the write conflicts with every access.
//   - A plain read, atomic read, atomic write or atomic update replaces an access of the same kind
//     that happens before it: one of its own slot or, as in READ EXCLUSIVE, of another one.
//   - An access is not stored if its thread has an access of the same kind, or a plain write, of
//     the same epoch in the cell. No clock distinguishes the two, and every access that conflicts
//     with the new one conflicts with the stored one.
//
// An atomic write does not drop plain reads: a later atomic write would race with them, but not
// with it. Bytes share a cell only if every access so far touched both or neither, so the
// argument holds for each byte by itself.
//
// # Cost
//
// An access in the epoch of the previous one costs a few nanoseconds. A cell takes 37 bytes per
// accessed word. A variable that unordered threads read, or that is accessed atomically, takes
// another 20 to 40 bytes for each of these threads. Order has the cost of synchronization. In
// steady state only findings are allocated.
type FastTrack struct {
	order     *Order // nil before the first event of a zero FastTrack
	sink      heisen.Sink
	memory    *shadow.Memory[cell]
	histories histories
	current   *thread // the thread of the last event
	intake    intake.Check
	events    uint64
	races     uint64
	found     []earlierAccess // in the findings of the present event
}

// NewFastTrack returns a FastTrack detector for one stream. The error wraps heisen.ErrOption.
func NewFastTrack(opts ...DetectorOption) (*FastTrack, error) {
	c, err := newDetectorConfig("vclock.NewFastTrack", opts)
	if err != nil {
		return nil, err
	}
	f := new(FastTrack)
	f.init(c)
	return f, nil
}

func (f *FastTrack) init(c detectorConfig) {
	f.order, f.sink, f.current = newOrder(c.orderConfig), c.sink, dropped
	f.memory = shadow.New(f.histories.clone, f.histories.forget)
	if c.whole {
		f.intake.CheckReleases()
	}
}

// ensureInit makes a zero FastTrack usable.
func (f *FastTrack) ensureInit() {
	if f.order == nil {
		f.init(detectorConfig{sink: func(heisen.Finding) {}})
	}
}

// Handle implements heisen.Detector.
func (f *FastTrack) Handle(e heisen.Event) {
	f.ensureInit()
	f.handle(heisen.AsRecord(e))
}

// HandleRecords implements heisen.RecordHandler.
func (f *FastTrack) HandleRecords(batch []heisen.Record) {
	f.ensureInit()
	for i := range batch {
		f.handle(&batch[i])
	}
}

// Skip implements heisen.Skipper.
func (f *FastTrack) Skip(events uint64) {
	f.intake.Skipped(events)
	f.events += events
}

// LockUse implements heisen.LockUser.
func (*FastTrack) LockUse() heisen.LockUse { return heisen.LocksAsOrder }

// Flush implements heisen.Detector. It returns an error that wraps ErrEndedThread or
// ErrTooManyThreads or ErrForgotten if races may be missing, and those that heisen.Detector names.
func (f *FastTrack) Flush() error {
	f.ensureInit()
	return errors.Join(f.order.Err(), f.intake.Flush())
}

// Races returns the number of findings.
func (f *FastTrack) Races() uint64 {
	return f.races
}

func (f *FastTrack) handle(r *heisen.Record) {
	f.events++
	if !f.intake.Take(r, f.events) {
		return
	}
	t := f.current
	if t.id != r.Thread || t.ended {
		if t = f.order.threads.get(r.Thread); t == nil {
			return
		}
		f.current = t
	}
	if f.order.barriers != nil {
		f.order.observe(t, r)
		f.handleAccess(t, r)
		f.order.publish(t, r)
		f.compactIfGrown(r.Op)
		return
	}
	switch r.Op {
	case heisen.Read:
		if r.Len > 1 {
			f.readRange(t, r)
			return
		}
		// [FT READ SAME EPOCH]. A read in the epoch of the thread's own write needs no check:
		// any access that races with the read also races with that write.
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
		s := f.order.find(r.Object)
		f.order.observeObject(t, r.Op, s)
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
		f.order.publishTo(t, r.Op, s)
	case heisen.Alloc, heisen.Free:
		f.memory.Clear(r.Object, r.Value)
		f.order.observe(t, r)
	default: // [FT ACQUIRE], [FT RELEASE], [FT FORK], [FT JOIN] and the like
		f.order.observe(t, r)
		if r.Flags != 0 && r.Access() != heisen.Invalid { // a lock in memory
			f.atomic(t, f.memory.At(r.Object), r, r.Object)
		}
		f.order.publish(t, r)
		f.compactIfGrown(r.Op)
	}
}

// compactIfGrown compacts the order after an event that ends a thread, if that pays.
func (f *FastTrack) compactIfGrown(op heisen.Op) {
	if (op == heisen.End || op == heisen.Join) && f.order.Grown() {
		f.compact()
	}
}

// compact makes the order forget threads that have ended.
func (f *FastTrack) compact() {
	f.order.Compact(nil, func(k *Compaction) {
		f.memory.Each(func(v *cell) { f.histories.compact(v, k) })
	})
}

// handleAccess is the part of handle that compares and stores accesses. The caller orders the
// event.
func (f *FastTrack) handleAccess(t *thread, r *heisen.Record) {
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

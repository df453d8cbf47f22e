package atomrace

import (
	"errors"
	"math"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/atomrace"
	"github.com/heisen-go/heisen/internal/shadow"
)

// Handle takes the next event of a stream, as HandleRecords does.
func (d *Detector) Handle(e heisen.Event) {
	d.handle(heisen.AsRecord(e))
}

// HandleRecords takes the next events of a stream. A plain access is pending until the next event of
// its thread (a Done or any other), until its thread is joined, or until its memory is allocated or
// freed. An atomic operation is over at once, and so is an operation on a lock that is memory.
//
// A thread leaves its sections without a check when it returns from their function: by Call and Return
// events, or by the depths of contexts if the locator has a function Depth.
func (d *Detector) HandleRecords(batch []heisen.Record) {
	for i := range batch {
		d.handle(&batch[i])
	}
}

// Skip implements heisen.Skipper.
func (d *Detector) Skip(events uint64) {
	d.events += events
}

// Flush ends the stream. It returns an error that wraps section.ErrInvalid if there were more places
// and variables than the detector has room for; some violations may then be missing. It also returns those that heisen.Detector names.
func (d *Detector) Flush() error {
	for len(d.active) > 0 {
		th := d.active[len(d.active)-1]
		d.endThread(th, &th.latest)
		d.updateActive(th)
	}
	err := d.intake.Flush()
	if d.sections != nil {
		err = errors.Join(d.sections.failed, err)
	}
	return err
}

func (d *Detector) handle(r *heisen.Record) {
	d.events++
	if !d.intake.Take(r, d.events) {
		d.endLatest(r.Thread) // whatever it is, the thread has gone on
		return
	}
	if op := r.Access(); op != heisen.Invalid {
		d.access(r, op)
		return
	}
	d.endLatest(r.Thread)
	switch r.Op {
	case heisen.Call, heisen.Return:
		if d.sections != nil {
			d.call(r)
		}
	case heisen.Alloc, heisen.Free:
		d.forget(r)
	case heisen.End:
		d.end(r.Thread)
	case heisen.Join:
		if uint64(r.Object) <= math.MaxUint32 {
			d.endLatest(r.Object.Thread())
		}
	}
}

// known returns the state of a thread of the stream, or nil if it has none.
func (d *Detector) known(t heisen.Thread) *thread {
	if d.streamed != nil {
		if p := d.streamed.Peek(threadIndex(t)); p != nil {
			return *p
		}
	}
	return nil
}

// threadIndex returns the index of a thread in Detector.streamed: a word of its own.
func threadIndex(t heisen.Thread) heisen.Object { return 8 * heisen.Object(t) }

// running returns the state of a thread of the stream. A new thread gets one.
func (d *Detector) running(t heisen.Thread) *thread {
	if d.streamed == nil {
		d.streamed = shadow.New[*thread](nil, nil)
	}
	p := d.streamed.At(threadIndex(t))
	if *p == nil {
		if n := len(d.free); n > 0 {
			*p, d.free = d.free[n-1], d.free[:n-1]
		} else {
			*p = new(thread)
		}
	}
	return *p
}

// endLatest ends the latest access of a thread, if it is pending.
func (d *Detector) endLatest(t heisen.Thread) {
	if th := d.known(t); th != nil {
		d.endPending(th, &th.latest)
		d.updateActive(th)
	}
}

// access makes an access of the stream pending.
func (d *Detector) access(r *heisen.Record, op heisen.Op) {
	th := d.running(r.Thread)
	a := atomrace.Access{
		Addr: uint64(r.Object), Size: r.Size(), ID: who(r.Thread, packPlace(r.Site, op)),
		Write: op.IsWrite(), Atomic: op.IsAtomic(),
	}
	if d.sections != nil {
		a.ID = who(r.Thread, d.places.pack(r, op))
		a.Depth = th.depth
		if d.sections.depth != nil {
			a.Depth = d.sections.contextDepth(r.Context)
		}
		if r.Op == op { // a lock operation is no access to a variable
			a.Loc = d.sections.location(r.Site, op)
		}
	}
	d.table().Before(&th.core, &a, &th.hits)
	d.reportViolations(th, &th.latest)
	th.latest = heisen.AccessOf(r, d.events)
	th.latest.Op = op
	if th.hits.NumOverlaps != 0 {
		d.reportRaces(th, th.latest, true)
	}
	if a.Atomic {
		d.endPending(th, &th.latest)
	}
	d.updateActive(th)
}

// call follows the calls of a thread.
func (d *Detector) call(r *heisen.Record) {
	th := d.running(r.Thread)
	if r.Op == heisen.Call {
		th.depth++
		return
	}
	if th.depth > 0 {
		th.depth--
	}
	d.table().Exit(&th.core, th.depth, &th.hits)
	d.updateActive(th)
}

// forget ends the pending accesses to memory that is allocated or freed, and gives up the sections on
// variables there.
func (d *Detector) forget(r *heisen.Record) {
	if r.Value == 0 {
		return
	}
	first := uint64(r.Object)
	last := first + r.Value - 1
	if last < first {
		last = math.MaxUint64
	}
	for i := len(d.active) - 1; i >= 0; i-- { // updateActive may remove the i-th
		th := d.active[i]
		at := uint64(th.latest.Object)
		if at <= last && first-at < th.latest.Size || at >= first && at <= last {
			d.endPending(th, &th.latest)
		}
		d.table().AtomExit(&th.core, first, last, &th.hits)
		d.reportViolations(th, &th.latest)
		d.updateActive(th)
	}
}

// end removes a thread. In a stream that is not well-formed it may go on; then it begins anew.
func (d *Detector) end(t heisen.Thread) {
	if th := d.known(t); th != nil {
		d.endThread(th, &th.latest)
		d.updateActive(th)
		*th = thread{}
		d.free = append(d.free, th)
		d.streamed.Clear(threadIndex(t), 1)
	}
}

// updateActive adds a thread to the active ones or removes it. Only threads that have a pending access
// or are in sections are looked at when memory is allocated or freed.
func (d *Detector) updateActive(th *thread) {
	idle := th.core.Idle()
	switch {
	case idle == (th.activeAt == 0):
	case idle:
		at, last := th.activeAt-1, len(d.active)-1
		moved := d.active[last]
		d.active[at], moved.activeAt = moved, th.activeAt
		d.active, th.activeAt = d.active[:last], 0
	default:
		d.active = append(d.active, th)
		th.activeAt = len(d.active)
	}
}

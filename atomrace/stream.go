package atomrace

import (
	"math"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/atomrace"
)

// Handle takes the next event of a stream, as HandleRecords does.
func (d *Detector) Handle(e heisen.Event) { d.handle(heisen.AsRecord(e)) }

// HandleRecords takes the next events of a stream. A plain access is pending until the
// next event of its thread, be that Done or any other; until its thread is joined; or
// until the memory gets another life. An atomic operation, and one on a lock that is
// memory, is over at once.
//
// Sections are given up when the thread returns from their function: by Call and Return
// events, or by the depths of contexts, see section.Locator.
func (d *Detector) HandleRecords(batch []heisen.Record) {
	for i := range batch {
		d.handle(&batch[i])
	}
}

// Skip implements heisen.Skipper.
func (d *Detector) Skip(events uint64) { d.events += events }

// Flush ends the stream. Its error says that there were more places and variables than
// the sections have room for.
func (d *Detector) Flush() error {
	for len(d.busy) > 0 {
		th := d.busy[len(d.busy)-1]
		d.leave(th, &th.latest)
		d.settle(th)
	}
	if d.sections != nil {
		return d.sections.failed
	}
	return nil
}

func (d *Detector) handle(r *heisen.Record) {
	d.events++
	if op := r.Access(); op != heisen.Invalid {
		d.access(r, op)
		return
	}
	if th := d.known(r.Thread); th != nil {
		d.table.After(&th.watch, &th.hits)
		d.violations(th, &th.latest)
		d.settle(th)
	}
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
			if th := d.known(r.Object.Thread()); th != nil {
				d.table.After(&th.watch, &th.hits)
				d.violations(th, &th.latest)
				d.settle(th)
			}
		}
	}
}

// known returns the state of a thread, or nil if it has none.
func (d *Detector) known(t heisen.Thread) *thread {
	if slot := d.threads.find(uint32(t)); slot != nil {
		return slot.Load()
	}
	return nil
}

func (d *Detector) access(r *heisen.Record, op heisen.Op) {
	th := d.thread(r.Thread)
	a := atomrace.Access{
		Addr: uint64(r.Object), Size: r.Size(), Who: uint64(r.Thread)<<32 | uint64(packPlace(r.Site, op)),
		Write: op.IsWrite(), Atomic: op.IsAtomic(),
	}
	if d.sections != nil {
		a.Who = who(r.Thread, d.places.pack(r, op))
		a.Depth = th.depth
		if d.sections.depth != nil {
			a.Depth = d.sections.contextDepth(r.Context)
		}
		if r.Op == op { // an operation on a lock is none on a variable
			a.Loc = d.sections.location(r.Site, op)
		}
	}
	d.table.Before(&th.watch, &a, &th.hits)
	d.violations(th, &th.latest)
	th.latest = heisen.AccessOf(r, d.events)
	th.latest.Op = op
	if th.hits.Overlaps != 0 {
		d.races(th, th.latest, true)
	}
	if a.Atomic {
		d.table.After(&th.watch, &th.hits)
		d.violations(th, &th.latest)
	}
	d.settle(th)
}

// call follows the calls of a thread.
func (d *Detector) call(r *heisen.Record) {
	th := d.thread(r.Thread)
	if r.Op == heisen.Call {
		th.depth++
		return
	}
	if th.depth > 0 {
		th.depth--
	}
	d.table.Exit(&th.watch, th.depth, &th.hits)
	d.settle(th)
}

// forget ends what is pending in memory that gets another life, and gives up the
// sections on variables there.
func (d *Detector) forget(r *heisen.Record) {
	if r.Value == 0 {
		return
	}
	first := uint64(r.Object)
	last := first + r.Value - 1
	if last < first {
		last = math.MaxUint64
	}
	for i := len(d.busy) - 1; i >= 0; i-- {
		th := d.busy[i]
		if at := &th.latest; uint64(at.Object) <= last && first-uint64(at.Object) < at.Size || uint64(at.Object) >= first && uint64(at.Object) <= last {
			d.table.After(&th.watch, &th.hits)
			d.violations(th, at)
		}
		d.table.AtomExit(&th.watch, first, last, &th.hits)
		d.violations(th, &th.latest)
		d.settle(th)
	}
}

// end takes leave of a thread. It may go on if the stream is not well-formed.
func (d *Detector) end(t heisen.Thread) {
	slot := d.threads.find(uint32(t))
	if slot == nil {
		return
	}
	if th := slot.Swap(nil); th != nil {
		d.leave(th, &th.latest)
		d.settle(th)
		*th = thread{}
		d.idle = append(d.idle, th)
	}
}

// settle notes whether a thread has anything pending, or is in sections: only those
// are looked at when memory gets another life.
func (d *Detector) settle(th *thread) {
	idle := th.watch.Idle()
	switch {
	case idle == (th.busyAt == 0):
	case idle:
		at, last := th.busyAt-1, len(d.busy)-1
		moved := d.busy[last]
		d.busy[at], moved.busyAt = moved, th.busyAt
		d.busy, th.busyAt = d.busy[:last], 0
	default:
		d.busy = append(d.busy, th)
		th.busyAt = len(d.busy)
	}
}

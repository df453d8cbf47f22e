package vclock

import (
	"cmp"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/shadow"
)

// Reference is the plain happens-before detector: it keeps every access and
// reports every racy pair. Its name in findings is "hb".
//
// For each access it reports every earlier access that shares a byte with it,
// conflicts with it (see heisen.Op.Conflicts) and is not ordered before it, one
// finding each, in stream order. Both accesses are complete, the index included,
// except that accesses which no finding could tell apart but by their index
// count as one, the first: those with the same op, object, size, site and
// context by the same thread between two of its publications, if they are not
// many accesses apart. The pairs of an earlier place and a later event are
// therefore all there.
//
// It costs a step per thread and op that touched the variable and per finding, and
// about 48 bytes per remembered access and word, which are never given back
// before the end of the variable's life.
type Reference struct {
	order  *Order
	sink   heisen.Sink
	memory *shadow.Memory[[]log]
	events uint64
	races  uint64
	found  []access // scratch of judge
}

// log is the accesses of one op by the threads of a slot to a class of bytes, in
// stream order, which is their happens-before order too. Ops are kept apart so that
// what cannot race, as reads with reads, is passed over as a whole.
type log struct {
	slot     uint32
	op       heisen.Op
	accesses []access
}

// access is a remembered access.
type access struct {
	index uint64
	epoch Epoch
	accessKey
}

// accessKey is what a finding shows of an access, besides thread and index.
type accessKey struct {
	obj  heisen.Object
	site heisen.Site
	ctx  heisen.Context
	size uint16
	op   heisen.Op
}

// NewReference returns a detector that reports to sink; nil is a sink that
// discards.
func NewReference(sink heisen.Sink, options ...Option) *Reference {
	if sink == nil {
		sink = func(heisen.Finding) {}
	}
	return &Reference{order: NewOrder(options...), sink: sink, memory: shadow.New(cloneLogs, nil)}
}

func cloneLogs(logs *[]log) {
	*logs = slices.Clone(*logs)
	for i := range *logs {
		l := &(*logs)[i]
		l.accesses = slices.Clone(l.accesses)
	}
}

// Handle implements heisen.Detector.
func (d *Reference) Handle(e heisen.Event) { d.handle(heisen.AsRecord(e)) }

// HandleRecords implements heisen.RecordHandler.
func (d *Reference) HandleRecords(batch []heisen.Record) {
	for i := range batch {
		d.handle(&batch[i])
	}
}

// Skip implements heisen.Skipper.
func (d *Reference) Skip(events uint64) { d.events += events }

// LockUse implements heisen.LockUser.
func (*Reference) LockUse() heisen.LockUse { return heisen.LockOrder }

// Flush implements heisen.Detector. The error is that of Order.Err.
func (d *Reference) Flush() error { return d.order.Err() }

// Races returns how many findings there were.
func (d *Reference) Races() uint64 { return d.races }

func (d *Reference) handle(r *heisen.Record) {
	d.events++
	t := d.order.threads.get(r.Thread)
	if t == nil {
		return
	}
	d.order.arrive(t, r)
	switch {
	case r.Access() != heisen.Invalid:
		d.access(t, r)
	case r.Op == heisen.Alloc || r.Op == heisen.Free:
		d.memory.Clear(r.Object, r.Value)
	}
	d.order.leave(t, r)
}

// access judges r against the logs of every class it touches, and adds it to
// them.
func (d *Reference) access(t *thread, r *heisen.Record) {
	t.touch()
	a := access{d.events, t.epoch, accessKey{r.Object, r.Site, r.Context, uint16(r.Size()), r.Access()}}
	d.found = d.found[:0]
	for c := d.memory.Range(r.Object, r.Size()); c.Next(); {
		logs := c.State()
		mine := -1
		for i := range *logs {
			l := &(*logs)[i]
			switch {
			case l.slot != t.epoch.Slot():
				if a.op.Conflicts(l.op) {
					d.judge(t, l)
				}
			case l.op == a.op:
				mine = i
			}
		}
		if mine < 0 {
			mine = len(*logs)
			*logs = append(*logs, log{slot: t.epoch.Slot(), op: a.op})
		}
		(*logs)[mine].add(a)
	}
	slices.SortFunc(d.found, func(a, b access) int { return cmp.Compare(a.index, b.index) })
	for _, e := range slices.Compact(d.found) {
		d.report(r, e)
	}
}

// judge collects the accesses of a log that race with t's present one, which their op
// conflicts with: the last ones of the log, for if one is ordered before it then so
// are those before.
func (d *Reference) judge(t *thread, l *log) {
	for _, e := range slices.Backward(l.accesses) {
		if t.covers(e.epoch) {
			return
		}
		d.found = append(d.found, e)
	}
}

// add appends a, unless one of the last accesses of the same epoch stands for
// it.
func (l *log) add(a access) {
	for _, e := range slices.Backward(l.accesses[max(0, len(l.accesses)-64):]) {
		if e.epoch == a.epoch && e.accessKey == a.accessKey {
			return
		}
	}
	l.accesses = append(l.accesses, a)
}

func (d *Reference) report(r *heisen.Record, e access) {
	d.races++
	later := accessOf(r, d.events)
	d.sink(heisen.Finding{
		Detector: "hb",
		Kind:     heisen.Race,
		Object:   max(r.Object, e.obj), // the first byte that both touch
		Message:  raceMessage(later.Op, e.op),
		Accesses: []heisen.Access{{
			Op: e.op, Thread: d.order.Thread(e.epoch), Object: e.obj, Size: uint64(e.size),
			Site: e.site, Context: e.ctx, Index: e.index,
		}, later},
	})
}

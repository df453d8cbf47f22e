package vclock

import (
	"cmp"
	"errors"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/intake"
	"github.com/heisen-go/heisen/internal/races"
	"github.com/heisen-go/heisen/internal/shadow"
)

// HappensBefore is the exhaustive happens-before detector: it stores every access and reports every
// racy pair. Its name in findings is "hb". FastTrack is tested against it.
//
// For each access it reports every earlier access that shares a byte with it, conflicts with it
// (see heisen.Op.Conflicts) and does not happen before it: one finding each, in stream order. Both
// accesses are complete, including the index. Repetitions count as one access, the first:
// accesses with the same op, object, size, site and context, by the same thread, between two of
// its publications, with fewer than 64 other accesses between them that are stored for the same
// bytes, op and thread. Other repetitions are stored and reported again. Either way, no pair of an
// earlier site and a later event is missing.
//
// The zero HappensBefore is ready to use and discards its findings.
//
// An access takes a step per thread and op that touched the variable, and a step per finding. It
// stores about 48 bytes per word, which are freed at the end of the variable's allocation epoch.
type HappensBefore struct {
	order  *Order // nil before the first event of a zero HappensBefore
	sink   heisen.Sink
	memory *shadow.Memory[[]log]
	intake intake.Check
	events uint64
	races  uint64
	found  []loggedAccess // scratch of compare
}

// log is the accesses by one op and by the threads of one slot to a class of bytes, in stream
// order, which is also their happens-before order. Each op has a log of its own, so that accesses
// that cannot race, such as two reads, are skipped as a whole.
type log struct {
	slot     uint32
	op       heisen.Op
	accesses []loggedAccess
}

// loggedAccess is an earlier access.
type loggedAccess struct {
	index uint64
	epoch Epoch
	accessKey
}

// accessKey is the part of an access that a finding shows, except thread and index.
type accessKey struct {
	obj  heisen.Object
	site heisen.Site
	ctx  heisen.Context
	size uint16
	op   heisen.Op
}

// NewHappensBefore returns a HappensBefore detector for one stream. The error wraps
// heisen.ErrOption.
func NewHappensBefore(opts ...DetectorOption) (*HappensBefore, error) {
	c, err := newDetectorConfig("vclock.NewHappensBefore", opts)
	if err != nil {
		return nil, err
	}
	d := new(HappensBefore)
	d.init(c)
	return d, nil
}

func (d *HappensBefore) init(c detectorConfig) {
	d.order, d.sink, d.memory = newOrder(c.orderConfig), c.sink, shadow.New(cloneLogs, nil)
	if c.whole {
		d.intake.CheckReleases()
	}
}

// ensureInit makes a zero HappensBefore usable.
func (d *HappensBefore) ensureInit() {
	if d.order == nil {
		d.init(detectorConfig{sink: func(heisen.Finding) {}})
	}
}

func cloneLogs(logs *[]log) {
	*logs = slices.Clone(*logs)
	for i := range *logs {
		l := &(*logs)[i]
		l.accesses = slices.Clone(l.accesses)
	}
}

// Skip implements heisen.Skipper.
func (d *HappensBefore) Skip(events uint64) {
	d.intake.Skipped(events)
	d.events += events
}

// LockUse implements heisen.LockUser.
func (*HappensBefore) LockUse() heisen.LockUse { return heisen.LocksAsOrder }

// Flush implements heisen.Detector. It returns an error that wraps ErrEndedThread or
// ErrTooManyThreads if races may be missing, and those that heisen.Detector names.
func (d *HappensBefore) Flush() error {
	d.ensureInit()
	return errors.Join(d.order.Err(), d.intake.Flush())
}

// Races returns the number of findings.
func (d *HappensBefore) Races() uint64 {
	return d.races
}

// Handle implements heisen.Detector.
func (d *HappensBefore) Handle(e heisen.Event) {
	d.ensureInit()
	r := heisen.AsRecord(e)
	d.events++
	if !d.intake.Take(r, d.events) {
		return
	}
	t := d.order.threads.get(r.Thread)
	if t == nil {
		return
	}
	d.order.observe(t, r)
	switch {
	case r.Access() != heisen.Invalid:
		d.access(t, r)
	case r.Op == heisen.Alloc || r.Op == heisen.Free:
		d.memory.Clear(r.Object, r.Value)
	}
	d.order.publish(t, r)
}

// access compares r with the logs of every class of bytes that it touches, and adds it to them.
func (d *HappensBefore) access(t *thread, r *heisen.Record) {
	t.noteAccess()
	a := loggedAccess{d.events, t.epoch, accessKey{r.Object, r.Site, r.Context, uint16(r.Size()), r.Access()}}
	d.found = d.found[:0]
	for c := d.memory.Range(r.Object, r.Size()); c.Next(); {
		logs := c.State()
		mine := -1
		for i := range *logs {
			l := &(*logs)[i]
			switch {
			case l.slot != t.epoch.Slot():
				if a.op.Conflicts(l.op) {
					d.compare(t, l)
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
	slices.SortFunc(d.found, func(a, b loggedAccess) int { return cmp.Compare(a.index, b.index) })
	for _, e := range slices.Compact(d.found) {
		d.report(r, e)
	}
}

// compare collects the accesses of a log, whose op conflicts with that of t's present access, that
// race with it. These are the last ones of the log: if an access happens before the present one,
// so do all accesses before it in the log.
func (d *HappensBefore) compare(t *thread, l *log) {
	for _, e := range slices.Backward(l.accesses) {
		if t.covers(e.epoch) {
			return
		}
		d.found = append(d.found, e)
	}
}

// add appends a, unless it repeats one of the last accesses.
func (l *log) add(a loggedAccess) {
	for _, e := range slices.Backward(l.accesses[max(0, len(l.accesses)-64):]) {
		if e.epoch == a.epoch && e.accessKey == a.accessKey {
			return
		}
	}
	l.accesses = append(l.accesses, a)
}

func (d *HappensBefore) report(r *heisen.Record, e loggedAccess) {
	d.races++
	later := accessOf(r, d.events)
	earlier := heisen.Access{
		Op: e.op, Thread: d.order.Thread(e.epoch), Object: e.obj, Size: uint64(e.size),
		Site: e.site, Context: e.ctx, Index: e.index,
	}
	d.sink(races.Unordered("hb", max(r.Object, e.obj), earlier, later))
}

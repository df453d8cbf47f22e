package heisen

import "errors"

// Detector consumes a stream of events and reports findings, usually to a [Sink] that its
// constructor was given. Unless its documentation says otherwise, a Detector belongs to one
// goroutine at a time.
type Detector interface {
	// Handle takes the next event of the stream, which is not nil. The event is valid only during
	// the call. Handle accepts any Event, not only those that Record.Event makes; see AsRecord.
	Handle(Event)

	// Flush ends the stream, whether it is complete or damaged. It is called once. The detector
	// reports what it has not reported yet and releases its resources. An error says that the
	// findings are incomplete. The detectors of this module ignore events that are not Valid, and
	// those after Flush, and say so by ErrOp and ErrFlushed at the next Flush.
	Flush() error
}

// RecordHandler is an optional capability of a [Detector] that takes events in batches. [Run],
// [Tee] and [Filter] ask for it by a type assertion and then call HandleRecords instead of Handle.
// A detector needs it only if the call of an interface method per event is a noticeable part of its
// cost: go test -bench Dispatch measures the difference.
type RecordHandler interface {
	// HandleRecords takes the next events of the stream. The slice and its records are valid only
	// during the call and must not be changed.
	HandleRecords([]Record)
}

// Skipper is an optional capability of a [Detector] that numbers events. A filter that leaves out
// redundant events reports them to Skip, so that Access.Index is the position in the whole stream.
type Skipper interface {
	// Skip says that a filter left out this many events just before the next one that it forwards.
	Skip(events uint64)
}

// LockUse says what a detector uses lock operations for. A filter in front of the detector may then
// leave out operations that do not matter to it. Operations that carry [LockWord] are never left
// out, because they also change memory of the program.
type LockUse uint8

const (
	// LocksAsEvents means that every lock operation may matter. A filter leaves out none.
	LocksAsEvents LockUse = iota

	// LocksAsOrder means that only the order matters that lock operations impose on accesses (see
	// Op.IsAccess). A filter may leave out
	//   - an Acquire of a lock that the same thread released last, if no other thread has published
	//     anything through the lock since;
	//   - a Release by a thread that has already published the same through the lock: since the
	//     thread's last Release of the lock that was forwarded, no other thread has used the lock,
	//     and no event of the thread was forwarded except releases.
	LocksAsOrder

	// LocksAsSets means that only the set of locks matters that a thread holds at each access. A
	// filter may leave out an Acquire together with its Release if it forwards no event in between.
	LocksAsSets
)

// LockUser is an optional capability of a [Detector] that declares its LockUse.
type LockUser interface {
	// LockUse returns the same value at all times.
	LockUse() LockUse
}

// handlerOf returns the fastest way to hand batches to d. Its loop is the one that serves all
// detectors that are no RecordHandler.
func handlerOf(d Detector) func([]Record) {
	if h, ok := d.(RecordHandler); ok {
		return h.HandleRecords
	}
	return func(batch []Record) {
		for i := range batch {
			d.Handle(batch[i].Event())
		}
	}
}

// Tee returns a Detector that forwards every event to each of the given detectors, in their order.
// Its Flush flushes all of them and joins their errors. Nil detectors are left out.
func Tee(detectors ...Detector) Detector {
	t := &tee{}
	for _, d := range detectors {
		if d != nil {
			t.detectors = append(t.detectors, d)
			t.handlers = append(t.handlers, handlerOf(d))
		}
	}
	return t
}

type tee struct {
	detectors []Detector
	handlers  []func([]Record)
}

func (t *tee) Handle(e Event) {
	for _, d := range t.detectors {
		d.Handle(e)
	}
}

func (t *tee) HandleRecords(batch []Record) {
	for _, h := range t.handlers {
		h(batch)
	}
}

// Skip implements Skipper: it calls Skip of each detector that is a Skipper.
func (t *tee) Skip(events uint64) {
	for _, d := range t.detectors {
		if s, ok := d.(Skipper); ok {
			s.Skip(events)
		}
	}
}

// LockUse implements LockUser. It returns the LockUse of the detectors if all have the same, and
// otherwise LocksAsEvents.
func (t *tee) LockUse() LockUse {
	use := LocksAsEvents
	for i, d := range t.detectors {
		var its LockUse
		if u, ok := d.(LockUser); ok {
			its = u.LockUse()
		}
		if i > 0 && its != use {
			return LocksAsEvents
		}
		use = its
	}
	return use
}

func (t *tee) Flush() error {
	var errs []error
	for _, d := range t.detectors {
		errs = append(errs, d.Flush())
	}
	return errors.Join(errs...)
}

// Filter returns a Detector that forwards to d the events for which keep returns true. A nil keep
// keeps every event; a nil d discards what it is given. If d is a [Skipper], it learns how many events
// were left out, so that positions stay those of the whole stream. If d is a [LockUser], so is the
// result.
//
// A filter that drops synchronization events (see Op.IsSync) makes happens-before detectors behind
// it report false races. Another filter may stand before this one. A tree.Filter drops an access of a
// thread because the thread has accessed the same bytes before; keep must then keep both accesses or
// neither, as it does if it decides by threads or by whole variables. A filter of NewFilter, unlike
// one of NewSpanFilter, drops an access only because of others at the same site and by the same op,
// so keep may also decide by these.
func Filter(d Detector, keep func(Event) bool) Detector {
	if d == nil || keep == nil {
		return Tee(d)
	}
	f := &filter{Detector: d, keep: keep, handle: handlerOf(d)}
	f.skipper, _ = d.(Skipper)
	return f
}

type filter struct {
	Detector
	keep    func(Event) bool
	handle  func([]Record)
	skipper Skipper // nil if the detector is none
	skipped uint64  // events left out since the last one that was forwarded
}

func (f *filter) Handle(e Event) {
	if !f.keep(e) {
		f.skipped++
		return
	}
	f.reportSkipped()
	f.Detector.Handle(e)
}

// HandleRecords forwards maximal runs of kept records without copying them.
func (f *filter) HandleRecords(batch []Record) {
	start := 0 // of the run
	forward := func(end int) {
		if start < end {
			f.reportSkipped()
			f.handle(batch[start:end])
		}
	}
	for i := range batch {
		if !f.keep(batch[i].Event()) {
			forward(i)
			f.skipped++
			start = i + 1
		}
	}
	forward(len(batch))
}

// reportSkipped tells the detector what was left out before the event that comes next.
func (f *filter) reportSkipped() {
	if f.skipped > 0 && f.skipper != nil {
		f.skipper.Skip(f.skipped)
	}
	f.skipped = 0
}

// Skip implements Skipper, for a filter in front of this one.
func (f *filter) Skip(events uint64) { f.skipped += events }

// LockUse implements LockUser. It returns the LockUse of the detector.
func (f *filter) LockUse() LockUse {
	if u, ok := f.Detector.(LockUser); ok {
		return u.LockUse()
	}
	return LocksAsEvents
}

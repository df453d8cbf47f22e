package heisen

import (
	"errors"
	"time"
)

// Detector consumes a stream of events and reports Findings to the Sink it was
// built with. A Detector belongs to one goroutine unless its doc says
// otherwise.
type Detector interface {
	// Handle takes the next event of the stream. The event is only valid
	// during the call.
	Handle(Event)
	// Flush is called once, at the end of the stream (also of a damaged one):
	// it reports what is left and releases resources. Its error is one that
	// made findings incomplete.
	Flush() error
}

// RecordHandler is an optional capability of a Detector: taking events by the
// batch. A driver asks for it once, by type assertion, and then uses it instead
// of Handle. The slice and its records are only valid during the call and must
// not be changed.
type RecordHandler interface {
	HandleRecords([]Record)
}

// Skipper is an optional capability of a Detector that numbers events: being told
// of events that are kept from it, so that Access.Index is the position in the
// stream all the same. Filters that leave out redundant events use it.
type Skipper interface {
	// Skip says that so many events come before the next one that is handed on.
	Skip(events uint64)
}

// LockUse is what a detector takes lock operations for.
type LockUse uint8

const (
	// LockEvents are events like any other: whether there is one, and how many
	// there are, may matter.
	LockEvents LockUse = iota
	// LockOrder is order: all that counts is which accesses (see Op.IsAccess) the
	// operations order. The detector may go without an Acquire of a lock that the
	// same thread released last, if nobody else has published anything there
	// since; and without a Release by a thread that has published the same there
	// already: since its last Release of the lock that was handed on, nobody else
	// has used the lock, and of the thread nothing was handed on but releases.
	LockOrder
	// LockSets are the locks that a thread holds at an access: all that counts is
	// which they are. The detector may go without an Acquire and the Release that
	// goes with it if no event was handed on in between.
	LockSets
)

// LockUser is an optional capability of a Detector: saying what it takes lock
// operations for, so that filters can leave out those that tell it nothing. This
// is not meant for those that change memory of the program, see LockWord.
type LockUser interface {
	// LockUse returns the same at all times.
	LockUse() LockUse
}

// Coster is an optional capability of a Detector: saying what an event costs it,
// so that who stands in front of it can tell whether it pays to keep events from
// it.
type Coster interface {
	// EventCost returns roughly what an event costs, access or synchronisation,
	// on a machine of today; 0 is unknown. It returns the same at all times.
	EventCost() time.Duration
}

// handlerOf returns the fastest way to hand batches to d.
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

// Tee returns a Detector that hands every event to each of the given detectors,
// in their order. Its Flush flushes all of them and joins their errors.
func Tee(detectors ...Detector) Detector {
	t := &tee{detectors: detectors}
	for _, d := range detectors {
		t.handlers = append(t.handlers, handlerOf(d))
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

// Skip implements Skipper for those of the detectors that do.
func (t *tee) Skip(events uint64) {
	for _, d := range t.detectors {
		if s, ok := d.(Skipper); ok {
			s.Skip(events)
		}
	}
}

// LockUse implements LockUser: it is that of all the detectors, if they agree.
func (t *tee) LockUse() LockUse {
	use := LockEvents
	for i, d := range t.detectors {
		var its LockUse
		if u, ok := d.(LockUser); ok {
			its = u.LockUse()
		}
		if i > 0 && its != use {
			return LockEvents
		}
		use = its
	}
	return use
}

// EventCost implements Coster: it is the sum, if all are known.
func (t *tee) EventCost() (sum time.Duration) {
	for _, d := range t.detectors {
		var its time.Duration
		if c, ok := d.(Coster); ok {
			its = c.EventCost()
		}
		if its == 0 {
			return 0
		}
		sum += its
	}
	return sum
}

func (t *tee) Flush() error {
	var errs []error
	for _, d := range t.detectors {
		errs = append(errs, d.Flush())
	}
	return errors.Join(errs...)
}

// Filter returns a Detector that hands on to d the events for which keep
// returns true. Dropping a synchronisation event makes happens-before detectors
// behind the filter raise false alarms; see Op.IsSync.
func Filter(d Detector, keep func(Event) bool) Detector {
	return &filter{Detector: d, keep: keep, handle: handlerOf(d)}
}

type filter struct {
	Detector
	keep   func(Event) bool
	handle func([]Record)
}

func (f *filter) Handle(e Event) {
	if f.keep(e) {
		f.Detector.Handle(e)
	}
}

// HandleRecords hands on maximal runs of kept records without copying them.
func (f *filter) HandleRecords(batch []Record) {
	start := 0
	for i := range batch {
		if !f.keep(batch[i].Event()) {
			if start < i {
				f.handle(batch[start:i])
			}
			start = i + 1
		}
	}
	if start < len(batch) {
		f.handle(batch[start:])
	}
}

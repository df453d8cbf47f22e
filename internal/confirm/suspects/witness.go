package suspects

import (
	"slices"

	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/contain"
	"github.com/heisen-go/heisen/internal/observed"
	"github.com/heisen-go/heisen/mcm"
	"github.com/heisen-go/heisen/section"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/racefuzz"
)

// orderRecorder is a detector that records the order of an execution's operations, so that the
// witnesses of predictions can be followed from the start. It needs records with the flag Placed.
// It finds nothing.
type orderRecorder struct {
	before    []racefuzz.Position // positions up to latest; of several in a row of one goroutine the last
	latest    []racefuzz.Position // one position for each of the latest events
	forgotten uint64              // number of events before latest
	starts    []racefuzz.Creation
}

// recentEvents is the least number of events in latest, more than mcm's window has.
const recentEvents = 1 << 16

func (c *orderRecorder) handle(r *heisen.Record) {
	m := positionOf(r)
	if r.Op == heisen.Fork {
		c.starts = append(c.starts, racefuzz.Creation{Position: racefuzz.Position{ID: uint32(r.Thread), Seq: m.Seq}, Child: uint32(r.Object)})
	}
	if len(c.latest) == 2*recentEvents {
		c.before = appendPositions(c.before, c.latest[:recentEvents])
		c.latest = append(c.latest[:0], c.latest[recentEvents:]...)
		c.forgotten += recentEvents
	}
	c.latest = append(c.latest, m)
}

// positionOf returns the position of an event in its goroutine. An event that is neither an access
// nor synchronization has none: its ID is NoTask.
func positionOf(r *heisen.Record) racefuzz.Position {
	if r.Flags&recorder.Numbered == 0 {
		return racefuzz.Position{ID: racefuzz.NoTask}
	}
	return racefuzz.Position{ID: uint32(r.Thread), Seq: r.Value}
}

// appendPositions appends the positions that have a task. Of several in a row of one task it keeps
// the last.
func appendPositions(all, more []racefuzz.Position) []racefuzz.Position {
	for _, m := range more {
		last := len(all) - 1
		switch {
		case m.ID == racefuzz.NoTask:
		case last >= 0 && all[last].ID == m.ID:
			all[last] = m
		default:
			all = append(all, m)
		}
	}
	return all
}

// witness is a predicted order of operations that leads to a bug.
type witness struct {
	seed  uint64              // of the execution from which it was predicted
	tests string              // that ran in it, as -test.run takes them; empty for all
	order []racefuzz.Position // the operations up to next
	next  []racefuzz.Position // the operations that are next at the same time, in the predicted order
	both  bool                // next may also come in the other order

	starts []racefuzz.Creation // creations of goroutines in that execution
}

// witnessOf returns the witness of a finding. It returns nil if the order is not known.
func (c *orderRecorder) witnessOf(f *heisen.Finding, seed uint64, tests string) *witness {
	n := len(f.Witness) - f.Last
	if f.Last == 0 || len(f.Accesses) < 2 || f.Before < c.forgotten || f.Before > c.forgotten+uint64(len(c.latest)) {
		return nil
	}
	w := &witness{seed: seed, tests: tests, both: f.Kind != heisen.Atomicity, order: appendPositions(slices.Clone(c.before), c.latest[:f.Before-c.forgotten])}
	for i := range f.Witness[:n] {
		w.order = appendPositions(w.order, []racefuzz.Position{positionOf(&f.Witness[i])})
	}
	for i := range f.Witness[n:] {
		m := positionOf(&f.Witness[n+i])
		if m.ID == racefuzz.NoTask || m.Seq == 0 {
			return nil
		}
		w.next = append(w.next, m)
	}
	w.stopBefore()
	if len(w.order)+2*len(w.next) > racefuzz.MaxChoices { // more choices than a schedule can have
		return nil
	}
	return w
}

// orders returns the number of orders in which the operations in next may come, 0 for a nil witness.
func (w *witness) orders() uint64 {
	switch {
	case w == nil:
		return 0
	case w.both:
		return 2
	}
	return 1
}

// stopBefore lets goroutines come no further than to the operations in next, where earlier events of the order are part of
// these: all events of an operation that is one step have its position.
func (w *witness) stopBefore() {
	for i := range w.order {
		p := &w.order[i]
		for _, n := range w.next {
			if p.ID == n.ID && p.Seq >= n.Seq {
				p.Seq = n.Seq - 1
			}
		}
	}
}

// turns returns the turns that lead to the operations in next and then make these, in reverse order
// if reverse is set.
func (w *witness) turns(reverse bool) []racefuzz.Turn {
	next := slices.Clone(w.next)
	if reverse {
		slices.Reverse(next)
	}
	return racefuzz.Turns(w.order, next, w.starts)
}

// predictor is the detector whose findings have witnesses.
const predictor = "mcm"

// maxPredicted bounds the events of an execution from which witnesses of suspects are predicted.
const maxPredicted = 20_000

// newPredictor returns the detector mcm with s.Sections. order sees each event before it.
func (s *Survey) newPredictor(order *orderRecorder, symbols *heisen.Symbols, sink heisen.Sink) (heisen.Detector, error) {
	d, err := mcm.NewDetector(mcm.WithSymbols(symbols), mcm.WithSections(s.Sections, section.LocateIn(symbols, "/")),
		mcm.WithSink(func(f heisen.Finding) {
			f.Detector = predictor
			sink(f)
		}))
	return heisen.Tee(observed.Handler(order.handle), contain.New(predictor, d)), err
}

// ownEvents passes on the first maxPredicted events to a detector, without the plain accesses that libraries
// make. These hardly ever decide which order is possible, and a witness counts only if the program follows it.
// The detector takes what it gets for the whole stream: it learns nothing of the rest.
type ownEvents struct {
	detector  heisen.Detector
	symbols   *heisen.Symbols
	with      *build.Toolchain
	inLibrary []int8 // by site: 0 if it is not known, 1 if it is, -1 if not
	passed    int
}

// Handle implements heisen.Detector.
func (o *ownEvents) Handle(e heisen.Event) {
	if op := e.Op(); o.passed == maxPredicted || op.IsAccess() && !op.IsAtomic() && o.libraryAt(e.Site()) {
		return
	}
	o.passed++
	o.detector.Handle(e)
}

// Flush implements heisen.Detector.
func (o *ownEvents) Flush() error { return o.detector.Flush() }

func (o *ownEvents) libraryAt(site heisen.Site) bool {
	if int(site) >= len(o.inLibrary) {
		o.inLibrary = append(o.inLibrary, make([]int8, int(site)+1-len(o.inLibrary))...)
	}
	if o.inLibrary[site] == 0 {
		o.inLibrary[site] = -1
		if frames := o.symbols.Site(site).Frames; len(frames) > 0 && o.with.InLibrary(frames[0].File) {
			o.inLibrary[site] = 1
		}
	}
	return o.inLibrary[site] > 0
}

package suspects

import (
	"context"
	"os"
	"slices"

	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/contain"
	"github.com/heisen-go/heisen/internal/observed"
	"github.com/heisen-go/heisen/mcm"
	"github.com/heisen-go/heisen/section"
	"github.com/heisen-go/heisen/syncp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/racefuzz"
)

// orderRecorder is a detector that records the order of an execution's operations, so that the
// witnesses of predictions can be followed from the start. It needs records with the flag Numbered.
// It finds nothing. It takes a byte for each event.
type orderRecorder struct {
	turns  []turn
	steps  []uint8 // by event: how its position follows from that of the event before it in the turn; see after
	starts []racefuzz.Creation
}

// turn is successive events of one goroutine, and of others those that have no position.
type turn struct {
	task   uint32
	events int    // before it
	from   uint64 // position of its first event
	last   uint64 // position of its last event
}

// A step below nextOperation adds to a position. One from there on leads to the next operation of the goroutine, whose
// number is in the high half of a position, and to one of the accesses after it.
const nextOperation = 1 << 7

// noPosition is the step to an event without a position.
const noPosition = nextOperation - 1

// after returns the position after a step.
func after(from uint64, step uint8) uint64 {
	switch {
	case step == noPosition:
		return from
	case step < nextOperation:
		return from + uint64(step)
	}
	return (from>>32+1)<<32 + uint64(step-nextOperation)
}

// stepTo returns the step between two positions, if there is one.
func stepTo(from, to uint64) (step uint8, ok bool) {
	if to-from < noPosition {
		return uint8(to - from), true
	}
	next := (from>>32 + 1) << 32
	return nextOperation | uint8(to-next), to-next < nextOperation
}

func (c *orderRecorder) handle(r *heisen.Record) {
	if r.Op == heisen.Done { // not an event for the predictors, see causality
		return
	}
	m := positionOf(r)
	if r.Op == heisen.Fork {
		c.starts = append(c.starts, racefuzz.Creation{Position: racefuzz.Position{ID: uint32(r.Thread), Seq: m.Seq}, Child: uint32(r.Object)})
	}
	last := len(c.turns) - 1
	if m.ID == racefuzz.NoTask && last >= 0 {
		c.steps = append(c.steps, noPosition)
		return
	}
	if last >= 0 && c.turns[last].task == m.ID && len(c.steps)-c.turns[last].events < maxTurn {
		if step, ok := stepTo(c.turns[last].last, m.Seq); ok {
			c.steps = append(c.steps, step)
			c.turns[last].last = m.Seq
			return
		}
	}
	c.turns = append(c.turns, turn{task: m.ID, events: len(c.steps), from: m.Seq, last: m.Seq})
	c.steps = append(c.steps, 0)
}

// maxTurn bounds the events of a turn of goroutines with positions, so that a position is found soon. A goroutine may have several turns in a row.
const maxTurn = 1 << 10

// at returns the position of the event with a number in the stream, from 1.
func (c *orderRecorder) at(event uint64) racefuzz.Position {
	none := racefuzz.Position{ID: racefuzz.NoTask}
	if event == 0 || event > uint64(len(c.steps)) {
		return none
	}
	i, found := slices.BinarySearchFunc(c.turns, int(event-1), func(t turn, n int) int { return t.events - n })
	if !found {
		i--
	}
	t := &c.turns[i]
	if c.steps[event-1] == noPosition {
		return none
	}
	return racefuzz.Position{ID: t.task, Seq: t.upTo(c.steps[t.events:event])}
}

// upTo returns the position after the steps of its first events.
func (t *turn) upTo(steps []uint8) uint64 {
	at := t.from
	for _, step := range steps {
		at = after(at, step)
	}
	return at
}

// first returns the positions of the first events. Of several in a row of one goroutine it returns the last.
func (c *orderRecorder) first(events int) (all []racefuzz.Position) {
	for i, t := range c.turns {
		end := len(c.steps)
		if i+1 < len(c.turns) {
			end = c.turns[i+1].events
		}
		at := racefuzz.Position{ID: t.task, Seq: t.last}
		if end > events {
			if t.events >= events {
				break
			}
			at.Seq = t.upTo(c.steps[t.events:events])
		}
		all = appendPositions(all, []racefuzz.Position{at})
	}
	return all
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
	n := len(f.Positions) - f.Last
	if f.Last == 0 || n < 0 || len(f.Accesses) < 2 || f.Before > uint64(len(c.steps)) {
		return nil
	}
	w := &witness{seed: seed, tests: tests, both: f.Kind != heisen.Atomicity, order: c.first(int(f.Before))}
	for _, event := range f.Positions[:n] {
		w.order = appendPositions(w.order, []racefuzz.Position{c.at(event)})
	}
	for _, event := range f.Positions[n:] {
		m := c.at(event)
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

// The predictors are the detectors whose findings have witnesses.
const (
	inWindows  = "mcm"
	wholeTrace = "syncp"
)

// isPrediction reports whether the findings of a detector have witnesses.
func isPrediction(detector string) bool { return detector == inWindows || detector == wholeTrace }

// maxPredicted bounds the events of an execution from which mcm predicts witnesses of suspects.
const maxPredicted = 20_000

// newPredictors returns the detectors mcm, with s.Sections, and syncp, which work until ctx ends. order sees
// each event before them. mcm gets so many events only; 0 is all.
func (s *Survey) newPredictors(ctx context.Context, order *orderRecorder, symbols *heisen.Symbols, sink heisen.Sink, most int) (heisen.Detector, error) {
	named := func(name string) heisen.Sink {
		return func(f heisen.Finding) {
			f.Detector = name
			sink(f)
		}
	}
	options := []mcm.DetectorOption{
		mcm.WithContext(ctx), mcm.WithSymbols(symbols), mcm.WithSections(s.Sections, section.LocateIn(symbols, "/")), mcm.WithSink(named(inWindows)),
	}
	if s.Causality == ControlCausality {
		options = append(options, mcm.WithControlFlow())
	}
	d, err := mcm.NewDetector(options...)
	if err != nil {
		return nil, err
	}
	whole, err := syncp.NewDetector(syncp.WithSink(named(wholeTrace)), syncp.WithSpill(os.TempDir()))
	if err != nil {
		return nil, err
	}
	windows := contain.New(inWindows, &beginning{d, most})
	if s.Causality != OrderCausality {
		windows = newCausality(s.Lines, symbols, windows)
	}
	return heisen.Tee(observed.Handler(order.handle), windows, contain.New(wholeTrace, withoutDone{whole})), nil
}

// withoutDone passes on all events but Done, which has values that the detector does not use and no number in
// the stream, see causality.
type withoutDone struct{ heisen.Detector }

// Handle implements heisen.Detector.
func (w withoutDone) Handle(e heisen.Event) {
	if e.Op() != heisen.Done {
		w.Detector.Handle(e)
	}
}

// beginning passes on the first events to a detector, which takes what it gets for the whole stream: it learns
// nothing of the rest.
type beginning struct {
	heisen.Detector
	left int // 0 for all
}

// Handle implements heisen.Detector.
func (b *beginning) Handle(e heisen.Event) {
	switch b.left {
	case 0:
	case 1:
		return
	default:
		b.left--
	}
	b.Detector.Handle(e)
}

// ownEvents passes on events to a detector, without the plain accesses that libraries make. These hardly ever
// decide which order is possible, and a witness counts only if the program follows it.
type ownEvents struct {
	detector  heisen.Detector
	symbols   *heisen.Symbols
	with      *build.Toolchain
	inLibrary []int8 // by site: 0 if it is not known, 1 if it is, -1 if not
}

// Handle implements heisen.Detector.
func (o *ownEvents) Handle(e heisen.Event) {
	if op := e.Op(); op.IsAccess() && !op.IsAtomic() && o.standsInLibrary(e.Site()) {
		return
	}
	o.detector.Handle(e)
}

// Flush implements heisen.Detector.
func (o *ownEvents) Flush() error { return o.detector.Flush() }

func (o *ownEvents) standsInLibrary(site heisen.Site) bool {
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

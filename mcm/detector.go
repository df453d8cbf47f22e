package mcm

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/option"
	"github.com/heisen-go/heisen/mcm/internal/candidate"
	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/section"
)

// Detector predicts races, deadlocks and atomicity violations from a stream of events. Its name in
// findings is "mcm". It cuts the stream into overlapping windows, makes a Model of each, and queries
// it for
//
//   - races: conflicting accesses that no common lock excludes;
//   - deadlocks: cycles of lock acquisitions by up to four threads;
//   - transactions: accesses of other threads between two successive accesses of a transaction
//     (Enter, Exit) that make it unserializable;
//   - atomic sections, with WithSections: accesses of other threads between the entry and the end of a
//     section that the end does not allow.
//
// Each finding has a witness that starts at the beginning of the window and that was replayed. At
// its end, the accesses of the finding are the next events of their threads. Each set of places (site
// and op) is reported once. The number of queries about a set of places in a window is bounded; see
// WithOccurrences.
//
// # Guarantees
//
// Every finding can happen in every program that can show the stream up to the end of the window.
// The detector finds what the feasible reordering of a single window shows, unless a budget is spent.
// Stats counts such queries.
//
// # Cost
//
// Windows are solved in groups, several at the same time with WithParallel, while Handle waits. The
// findings and their order do not depend on that. Memory is proportional to the records of a group,
// and, for each window that is being solved, to its events times its threads.
type Detector struct {
	config config

	records []heisen.Record // from the start of the next window
	index   []uint64
	held    *window.Locks // at the start of the next window
	hidden  map[heisen.Thread][]heisen.Record
	fresh   int // the number of records that have not been in a window

	tracker    *section.Tracker    // nil without sections
	executions []section.Execution // those that end in the next window or later, ordered by their ends

	events uint64
	known  map[finding]bool
	stats  DetectorStats
	err    error
	failed int // windows that could not be solved
	cut    int // windows that the end of the context has kept from being solved, or from being solved completely
}

// maxErrors bounds the number of windows whose errors Flush returns.
const maxErrors = 16

// finding identifies a finding. Two findings that are equal in it are the same bug.
type finding struct {
	kind heisen.Kind
	candidate.Places
}

// DetectorStats counts what a Detector has done.
type DetectorStats struct {
	Events                       uint64 // events handled
	Windows                      int    // windows solved
	Races, Deadlocks, Violations int    // findings, by kind
	Stats                               // queries
}

// group is the number of windows that are solved before their findings are excluded from the queries
// of the next windows.
const group = 16

// NewDetector returns a detector.
func NewDetector(opts ...DetectorOption) (*Detector, error) {
	d := &Detector{
		config: defaults(), held: window.NewLocks(), hidden: map[heisen.Thread][]heisen.Record{}, known: map[finding]bool{},
	}
	if err := applyOptions("mcm.NewDetector", &d.config, opts); err != nil {
		return nil, err
	}
	if len(d.config.sections) > 0 {
		var err error
		d.tracker, err = section.NewTracker(d.config.sections, d.config.locator,
			func(p section.Execution) { d.executions = append(d.executions, p) })
		if err != nil {
			return nil, fmt.Errorf("mcm.NewDetector: %w", option.Errorf("WithSections: %w", err))
		}
	}
	return d, nil
}

// Handle implements heisen.Detector.
func (d *Detector) Handle(e heisen.Event) { d.handle(heisen.AsRecord(e)) }

// HandleRecords implements heisen.RecordHandler.
func (d *Detector) HandleRecords(batch []heisen.Record) {
	for i := range batch {
		d.handle(&batch[i])
	}
}

// Skip implements heisen.Skipper.
func (d *Detector) Skip(events uint64) {
	if !d.zero() {
		d.events += events
	}
}

// zero reports whether d was not made by NewDetector.
func (d *Detector) zero() bool { return d.known == nil }

func (d *Detector) handle(r *heisen.Record) {
	if d.zero() {
		return
	}
	d.events++
	if d.tracker != nil {
		d.tracker.Next(r, d.events)
	}
	if !window.Constrains(r.Op) {
		return
	}
	d.records = append(d.records, *r)
	d.index = append(d.index, d.events)
	d.fresh++
	if len(d.records) == d.config.window+(group-1)*d.config.step() {
		d.solve(group)
	}
}

// Flush implements heisen.Detector. It solves the remaining windows. It returns the errors of the first
// windows that could not be solved, and the number of the others; their predictions are missing.
func (d *Detector) Flush() error {
	if d.zero() {
		return heisen.ErrZero
	}
	if d.fresh > 0 {
		step := d.config.step()
		d.solve(1 + (max(0, len(d.records)-d.config.window)+step-1)/step)
	}
	d.records, d.index, d.executions = nil, nil, nil
	if more := d.failed - maxErrors; more > 0 {
		d.err = errors.Join(d.err, fmt.Errorf("%d more windows could not be solved", more))
		d.failed = 0
	}
	if d.cut > 0 {
		d.err = errors.Join(d.err, fmt.Errorf("%d of %d windows were not solved completely: %w", d.cut, d.stats.Windows, d.config.ctx.Err()))
		d.cut = 0
	}
	return d.err
}

// Stats returns the counts so far. After Flush they are final.
func (d *Detector) Stats() DetectorStats {
	if d.zero() {
		return DetectorStats{}
	}
	s := d.stats
	s.Events = d.events
	return s
}

// solve solves the next windows. Only the last one may reach the end of the records.
func (d *Detector) solve(windows int) {
	jobs := make([]job, windows)
	start := 0
	for k := range jobs {
		end := min(start+d.config.window, len(d.records))
		jobs[k].window = window.Window{
			Records: d.records[start:end], Index: d.index[start:end],
			Held: d.held.List(), Hidden: d.open(),
		}
		jobs[k].window.Executions = d.executionsIn(d.index[start:end])
		for next := min(start+d.config.step(), len(d.records)); start < next; start++ {
			d.pass(&d.records[start])
		}
	}
	d.solveAll(jobs)
	for k := range jobs {
		d.report(&jobs[k])
	}
	d.records = append(d.records[:0], d.records[start:]...)
	d.index = append(d.index[:0], d.index[start:]...)
	d.fresh = 0
}

// solveAll solves windows, as many at the same time as WithParallel allows. A panic of another goroutine
// becomes one of this goroutine, so that the caller can recover from it.
func (d *Detector) solveAll(jobs []job) {
	var at atomic.Int64
	work := func() {
		for {
			k := int(at.Add(1)) - 1
			if k >= len(jobs) {
				return
			}
			jobs[k].solve(d)
		}
	}
	var workers sync.WaitGroup
	var panicked atomic.Pointer[any]
	for range min(d.config.parallel, len(jobs)) - 1 {
		workers.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					panicked.Store(&v)
				}
			}()
			work()
		})
	}
	work()
	workers.Wait()
	if v := panicked.Load(); v != nil {
		panic(*v)
	}
}

// executionsIn returns the executions of sections in the window whose records have the given positions.
// It drops those that end before the window.
func (d *Detector) executionsIn(index []uint64) (list []window.Execution) {
	if len(index) == 0 {
		return nil
	}
	d.executions = slices.DeleteFunc(d.executions, func(x section.Execution) bool { return x.End.Index < index[0] })
	for _, x := range d.executions {
		if x.Entry.Index < index[0] || x.End.Index > index[len(index)-1] {
			continue
		}
		entry, _ := slices.BinarySearch(index, x.Entry.Index)
		end, _ := slices.BinarySearch(index, x.End.Index)
		list = append(list, window.Execution{Section: x.Section, Entry: entry, End: end, Allow: x.Allow})
	}
	return list
}

// pass moves the start of the next window past a record.
func (d *Detector) pass(r *heisen.Record) {
	d.held.Apply(r)
	switch r.Op {
	case heisen.Hide:
		d.hidden[r.Thread] = append(d.hidden[r.Thread], *r)
	case heisen.End:
		delete(d.hidden, r.Thread)
	case heisen.Reveal:
		list := d.hidden[r.Thread]
		for k := len(list) - 1; k >= 0; k-- {
			if list[k].Object == r.Object {
				d.hidden[r.Thread] = list[:k]
				break
			}
		}
	}
}

// open returns the Hide records of the calls that have not returned.
func (d *Detector) open() (list []heisen.Record) {
	for _, hidden := range d.hidden {
		list = append(list, hidden...)
	}
	slices.SortStableFunc(list, func(a, b heisen.Record) int { return int(int64(a.Thread) - int64(b.Thread)) })
	return list
}

// report reports the predictions of a window.
func (d *Detector) report(j *job) {
	d.stats.Windows++
	d.stats.Add(j.stats)
	if j.cut {
		d.cut++
	}
	if j.err != nil {
		d.failed++
	}
	if j.err != nil && d.failed <= maxErrors {
		d.err = errors.Join(d.err, fmt.Errorf("window from event %d: %w", j.window.Position(0), j.err))
	}
	for _, f := range j.found {
		if d.known[f.finding] {
			continue
		}
		d.known[f.finding] = true
		switch f.kind {
		case heisen.Race:
			d.stats.Races++
		case heisen.Deadlock:
			d.stats.Deadlocks++
		default:
			d.stats.Violations++
		}
		d.config.sink(f.describe(&j.window))
	}
}

// job is a window to solve.
type job struct {
	window window.Window
	found  []prediction
	stats  Stats
	err    error
	cut    bool // the context has ended before all was queried
}

// prediction is a query with the verdict Possible.
type prediction struct {
	finding
	at      []int32
	witness *Witness
}

// solve asks the model of a window about all candidates.
func (j *job) solve(d *Detector) {
	ctx := d.config.ctx
	if j.cut = ctx.Err() != nil; j.cut {
		return
	}
	m, err := newModel(&j.window, &d.config)
	if err != nil {
		j.err = err
		return
	}
	tried := map[finding]int{}
	spent := 0
	consider := func(kind heisen.Kind, candidates func(func(candidate.Places) bool, func(candidate.Candidate))) {
		wanted := func(p candidate.Places) bool {
			f := finding{kind, p}
			return ctx.Err() == nil && !d.known[f] && tried[f] < d.config.occurrences && spent < d.config.queries
		}
		candidates(wanted, func(c candidate.Candidate) {
			f := finding{kind, c.Places}
			tried[f]++
			spent++
			verdict, w, err := m.ask(ctx, c)
			if err != nil && ctx.Err() != nil {
				return
			}
			j.err = errors.Join(j.err, err)
			if verdict == Possible {
				tried[f] = math.MaxInt
				j.found = append(j.found, prediction{f, c.Records, w})
			}
		})
	}
	in := func(find func(*model.Model, func(candidate.Places) bool, func(candidate.Candidate))) func(func(candidate.Places) bool, func(candidate.Candidate)) {
		return func(wanted func(candidate.Places) bool, ask func(candidate.Candidate)) { find(m.causal, wanted, ask) }
	}
	consider(heisen.Race, in(candidate.Races))
	consider(heisen.Deadlock, in(candidate.Deadlocks))
	consider(heisen.Atomicity, in(candidate.Violations))
	consider(heisen.Atomicity, in(candidate.SectionViolations))
	slices.SortStableFunc(j.found, func(a, b prediction) int { return candidate.ByPosition(a.at, b.at) })
	j.stats, j.cut = m.Stats(), ctx.Err() != nil
}

// describe makes a prediction a finding.
func (p *prediction) describe(w *window.Window) heisen.Finding {
	f := heisen.Finding{
		Detector: "mcm", Kind: p.kind,
		Witness: (*window.Witness)(p.witness).Records(w.Records), Last: p.witness.Last,
		Before: w.Position(0) - 1,
	}
	for _, i := range p.at {
		r := &w.Records[i]
		a := heisen.AccessOf(r, w.Position(int(i)))
		if p.kind != heisen.Deadlock {
			a.Op = r.Access()
		}
		f.Accesses = append(f.Accesses, a)
	}
	last := f.Accesses[len(f.Accesses)-1]
	f.Object = last.Object
	switch p.kind {
	case heisen.Race:
		f.Object = max(last.Object, f.Accesses[0].Object) // a byte that both access
		f.Message = fmt.Sprintf("%v can race with %v (predicted, with a schedule)", last.Op.Words(), f.Accesses[0].Op.Words())
	case heisen.Deadlock:
		f.Message = fmt.Sprintf("deadlock of %d threads that acquire locks in a cycle (predicted, with a schedule)", len(f.Accesses))
	default:
		of := "a transaction"
		if p.Places[3] != 0 {
			of = "an atomic section"
		}
		f.Message = fmt.Sprintf("%v can come between %v and %v of %s (predicted, with a schedule)",
			f.Accesses[1].Op.Words(), f.Accesses[0].Op.Words(), last.Op.Words(), of)
	}
	return f
}

package mcm

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/intake"
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
// findings of a window are reported as they are found, once all windows before it are solved. The findings and their
// order do not depend on WithParallel. Memory is proportional to the records of a group,
// and, for each window that is being solved, to its events times its threads.
type Detector struct {
	config config

	records   []heisen.Record // from the start of the next window
	index     []uint64
	relevance relevance     // of the records
	relevant  int           // about how many of them matter
	held      *window.Locks // at the start of the next window
	hidden    map[heisen.Thread][]heisen.Record
	fresh     int // the number of records, from the last one back, that have not been in a window

	tracker    *section.Tracker    // nil without sections
	executions []section.Execution // those that end in the next window or later, ordered by their ends

	intake intake.Check
	events uint64
	known  map[finding]bool // reported before the present group of windows

	fromGroup map[finding]bool // reported since then
	stats     DetectorStats
	err       error
	failed    int // windows that could not be solved
	cut       int // windows that the end of the context has kept from being solved, or from being solved completely
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
		fromGroup: map[finding]bool{}, relevance: newRelevance(),
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
	if !d.intake.Take(r, d.events) {
		return
	}
	if d.tracker != nil {
		d.tracker.Next(r, d.events)
	}
	if !window.Constrains(r.Op) {
		return
	}
	d.records = append(d.records, *r)
	d.index = append(d.index, d.events)
	d.fresh++
	d.relevant += d.relevance.add(r)
	if d.relevant >= d.config.window+(group-1)*d.config.step() || len(d.records) >= d.config.most() {
		d.solve(false)
	}
}

// Flush implements heisen.Detector. It solves the remaining windows. It returns the errors of the first
// windows that could not be solved, and the number of the others; their predictions are missing. It also returns those that heisen.Detector names.
func (d *Detector) Flush() error {
	if d.zero() {
		return heisen.ErrZero
	}
	if d.fresh > 0 {
		d.solve(true)
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
	return errors.Join(d.err, d.intake.Flush())
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

// solve solves the next windows of the records that matter: as many as are complete, all if the stream ends, and
// at least one if there are too many records.
func (d *Detector) solve(ends bool) {
	var w window.Window // all records that matter
	var at []int        // their indices
	for i := range d.records {
		if d.relevance.matters(&d.records[i]) {
			w.Records, w.Index, at = append(w.Records, d.records[i]), append(w.Index, d.index[i]), append(at, i)
		}
	}
	d.relevant = len(at)
	step, full := d.config.step(), len(d.records) >= d.config.most()
	windows := 0
	switch {
	case ends:
		windows = 1 + (max(0, len(at)-d.config.window)+step-1)/step
	case len(at) >= d.config.window:
		windows = 1 + (len(at)-d.config.window)/step
	case full:
		windows = 1
	}
	if windows == 0 {
		return
	}
	jobs := make([]job, windows)
	start, passed := 0, 0
	for k := range jobs {
		end := min(start+d.config.window, len(at))
		j := &jobs[k].window
		j.Records, j.Index, j.Held, j.Hidden = w.Records[start:end], w.Index[start:end], d.held.List(), d.open()
		j.Executions = d.executionsIn(j.Index)
		d.fresh = len(d.records)
		if end > 0 {
			d.fresh -= at[end-1] + 1
		}
		if end == len(at) {
			d.fresh = 0
		}
		next := len(d.records)
		if start = min(start+step, len(at)); start < len(at) {
			next = at[start]
		}
		if k == len(jobs)-1 && !ends && full { // what does not matter so far may come to matter
			next = max(passed, len(d.records)/2)
		}
		for ; passed < next; passed++ {
			d.pass(&d.records[passed])
		}
	}
	d.solveAll(jobs)
	d.records = append(d.records[:0], d.records[passed:]...)
	d.index = append(d.index[:0], d.index[passed:]...)
	d.relevance, d.relevant = newRelevance(), 0
	for i := range d.records {
		d.relevant += d.relevance.add(&d.records[i])
	}
}

// solveAll solves windows, as many at the same time as WithParallel allows. It reports the predictions of
// each as they are found, once all windows before it are solved. A panic of another goroutine becomes one of
// this goroutine, so that the caller can recover from it.
func (d *Detector) solveAll(jobs []job) {
	defer d.remember()
	if d.config.parallel == 1 || len(jobs) == 1 {
		for k := range jobs {
			jobs[k].solve(d, func(f prediction) { d.report(&jobs[k].window, f) })
			d.count(&jobs[k])
		}
		return
	}
	d.solveParallel(jobs)
}

// solveParallel is solveAll for several windows at the same time.
func (d *Detector) solveParallel(jobs []job) {
	var at atomic.Int64
	var panicked atomic.Pointer[any]
	solveNext := func() (more bool) {
		k := int(at.Add(1)) - 1
		if k >= len(jobs) {
			return false
		}
		j := &jobs[k]
		defer close(j.found)
		defer func() {
			if v := recover(); v != nil {
				panicked.Store(&v)
			}
		}()
		if panicked.Load() == nil {
			j.solve(d, func(f prediction) { j.found <- f })
		}
		return true
	}
	var workers sync.WaitGroup
	for k := range jobs {
		jobs[k].found = make(chan prediction, d.config.queries)
	}
	for range min(d.config.parallel, len(jobs)) {
		workers.Go(func() {
			for solveNext() {
			}
		})
	}
	for k := range jobs {
		for f := range jobs[k].found {
			d.report(&jobs[k].window, f)
		}
		if panicked.Load() != nil {
			break
		}
		d.count(&jobs[k])
	}
	workers.Wait()
	if v := panicked.Load(); v != nil {
		panic(*v)
	}
}

// remember excludes the findings of a group of windows from the queries of the next ones. Within the group
// they are not excluded, so that what is queried does not depend on which window is solved first.
func (d *Detector) remember() {
	maps.Copy(d.known, d.fromGroup)
	clear(d.fromGroup)
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
		entry, has := slices.BinarySearch(index, x.Entry.Index)
		end, hasEnd := slices.BinarySearch(index, x.End.Index)
		if !has || !hasEnd { // no other thread accesses the variable
			continue
		}
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

// report reports a prediction, unless an equal one was reported.
func (d *Detector) report(w *window.Window, f prediction) {
	if d.known[f.finding] || d.fromGroup[f.finding] {
		return
	}
	d.fromGroup[f.finding] = true
	switch f.kind {
	case heisen.Race:
		d.stats.Races++
	case heisen.Deadlock:
		d.stats.Deadlocks++
	default:
		d.stats.Violations++
	}
	d.config.sink(f.describe(w))
}

// count counts a window that was solved.
func (d *Detector) count(j *job) {
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
}

// job is a window to solve.
type job struct {
	window window.Window
	found  chan prediction // has room for all; closed when the window is solved; nil if windows are solved one after the other
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
func (j *job) solve(d *Detector, found func(prediction)) {
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
				found(prediction{f, c.Records, w})
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
	j.stats, j.cut = m.Stats(), ctx.Err() != nil
}

// describe makes a prediction a finding.
func (p *prediction) describe(w *window.Window) heisen.Finding {
	f := heisen.Finding{
		Detector: "mcm", Kind: p.kind,
		Witness: (*window.Witness)(p.witness).Records(w.Records), Last: p.witness.Last,
		Before: w.Position(0) - 1,
	}
	for _, i := range p.witness.Order {
		f.Positions = append(f.Positions, w.Position(i))
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

package suspects

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/contain"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/fold"
	"github.com/heisen-go/heisen/internal/observed"
	"github.com/heisen-go/heisen/internal/readuse"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/lockset"
	"github.com/heisen-go/heisen/report"
	"github.com/heisen-go/heisen/section"
	"github.com/heisen-go/heisen/vclock"
)

// Survey says how to look for suspects in a program.
type Survey struct {
	Races      bool // suspect pairs of accesses that locks and messages allow to race
	Own        bool // but no pairs of which both accesses are made by the standard library or by dependencies
	Deadlocks  bool
	Sections   []section.Section // that others may come into; with absolute names of files
	Violations bool              // whatever accesses the variable of one of Sections
	// Predict adds the bugs that packages mcm and syncp predict from the runs, in Sections too. They come
	// first and have witnesses to follow.
	Predict bool
	// Causality is what the runs record for predictions, and Lines what the source says of it.
	Causality Causality
	Lines     *readuse.Lines
	// Witnesses looks for witnesses of suspects: they predict from one more run of each test,
	// and what it predicts is suspected.
	Witnesses bool
	// Known are findings that are suspected before the first run, if they are in the program's
	// package. A finding that is predicted again gets the witness.
	Known []report.Finding
	// Walks is the number of random walks after the run with the default schedule, in which one
	// goroutine may do all the work that several could share.
	Walks uint64
	// QuickWalks is the number of walks as long as all runs together take less than quick; if it is below Walks, it is not used.
	QuickWalks uint64

	Limit, Virtual time.Duration // as in Confirmer
	// Budget bounds and counts the time of the runs; it may be nil. If they take long, there are fewer
	// random walks.
	Budget   *Budget
	Procs    int
	Resolver *observed.Resolver

	// Panics are those of detectors in Run and Again. There may be more suspects then.
	Panics []*contain.PanicError

	found map[*controlled.Program]*gathering // by Run and Again
}

// Run executes a program with the default schedule, which switches only where a goroutine is
// blocked, and then under random walks. If a test ends the process, the tests after it do not run, so
// each test is then executed by itself in the same way.
func (s *Survey) Run(ctx context.Context, p *controlled.Program) (*Surveyed, error) {
	g := newGathering(s, p)
	if s.found == nil {
		s.found = map[*controlled.Program]*gathering{}
	}
	s.found[p] = g
	for i := range s.Known {
		if f := &s.Known[i]; f.Package == "" || f.Package == p.Package || f.Package == p.Tested() {
			g.suspect(f, true)
		}
	}
	err := g.runs(ctx, nil)
	if err == nil && len(p.Units) > 1 && g.made[0].Execution.Outcome.Class.EndsEarly() {
		for _, u := range p.Units {
			if err = g.runs(ctx, u); err != nil {
				break
			}
		}
	}
	if err == nil && s.Witnesses {
		err = g.witnesses(ctx)
	}
	if err == nil {
		slices.SortStableFunc(g.suspects, func(a, b *Suspect) int { return BoolOrder(b.Predicted) - BoolOrder(a.Predicted) })
	}
	found := &Surveyed{p, g.suspects, g.skipped, g.made}
	if g.made = nil; err == nil {
		p.Usual = found.Runs[0].Execution.Outcome
	}
	return found, err
}

// Surveyed is what a survey has found in a program.
type Surveyed struct {
	Program  *controlled.Program
	Suspects []*Suspect // in the order in which they were found, predicted ones first
	Skipped  []string   // a message for each finding that cannot be tried, with the reason
	Runs     []*Run     // in their order
}

// Run is an execution of a survey. Those with seed 0 have the default schedule, the others are random walks.
type Run struct {
	Seed      uint64
	Execution *controlled.Execution
	Unit      *controlled.Unit // nil for all of the program
}

// gathering has what a survey has found so far.
type gathering struct {
	survey   *Survey
	program  *controlled.Program
	suspects []*Suspect
	known    map[string]*Suspect // by their keys
	skipped  []string
	missing  bool            // skipped says that suspects may be missing
	reported map[string]bool // fingerprints of findings in skipped
	made     []*Run
	leads    []*lead // of the executions that Again has repeated
}

func newGathering(s *Survey, p *controlled.Program) *gathering {
	return &gathering{survey: s, program: p, known: map[string]*Suspect{}, reported: map[string]bool{}}
}

// suspect returns a new suspect, or the equal one that exists already.
func (g *gathering) suspect(f *report.Finding, given bool) (same *Suspect) {
	s := g.survey
	if s.Own && f.Kind == heisen.PotentialRace && inLibraries(s.Resolver, f) {
		return nil
	}
	suspect, err := suspectOf(g.program, f, given)
	if err != nil {
		if !g.reported[f.Fingerprint] {
			g.reported[f.Fingerprint] = true
			g.skipped = append(g.skipped, fmt.Sprintf("skipped: %s (%s): %v", f.Message, f.Fingerprint, err))
		}
		return nil
	}
	suspect.Predicted = suspect.Predicted && s.Predict
	s.setAbove(suspect)
	if same = g.equal(suspect); same == nil {
		g.known[suspect.Key()] = suspect
		g.suspects = append(g.suspects, suspect)
		return suspect
	}
	switch {
	case !suspect.Predicted || same.Predicted:
	case same.Given:
		same.Predicted = true
	default:
		*same = *suspect // a prediction says more
	}
	return same
}

// equal returns the equal suspect that exists already, or nil. One that was given concerns whatever stands on its lines.
func (g *gathering) equal(s *Suspect) *Suspect {
	if same := g.known[s.Key()]; same != nil {
		return same
	}
	anywhere := &Suspect{Strategy: s.Strategy}
	for _, t := range s.Targets {
		t.Func = ""
		anywhere.Targets = addTarget(anywhere.Targets, t)
	}
	return g.known[anywhere.Key()]
}

// runs executes a unit, or all of the program if it is nil.
func (g *gathering) runs(ctx context.Context, u *controlled.Unit) error {
	s := g.survey
	units := g.program.Units
	if u != nil {
		units = []*controlled.Unit{u}
	}
	bound, start := s.Budget.ForSurvey(units), time.Now()
	for seed := range max(s.Walks, s.QuickWalks) + 1 {
		took := time.Since(start)
		if bound > 0 && 2*took > bound { // another run would take most of the rest
			break
		}
		if seed > s.Walks && took > quick {
			break
		}
		config := strategies.Config{Strategy: strategies.Replay}
		if seed > 0 {
			config = strategies.Config{Strategy: strategies.RandomWalk, Seed: seed}
		}
		e, err := g.execute(ctx, g.scope(u), s.schedule(g.program, config, s.Predict), s.mode(), s.limit(units), s.detectors)
		if err != nil {
			return err
		}
		look(g.program, e)
		g.made = append(g.made, &Run{seed, e, u})
		if len(units) == 1 {
			units[0].Surveyed(e, seed == 0)
		}
	}
	return nil
}

// mode returns what is recorded for the detectors of ordinary runs.
func (s *Survey) mode() recorder.Mode {
	if s.Violations || s.Predict { // a repeated access may be the end of a section
		return recorder.Everything
	}
	return recorder.Unrepeated
}

// witnesses executes each test by itself with the default schedule, while there is time, and looks
// for witnesses in that order of its operations. It does nothing in programs that take long: what it
// can look at is their beginning.
func (g *gathering) witnesses(ctx context.Context) error {
	s := g.survey
	if bound := s.Budget.ForSurvey(g.program.Units); bound > 0 && g.made[0].Execution.Took > bound/4 {
		return nil
	}
	for _, u := range g.program.Units {
		limit := s.Budget.surveying(u, s.Limit)
		if limit == 0 {
			continue
		}
		_, err := g.execute(ctx, g.scope(u), s.schedule(g.program, strategies.Config{Strategy: strategies.Replay}, true), recorder.Everything, limit,
			func(ctx context.Context, order *orderRecorder, symbols *heisen.Symbols, sink heisen.Sink) ([]heisen.Detector, error) {
				d, err := s.newPredictors(ctx, order, symbols, sink, maxPredicted+1)
				return []heisen.Detector{&ownEvents{detector: d, symbols: symbols, with: s.Resolver.Toolchain}}, err
			})
		if err != nil {
			return err
		}
	}
	return nil
}

// quick is how long runs may take until there are no further walks than there have to be.
const quick = 10 * time.Second

// newDetectors returns the detectors of a run, which work until the context ends. The order is that of a detector with witnesses.
type newDetectors func(context.Context, *orderRecorder, *heisen.Symbols, heisen.Sink) ([]heisen.Detector, error)

// schedule returns the schedule of a run of a program. predict is set if detectors predict, for which operations have
// numbers.
func (s *Survey) schedule(p *controlled.Program, config strategies.Config, predict bool) *recorder.Schedule {
	return &recorder.Schedule{
		Strategy: config, Prologue: p.Prologue(config.Seed), Procs: s.Procs, MaxVirtual: s.Virtual,
		Number: predict, Values: predict && s.Causality != OrderCausality,
	}
}

// scope is what an execution of a survey runs.
type scope struct {
	tests string             // as -test.run takes them; empty for all of the program
	units []*controlled.Unit // that take the time
	leads *leads             // takes the meetings; it may be nil
}

// scope returns a unit, or all of the program if it is nil.
func (g *gathering) scope(u *controlled.Unit) scope {
	if u == nil {
		return scope{tests: g.program.Pattern(), units: g.program.Units}
	}
	return scope{tests: u.Pattern(), units: []*controlled.Unit{u}}
}

// execute executes a part of the program once and takes what the detectors find.
func (g *gathering) execute(ctx context.Context, of scope, schedule *recorder.Schedule, mode recorder.Mode, limit time.Duration,
	detectors newDetectors) (*controlled.Execution, error) {
	s := g.survey
	order := &orderRecorder{}
	var predicted []*witness
	plan := controlled.Plan{
		Schedule: schedule, Mode: mode, Tests: of.tests, Limit: limit,
		Detect: func(symbols *heisen.Symbols) ([]heisen.Detector, error) {
			sink := fold.NewSet(symbols, func(i fold.Item) {
				f := s.Resolver.Resolve(i.Finding, symbols)
				same := g.suspect(&f, false)
				if same == nil || same.witness != nil || !isPrediction(i.Finding.Detector) {
					return
				}
				if w := order.witnessOf(&i.Finding, schedule.Strategy.Seed, of.tests); w != nil {
					same.witness = w
					predicted = append(predicted, w)
				}
			}).Add
			all, err := detectors(ctx, order, symbols, sink)
			if of.leads != nil {
				all = append(all, observed.Handler(of.leads.handle))
			}
			return all, err
		},
	}
	if of.leads != nil {
		plan.OnMeeting = of.leads.meeting
	}
	e, err := g.program.Execute(ctx, plan, s.Resolver)
	panics, err := contain.Split(err)
	s.Panics = append(s.Panics, panics...)
	if errors.Is(err, lockset.ErrEvicted) || errors.Is(err, vclock.ErrForgotten) { // there may be more suspects
		if !g.missing {
			g.skipped, g.missing = append(g.skipped, "suspects may be missing: "+err.Error()), true
		}
		err = nil
	}
	if err != nil {
		return nil, err
	}
	for _, w := range predicted {
		w.starts = order.starts
	}
	s.Budget.AddTime(of.units, e.Took)
	return e, nil
}

// limit returns the real time after which a run of units is stopped.
func (s *Survey) limit(units []*controlled.Unit) time.Duration {
	if bound := s.Budget.ForSurvey(units); bound > 0 {
		return min(bound, s.Limit)
	}
	return s.Limit
}

// setAbove sets, for the entry of a section, the call that the section belongs to.
func (s *Survey) setAbove(suspect *Suspect) {
	for i := range suspect.Targets {
		t := &suspect.Targets[i]
		for j := range s.Sections {
			at := &s.Sections[j].Entry
			if t.Roles&strategies.Entry != 0 && t.File == at.File && t.Line == at.Line && (t.Mode == recorder.OnRead) == (at.Mode == section.Reads) {
				t.Above = max(t.Above, s.Sections[j].Above)
			}
		}
	}
}

// detectors returns the detectors of ordinary runs.
func (s *Survey) detectors(ctx context.Context, order *orderRecorder, symbols *heisen.Symbols, sink heisen.Sink) (all []heisen.Detector, err error) {
	named := func(name string) heisen.Sink {
		return func(f heisen.Finding) {
			f.Detector = name
			sink(f)
		}
	}
	add := func(name string, d heisen.Detector) { all = append(all, contain.New(name, d)) }
	if s.Races {
		d, err := lockset.NewHybrid(lockset.WithSink(named("hybrid")))
		if err != nil {
			return nil, err
		}
		add("hybrid", d)
	}
	if s.Deadlocks {
		d, err := lockset.NewLockOrder(lockset.WithSink(named("lockorder")))
		if err != nil {
			return nil, err
		}
		add("lockorder", d)
	}
	if s.Violations {
		d, err := newSectionSuspects(s.Sections, symbols, sink)
		if err != nil {
			return nil, err
		}
		add("atomrace", d)
	}
	if s.Predict {
		d, err := s.newPredictors(ctx, order, symbols, sink, 0)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

// look takes a run in which a survey has looked for suspects.
func look(p *controlled.Program, e *controlled.Execution) {
	if p.Looked == nil {
		p.Looked = map[recorder.Behavior]bool{}
	}
	for _, b := range e.Behaviors {
		p.Looked[b] = true
	}
}

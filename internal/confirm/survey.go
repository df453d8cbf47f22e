package confirm

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/fold"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/lockset"
	"github.com/heisen-go/heisen/mcm"
	"github.com/heisen-go/heisen/racefuzz"
	"github.com/heisen-go/heisen/report"
	"github.com/heisen-go/heisen/section"
	"github.com/heisen-go/heisen/vclock"
)

// Resolver resolves the findings of executions. Several goroutines may use it.
type Resolver struct {
	report *report.Resolver
	with   *build.Toolchain
}

// NewResolver returns a Resolver for programs that were built with a toolchain.
func NewResolver(r *report.Resolver, with *build.Toolchain) *Resolver {
	return &Resolver{report: r, with: with}
}

// inLibraries reports whether all accesses of a finding are made by libraries.
func (r *Resolver) inLibraries(f *report.Finding) bool {
	return !slices.ContainsFunc(f.Accesses, func(a report.Access) bool {
		file, _, known := placeOf(&a)
		return !known || !r.with.InLibrary(file)
	})
}

func (r *Resolver) resolve(f heisen.Finding, symbols *heisen.Symbols) report.Finding {
	return r.report.Resolve(f, symbols)
}

// blocked resolves where goroutines are blocked: where has the operation that each was about to do,
// with its object if that is known. Goroutines of package testing that only wait for tests are left out,
// if others are blocked.
func (r *Resolver) blocked(where []heisen.Access, reasons []string, symbols *heisen.Symbols) []report.Blocked {
	all := make([]report.Blocked, len(where))
	for i, a := range where {
		at := r.resolve(heisen.Finding{Accesses: []heisen.Access{a}}, symbols).Accesses[0]
		all[i] = report.Blocked{
			Thread: a.Thread, Goroutine: at.Goroutine, Test: at.Test, Reason: reasons[i],
			Stack: at.Stack, Locks: at.Locks,
		}
		if a.Object != 0 {
			all[i].Object, all[i].Variable = at.Object, at.Variable
		}
	}
	if slices.ContainsFunc(all, func(g report.Blocked) bool { return !inHarness(g.Stack) }) {
		all = slices.DeleteFunc(all, func(g report.Blocked) bool { return inHarness(g.Stack) })
	}
	return all
}

// inHarness reports whether a stack is that of a goroutine of package testing that runs no test.
func inHarness(stack []report.Frame) bool {
	return len(stack) > 0 && !slices.ContainsFunc(stack, func(f report.Frame) bool {
		return !strings.HasPrefix(f.Func, "testing.") && filepath.Base(f.File) != "_testmain.go"
	})
}

// influence describes an input from outside, and where the program first got it.
func (r *Resolver) influence(in recorder.Influence, symbols *heisen.Symbols) string {
	text := in.Kind.String()
	if in.Site == 0 {
		return text
	}
	f := r.resolve(heisen.Finding{Accesses: []heisen.Access{{Site: in.Site}}}, symbols)
	return text + " at " + f.Accesses[0].Site
}

// Survey says how to look for suspects in a program.
type Survey struct {
	Races      bool // suspect pairs of accesses that locks and messages allow to race
	Own        bool // but no pairs of which both accesses are made by the standard library or by dependencies
	Deadlocks  bool
	Sections   []section.Section // that others may come into; with absolute names of files
	Violations bool              // whatever accesses the variable of one of Sections
	// Predict adds the bugs that package mcm predicts from the runs, in Sections too. They come
	// first and have witnesses to follow.
	Predict bool
	// Known are findings that are suspected before the first run, if they are in the program's
	// package. A finding that is predicted again gets the witness.
	Known []report.Finding
	// Walks is the number of random walks after the run with the default schedule, in which one
	// goroutine may do all the work that several could share.
	Walks uint64

	Limit, Virtual time.Duration // as in Confirmer
	// Budget bounds and counts the time of the runs; it may be nil. If they take long, there are fewer
	// random walks.
	Budget   *Budget
	Procs    int
	Resolver *Resolver
}

// Run executes a program with the default schedule, which switches only where a goroutine is
// blocked, and then under random walks. It returns the suspects in the order in which they were
// found, and the runs in their order. skipped has a message for each finding that cannot be tried,
// with the reason.
func (s *Survey) Run(ctx context.Context, p *Program) (suspects []*Suspect, skipped []string, runs []*Trial, err error) {
	known, reported := map[string]*Suspect{}, map[string]bool{}
	// suspect returns a new suspect, or the equal one that exists already.
	suspect := func(f *report.Finding) (same *Suspect) {
		if s.Own && f.Kind == heisen.PotentialRace && s.Resolver.inLibraries(f) {
			return nil
		}
		suspect, err := suspectOf(p, f)
		if err != nil {
			if !reported[f.Fingerprint] {
				reported[f.Fingerprint] = true
				skipped = append(skipped, fmt.Sprintf("skipped: %s (%s): %v", f.Message, f.Fingerprint, err))
			}
			return nil
		}
		s.setAbove(suspect)
		if same = known[suspect.key()]; same == nil {
			known[suspect.key()] = suspect
			suspects = append(suspects, suspect)
			return suspect
		}
		if suspect.Predicted && !same.Predicted {
			*same = *suspect // a prediction says more
		}
		return same
	}
	for i := range s.Known {
		if f := &s.Known[i]; f.Package == "" || f.Package == p.Package {
			suspect(f)
		}
	}
	bound, start := s.Budget.ForSurvey(p.units), time.Now()
	for seed := range s.Walks + 1 {
		if bound > 0 && 2*time.Since(start) > bound { // another run would take most of the rest
			break
		}
		config := strategies.Config{Strategy: strategies.Replay}
		if seed > 0 {
			config = strategies.Config{Strategy: Walk, Seed: seed}
		}
		var predicted []*witness
		e, starts, err := s.execute(ctx, p, config, func(f report.Finding, w *witness) {
			if same := suspect(&f); same != nil && same.witness == nil && w != nil {
				same.witness = w
				predicted = append(predicted, w)
			}
		})
		if errors.Is(err, lockset.ErrEvicted) || errors.Is(err, vclock.ErrForgotten) { // there may be more suspects
			skipped, err = append(skipped, "suspects may be missing: "+err.Error()), nil
		}
		if err != nil {
			return suspects, skipped, runs, err
		}
		for _, w := range predicted {
			w.starts = starts
		}
		s.Budget.AddTime(p.units, e.Took)
		runs = append(runs, &Trial{Seed: seed, Execution: e, First: -1})
	}
	slices.SortStableFunc(suspects, func(a, b *Suspect) int { return boolOrder(b.Predicted) - boolOrder(a.Predicted) })
	return suspects, skipped, runs, nil
}

// execute executes a program once. It calls found with each finding, and with its witness if that
// can be followed. With Predict, it also returns which goroutines started which.
func (s *Survey) execute(ctx context.Context, p *Program, config strategies.Config, found func(report.Finding, *witness)) (*Execution, []racefuzz.Creation, error) {
	var order *orderRecorder
	mode := recorder.Unrepeated
	if s.Violations || s.Predict { // a repeated access may be the end of a section
		mode = recorder.Everything
	}
	e, err := p.Execute(ctx, Plan{
		Schedule: &recorder.Schedule{Strategy: config, Procs: s.Procs, MaxVirtual: s.Virtual, Number: s.Predict},
		Mode:     mode, Limit: s.limit(p),
		Detect: func(symbols *heisen.Symbols) ([]heisen.Detector, error) {
			sink := func(f heisen.Finding) {
				var w *witness
				if f.Detector == predictor {
					w = order.witnessOf(&f, config.Seed)
				}
				found(s.Resolver.resolve(f, symbols), w)
			}
			all, err := s.detectors(symbols, fold.NewSet(symbols, func(i fold.Item) { sink(i.Finding) }).Add)
			if s.Predict {
				order = &orderRecorder{}
				all = append([]heisen.Detector{order}, all...) // before the detector whose witnesses need it
			}
			return all, err
		},
	}, s.Resolver)
	if order == nil {
		return e, nil, err
	}
	return e, order.starts, err
}

// limit returns the real time after which a run of a program is stopped.
func (s *Survey) limit(p *Program) time.Duration {
	if bound := s.Budget.ForSurvey(p.units); bound > 0 {
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

// predictor is the detector whose findings have witnesses.
const predictor = "mcm"

func (s *Survey) detectors(symbols *heisen.Symbols, sink heisen.Sink) (all []heisen.Detector, err error) {
	named := func(name string) heisen.Sink {
		return func(f heisen.Finding) {
			f.Detector = name
			sink(f)
		}
	}
	if s.Races {
		d, err := lockset.NewHybrid(lockset.WithSink(named("hybrid")))
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	if s.Deadlocks {
		d, err := lockset.NewLockOrder(lockset.WithSink(named("lockorder")))
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	if s.Violations {
		d, err := newSectionSuspects(s.Sections, symbols, sink)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	if s.Predict {
		d, err := mcm.NewDetector(mcm.WithSymbols(symbols), mcm.WithSink(named(predictor)),
			mcm.WithSections(s.Sections, section.LocateIn(symbols, "/")))
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

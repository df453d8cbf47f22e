package confirm

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
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
)

// Resolver resolves the findings of executions. Several goroutines may use it.
type Resolver struct {
	report *report.Resolver
	std    string // the folder of the standard library
}

// NewResolver returns a Resolver for programs that were built with a toolchain.
func NewResolver(r *report.Resolver, with *build.Toolchain) *Resolver {
	return &Resolver{report: r, std: filepath.Join(with.Root, "src") + string(filepath.Separator)}
}

func (r *Resolver) resolve(f heisen.Finding, symbols *heisen.Symbols) report.Finding {
	return r.report.Resolve(f, symbols)
}

// blocked resolves where goroutines are blocked: where has the operation that each was about to do,
// with its object if that is known.
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
	return all
}

// influence says what came from outside, and where first.
func (r *Resolver) influence(in recorder.Influence, symbols *heisen.Symbols) string {
	text := in.Kind.String()
	if in.Site == 0 {
		return text
	}
	f := r.resolve(heisen.Finding{Accesses: []heisen.Access{{Site: in.Site}}}, symbols)
	return text + " at " + f.Accesses[0].Site
}

// Survey is how a program is looked at for suspects.
type Survey struct {
	Races     bool // whatever locks and messages allow
	Deadlocks bool
	Sections  []section.Section // that others may come into; with absolute names of files
	Torn      bool              // whatever accesses the variable of one of Sections
	// Predict has suspects that follow from what was seen (package mcm) tried first, of
	// Sections, too, and those that only it finds included. Their witnesses are followed.
	Predict bool
	// Known is suspected before the program is looked at: findings in its package. Those
	// that are predicted again get the witness.
	Known []report.Finding
	// Walks is how many random walks follow the execution with the default choices, in
	// which one goroutine may do all the work that there is for several.
	Walks uint64

	Limit, Virtual time.Duration // as those of Hunt
	Procs          int
	Resolver       *Resolver
}

// Run executes a program with the default choices, which switch only where a goroutine
// cannot go on, and then under random walks. It returns what is suspected in the order
// in which it was found, and the executions in theirs. What cannot be brought about is
// in passed, with the reason.
func (s *Survey) Run(ctx context.Context, p *Program) (suspects []*Suspect, passed []string, looks []*Trial, err error) {
	known, told := map[string]*Suspect{}, map[string]bool{}
	// suspect returns a new suspect, or the one that there is.
	suspect := func(f *report.Finding) (same *Suspect) {
		suspect, err := suspectOf(p, f)
		if err != nil {
			if !told[f.Fingerprint] {
				told[f.Fingerprint] = true
				passed = append(passed, fmt.Sprintf("passed over: %s (%s): %v", f.Message, f.Fingerprint, err))
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
			*same = *suspect // it says more
		}
		return same
	}
	for i := range s.Known {
		if f := &s.Known[i]; f.Package == "" || f.Package == p.Package {
			suspect(f)
		}
	}
	for seed := range s.Walks + 1 {
		config := strategies.Config{Strategy: strategies.Replay}
		if seed > 0 {
			config = strategies.Config{Strategy: Walk, Seed: seed}
		}
		var predicted []*witness
		e, starts, err := s.look(ctx, p, config, func(f report.Finding, w *witness) {
			if same := suspect(&f); same != nil && same.witness == nil && w != nil {
				same.witness = w
				predicted = append(predicted, w)
			}
		})
		if errors.Is(err, lockset.ErrEvicted) { // there may be more suspects
			passed, err = append(passed, "suspects may be missing: "+err.Error()), nil
		}
		if err != nil {
			return suspects, passed, looks, err
		}
		for _, w := range predicted {
			w.starts = starts
		}
		looks = append(looks, &Trial{Seed: seed, Execution: e, First: -1})
	}
	slices.SortStableFunc(suspects, func(a, b *Suspect) int { return order(b.Predicted) - order(a.Predicted) })
	return suspects, passed, looks, nil
}

// look executes a program once. It tells found of what it finds, with the witness if that
// can be followed, and returns which goroutines started which, if there may be witnesses.
func (s *Survey) look(ctx context.Context, p *Program, config strategies.Config, found func(report.Finding, *witness)) (*Execution, []racefuzz.Creation, error) {
	var way *course
	mode := recorder.Unrepeated
	if s.Torn || s.Predict { // a repeated access may be the end of a section
		mode = recorder.Everything
	}
	e, err := p.Execute(ctx, Plan{
		Schedule: &recorder.Schedule{Pick: config, Procs: s.Procs, MaxVirtual: s.Virtual, Place: s.Predict},
		Mode:     mode, Limit: s.Limit,
		Detect: func(symbols *heisen.Symbols) ([]heisen.Detector, error) {
			sink := func(f heisen.Finding) {
				var w *witness
				if f.Detector == predictor {
					w = way.witnessOf(&f, config.Seed)
				}
				found(s.Resolver.resolve(f, symbols), w)
			}
			all, err := s.detectors(symbols, fold.NewSet(symbols, func(i fold.Item) { sink(i.Finding) }).Add)
			if s.Predict {
				way = &course{}
				all = append([]heisen.Detector{way}, all...) // before who asks it
			}
			return all, err
		},
	}, s.Resolver)
	if way == nil {
		return e, nil, err
	}
	return e, way.starts, err
}

// setAbove says of the entry of a section in which call the section lives.
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

// predictor is the detector whose findings follow from what was seen.
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
	if s.Torn {
		d, err := newTorn(s.Sections, symbols, sink)
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

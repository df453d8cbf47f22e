// Package suspects says what may happen under another schedule, and whether it has.
//
// A Survey executes a program a few times with one goroutine at a time and collects Suspects: pairs
// of places that may race, locks that may be waited for in a cycle, and atomic sections that other
// goroutines may interleave with. A suspect may come with a witness, a predicted schedule that leads to it. Promising orders suspects. A
// Suspect knows how to find itself in an execution, and a Budget for which executions there is time.
//
// A Survey belongs to one goroutine at a time. Several may use a Budget, and a Suspect that no search has added.
package suspects

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/racefuzz"
	"github.com/heisen-go/heisen/report"
)

// Suspect is a bug that may happen under another schedule: two places that may race, a cycle of
// goroutines that may wait for each other's locks, or a section that others may interleave with.
type Suspect struct {
	Program *controlled.Program
	// Finding is the reason for the suspicion. Its Kind is PotentialRace,
	// Race, Deadlock or Atomicity.
	Finding report.Finding
	Targets []recorder.Target
	Tests   string // tests in which it was seen, as -test.run takes them; empty for all
	// Strategy tries to reproduce it.
	Strategy strategies.Strategy
	Length   uint64 // steps of an execution, for PCT
	// Predicted is set if a predictor says that it can happen.
	Predicted bool
	// Given is set if it is one of Survey.Known.
	Given    bool
	witness  *witness           // of the prediction; nil if it cannot be followed
	leads    []*lead            // executions that may lead to it; see Survey.Again
	Observed bool               // Finding was observed in an execution; see Observations
	Searched bool               // the executions of a search try it, besides others
	units    []*controlled.Unit // in which it was seen, or that the executions search
}

// Units returns the units that the suspect concerns: all of its program if they are not known.
func (s *Suspect) Units() []*controlled.Unit {
	if len(s.units) > 0 {
		return s.units
	}
	return s.Program.Units
}

// Usual returns the outcomes of the default schedule: that of the program, and those of the tests that the suspect
// concerns, by themselves, as far as they are known.
func (s *Suspect) Usual() []controlled.Outcome {
	all := []controlled.Outcome{s.Program.Usual}
	for _, u := range s.Units() {
		if u.Executions > 0 {
			all = append(all, u.Usual)
		}
		if u.Alone != nil {
			all = append(all, *u.Alone)
		}
	}
	return all
}

// Directed reports whether the suspect is tried by itself, and not part of a search.
func (s *Suspect) Directed() bool {
	return len(s.Targets) > 0 && s.Finding.Kind != heisen.Failure && !s.Observed
}

// suspectOf makes a suspect of a finding in a program. given is set for one of Survey.Known: another build may have had other
// names for functions, so it concerns whatever stands on the lines. suspectOf returns an error if the finding cannot be
// tried, such as for lack of file names and lines.
func suspectOf(p *controlled.Program, f *report.Finding, given bool) (*Suspect, error) {
	s := &Suspect{Program: p, Finding: *f, Predicted: isPrediction(f.Detector), Given: given}
	s.Finding.Package = p.Tested()
	var roles []strategies.Roles
	switch f.Kind {
	case heisen.PotentialRace, heisen.Race:
		s.Strategy, roles = strategies.RaceDirected, []strategies.Roles{strategies.First, strategies.Second}
	case heisen.Atomicity:
		s.Strategy, roles = strategies.SectionDirected, []strategies.Roles{strategies.Entry, strategies.Remote, strategies.End}
	case heisen.Deadlock:
		s.Strategy, roles = strategies.DeadlockDirected, slices.Repeat([]strategies.Roles{strategies.Inner}, len(f.Accesses))
	}
	if len(roles) == 0 || len(roles) != len(f.Accesses) {
		return nil, fmt.Errorf("a %s of %d accesses cannot be tried", f.Kind, len(f.Accesses))
	}
	var tests []string
	for i := range f.Accesses {
		a := &f.Accesses[i]
		at, known := PlaceOf(a)
		if !known {
			return nil, fmt.Errorf("the place of its %s is not known", a.Op)
		}
		if given {
			at.Func = ""
		}
		s.Targets = addTarget(s.Targets, recorder.Target{File: at.File, Line: at.Line, Func: at.Func, Mode: targetMode(a.Op), Roles: roles[i]})
		if a.Test != "" {
			top, _, _ := strings.Cut(a.Test, "/")
			if !slices.Contains(tests, top) {
				tests = append(tests, top)
			}
		}
	}
	if p.Test && len(tests) > 0 {
		slices.Sort(tests)
		for i := range tests {
			tests[i] = regexp.QuoteMeta(tests[i])
		}
		s.Tests = "^(" + strings.Join(tests, "|") + ")$"
	}
	return s, nil
}

// Key is equal for suspects with the same strategy and targets.
func (s *Suspect) Key() string {
	targets := slices.Clone(s.Targets)
	for i := range targets {
		if targets[i].Roles&(strategies.First|strategies.Second) != 0 { // in either order
			targets[i].Roles |= strategies.First | strategies.Second
		}
	}
	slices.SortFunc(targets, func(a, b recorder.Target) int {
		return cmp.Or(cmp.Compare(a.File, b.File), a.Line-b.Line, cmp.Compare(a.Func, b.Func), int(a.Mode)-int(b.Mode), int(a.Roles)-int(b.Roles))
	})
	return fmt.Sprint(s.Strategy, targets)
}

// addTarget adds a target. Targets at the same place become one with several roles.
func addTarget(all []recorder.Target, t recorder.Target) []recorder.Target {
	for i := range all {
		if at := &all[i]; at.File == t.File && at.Line == t.Line && at.Func == t.Func && at.Mode == t.Mode {
			all[i].Roles |= t.Roles
			return all
		}
	}
	return append(all, t)
}

// Concerns returns the tests whose goroutines the bug is about, those at the top level; none if they are not known.
func (s *Suspect) Concerns() (tests []string) {
	add := func(test string) {
		if test = controlled.TopLevel(test); test != "" && !slices.Contains(tests, test) {
			tests = append(tests, test)
		}
	}
	for i := range s.Finding.Accesses {
		add(s.Finding.Accesses[i].Test)
	}
	for i := range s.Finding.Blocked {
		add(s.Finding.Blocked[i].Test)
	}
	if name, failed := strings.CutPrefix(s.Finding.Message, string(controlled.TestFailed)+": "); failed && s.Finding.Kind == heisen.Failure {
		add(name)
	}
	return tests
}

func targetMode(op string) recorder.TargetMode {
	switch op {
	case "": // not known
		return recorder.OnRead | recorder.OnWrite
	case heisen.Read.String(), heisen.AtomicRead.String():
		return recorder.OnRead
	case heisen.Acquire.String(), heisen.AcquireShared.String():
		return recorder.OnLock
	}
	return recorder.OnWrite
}

// AddSuspects adds the suspects to the units in which they were seen. Goroutines can be stopped at their
// places in the search.
func AddSuspects(suspects []*Suspect) {
	for _, s := range suspects {
		if s.Program.Suspected == nil {
			s.Program.Suspected = map[string]bool{}
		}
		s.Program.Suspected[s.Key()] = true
		var tests *regexp.Regexp
		if s.Tests != "" {
			tests = regexp.MustCompile(s.Tests)
		}
		for _, u := range s.Program.Units {
			if u.Test == "" || tests == nil || tests.MatchString(u.Test) {
				s.units = append(s.units, u)
				AddTargets(u, s)
			}
		}
	}
}

// AddTargets adds the places of a suspect. Goroutines can be stopped there, whatever the strategy.
func AddTargets(u *controlled.Unit, s *Suspect) {
	for _, t := range s.Targets {
		if len(u.Targets) < recorder.MaxTargets {
			t.Roles |= strategies.First | strategies.Second
			u.Targets = addTarget(u.Targets, t)
		}
	}
}

// AloneIn returns the suspect, in executions of only the test that has failed.
func (s *Suspect) AloneIn(o controlled.Outcome) *Suspect {
	if o.Class != controlled.TestFailed || s.Tests != "" {
		return s
	}
	one := *s
	one.Tests = "^" + regexp.QuoteMeta(controlled.TopLevel(o.Message)) + "$"
	return &one
}

// Follows returns how often the suspect's witness and its leads are followed.
func (s *Suspect) Follows() uint64 { return s.witness.orders() + uint64(len(s.leads))*leadEnds }

// TestsOf returns the tests of an execution: those in which the suspect was seen, or those of the witness
// if it is followed, because it begins with the first of them.
func (s *Suspect) TestsOf(schedule *recorder.Schedule) string {
	switch {
	case schedule.Strategy.Strategy != strategies.Follow:
	case s.witness != nil:
		return s.witness.tests
	case len(s.leads) > 0:
		return s.leads[0].tests
	}
	return s.Tests
}

// AnyFailure returns the suspicion that a program can fail in any way. A strategy without targets
// tries it.
func AnyFailure(p *controlled.Program, strategy strategies.Strategy) *Suspect {
	return &Suspect{Program: p, Strategy: strategy, Finding: controlled.NewFailure(p, controlled.Outcome{})}
}

func BoolOrder(b bool) int {
	if b {
		return 1
	}
	return 0
}

// AnyFailureIn is AnyFailure for executions of a unit.
func AnyFailureIn(u *controlled.Unit, strategy strategies.Strategy) *Suspect {
	s := AnyFailure(u.Program, strategy)
	s.Tests, s.units = u.Pattern(), []*controlled.Unit{u}
	return s
}

// SearchedIn makes the executions of the search of a unit try the suspect.
func (s *Suspect) SearchedIn(u *controlled.Unit) {
	s.Tests, s.units, s.Searched = u.Pattern(), []*controlled.Unit{u}, true
}

// Follow returns the seed and the turns of execution n, from 0, of those that follow the suspect's witness and its leads.
func (s *Suspect) Follow(n uint64) (seed uint64, turns []racefuzz.Turn) {
	orders := s.witness.orders()
	if n < orders {
		return s.witness.seed, s.witness.turns(n == 1)
	}
	l := s.leads[(n-orders)/leadEnds]
	return l.seed, l.turns((n - orders) % leadEnds)
}

// AsObserved returns the suspicion of a bug that an execution has shown which tried the suspect.
func (s *Suspect) AsObserved(f *report.Finding) *Suspect {
	one := *s
	one.Finding, one.Observed = *f, true
	one.Finding.Package = s.Program.Tested()
	return &one
}

package confirm

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/internal/source"
	"github.com/heisen-go/heisen/report"
)

// Suspect is a bug that may happen under another schedule: two places that may race, a cycle of
// goroutines that may wait for each other's locks, or a section that others may interleave with.
type Suspect struct {
	Program *Program
	// Finding is the reason for the suspicion. Its Kind is PotentialRace,
	// Race, Deadlock or Atomicity.
	Finding report.Finding
	Targets []recorder.Target
	Tests   string // tests in which it was seen, as -test.run takes them; empty for all
	// Strategy tries to reproduce it.
	Strategy strategies.Strategy
	Length   uint64 // steps of an execution, for PCT
	// Predicted is set if mcm predicts that it can happen.
	Predicted bool
	// Given is set if it is one of Survey.Known.
	Given    bool
	witness  *witness // of the prediction; nil if it cannot be followed
	leads    []*lead  // executions that may lead to it; see Survey.Again
	observed bool     // Finding was observed in an execution; see Observations
	searched bool     // the executions of a search try it, besides others
	units    []*Unit  // in which it was seen, or that the executions search
}

// in returns the units that the suspect concerns: all of its program if they are not known.
func (s *Suspect) in() []*Unit {
	if len(s.units) > 0 {
		return s.units
	}
	return s.Program.units
}

// Usual returns the outcomes of the default schedule: that of the program, which is given, and those of the tests that the suspect
// concerns, by themselves, as far as they are known.
func (s *Suspect) Usual(program Outcome) []Outcome {
	all := []Outcome{program}
	for _, u := range s.in() {
		if u.usual {
			all = append(all, u.Usual)
		}
		if u.alone != nil {
			all = append(all, *u.alone)
		}
	}
	return all
}

// directed reports whether the suspect is tried by itself, and not part of a search.
func (s *Suspect) directed() bool {
	return len(s.Targets) > 0 && s.Finding.Kind != heisen.Failure && !s.observed
}

// Strategies without targets.
const (
	Walk       = strategies.RandomWalk
	Priorities = strategies.PCT
	Sampling   = strategies.POS
)

// suspectOf makes a suspect of a finding in a program. given is set for one of Survey.Known: another build may have had other
// names for functions, so it concerns whatever stands on the lines. suspectOf returns an error if the finding cannot be
// tried, such as for lack of file names and lines.
func suspectOf(p *Program, f *report.Finding, given bool) (*Suspect, error) {
	s := &Suspect{Program: p, Finding: *f, Predicted: f.Detector == predictor, Given: given}
	s.Finding.Package = p.tested()
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
		at, known := placeOf(a)
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

// key is equal for suspects with the same strategy and targets.
func (s *Suspect) key() string {
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

// concerns returns the tests whose goroutines the bug is about, those at the top level; none if they are not known.
func (s *Suspect) concerns() (tests []string) {
	add := func(test string) {
		if test = topLevel(test); test != "" && !slices.Contains(tests, test) {
			tests = append(tests, test)
		}
	}
	for i := range s.Finding.Accesses {
		add(s.Finding.Accesses[i].Test)
	}
	for i := range s.Finding.Blocked {
		add(s.Finding.Blocked[i].Test)
	}
	if name, failed := strings.CutPrefix(s.Finding.Message, string(TestFailed)+": "); failed && s.Finding.Kind == heisen.Failure {
		add(name)
	}
	return tests
}

// placeOf returns the function of the program's own code that makes an access, and the line.
func placeOf(a *report.Access) (at report.Frame, known bool) {
	for _, f := range a.Stack {
		if f.File != "" && f.Line > 0 && !source.Synchronizes(f.Func) {
			return f, true
		}
	}
	return report.Frame{}, false
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

// side returns the index of the finding's access at whose place the first access of a race was
// made. It returns -1 if there is none, or more than one.
func (s *Suspect) side(race *report.Finding) int { return sideOf(&s.Finding, race, s.at) }

// sideOf is side for the accesses of a finding, and what counts as the same place.
func sideOf(f, race *report.Finding, at func(own, a *report.Access) bool) int {
	if len(race.Accesses) < 2 {
		return -1
	}
	found := -1
	first := &race.Accesses[0]
	for i := range f.Accesses {
		if a := &f.Accesses[i]; sameOp(a, first) && at(a, first) {
			if found >= 0 {
				return -1
			}
			found = i
		}
	}
	return found
}

// sameOp reports whether the operations of two accesses are the same, as far as they are known.
func sameOp(a, b *report.Access) bool { return a.Op == b.Op || a.Op == "" || b.Op == "" }

// samePlace reports whether the same function makes two accesses, on the same line.
func samePlace(a, b *report.Access) bool {
	at, known := placeOf(a)
	other, otherKnown := placeOf(b)
	return known && otherKnown && at == other
}

// sameLine reports whether two accesses are made on the same line.
func sameLine(a, b *report.Access) bool {
	at, known := placeOf(a)
	other, otherKnown := placeOf(b)
	return known && otherKnown && at.File == other.File && at.Line == other.Line
}

// at reports whether an access is made at the place of one of the suspect's.
func (s *Suspect) at(own, a *report.Access) bool {
	if s.Given {
		return sameLine(own, a)
	}
	return samePlace(own, a)
}

// blockedIn reports whether different goroutines are blocked at the places of a suspected deadlock.
func (s *Suspect) blockedIn(e *Execution) bool {
	taken := make([]bool, len(e.Blocked))
	for i := range s.Finding.Accesses {
		found := false
		for j := range e.Blocked {
			at := report.Access{Stack: e.Blocked[j].Stack}
			if !taken[j] && s.at(&s.Finding.Accesses[i], &at) {
				taken[j], found = true, true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

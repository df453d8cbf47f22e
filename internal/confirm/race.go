package confirm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/races"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
)

// raceDetector is the Detector of races by happens-before, which programs find themselves.
const raceDetector = "fasttrack"

// maxRaces bounds the races that are kept of an execution, the first ones.
const maxRaces = 100

// racesFound collects the races by happens-before in an execution.
type racesFound struct {
	all []heisen.Finding
}

// add takes what a program has found, and returns it as a finding.
func (r *racesFound) add(o recorder.Overlap) (f heisen.Finding, isRace bool) {
	if !o.Unordered {
		return f, false
	}
	return r.between(o.Accesses[0], o.Accesses[1]), true
}

// between takes a race of two accesses, the earlier one first, and returns it as a finding.
func (r *racesFound) between(earlier, later heisen.Access) heisen.Finding {
	f := races.Unordered(raceDetector, max(earlier.Object, later.Object), earlier, later)
	if len(r.all) < maxRaces {
		r.all = append(r.all, f)
	}
	return f
}

// addMeetings takes the meetings of two accesses. The program itself finds a race once its second access is made, and the first
// one may be the end of the program.
func (r *racesFound) addMeetings(all []Meeting) {
	for i := range all {
		if m := &all[i]; m.Kind == strategies.Race && len(m.Accesses) == 2 {
			r.between(m.Accesses[0], m.Accesses[1])
		}
	}
}

// resolved returns each race once, and each misuse of package testing that it is. At the end of an execution all its goroutines have names.
func (r *racesFound) resolved(resolver *Resolver, symbols *heisen.Symbols) (all []report.Finding) {
	known := map[string]bool{}
	for _, f := range r.all {
		f = Attributed(f, symbols)
		fingerprint := f.Fingerprint(symbols)
		if f.Kind == heisen.Misuse {
			all = addMisuse(all, resolver.resolve(f, symbols))
			continue
		}
		if !known[fingerprint] {
			known[fingerprint] = true
			all = append(all, resolver.resolve(f, symbols))
		}
	}
	return all
}

// raceIn returns the race by happens-before in an execution between the accesses of a suspect, nil
// if there is none.
func (s *Suspect) raceIn(e *Execution) *report.Finding {
	if s.Strategy != strategies.RaceDirected || len(s.Finding.Accesses) != 2 {
		return nil
	}
	for i := range e.Observed {
		if f := &e.Observed[i]; f.Kind == heisen.Race && pairs(&s.Finding, f, s.at) {
			return f
		}
	}
	return nil
}

// samePair reports whether the accesses of two findings are the same operations at the same places,
// in any order.
func samePair(f, other *report.Finding) bool { return pairs(f, other, samePlace) }

// Is reports whether a suspect is the race of a finding.
func (s *Suspect) Is(race *report.Finding) bool {
	return race.Kind == heisen.Race && (s.Finding.Kind == heisen.Race || s.Finding.Kind == heisen.PotentialRace) && samePair(&s.Finding, race)
}

// pairs is samePair for what counts as the same place.
func pairs(f, other *report.Finding, samePlace func(a, b *report.Access) bool) bool {
	a, b := f.Accesses, other.Accesses
	if len(a) != 2 || len(b) != 2 {
		return false
	}
	same := func(i, j int) bool { return sameOp(&a[i], &b[j]) && samePlace(&a[i], &b[j]) }
	return same(0, 0) && same(1, 1) || same(0, 1) && same(1, 0)
}

// firstIs returns the index of the access of a finding that is the first access of another one with the same pair.
func firstIs(f, other *report.Finding) int {
	if a, first := &f.Accesses[0], &other.Accesses[0]; a.Op == first.Op && (samePlace(a, first) || sameLine(a, first) && !samePlace(&f.Accesses[1], first)) {
		return 0
	}
	return 1
}

// inOrderOf returns f with its accesses in the order of those of a finding with the same pair. The message does
// not say which one was the earlier one, because executions may have shown both orders.
func inOrderOf(f, other *report.Finding) report.Finding {
	in := *f
	in.Message = strings.ReplaceAll(fmt.Sprintf("%s and %s are not ordered", other.Accesses[0].Op, other.Accesses[1].Op), "-", " ")
	if firstIs(other, f) == 1 {
		in.Accesses = slices.Clone(f.Accesses)
		slices.Reverse(in.Accesses)
	}
	return in
}

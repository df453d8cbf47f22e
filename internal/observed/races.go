package observed

import (
	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/races"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
)

// RaceDetector is the Detector of races by happens-before, which programs find themselves.
const RaceDetector = "fasttrack"

// maxRaces bounds the races that are kept of an execution, the first ones.
const maxRaces = 100

// RacesFound collects the races by happens-before in an execution.
type RacesFound struct {
	all []heisen.Finding
}

// Add takes what a program has found, and returns it as a finding.
func (r *RacesFound) Add(o recorder.Overlap) (f heisen.Finding, isRace bool) {
	if !o.Unordered {
		return f, false
	}
	return r.between(o.Accesses[0], o.Accesses[1]), true
}

// between takes a race of two accesses, the earlier one first, and returns it as a finding.
func (r *RacesFound) between(earlier, later heisen.Access) heisen.Finding {
	f := races.Unordered(RaceDetector, max(earlier.Object, later.Object), earlier, later)
	if len(r.all) < maxRaces {
		r.all = append(r.all, f)
	}
	return f
}

// AddMeeting takes a meeting of two accesses. The program itself finds a race once its second access is made, and the first
// one may be the end of the program.
func (r *RacesFound) AddMeeting(m *recorder.Meeting) {
	if m.Kind == strategies.Race && len(m.Accesses) == 2 {
		r.between(m.Accesses[0], m.Accesses[1])
	}
}

// Resolved returns each race once, and each misuse of package testing that it is. At the end of an execution all its goroutines have names.
func (r *RacesFound) Resolved(resolver *Resolver, symbols *heisen.Symbols) (all []report.Finding) {
	known := map[string]bool{}
	for _, f := range r.all {
		f = Attributed(f, symbols)
		fingerprint := f.Fingerprint(symbols)
		if f.Kind == heisen.Misuse {
			all = AddMisuse(all, resolver.Resolve(f, symbols))
			continue
		}
		if !known[fingerprint] {
			known[fingerprint] = true
			all = append(all, resolver.Resolve(f, symbols))
		}
	}
	return all
}

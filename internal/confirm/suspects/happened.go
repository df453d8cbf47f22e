package suspects

import (
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
)

// HappenedIn reports whether the suspect happened in an execution and, for a race, the index of the
// access of the finding that came first.
func (s *Suspect) HappenedIn(e *controlled.Execution) (yes bool, first int) {
	if s.Observed {
		return s.observedIn(e) != nil, -1
	}
	switch s.Finding.Kind {
	case heisen.Deadlock:
		return (e.Outcome.Class == controlled.Deadlocked || len(e.Leaked) > 0) && s.blockedIn(e), -1
	case heisen.Failure:
		return e.Outcome.Class.Failed(), -1
	}
	met := s.meetingIn(e)
	if met == nil || s.Searched { // others may have met
		if f := s.raceIn(e); f != nil {
			return true, s.Side(f)
		}
		return false, -1
	}
	if met.Kind != strategies.Race {
		return true, -1
	}
	return true, s.Side(&met.Finding)
}

// FirstIn returns the index of the access of a finding that came first in an execution with it: what was given may only have lines.
func (s *Suspect) FirstIn(e *controlled.Execution, f *report.Finding) int {
	race := s.raceIn(e)
	if met := s.meetingIn(e); met != nil {
		race = &met.Finding
	}
	if race == nil || f.Kind != heisen.Race {
		return -1
	}
	return sideOf(f, race, SamePlace)
}

// meetingIn returns the meeting of the suspect's accesses in an execution, nil if there is none. It is the first one if it is not known
// which it is, but no meeting of two goroutines at one of several places, which is another bug.
func (s *Suspect) meetingIn(e *controlled.Execution) (first *controlled.Meeting) {
	for i := range e.Meetings {
		m := &e.Meetings[i]
		if m.Kind == strategies.Race && pairs(&s.Finding, &m.Finding, s.at) {
			return m
		}
		if first == nil && !s.atOnePlace(m) {
			first = m
		}
	}
	return first
}

// atOnePlace reports whether goroutines have met that made the same access, of a suspect whose accesses are different.
func (s *Suspect) atOnePlace(m *controlled.Meeting) bool {
	alike := func(a []report.Access) bool { return len(a) == 2 && sameOp(&a[0], &a[1]) && SamePlace(&a[0], &a[1]) }
	return m.Kind == strategies.Race && alike(m.Finding.Accesses) && len(s.Finding.Accesses) == 2 && !alike(s.Finding.Accesses)
}

// AsHappened returns the suspect's finding as it happened in an execution.
func (s *Suspect) AsHappened(e *controlled.Execution) report.Finding {
	f := s.Finding
	if s.Observed {
		if seen := s.observedIn(e); seen != nil {
			f = *seen
		}
		f.Package = s.Finding.Package
		return f
	}
	if met := s.meetingIn(e); met != nil && !s.Searched && f.Kind != heisen.Failure {
		if met.Kind == strategies.Race {
			f = met.Finding
			if s.Side(&met.Finding) == 1 { // keep the order of the suspect's accesses
				f.Accesses = []report.Access{f.Accesses[1], f.Accesses[0]}
			}
		}
	} else if seen := s.raceIn(e); seen != nil {
		f = inOrderOf(seen, &s.Finding)
	}
	switch f.Kind {
	case heisen.Failure:
		e.ShowFailing(&f)
	case heisen.Deadlock:
		f.Message = strings.Replace(f.Message, " can wait ", " wait ", 1)
	}
	f.Detector, f.Package = controlled.DetectorName, s.Finding.Package
	return f
}

// raceIn returns the race by happens-before in an execution between the accesses of a suspect, nil
// if there is none.
func (s *Suspect) raceIn(e *controlled.Execution) *report.Finding {
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

// Is reports whether a suspect is the race of a finding.
func (s *Suspect) Is(race *report.Finding) bool {
	return race.Kind == heisen.Race && (s.Finding.Kind == heisen.Race || s.Finding.Kind == heisen.PotentialRace) && SamePair(&s.Finding, race)
}

// Side returns the index of the finding's access at whose place the first access of a race was
// made. It returns -1 if there is none, or more than one.
func (s *Suspect) Side(race *report.Finding) int { return sideOf(&s.Finding, race, s.at) }

// at reports whether an access is made at the place of one of the suspect's.
func (s *Suspect) at(own, a *report.Access) bool {
	if s.Given {
		return sameLine(own, a)
	}
	return SamePlace(own, a)
}

// blockedIn reports whether different goroutines are blocked at the places of a suspected deadlock.
func (s *Suspect) blockedIn(e *controlled.Execution) bool {
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

// observedIn returns the bug of an observation as it was observed in an execution, nil if it was
// not.
func (s *Suspect) observedIn(e *controlled.Execution) *report.Finding {
	for i := range e.Observed {
		if f := &e.Observed[i]; s.Observed && f.Fingerprint == s.Finding.Fingerprint {
			return f
		}
	}
	return nil
}

// Places returns the places of the operations of a suspect.
func (s *Suspect) Places() []recorder.Target {
	if !s.Observed {
		return s.Targets
	}
	if of, err := suspectOf(s.Program, &s.Finding, false); err == nil {
		return of.Targets
	}
	return nil
}

package confirm

import (
	"cmp"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
)

// Observations collects the bugs that executions show by themselves, whatever they try
// (Execution.Observed). The zero value is empty. A bug has the same result whatever the order is in
// which executions are added.
type Observations struct {
	known map[observationKey]*observation
	made  map[*Program]int // executions
	order []*observation
}

type observationKey struct {
	program     *Program
	fingerprint string
}

// observation is a bug that was observed, and the first execution with it.
type observation struct {
	suspect  *Suspect // of that execution, with the bug as its finding
	trial    *Trial
	position int // of the suspect; negative for runs of a survey
	count    int // executions with the bug
	same     int // those of them with the first one's outcome
}

// AddSurvey adds the runs of a survey, of which the first had the default schedule.
func (o *Observations) AddSurvey(p *Program, runs []*Trial) {
	for i, run := range runs {
		s := AnyFailure(p, strategies.Replay)
		if i > 0 {
			s = AnyFailure(p, Walk)
		}
		o.Add(i-len(runs), s, run)
	}
}

// Add adds an execution that tried a suspect. position orders the suspects.
func (o *Observations) Add(position int, s *Suspect, t *Trial) {
	if o.known == nil {
		o.known, o.made = map[observationKey]*observation{}, map[*Program]int{}
	}
	o.made[s.Program]++
	for i := range t.Execution.Observed {
		f := &t.Execution.Observed[i]
		key := observationKey{s.Program, f.Fingerprint}
		seen := o.known[key]
		if seen == nil {
			seen = &observation{}
			o.known[key] = seen
			o.order = append(o.order, seen)
		}
		next := &observation{trial: t, position: position, count: seen.count + 1, same: seen.same}
		switch {
		case seen.trial == nil || next.before(seen):
			suspect := *s
			suspect.Finding, suspect.observed = *f, true
			suspect.Finding.Package = s.Program.Package
			next.suspect = &suspect
			if seen.trial == nil || !seen.trial.Execution.Outcome.Same(t.Execution.Outcome) {
				next.same = 0
			}
			next.same++
			*seen = *next
		default:
			seen.count++
			if seen.trial.Execution.Outcome.Same(t.Execution.Outcome) {
				seen.same++
			}
		}
	}
}

// before reports whether an execution is the one to show rather than another one.
func (o *observation) before(other *observation) bool {
	return cmp.Or(cmp.Compare(o.position, other.position),
		boolOrder(other.trial.follows())-boolOrder(o.trial.follows()),
		cmp.Compare(o.trial.number, other.trial.number)) < 0
}

// Results returns a result for each bug for which wanted returns true.
func (o *Observations) Results(wanted func(*Program, *report.Finding) bool) (all []*Result) {
	slices.SortStableFunc(o.order, func(a, b *observation) int {
		switch {
		case a.before(b):
			return -1
		case b.before(a):
			return 1
		}
		return cmp.Compare(a.suspect.Finding.Fingerprint, b.suspect.Finding.Fingerprint)
	})
	for _, seen := range o.order {
		s := seen.suspect
		if !wanted(s.Program, &s.Finding) {
			continue
		}
		t := *seen.trial
		t.Confirmed, t.First = true, -1
		all = append(all, &Result{
			Suspect: s, Finding: s.Finding, Tried: o.made[s.Program], Confirmed: seen.count,
			Endings: []Ending{{t.Execution.Outcome, -1, true, seen.same, &t}},
		})
	}
	return all
}

// observedIn returns the bug of an observation as it was observed in an execution, nil if it was
// not.
func (s *Suspect) observedIn(e *Execution) *report.Finding {
	for i := range e.Observed {
		if f := &e.Observed[i]; s.observed && f.Fingerprint == s.Finding.Fingerprint {
			return f
		}
	}
	return nil
}

// targets returns the places of the operations of a suspect.
func (s *Suspect) targets() []recorder.Target {
	if !s.observed {
		return s.Targets
	}
	if of, err := suspectOf(s.Program, &s.Finding); err == nil {
		return of.Targets
	}
	return nil
}

// IsObserved reports whether a finding is one of Observations.
func IsObserved(f *report.Finding) bool {
	return f.Detector == leakDetector || f.Detector == raceDetector
}

// SameBug reports whether a bug that was observed is a confirmed one, or belongs to it: a race of
// the same accesses, or a goroutine that waits for ever in a deadlock.
func SameBug(confirmed, observed *report.Finding) bool {
	switch {
	case confirmed.Kind == heisen.Race && observed.Kind == heisen.Race:
		return confirmed.Fingerprint == observed.Fingerprint || samePair(confirmed, observed)
	case confirmed.Kind != heisen.Deadlock || observed.Kind != heisen.Leak:
		return false
	}
	return slices.ContainsFunc(confirmed.Accesses, func(a report.Access) bool { return samePlace(&a, &observed.Accesses[0]) })
}

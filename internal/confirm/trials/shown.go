package trials

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/report"
)

// Shown returns what a single execution of any failure has shown: accesses that have met, then bugs that it has shown by itself. usual is how
// the program ends under the default schedule. If it has failed in another way, failures has the result of that.
func Shown(any *suspects.Suspect, t *Trial, usual controlled.Outcome) (bugs, failures []*Result) {
	known := map[string]bool{}
	for i := range t.Execution.Meetings {
		s, one := *any, *t
		s.Finding = t.Execution.Meetings[i].Finding
		s.Finding.Package = any.Program.Tested()
		if s.Strategy = strategies.SectionDirected; s.Finding.Kind == heisen.Race {
			s.Strategy = strategies.RaceDirected
		}
		if one.Confirmed, one.First = s.HappenedIn(t.Execution); one.Confirmed && !known[s.Finding.Fingerprint] {
			known[s.Finding.Fingerprint] = true
			bugs = append(bugs, summarize(&s, []*Trial{&one}))
		}
	}
	var o Observations
	o.Add(0, any, t)
	bugs = slices.Concat(bugs, o.Results(func(_ *controlled.Program, f *report.Finding) bool { return !known[f.Fingerprint] }))
	one := *t
	one.Confirmed = one.Execution.Outcome.Class.Failed()
	return bugs, summarize(any, []*Trial{&one}).Failures(usual)
}

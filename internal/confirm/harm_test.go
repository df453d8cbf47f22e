package confirm_test

import (
	"slices"
	"testing"

	"github.com/heisen-go/heisen/examples/racefuzz"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/confirm/trials"
	"github.com/heisen-go/heisen/report"
)

// TestHarm: a race does harm if one order of its accesses fails and the other one passes, also if the default
// schedule fails in the same way. One that fails in both orders in that way does none.
func TestHarm(t *testing.T) {
	t.Parallel()
	l := open(t, &racefuzz.Program{Package: "../../internal/confirm/testdata/harm"})
	l.survey.Walks = 3 // where the default schedule fails, it may not come to the other access
	for name, want := range map[string]struct{ usual, harm bool }{
		"usual flag":    {true, true},
		"usual pointer": {true, true},
		"usual last":    {true, true},
		"usual status":  {true, true},
		"usual stuck":   {true, true},
		"usual map":     {true, true},
		"rare":          {false, true},
		"fails anyway":  {true, false},
		"none":          {false, false},
	} {
		l := l.with(&racefuzz.Program{}, name)
		found, usual := l.suspects()
		if failed := usual.Outcome.Class.Failed(); failed != want.usual {
			t.Errorf("%s: the default schedule fails: %v, want %v", name, failed, want.usual)
		}
		harm := false
		l.hunt.OnTrial = func(s *suspects.Suspect, trial *trials.Trial) { checkObserved(t, name, s, trial) }
		for _, v := range l.seeds(10, found...) {
			harm = harm || v.Confirmed > 0 && v.Report(usual.Outcome).Trials.Harmful
		}
		if harm != want.harm || len(found) == 0 {
			t.Errorf("%s: harmful %v of %d found, want %v", name, harm, len(found), want.harm)
		}
	}
}

// checkObserved checks that an execution in which the accesses of a race have met shows the race, whatever strategy made it, also if
// the program has ended before the second one.
func checkObserved(t *testing.T, name string, s *suspects.Suspect, trial *trials.Trial) {
	t.Helper()
	shows := slices.ContainsFunc(trial.Execution.Observed, func(f report.Finding) bool { return s.Is(&f) })
	if trial.Confirmed && len(trial.Execution.Meetings) > 0 && !shows {
		t.Errorf("%s, seed %d: %s met, and %d bugs were observed, not this one", name, trial.Seed, s.Finding.Message, len(trial.Execution.Observed))
	}
}

package trials

import (
	"testing"

	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
)

// TestStrategyOfReport: what an enumeration has found with another schedule is not said to be found with the default one.
func TestStrategyOfReport(t *testing.T) {
	t.Parallel()
	p := &controlled.Program{Package: "p"}
	ended := func(class controlled.Class, schedule *recorder.Schedule) *Trial {
		return &Trial{Schedule: schedule, Execution: &controlled.Execution{Outcome: controlled.Outcome{Class: class}}, Confirmed: class.Failed(), First: -1}
	}
	byDefault := &recorder.Schedule{Strategy: strategies.Config{Strategy: strategies.Replay}}
	deviating := &recorder.Schedule{Strategy: strategies.Config{Strategy: strategies.Replay, Choices: []strategies.Choice{{}}}}
	for name, test := range map[string]struct {
		trials []*Trial
		want   string
	}{
		"default":     {[]*Trial{ended(controlled.Panicked, byDefault)}, "default"},
		"survey":      {[]*Trial{ended(controlled.Panicked, nil)}, "default"},
		"enumeration": {[]*Trial{ended(controlled.Passed, byDefault), ended(controlled.Panicked, deviating)}, "enumeration"},
	} {
		v := &Result{Suspect: suspects.AnyFailure(p, strategies.Replay)}
		for _, trial := range test.trials {
			v.Add(trial)
		}
		if f := v.Report(); f.Trials.Strategy != test.want {
			t.Errorf("%s: %q, want %q", name, f.Trials.Strategy, test.want)
		}
	}
}

package confirm

import (
	"testing"

	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
)

// TestStrategyOfReport: what an enumeration has found with another schedule is not said to be found with the default one.
func TestStrategyOfReport(t *testing.T) {
	t.Parallel()
	p := &Program{Package: "p"}
	ended := func(class Class, schedule *recorder.Schedule) *Trial {
		return &Trial{Schedule: schedule, Execution: &Execution{Outcome: Outcome{Class: class}}, Confirmed: class.Failed(), First: -1}
	}
	byDefault := &recorder.Schedule{Strategy: strategies.Config{Strategy: strategies.Replay}}
	deviating := &recorder.Schedule{Strategy: strategies.Config{Strategy: strategies.Replay, Choices: []strategies.Choice{{}}}}
	for name, test := range map[string]struct {
		trials []*Trial
		want   string
	}{
		"default":     {[]*Trial{ended(Panicked, byDefault)}, "default"},
		"survey":      {[]*Trial{ended(Panicked, nil)}, "default"},
		"enumeration": {[]*Trial{ended(Passed, byDefault), ended(Panicked, deviating)}, "enumeration"},
	} {
		v := &Result{Suspect: AnyFailure(p, strategies.Replay)}
		for _, trial := range test.trials {
			v.add(trial)
		}
		if f := v.Report(); f.Trials.Strategy != test.want {
			t.Errorf("%s: %q, want %q", name, f.Trials.Strategy, test.want)
		}
	}
}

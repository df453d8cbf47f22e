package confirm

import (
	"testing"

	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
)

// TestTestsOfAnExecution: an execution that follows a witness begins with the tests of the witness, and every other one has those in
// which the suspect was seen.
func TestTestsOfAnExecution(t *testing.T) {
	c, s := &Confirmer{}, &Suspect{Tests: "^TestB$", witness: &witness{tests: "^(TestA|TestB)$"}}
	for strategy, want := range map[strategies.Strategy]string{
		strategies.Follow: "^(TestA|TestB)$", strategies.Replay: "^TestB$", strategies.RaceDirected: "^TestB$",
	} {
		plan := c.plan(s, &recorder.Schedule{Strategy: strategies.Config{Strategy: strategy}})
		if plan.Tests != want {
			t.Errorf("%v: %s, want %s", strategy, plan.Tests, want)
		}
	}
}

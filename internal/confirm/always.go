package confirm

import (
	"context"

	"github.com/heisen-go/heisen/internal/core/strategies"
)

// Always reports whether a failure comes in every schedule that is tried.
func (c Repeater) Always(ctx context.Context, v *Result) (bool, error) {
	outcome := v.Endings[0].Outcome
	if !outcome.plain() || v.Endings[0].Trial.Execution.failedAtEnd() {
		return false, nil
	}
	left := AlwaysTries
	for _, u := range v.Suspect.Program.units {
		if outcome.Class == TestFailed && u.Test == topLevel(outcome.Message) || len(v.Suspect.Program.units) == 1 {
			switch {
			case u.Differed || u.Executions > 0 && !outcome.Same(u.Usual):
				return false, nil
			case u.Always:
				return true, nil
			}
			left -= u.Executions // there was no time for more
		}
	}
	one := v.Suspect.aloneIn(outcome)
	for seed := range uint64(max(left, 0)) {
		schedule := c.directedSchedule(AnyFailure(one.Program, strategies.RandomWalk), seed+1)
		e, err := c.repeat(ctx, one, schedule)
		if err != nil || !e.Outcome.Same(outcome) {
			return false, err
		}
	}
	return true, nil
}

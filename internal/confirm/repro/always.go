package repro

import (
	"context"

	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/confirm/trials"
	"github.com/heisen-go/heisen/internal/core/strategies"
)

// Always reports whether a failure comes in every schedule that is tried.
func (c Repeater) Always(ctx context.Context, v *trials.Result) (bool, error) {
	outcome := v.Endings[0].Outcome
	if !outcome.Plain() || v.Endings[0].Trial.Execution.FailedAtEnd() {
		return false, nil
	}
	left := controlled.AlwaysTries
	for _, u := range v.Suspect.Program.Units {
		if outcome.Class == controlled.TestFailed && u.Test == controlled.TopLevel(outcome.Message) || len(v.Suspect.Program.Units) == 1 {
			switch {
			case u.Differed || u.Executions > 0 && !outcome.Same(u.Usual):
				return false, nil
			case u.Always:
				return true, nil
			}
			left -= u.Executions // there was no time for more
		}
	}
	one := v.Suspect.AloneIn(outcome)
	for seed := range uint64(max(left, 0)) {
		schedule := c.DirectedSchedule(suspects.AnyFailure(one.Program, strategies.RandomWalk), seed+1)
		e, err := c.Repeat(ctx, one, schedule)
		if err != nil || !e.Outcome.Same(outcome) {
			return false, err
		}
	}
	return true, nil
}

package repro

import (
	"context"

	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/trials"
	"github.com/heisen-go/heisen/internal/core/strategies"
)

// Goroutines that wait by looking at the clock, or at a flag, take many operations, each of which takes a little time. A
// schedule in which they go on, and others do not, makes a deadline pass that the others would have met on any machine. A
// failure that needs this is an assumption about time, as is one that needs a timer to fire while a goroutine is held back.

// slowTries is how many schedules may show that a failure does not need a goroutine to be starved.
const slowTries = 8

// ByStarving reports whether a failure needs a goroutine to be held back for a time: it does not come if operations take
// hardly any time, neither with the schedule of its execution nor with some like it.
func (c Repeater) ByStarving(ctx context.Context, v *trials.Result) (bool, error) {
	first := v.Endings[0].Trial
	schedule := c.ScheduleOf(v.Suspect, first)
	schedule.Slow = true
	schedule.MaxSteps = 2*first.Execution.Steps + controlled.LongExecution/16
	for n := range uint64(slowTries) {
		e, err := c.Repeat(ctx, v.Suspect, &schedule)
		if err != nil {
			return false, err
		}
		if e.Outcome.Same(v.Endings[0].Outcome) {
			return false, nil
		}
		if schedule.Strategy.Strategy == strategies.Replay {
			schedule.Strategy = strategies.Config{Strategy: strategies.RandomWalk}
		}
		schedule.Strategy.Variation = n + 1
	}
	return true, nil
}

package confirm

import (
	"context"
	"fmt"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
)

// Goroutines that wait by looking at the clock, or at a flag, take many operations, each of which takes a little time. A
// schedule in which they go on, and others do not, makes a deadline pass that the others would have met on any machine. A
// failure that needs this is an assumption about time, as is one that needs a timer to fire while a goroutine is held back.

// heldBack says which goroutine was held back, and how long.
func (r *Resolver) heldBack(s recorder.Starved, symbols *heisen.Symbols) string {
	f := r.resolve(heisen.Finding{Accesses: []heisen.Access{{Thread: s.Thread}}}, symbols)
	text := f.Accesses[0].Goroutine
	if len(f.Goroutines) > 0 && len(f.Goroutines[0].Stack) > 0 {
		if at := f.Goroutines[0].Stack[0]; at.File != "" && !r.with.InLibrary(at.File) {
			text += fmt.Sprintf(", started at %s:%d,", at.File, at.Line)
		}
	}
	return fmt.Sprintf("%s could go on and did not for %v", text, s.Time.Round(time.Millisecond))
}

// slowTries is how many schedules may show that a failure does not need a goroutine to be starved.
const slowTries = 8

// ByStarving reports whether a failure needs a goroutine to be held back for a time: it does not come if operations take
// hardly any time, neither with the schedule of its execution nor with some like it.
func (c *Confirmer) ByStarving(ctx context.Context, v *Result) (bool, error) {
	first := v.Endings[0].Trial
	schedule := c.scheduleOf(v.Suspect, first)
	schedule.Slow = true
	schedule.MaxSteps = 2*first.Execution.Steps + longExecution/16
	for n := range uint64(slowTries) {
		e, err := c.repeat(ctx, v.Suspect, &schedule)
		if err != nil {
			return false, err
		}
		if e.Outcome.Same(v.Endings[0].Outcome) {
			return false, nil
		}
		if schedule.Strategy.Strategy == strategies.Replay {
			schedule.Strategy = strategies.Config{Strategy: Walk}
		}
		schedule.Strategy.Variation = n + 1
	}
	return true, nil
}

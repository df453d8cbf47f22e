package repro

import (
	"context"
	"slices"

	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/confirm/trials"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
)

// A failure may say nothing about the program. What tries that is here: whether it comes from what the program measures, from a goroutine
// that is held back, or in every schedule.

// A test that measures the runtime, for example how often it allocates, may fail for that alone: the hooks of an
// instrumented program, goroutines that run in between and heisen itself change the numbers. So a failure after a
// measurement is tried once more, with the same schedule and other numbers. If the program passes then, it has failed
// because of them. A failure that has another cause remains one.

// ByMeasuring returns what a program has measured of the runtime if a failure is due to that: with the same schedule
// and other numbers the program does not fail. A test that asks for a collection, and is told what that frees, is
// believed without that: nothing decides when memory is free. The text is empty for other failures.
func (c Repeater) ByMeasuring(ctx context.Context, v *trials.Result) (what string, err error) {
	m := &measuring{Confirmer: c.Confirmer, suspect: v.Suspect, outcome: v.Endings[0].Outcome, schedule: c.ScheduleOf(v.Suspect, v.Endings[0].Trial)}
	e := v.Endings[0].Trial.Execution
	if class := m.outcome.Class; e.Measured == "" || class != controlled.TestFailed && class != controlled.Panicked && class != controlled.Exited {
		return "", nil
	}
	if !m.outcome.MayBeMeasured(e) {
		return "", nil
	}
	if e, err = m.alone(ctx, e); err != nil || e.Measured == "" {
		return "", err
	}
	if m.outcome.Class == controlled.TestFailed && m.outcome.Measured(e)&controlled.Freed == controlled.Freed {
		return e.Measured, nil
	}
	again, err := m.repeat(ctx, func(*recorder.Schedule) {})
	if err != nil || !m.fails(again) || len(again.Execution.Measured.Values) == 0 {
		return "", err // it does not depend on the schedule and the numbers alone
	}
	still, err := m.repeat(ctx, func(s *recorder.Schedule) { s.Still = true })
	if err != nil || m.passes(still) {
		return e.Measured, err
	}
	usual, err := m.repeat(ctx, func(s *recorder.Schedule) {
		s.Strategy = strategies.Config{Strategy: strategies.Replay, Seed: s.Strategy.Seed}
	})
	if err != nil || !m.passes(usual) || len(usual.Execution.Measured.Values) == 0 {
		return "", err
	}
	given, err := m.repeat(ctx, func(s *recorder.Schedule) { s.Measures = usual.Execution.Measured.Values })
	if err != nil || m.passes(given) {
		return e.Measured, err
	}
	return "", nil
}

// measuring tries whether an outcome is due to what a program measures.
type measuring struct {
	*trials.Confirmer
	suspect  *suspects.Suspect
	outcome  controlled.Outcome
	schedule recorder.Schedule
}

// alone returns an execution of the failed test by itself, if others have run in e, too. What it measures counts.
func (m *measuring) alone(ctx context.Context, e *controlled.Execution) (*controlled.Execution, error) {
	one := m.suspect.AloneIn(m.outcome)
	if one == m.suspect {
		return e, nil
	}
	schedule := m.schedule
	schedule.Strategy = strategies.Config{Strategy: strategies.Replay, Seed: m.schedule.Strategy.Seed}
	return m.Confirmer.Repeat(ctx, one, &schedule)
}

// repeat repeats the schedule with a change.
func (m *measuring) repeat(ctx context.Context, change func(*recorder.Schedule)) (*controlled.Execution, error) {
	changed := m.schedule
	change(&changed)
	return m.Confirmer.Repeat(ctx, m.suspect, &changed)
}

// fails reports whether an execution has the outcome. Other tests may fail in it, too.
func (m *measuring) fails(e *controlled.Execution) bool {
	if m.outcome.Class == controlled.TestFailed {
		return slices.Contains(controlled.FailedTests(e.Output), m.outcome.Message)
	}
	return e.Outcome.Same(m.outcome)
}

// passes reports whether an execution has come to its end without the outcome.
func (m *measuring) passes(e *controlled.Execution) bool {
	return e.Outcome.Class == controlled.Passed || m.outcome.Class == controlled.TestFailed && e.Outcome.Class == controlled.TestFailed && !m.fails(e)
}

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

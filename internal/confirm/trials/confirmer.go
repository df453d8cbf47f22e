// Package trials tries suspects, and says what came of it.
//
// A Confirmer makes the schedules of a suspect and executes the program under each, which is a Trial. The Trials of a suspect become a
// Result, with the ways in which they ended and whether the bug does harm. Whatever an execution tries, it may show bugs by itself, such as
// goroutines that wait for ever; Observations collects them. Merge combines the results of separate runs.
//
// The results do not depend on how many executions run at a time, unless the program depends on input from outside, which they
// list. A suspect takes one execution for each seed, and one or two for a witness. One goroutine at a time may use a Confirmer.
package trials

import (
	"context"
	"time"

	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/observed"
	"github.com/heisen-go/heisen/internal/recorder"
)

// Confirmer tries to reproduce suspects. All fields but Passes, Budget, OnTrial and OnResult are
// required.
type Confirmer struct {
	From, To uint64        // the range of seeds, inclusive
	Parallel int           // executions at the same time, at least 1
	Limit    time.Duration // real time after which an execution is stopped
	Virtual  time.Duration // the same in the program's virtual time
	Procs    int           // the value of GOMAXPROCS in the program
	Patience uint64        // steps for which a goroutine is postponed at most; 0 for the strategies' default
	Wait     time.Duration // the same in virtual time, while all others only wait for time to pass
	Depth    uint64        // the bug depth that PCT assumes
	Passes   uint64        // places that a goroutine may pass before it is postponed; 0 is Algorithm 1 of the RaceFuzzer paper
	Resolver *observed.Resolver
	Budget   *suspects.Budget // of the suspects and units; nil if there is no bound

	// OnTrial is called after each execution, and OnResult when the trials of a suspect are
	// complete, by one goroutine at a time. Both may be nil.
	OnTrial  func(*suspects.Suspect, *Trial)
	OnResult func(*Result)
}

// First returns the first seed for a program.
func (c *Confirmer) First(p *controlled.Program) uint64 { return c.From + p.Seeds }

// seeds returns the number of seeds.
func (c *Confirmer) seeds() uint64 { return c.To - c.From + 1 }

// Executions returns the largest number of executions that a suspect takes.
func (c *Confirmer) Executions(s *suspects.Suspect) uint64 { return s.Follows() + c.seeds() }

// followSchedule returns the schedule of execution n, from 0, of those that follow a suspect's witness and its leads.
func (c *Confirmer) followSchedule(s *suspects.Suspect, n uint64) *recorder.Schedule {
	seed, turns := s.Follow(n)
	return &recorder.Schedule{
		Strategy: strategies.Config{Strategy: strategies.Follow, Seed: seed, Turns: controlled.CoreTurns(turns)},
		Targets:  s.Targets, Prologue: s.Program.Prologue(seed), Procs: c.Procs, MaxVirtual: c.Virtual,
	}
}

// Plan returns the plan of an execution of a suspect's program with a schedule, in which findings are recorded and nothing else.
func (c *Confirmer) Plan(s *suspects.Suspect, schedule *recorder.Schedule) controlled.Plan {
	return controlled.Plan{Schedule: schedule, Mode: recorder.FindingsOnly, Tests: s.TestsOf(schedule), Limit: c.Limit}
}

// DirectedSchedule returns the schedule of an execution with the strategy of the suspect.
func (c *Confirmer) DirectedSchedule(s *suspects.Suspect, seed uint64) *recorder.Schedule {
	config := strategies.Config{Strategy: s.Strategy, Seed: seed, PostponeLimit: c.Patience, WaitLimit: uint64(c.Wait)}
	switch s.Strategy {
	case strategies.PCT:
		config.Depth, config.Steps = c.Depth, max(s.Length, 1)
	case strategies.RaceDirected:
		config.Depth = c.Passes
	}
	return &recorder.Schedule{Strategy: config, Targets: s.Targets, Prologue: s.Program.Prologue(seed), Procs: c.Procs, MaxVirtual: c.Virtual}
}

// Try executes a suspect's program once.
// The error is errNoTime if the execution was stopped because the time of the budget was over.
func (c *Confirmer) Try(ctx context.Context, s *suspects.Suspect, schedule *recorder.Schedule) (*Trial, error) {
	limit := c.Budget.Bounds(s, c.Limit)
	plan := c.Plan(s, schedule)
	plan.Limit = limit
	e, err := s.Program.Execute(ctx, plan, c.Resolver)
	if err != nil {
		return nil, err
	}
	c.Budget.Spend(s, e.Took)
	if e.Outcome.Class == controlled.Hung && e.Stuck == nil && limit < c.Limit {
		return nil, suspects.ErrNoTime
	}
	t := &Trial{Seed: schedule.Strategy.Seed, Schedule: schedule, Execution: e, First: -1}
	t.Confirmed, t.First = s.HappenedIn(e)
	return t, nil
}

// ScheduleOf returns the schedule of a trial.
func (c *Confirmer) ScheduleOf(s *suspects.Suspect, t *Trial) recorder.Schedule {
	if t.Schedule != nil {
		return *t.Schedule
	}
	return *c.DirectedSchedule(s, t.Seed)
}

// Repeat executes a suspect's program once more with a schedule, in a process of its own.
func (c *Confirmer) Repeat(ctx context.Context, s *suspects.Suspect, schedule *recorder.Schedule) (*controlled.Execution, error) {
	plan := c.Plan(s, schedule)
	plan.Process = controlled.Afresh
	return s.Program.Execute(ctx, plan, c.Resolver)
}

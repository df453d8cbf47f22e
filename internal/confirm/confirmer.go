package confirm

import (
	"context"
	"time"

	"github.com/heisen-go/heisen/internal/core/strategies"
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
	Resolver *Resolver
	Budget   *Budget // of the suspects and units; nil if there is no bound

	// OnTrial is called after each execution, and OnResult when the trials of a suspect are
	// complete, by one goroutine at a time. Both may be nil.
	OnTrial  func(*Suspect, *Trial)
	OnResult func(*Result)
}

// seeds returns the number of seeds.
func (c *Confirmer) seeds() uint64 { return c.To - c.From + 1 }

// Executions returns the largest number of executions that a suspect takes.
func (c *Confirmer) Executions(s *Suspect) uint64 { return s.follows() + c.seeds() }

// followSchedule returns the schedule of execution n, from 0, of those that follow a suspect's witness and its leads.
func (c *Confirmer) followSchedule(s *Suspect, n uint64) *recorder.Schedule {
	seed, turns := s.follow(n)
	return &recorder.Schedule{
		Strategy: strategies.Config{Strategy: strategies.Follow, Seed: seed, Turns: coreTurns(turns)},
		Targets:  s.Targets, Procs: c.Procs, MaxVirtual: c.Virtual,
	}
}

// plan returns the plan of an execution of a suspect's program with a schedule, in which findings are recorded and nothing else.
func (c *Confirmer) plan(s *Suspect, schedule *recorder.Schedule) Plan {
	return Plan{Schedule: schedule, Mode: recorder.FindingsOnly, Tests: s.tests(schedule), Limit: c.Limit}
}

// directedSchedule returns the schedule of an execution with the strategy of the suspect.
func (c *Confirmer) directedSchedule(s *Suspect, seed uint64) *recorder.Schedule {
	config := strategies.Config{Strategy: s.Strategy, Seed: seed, PostponeLimit: c.Patience, WaitLimit: uint64(c.Wait)}
	switch s.Strategy {
	case strategies.PCT:
		config.Depth, config.Steps = c.Depth, max(s.Length, 1)
	case strategies.RaceDirected:
		config.Depth = c.Passes
	}
	return &recorder.Schedule{Strategy: config, Targets: s.Targets, Procs: c.Procs, MaxVirtual: c.Virtual}
}

// execute executes a suspect's program once.
// The error is errNoTime if the execution was stopped because the time of the budget was over.
func (c *Confirmer) execute(ctx context.Context, s *Suspect, schedule *recorder.Schedule) (*Trial, error) {
	limit := c.Budget.bounds(s, c.Limit)
	plan := c.plan(s, schedule)
	plan.Limit = limit
	e, err := s.Program.Execute(ctx, plan, c.Resolver)
	if err != nil {
		return nil, err
	}
	c.Budget.spend(s, e.Took)
	if e.Outcome.Class == Hung && e.Stuck == nil && limit < c.Limit {
		return nil, errNoTime
	}
	t := &Trial{Seed: schedule.Strategy.Seed, Schedule: schedule, Execution: e, First: -1}
	t.Confirmed, t.First = s.confirmed(e)
	return t, nil
}

// scheduleOf returns the schedule of a trial.
func (c *Confirmer) scheduleOf(s *Suspect, t *Trial) recorder.Schedule {
	if t.Schedule != nil {
		return *t.Schedule
	}
	return *c.directedSchedule(s, t.Seed)
}

// repeat executes a suspect's program once more with a schedule.
func (c *Confirmer) repeat(ctx context.Context, s *Suspect, schedule *recorder.Schedule) (*Execution, error) {
	return s.Program.Execute(ctx, c.plan(s, schedule), c.Resolver)
}

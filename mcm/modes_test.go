package mcm

import (
	"context"

	"github.com/heisen-go/heisen/mcm/internal/cascade"
	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/replay"
	"github.com/heisen-go/heisen/mcm/internal/solve"
	"github.com/heisen-go/heisen/mcm/internal/sweep"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/internal/windowtest"
)

// mode is a way to the same answer.
type mode struct {
	name    string
	options []Option
}

const (
	allStatesName = "all states"
	heldBackName  = "one thread held back"
)

// modes are ways to the same answer: the first has all stages, others have a list of their own.
var modes = func() []mode {
	first := func(s ...cascade.Stage) Option {
		return withStages(func(_ *model.Model, conflicts, propagations int) []cascade.Stage {
			return append(s[:len(s):len(s)], onlySolver(conflicts, propagations))
		})
	}
	asked := func(s solve.Style) Option {
		return detectorOption(func(c *config) error {
			c.cascade.Style = s
			return nil
		})
	}
	edges, closure := cascade.Stage{Name: "edges", Budget: cascade.Budget{}, Run: cascade.Edges}, cascade.Stage{Name: "closure", Budget: cascade.Budget{}, Run: cascade.Closure}
	states := cascade.Stage{Name: allStatesName, Budget: cascade.Budget{States: 1 << 20, Total: cascade.Unlimited}, Run: cascade.AllStates}
	return []mode{
		{"all stages", nil},
		{"all stages, schedules first", []Option{withStages(func(m *model.Model, conflicts, propagations int) []cascade.Stage {
			list := cascade.DefaultStages(m, conflicts, propagations)
			if m.HasChoices {
				list = append(list[:quickStages:quickStages], cascade.SearchStages(true, conflicts, propagations)...)
			}
			return list
		})}},
		{"schedules", []Option{first(edges, states)}},
		{"closure, schedules", []Option{first(edges, closure, states)}},
		{"a thread held back, solver", []Option{heldBackFirst(1<<20, false)}},
		{"a grid, solver", []Option{first(cascade.Stage{Name: "grid", Budget: cascade.Budget{States: cascade.PointsPerState * cascade.QueriesPerModel * cascade.StatesPerConflict << 20}, Run: cascade.Grid})}},
		{"delayed threads, solver", []Option{first(cascade.Stage{Name: "delayed thread", Budget: cascade.Budget{States: 1 << 10, Total: cascade.Unlimited}, Run: cascade.Delays})}},
		{"a sweep, solver", []Option{first(cascade.Stage{Name: "sweep", Budget: cascade.Budget{States: 1 << 20, Rounds: 1}, Run: cascade.Sweep(sweep.ExhaustiveRound)})}},
		{"solver, shared, lazy", []Option{first()}},
		{"solver, shared, eager", []Option{first(), asked(solve.Style{Eager: true})}},
		{"solver, fresh, lazy", []Option{first(), asked(solve.Style{Fresh: true})}},
		{"solver, fresh, eager", []Option{first(), asked(solve.Style{Fresh: true, Eager: true})}},
	}
}()

// quickStages is how many stages look at one schedule at most.
const quickStages = 5

// withStages sets the stages of models.
func withStages(list func(m *model.Model, conflicts, propagations int) []cascade.Stage) Option {
	return detectorOption(func(c *config) error {
		c.cascade.Stages = list
		return nil
	})
}

// onlySolver is the stage that asks the solver.
func onlySolver(conflicts, propagations int) cascade.Stage {
	return cascade.Stage{Name: "solver", Budget: cascade.Budget{Conflicts: conflicts, Propagations: propagations, Queries: cascade.QueriesPerModel}, Run: cascade.Solver}
}

// heldBackFirst has models first search so many states with a thread held back, and then go through
// all stages or ask the solver.
func heldBackFirst(states int, all bool) Option {
	return withStages(func(m *model.Model, conflicts, propagations int) []cascade.Stage {
		list := []cascade.Stage{onlySolver(conflicts, propagations)}
		if all {
			list = cascade.DefaultStages(m, conflicts, propagations)
		}
		return append([]cascade.Stage{{Name: heldBackName, Budget: cascade.Budget{States: states, Total: cascade.Unlimited}, Run: cascade.HeldBack}}, list...)
	})
}

// literally has models be as in Algorithm 9, to the letter, and ask the solver only.
func literally() Option {
	return detectorOption(func(c *config) error {
		c.rules.Literal = true
		c.cascade.Stages = func(_ *model.Model, conflicts, propagations int) []cascade.Stage {
			return []cascade.Stage{onlySolver(conflicts, propagations)}
		}
		return nil
	})
}

// limit bounds the states of some of a model's stages.
func limit(m *Model, states int, names ...string) {
	for i := range m.cascade.Stages {
		for _, name := range names {
			if s := &m.cascade.Stages[i]; s.Name == name && len(m.cascade.Stages) < quickStages {
				s.Budget.States = min(s.Budget.States, states)
			}
		}
	}
}

func configOf(options []Option) *config {
	c := defaults()
	if err := applyOptions("test", &c, options); err != nil {
		panic(err)
	}
	return &c
}

// testModel returns the model of a window, with any options.
func testModel(w window.Window, options ...Option) (*Model, error) {
	return newModel(&w, configOf(options))
}

// race asks a model about a race.
func race(m *Model, i, j int) (Verdict, *Witness, error) { return m.Race(context.Background(), i, j) }

func enumerate(w *window.Window, options ...Option) *windowtest.Enumeration {
	return windowtest.Enumerate(w, configOf(options).rules)
}

// enumerateWithout leaves out the steps that never says are not taken.
func enumerateWithout(w *window.Window, never func(done []bool, i int) bool, options ...Option) *windowtest.Enumeration {
	return windowtest.EnumerateWithout(w, configOf(options).rules, never)
}

// replayIn replays a witness in a window.
func replayIn(w *window.Window, x *window.Witness, options ...Option) error {
	return replay.New(w, configOf(options).rules).Replay(x)
}

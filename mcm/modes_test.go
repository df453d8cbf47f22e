package mcm

import (
	"context"

	"github.com/heisen-go/heisen/mcm/internal/exhaustive"
	"github.com/heisen-go/heisen/mcm/internal/replay"
	"github.com/heisen-go/heisen/mcm/internal/window"
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
	first := func(s ...stage) Option {
		return withStages(func(_ *causal, conflicts, propagations int) []stage {
			return append(s[:len(s):len(s)], onlySolver(conflicts, propagations))
		})
	}
	asked := func(s style) Option {
		return detectorOption(func(c *config) error {
			c.cascade.style = s
			return nil
		})
	}
	edges, closure := stage{"edges", budget{}, edgesStage}, stage{"closure", budget{}, closureStage}
	states := stage{allStatesName, budget{states: 1 << 20, total: unlimited}, allStatesStage}
	return []mode{
		{"all stages", nil},
		{"all stages, schedules first", []Option{withStages(func(m *causal, conflicts, propagations int) []stage {
			list := defaultStages(m, conflicts, propagations)
			if m.soft {
				list = append(list[:quickStages:quickStages], searchStages(true, conflicts, propagations)...)
			}
			return list
		})}},
		{"schedules", []Option{first(edges, states)}},
		{"closure, schedules", []Option{first(edges, closure, states)}},
		{"a thread held back, solver", []Option{heldBackFirst(1<<20, false)}},
		{"a grid, solver", []Option{first(stage{"grid", budget{states: pointsPerState * queriesPerModel * statesPerConflict << 20}, gridStage})}},
		{"delayed threads, solver", []Option{first(stage{"delayed thread", budget{states: 1 << 10, total: unlimited}, delayStage})}},
		{"a sweep, solver", []Option{first(stage{"sweep", budget{states: 1 << 20, rounds: 1}, sweepStage(secondRound)})}},
		{"solver, shared, lazy", []Option{first()}},
		{"solver, shared, eager", []Option{first(), asked(style{eager: true})}},
		{"solver, fresh, lazy", []Option{first(), asked(style{fresh: true})}},
		{"solver, fresh, eager", []Option{first(), asked(style{fresh: true, eager: true})}},
	}
}()

// quickStages is how many stages look at one schedule at most.
const quickStages = 5

// withStages sets the stages of models.
func withStages(list func(m *causal, conflicts, propagations int) []stage) Option {
	return detectorOption(func(c *config) error {
		c.cascade.stages = list
		return nil
	})
}

// onlySolver is the stage that asks the solver.
func onlySolver(conflicts, propagations int) stage {
	return stage{"solver", budget{conflicts: conflicts, propagations: propagations, queries: queriesPerModel}, solverStage}
}

// heldBackFirst has models first search so many states with a thread held back, and then go through
// all stages or ask the solver.
func heldBackFirst(states int, all bool) Option {
	return withStages(func(m *causal, conflicts, propagations int) []stage {
		list := []stage{onlySolver(conflicts, propagations)}
		if all {
			list = defaultStages(m, conflicts, propagations)
		}
		return append([]stage{{heldBackName, budget{states: states, total: unlimited}, heldBackStage}}, list...)
	})
}

// literally has models be as in Algorithm 9, to the letter, and ask the solver only.
func literally() Option {
	return detectorOption(func(c *config) error {
		c.rules.Literal = true
		c.cascade.stages = func(_ *causal, conflicts, propagations int) []stage {
			return []stage{onlySolver(conflicts, propagations)}
		}
		return nil
	})
}

// limit bounds the states of some of a model's stages.
func limit(m *Model, states int, names ...string) {
	for i := range m.cascade.stages {
		for _, name := range names {
			if s := &m.cascade.stages[i]; s.name == name && len(m.cascade.stages) < quickStages {
				s.budget.states = min(s.budget.states, states)
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

func enumerate(w *window.Window, options ...Option) *exhaustive.Enumeration {
	return exhaustive.Enumerate(w, configOf(options).rules)
}

// enumerateWithout leaves out the steps that never says are not taken.
func enumerateWithout(w *window.Window, never func(done []bool, i int) bool, options ...Option) *exhaustive.Enumeration {
	return exhaustive.EnumerateWithout(w, configOf(options).rules, never)
}

// replayIn replays a witness in a window.
func replayIn(w *window.Window, x *window.Witness, options ...Option) error {
	return replay.New(w, configOf(options).rules).Replay(x)
}

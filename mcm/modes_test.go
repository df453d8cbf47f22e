package mcm

import (
	"context"
	"math"

	"github.com/heisen-go/heisen/mcm/internal/cascade"
	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/replay"
	"github.com/heisen-go/heisen/mcm/internal/solve"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/internal/windowtest"
)

// mode is a configuration with which a model must give the same verdicts.
type mode struct {
	name    string
	options []DetectorOption
}

const (
	allStatesName = "all states"
	heldBackName  = "one thread held back"
)

// modes are the configurations that tests compare. The first one is the default; the others run some
// stages only, mostly one and then the solver.
var modes = func() []mode {
	before := func(s ...cascade.Stage) DetectorOption { // these stages before the solver
		return withStages(func(_ *model.Model, conflicts, propagations int) []cascade.Stage {
			return append(s[:len(s):len(s)], solverStage(conflicts, propagations))
		})
	}
	withStyle := func(s solve.Style) DetectorOption {
		return detectorOption(func(c *config) error {
			c.cascade.Style = s
			return nil
		})
	}
	edges, closure := cascade.Stage{Name: "edges", Budget: cascade.Budget{}, Run: cascade.Edges}, cascade.Stage{Name: "closure", Budget: cascade.Budget{}, Run: cascade.Closure}
	states := cascade.Stage{Name: allStatesName, Budget: cascade.Budget{States: 1 << 20, Total: cascade.Unlimited}, Run: cascade.AllStates}
	return []mode{
		{"all stages", nil},
		{"all stages, schedules first", []DetectorOption{withStages(func(m *model.Model, conflicts, propagations int) []cascade.Stage {
			list := cascade.DefaultStages(m, conflicts, propagations)
			if m.HasChoices {
				list = append(list[:quickStages:quickStages], cascade.SearchStages(true, conflicts, propagations)...)
			}
			return list
		})}},
		{"schedules", []DetectorOption{before(edges, states)}},
		{"closure, schedules", []DetectorOption{before(edges, closure, states)}},
		{"a thread held back, solver", []DetectorOption{heldBackFirst(1<<20, false)}},
		{"a grid, solver", []DetectorOption{before(cascade.Stage{Name: "grid", Budget: cascade.Budget{States: min(cascade.PointsPerState*cascade.QueriesPerModel*cascade.StatesPerConflict<<20, math.MaxInt)}, Run: cascade.Grid})}},
		{"delayed threads, solver", []DetectorOption{before(cascade.Stage{Name: "delayed thread", Budget: cascade.Budget{States: 1 << 10, Total: cascade.Unlimited}, Run: cascade.Delays})}},
		{"a sweep, solver", []DetectorOption{before(cascade.Stage{Name: "sweep", Budget: cascade.Budget{States: 1 << 20}, Run: cascade.Sweep})}},
		{"solver, shared, lazy", []DetectorOption{before()}},
		{"solver, shared, eager", []DetectorOption{before(), withStyle(solve.Style{Eager: true})}},
		{"solver, fresh, lazy", []DetectorOption{before(), withStyle(solve.Style{Fresh: true})}},
		{"solver, fresh, eager", []DetectorOption{before(), withStyle(solve.Style{Fresh: true, Eager: true})}},
	}
}()

// quickStages is the number of stages of package quick, and Known.
const quickStages = 5

// withStages sets the stages of models.
func withStages(list func(m *model.Model, conflicts, propagations int) []cascade.Stage) DetectorOption {
	return detectorOption(func(c *config) error {
		c.cascade.Stages = list
		return nil
	})
}

// solverStage returns the stage that asks the solver.
func solverStage(conflicts, propagations int) cascade.Stage {
	return cascade.Stage{Name: "solver", Budget: cascade.Budget{Conflicts: conflicts, Propagations: propagations, Queries: cascade.QueriesPerModel}, Run: cascade.Solver}
}

// heldBackFirst makes models first search a number of states with one thread held back, and then run
// all stages or only the solver.
func heldBackFirst(states int, all bool) DetectorOption {
	return withStages(func(m *model.Model, conflicts, propagations int) []cascade.Stage {
		list := []cascade.Stage{solverStage(conflicts, propagations)}
		if all {
			list = cascade.DefaultStages(m, conflicts, propagations)
		}
		return append([]cascade.Stage{{Name: heldBackName, Budget: cascade.Budget{States: states, Total: cascade.Unlimited}, Run: cascade.HeldBack}}, list...)
	})
}

// literally makes models follow Algorithm 9 to the letter, and ask the solver only.
func literally() DetectorOption {
	return detectorOption(func(c *config) error {
		c.rules.Literal = true
		c.cascade.Stages = func(_ *model.Model, conflicts, propagations int) []cascade.Stage {
			return []cascade.Stage{solverStage(conflicts, propagations)}
		}
		return nil
	})
}

// limit bounds the states of some stages, unless the model has all stages.
func limit(m *Model, states int, names ...string) {
	for i := range m.cascade.Stages {
		for _, name := range names {
			if s := &m.cascade.Stages[i]; s.Name == name && len(m.cascade.Stages) < quickStages {
				s.Budget.States = min(s.Budget.States, states)
			}
		}
	}
}

func configOf(options []DetectorOption) *config {
	c := defaults()
	if err := applyOptions("test", &c, options); err != nil {
		panic(err)
	}
	return &c
}

// testModel returns the model of a window, also with options that only detectors have.
func testModel(w window.Window, options ...DetectorOption) (*Model, error) {
	return newModel(&w, configOf(options))
}

// race asks whether two records race.
func race(m *Model, i, j int) (Verdict, *Witness, error) { return m.Race(context.Background(), i, j) }

func enumerate(w *window.Window, options ...DetectorOption) *windowtest.Enumeration {
	return windowtest.Enumerate(w, configOf(options).rules)
}

// enumerateWithout is enumerate without the steps for which never returns true.
func enumerateWithout(w *window.Window, never func(done []bool, i int) bool, options ...DetectorOption) *windowtest.Enumeration {
	return windowtest.EnumerateWithout(w, configOf(options).rules, never)
}

// replayIn replays a witness in a window.
func replayIn(w *window.Window, x *window.Witness, options ...DetectorOption) error {
	return replay.New(w, configOf(options).rules).Replay(x)
}

package cascade

import (
	"context"

	"github.com/heisen-go/heisen/mcm/internal/beam"
	"github.com/heisen-go/heisen/mcm/internal/explore"
	"github.com/heisen-go/heisen/mcm/internal/grid"
	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/quick"
	"github.com/heisen-go/heisen/mcm/internal/reach"
	"github.com/heisen-go/heisen/mcm/internal/solve"
	"github.com/heisen-go/heisen/mcm/internal/sweep"
	"github.com/heisen-go/heisen/mcm/order"
)

// Cascade answers queries about one model: it goes through a list of stages, from cheap to
// expensive, until one has the answer. It keeps what the stages find, for most of them find the
// answers to many queries at once. It belongs to one goroutine.
type Cascade struct {
	m      *model.Model
	Stages []Stage

	closure   *quick.Closure
	scheduler *quick.Scheduler
	sim       *solve.Simulation // checks the schedules that stages find
	solving   *solve.Solver

	explore *explore.Explorer // made when it is needed
	reaches []*reach.Search   // by thread, made when they are needed
	reached int               // states that these have looked at
	ahead   *beam.Delays      // made when it is needed
	vain    int               // by how many more states it has looked at without an answer than with one
	Grid    *grid.Grid        // made when it is needed, and gone through
	gridded bool              // it was, or cannot be
	sweep   *sweep.Sweep      // made when it is needed
	swept   bool              // it was made, or cannot be
	backed  int               // states that it has looked at with a thread held back

	ctx   context.Context // of the query that is being answered
	Stats Stats
}

// Stage is one way to answer a query.
type Stage struct {
	Name   string
	Budget Budget
	Run    Func
}

// Budget bounds what a stage spends. Its units make results independent of the machine.
type Budget struct {
	States int // states, or points of a grid, for this query
	Total  int // states for all queries of a model, after which the stage is skipped
	growth int // by how much each query raises total
	Rounds int // how often the stage may spend states

	Conflicts, Propagations int // of the solver, for this query
	Queries                 int // the solver is skipped after all queries have cost as much as so many
}

// allowed returns the total after so many queries.
func (b Budget) allowed(queries int) int { return b.Total + queries*b.growth }

// Config says how queries are answered.
type Config struct {
	Conflicts, Propagations int // what the solver may spend on a query; other budgets are multiples
	Style                   solve.Style
	Stages                  func(m *model.Model, conflicts, propagations int) []Stage // nil for the default
}

// Stats counts queries by the stage that answered them.
type Stats struct {
	Queries    int
	Edges      int
	Preserving int
	Closure    int
	Greedy     int
	Explored   int
	Exhausted  int
	Solved     int
	Refuted    int
	Unknown    int
}

func New(m *model.Model, config Config) *Cascade {
	sets := model.NewValueSets(m)
	c := &Cascade{m: m, closure: quick.NewClosure(m, sets), sim: solve.NewSimulation(m, sets), ctx: context.Background()}
	c.scheduler = quick.NewScheduler(m, c.closure)
	c.solving = solve.New(m, sets, config.Conflicts, config.Propagations, config.Style,
		func() bool { return c.explore != nil && c.explore.Exact })
	stages := config.Stages
	if stages == nil {
		stages = DefaultStages
	}
	c.Stages = stages(m, config.Conflicts, config.Propagations)
	return c
}

// Answer answers a query. If that is possible, it returns the nodes before the goal in their
// order, which are valid until the next call. When the context ends, it returns the
// context's error; the cascade can be asked again.
func (c *Cascade) Answer(ctx context.Context, q *model.Query) (model.Verdict, []order.Node, error) {
	c.Stats.Queries++
	c.ctx = ctx
	at := c.closure.Mark()
	defer c.closure.Undo(at)
	for i := range c.Stages {
		if err := ctx.Err(); err != nil {
			c.Stats.Unknown++
			return model.Unknown, nil, err
		}
		s := &c.Stages[i]
		if verdict, nodes, err := s.Run(c, q, s.Budget); verdict != model.Unknown || err != nil {
			if verdict == model.Unknown {
				c.Stats.Unknown++
			}
			return verdict, nodes, err
		}
	}
	c.Stats.Unknown++
	return model.Unknown, nil, ctx.Err()
}

// holds reports whether a schedule violates no constraint.
func (c *Cascade) holds(nodes []order.Node) bool { return len(c.sim.Violated(nodes)) == 0 }

// explorer returns the search among schedules.
func (c *Cascade) explorer() *explore.Explorer {
	if c.explore == nil {
		c.explore = explore.New(c.m, c.closure.Rows, func() bool { return c.ctx.Err() != nil })
	}
	return c.explore
}

// looked returns how many states the searches have looked at.
func (c *Cascade) looked() int {
	n := c.reached
	if c.explore != nil {
		n += c.explore.Expanded + c.explore.ExpandedNear
	}
	if c.ahead != nil {
		n += c.ahead.Expanded
	}
	return n
}

// known returns the answer if it is known from searches for others.
func (c *Cascade) known(q *model.Query) (model.Verdict, []order.Node) {
	if c.explore == nil || !q.IsRace() {
		return model.Unknown, nil
	}
	a, b := q.Pending[0], q.Pending[1]
	if c.solving.Precedes(a, b) || c.solving.Precedes(b, a) {
		c.Stats.Refuted++
		return model.Impossible, nil
	}
	found := func(nodes []order.Node) bool {
		if nodes == nil || !c.holds(nodes) {
			return false
		}
		c.Stats.Explored++
		return true
	}
	if nodes := c.explore.Witness(q); found(nodes) {
		return model.Possible, nodes
	}
	if c.Grid != nil {
		if c.Grid.Refutes(a, b) {
			c.Stats.Exhausted++
			return model.Impossible, nil
		}
		if nodes := c.Grid.Witness(a, b); found(nodes) {
			return model.Possible, nodes
		}
	}
	if c.sweep != nil {
		if c.explore.Exact && c.sweep.Refutes(a, b) {
			c.Stats.Exhausted++
			return model.Impossible, nil
		}
		if nodes := c.sweep.Witness(a, b); found(nodes) {
			return model.Possible, nodes
		}
	}
	if c.reaches == nil {
		return model.Unknown, nil
	}
	for _, p := range [2][2]order.Node{{a, b}, {b, a}} {
		r := c.reaches[c.m.Chain[p[0]]]
		if r == nil {
			continue
		}
		if r.Refutes(p[0], p[1]) {
			c.Stats.Exhausted++
			return model.Impossible, nil
		}
		if nodes := r.Witness(p[0], p[1]); found(nodes) {
			return model.Possible, nodes
		}
	}
	return model.Unknown, nil
}

// lead has the sweep go on from the states on the way to an answer that others have found: what
// is new there answers more questions.
func (c *Cascade) lead(nodes []order.Node) {
	if c.sweep != nil {
		c.sweep.Follow(nodes)
	}
}

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

// Cascade answers queries about one model. See the package documentation.
type Cascade struct {
	m      *model.Model
	Stages []Stage

	closure   *quick.Closure
	scheduler *quick.Scheduler
	sim       *solve.Simulation // checks the schedules that stages find
	solver    *solve.Solver

	// The searches are nil until they are first needed.
	explore          *explore.Explorer
	reaches          []*reach.Search // by the thread that is held back
	reachExpanded    int             // states that these have expanded
	delays           *beam.Delays
	fruitless        int        // states that delays has expanded without an answer, less those with one
	Grid             *grid.Grid // nil unless it has explored all its points
	gridTried        bool       // Grid was explored, or cannot be
	sweep            *sweep.Sweep
	sweepTried       bool // sweep was made, or cannot be
	heldBackExpanded int  // states that sweep has expanded with a thread held back

	ctx   context.Context // of the current query
	Stats Stats
}

// Stage is one way to answer a query. Run returns the verdict, Unknown if it has no answer, and with
// Possible the nodes before the goal.
type Stage struct {
	Name   string
	Budget Budget
	Run    Func
}

// Budget bounds what a stage spends.
type Budget struct {
	States int // states, or points of a grid, for one query
	Total  int // states for all queries of a model, after which the stage is skipped
	growth int // by how much each query raises Total

	Conflicts, Propagations int // of the solver, for one query
	Queries                 int // the solver is skipped once it has spent the budgets of so many queries
}

// allowed returns the total after a number of queries.
func (b Budget) allowed(queries int) int { return b.Total + queries*b.growth }

// Config configures a Cascade.
type Config struct {
	Conflicts, Propagations int // of the solver, for one query; other budgets are multiples of these
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

// New returns a cascade for a model.
func New(m *model.Model, config Config) *Cascade {
	sets := model.NewValueSets(m)
	c := &Cascade{m: m, closure: quick.NewClosure(m, sets), sim: solve.NewSimulation(m, sets), ctx: context.Background()}
	c.scheduler = quick.NewScheduler(m, c.closure)
	c.solver = solve.New(m, sets, config.Conflicts, config.Propagations, config.Style,
		func() bool { return c.explore != nil && c.explore.Exact })
	stages := config.Stages
	if stages == nil {
		stages = DefaultStages
	}
	c.Stages = stages(m, config.Conflicts, config.Propagations)
	return c
}

// Answer answers a query. If the verdict is Possible, it returns the nodes before the goal in order,
// which are valid until the next call. When the context ends, Answer returns the context's error;
// further queries are permitted.
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

// valid reports whether a schedule satisfies all constraints but edges, which all stages keep.
func (c *Cascade) valid(nodes []order.Node) bool { return len(c.sim.Violated(nodes)) == 0 }

// explorer returns the best-first search, whose transition system all searches share.
func (c *Cascade) explorer() *explore.Explorer {
	if c.explore == nil {
		c.explore = explore.New(c.m, c.closure.Rows, func() bool { return c.ctx.Err() != nil })
	}
	return c.explore
}

// expanded returns how many states the searches for single queries have expanded.
func (c *Cascade) expanded() int {
	n := c.reachExpanded
	if c.explore != nil {
		n += c.explore.Expanded + c.explore.ExpandedNear
	}
	if c.delays != nil {
		n += c.delays.Expanded
	}
	return n
}

// knownAnswer returns the answer to a query if searches for other queries have found it.
func (c *Cascade) knownAnswer(q *model.Query) (model.Verdict, []order.Node) {
	if c.explore == nil || !q.IsRace() {
		return model.Unknown, nil
	}
	a, b := q.Pending[0], q.Pending[1]
	if c.solver.Precedes(a, b) || c.solver.Precedes(b, a) {
		c.Stats.Refuted++
		return model.Impossible, nil
	}
	found := func(nodes []order.Node) bool {
		if nodes == nil || !c.valid(nodes) {
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

// follow makes the sweep continue from the states along a witness that another search has found.
// States near it often answer further queries.
func (c *Cascade) follow(nodes []order.Node) {
	if c.sweep != nil {
		c.sweep.Follow(nodes)
	}
}

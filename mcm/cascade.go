package mcm

import (
	"context"

	"github.com/heisen-go/heisen/mcm/order"
)

// cascade answers queries about one model: it goes through a list of stages, from cheap to
// expensive, until one has the answer. It keeps what the stages find, for most of them find the
// answers to many queries at once. It belongs to one goroutine.
type cascade struct {
	m      *causal
	stages []stage

	closure   *closure
	scheduler *scheduler
	sim       *simulation // checks the schedules that stages find
	solving   *solving

	explore *explorer // made when it is needed
	reaches []*reach  // by thread, made when they are needed
	reached int       // states that these have looked at
	ahead   *ahead    // made when it is needed
	vain    int       // by how many more states it has looked at without an answer than with one
	grid    *grid     // made when it is needed, and gone through
	gridded bool      // it was, or cannot be
	sweep   *sweep    // made when it is needed
	swept   bool      // it was made, or cannot be
	backed  int       // states that it has looked at with a thread held back

	ctx   context.Context // of the query that is being answered
	stats stageStats
}

// stage is one way to answer a query.
type stage struct {
	name   string
	budget budget
	run    run
}

// budget bounds what a stage spends. Its units make results independent of the machine.
type budget struct {
	states int // states, or points of a grid, for this query
	total  int // states for all queries of a model, after which the stage is skipped
	growth int // by how much each query raises total
	rounds int // how often the stage may spend states

	conflicts, propagations int // of the solver, for this query
	queries                 int // the solver is skipped after all queries have cost as much as so many
}

// allowed returns the total after so many queries.
func (b budget) allowed(queries int) int { return b.total + queries*b.growth }

// cascadeConfig says how queries are answered.
type cascadeConfig struct {
	conflicts, propagations int // what the solver may spend on a query; other budgets are multiples
	style                   style
	stages                  func(m *causal, conflicts, propagations int) []stage // nil for the default
}

// stageStats counts queries by the stage that answered them.
type stageStats struct {
	Questions  int
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

func newCascade(m *causal, config cascadeConfig) *cascade {
	sets := newValueSets(m)
	c := &cascade{m: m, closure: newClosure(m, sets), sim: newSimulation(m, sets), ctx: context.Background()}
	c.scheduler = newScheduler(m, c.closure)
	c.solving = newSolving(m, sets, config.conflicts, config.propagations, config.style,
		func() bool { return c.explore != nil && c.explore.exact })
	stages := config.stages
	if stages == nil {
		stages = defaultStages
	}
	c.stages = stages(m, config.conflicts, config.propagations)
	return c
}

// answer answers a query. If that is possible, it returns the nodes before the goal in their
// order, which are valid until the next call. When the context ends, it returns the
// context's error; the cascade can be asked again.
func (c *cascade) answer(ctx context.Context, q *query) (outcome, []order.Node, error) {
	c.stats.Questions++
	c.ctx = ctx
	at := c.closure.mark()
	defer c.closure.undo(at)
	for i := range c.stages {
		if err := ctx.Err(); err != nil {
			c.stats.Unknown++
			return unknown, nil, err
		}
		s := &c.stages[i]
		if verdict, nodes, err := s.run(c, q, s.budget); verdict != unknown || err != nil {
			if verdict == unknown {
				c.stats.Unknown++
			}
			return verdict, nodes, err
		}
	}
	c.stats.Unknown++
	return unknown, nil, ctx.Err()
}

// holds reports whether a schedule violates no constraint.
func (c *cascade) holds(nodes []order.Node) bool { return len(c.sim.violated(nodes)) == 0 }

// explorer returns the search among schedules.
func (c *cascade) explorer() *explorer {
	if c.explore == nil {
		c.explore = newExplorer(c.m, c.closure.rows, func() bool { return c.ctx.Err() != nil })
	}
	return c.explore
}

// looked returns how many states the searches have looked at.
func (c *cascade) looked() int {
	n := c.reached
	if c.explore != nil {
		n += c.explore.looked + c.explore.nearby
	}
	if c.ahead != nil {
		n += c.ahead.looked
	}
	return n
}

// known returns the answer if it is known from searches for others.
func (c *cascade) known(q *query) (outcome, []order.Node) {
	if c.explore == nil || !q.race() {
		return unknown, nil
	}
	a, b := q.next[0], q.next[1]
	if c.solving.walled(a, b) || c.solving.walled(b, a) {
		c.stats.Refuted++
		return impossible, nil
	}
	found := func(nodes []order.Node) bool {
		if nodes == nil || !c.holds(nodes) {
			return false
		}
		c.stats.Explored++
		return true
	}
	if nodes := c.explore.met(q); found(nodes) {
		return possible, nodes
	}
	if c.grid != nil {
		if c.grid.never(a, b) {
			c.stats.Exhausted++
			return impossible, nil
		}
		if nodes := c.grid.meeting(a, b); found(nodes) {
			return possible, nodes
		}
	}
	if c.sweep != nil {
		if c.explore.exact && c.sweep.never(a, b) {
			c.stats.Exhausted++
			return impossible, nil
		}
		if nodes := c.sweep.meeting(a, b); found(nodes) {
			return possible, nodes
		}
	}
	if c.reaches == nil {
		return unknown, nil
	}
	for _, p := range [2][2]order.Node{{a, b}, {b, a}} {
		r := c.reaches[c.m.chain[p[0]]]
		if r == nil {
			continue
		}
		if r.never(p[0], p[1]) {
			c.stats.Exhausted++
			return impossible, nil
		}
		if nodes := r.meeting(p[0], p[1]); found(nodes) {
			return possible, nodes
		}
	}
	return unknown, nil
}

// lead has the sweep go on from the states on the way to an answer that others have found: what
// is new there answers more questions.
func (c *cascade) lead(nodes []order.Node) {
	if c.sweep != nil {
		c.sweep.lead(nodes)
	}
}

package cascade

import (
	"math"

	"github.com/heisen-go/heisen/mcm/internal/beam"
	"github.com/heisen-go/heisen/mcm/internal/grid"
	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/reach"
	"github.com/heisen-go/heisen/mcm/internal/sweep"
	"github.com/heisen-go/heisen/mcm/order"
)

// The budgets of stages are multiples of the conflicts and propagations that the solver may spend on
// one query.
const (
	StatesPerConflict = 100 // states of a query
	QueriesPerModel   = 20  // all queries may spend the budgets of so many queries
	growthPart        = 20  // each query raises the total of all queries by this part of its states

	glancePart         = 128 // the first search near the observed order: this part of a query's states
	lookPart           = 8   // the second one, and one with a thread held back: this part
	briefPart          = 64  // the first search among all states: this part
	briefConflictsPart = 4   // a first call of the solver: this part of the conflicts and propagations
	exactRacesPart     = 8   // if states are exact, the search of all states stops for races after this part of the total

	busyPart         = 4   // searches for all queries begin when queries have cost this part of the total
	PointsPerState   = 320 // points of a grid for each state of the total
	sweepPerQuery    = 5   // states of a call of the sweep, in states of a query
	heldBackPerSweep = 2   // all sweeps with a thread held back: this many times QueriesPerModel calls of the sweep
	heldBackPart     = 8   // each of them: this part of that
	farPerSweep      = 2   // states of the last beam searches, in states of a call of the sweep

	insistence       = 32 // how many times its budget the solver may spend on a query that no other stage answers
	insistentQueries = 8 * QueriesPerModel

	manyWritesPerChoice = 8 // see manyChoices

	usualNodes = 2000 // nodes of a model up to which the budgets hold as they are
)

// DefaultStages returns the stages for a model. Every stage is exact when it answers. The order of
// the stages and their budgets are those that were fastest on the benchmarks.
//
// The stages of package quick answer most queries. The solver answers the rest where each read has
// one choice. Where reads have more, searches among states and the solver take turns, with a part of
// a query's budget at first. Searches are fast where reads have many choices; the solver is fast where
// reads have few, and where locks and edges leave few orders. The total of all queries is bounded,
// but each query adds enough for a look near the observed order, where most answers are.
func DefaultStages(m *model.Model, conflicts, propagations int) []Stage {
	solver := func(part int) Budget {
		return Budget{Conflicts: conflicts / part, Propagations: propagations / part, Queries: QueriesPerModel}
	}
	stages := []Stage{
		{"known", Budget{}, Known},
		{"edges", Budget{}, Edges},
		{"sync-preserving", Budget{}, SyncPreserving},
		{"closure", Budget{}, Closure},
		{"greedy", Budget{}, Greedy},
	}
	if !m.HasChoices {
		return append(stages, Stage{"solver", solver(1), Solver})
	}
	searches := SearchStages(manyChoices(m), conflicts, propagations)
	for i := range searches {
		searches[i].Budget.Fit(int(m.Goal))
	}
	return append(stages, searches...)
}

// Fit lowers a budget of states for a model of more than usualNodes nodes. A state costs more there, and
// there are more queries of which each may spend its budget: without this, ten times as many events in a
// window take a hundred times as long.
func (b *Budget) Fit(nodes int) {
	if nodes <= usualNodes {
		return
	}
	part := float64(usualNodes) / float64(nodes)
	for _, n := range []*int{&b.States, &b.Total, &b.growth} {
		*n = int(float64(*n) * part * part)
	}
}

// SearchStages returns the stages that follow those of package quick if reads have choices. many
// reports whether they have many.
func SearchStages(many bool, conflicts, propagations int) []Stage {
	states := StatesPerConflict * conflicts
	all := QueriesPerModel * states
	swept := sweepPerQuery * states
	solver := func(part int) Budget {
		return Budget{Conflicts: conflicts / part, Propagations: propagations / part, Queries: QueriesPerModel}
	}
	insistent := Budget{Conflicts: insistence * conflicts, Propagations: insistence * propagations, Queries: insistentQueries}
	perQuery := func(states int) Budget {
		return Budget{States: states, Total: all, growth: StatesPerConflict * conflicts / growthPart}
	}
	heldBack := heldBackPerSweep * QueriesPerModel * swept

	list := []Stage{{"prepare searches", Budget{}, Prepare}}
	add := func(s ...Stage) { list = append(list, s...) }
	if !many {
		add(Stage{"solver, in brief", solver(briefConflictsPart), Solver})
	}
	add(
		Stage{"grid, if busy", Budget{States: PointsPerState * all, Total: all / busyPart}, whenBusy(Grid)},
		Stage{"sweep, if busy", Budget{States: swept, Total: all / busyPart}, whenBusy(Sweep)},
		Stage{"delayed thread, nearby", perQuery(0), Delays},
		Stage{"near the observed order, at a glance", perQuery(states / glancePart), Near},
		Stage{"one thread held back", perQuery(states / lookPart), HeldBack},
		Stage{"delayed thread", perQuery(swept), Delays},
	)
	if many {
		add(Stage{"new solver", solver(1), NewSolver})
	}
	add(
		Stage{"sweep, one thread held back, quick", Budget{States: heldBack / heldBackPart, Total: heldBack}, SweepHeldBack},
		Stage{"near the observed order", perQuery(states / lookPart), Near},
		Stage{"all states, in brief", Budget{States: states / briefPart, Total: all}, AllStates},
	)
	if many {
		add(Stage{"solver, in brief", solver(briefConflictsPart), Solver})
	}
	add(
		Stage{"all states", Budget{States: states, Total: all}, AllStates},
		Stage{"solver", solver(1), Solver},

		// For a race that no stage has answered so far: searches and a solver with larger budgets.
		Stage{"delayed thread, far", Budget{States: farPerSweep * swept, Total: QueriesPerModel * swept}, Delays},
		Stage{"solver, insisting", insistent, onlyRaces(InsistingSolver)},
	)
	return list
}

// manyChoices reports whether reads that accept several writes accept many, on average.
func manyChoices(m *model.Model) bool {
	reads, writes := 0, 0
	for i := range m.Reads {
		if n := len(m.Reads[i].Same); n > 0 {
			reads, writes = reads+1, writes+n
		}
	}
	return writes > manyWritesPerChoice*reads
}

// Func runs a stage for a query, within a budget.
type Func = func(*Cascade, *model.Query, Budget) (model.Verdict, []order.Node, error)

// Known returns answers that searches for other queries have found.
func Known(c *Cascade, q *model.Query, _ Budget) (model.Verdict, []order.Node, error) {
	verdict, nodes := c.knownAnswer(q)
	return verdict, nodes, nil
}

// Edges adds the edges of the query to the closure. A cycle refutes the query.
func Edges(c *Cascade, q *model.Query, _ Budget) (model.Verdict, []order.Node, error) {
	if !c.closure.AddQuery(q) {
		c.Stats.Edges++
		return model.Impossible, nil, nil
	}
	return model.Unknown, nil, nil
}

// SyncPreserving looks for a sync-preserving answer. It comes after Edges.
func SyncPreserving(c *Cascade, q *model.Query, _ Budget) (model.Verdict, []order.Node, error) {
	if nodes := c.scheduler.SyncPreserving(q); nodes != nil && c.valid(nodes) {
		c.Stats.Preserving++
		return model.Possible, nodes, nil
	}
	return model.Unknown, nil, nil
}

// Closure adds the edges that follow from locks, reads and messages to the closure. A cycle refutes
// the query. It comes after Edges.
func Closure(c *Cascade, _ *model.Query, _ Budget) (model.Verdict, []order.Node, error) {
	if !c.closure.Saturate() {
		c.Stats.Closure++
		return model.Impossible, nil, nil
	}
	return model.Unknown, nil, nil
}

// Greedy looks for an answer with greedy schedules. It comes after Closure.
func Greedy(c *Cascade, _ *model.Query, _ Budget) (model.Verdict, []order.Node, error) {
	if nodes := c.scheduler.Greedy(c.valid); nodes != nil {
		c.Stats.Greedy++
		return model.Possible, nodes, nil
	}
	return model.Unknown, nil, nil
}

// Prepare makes the transition system of the searches. It has no answer.
func Prepare(c *Cascade, _ *model.Query, _ Budget) (model.Verdict, []order.Node, error) {
	c.explorer()
	return model.Unknown, nil, nil
}

// Solver asks the order solver.
func Solver(c *Cascade, q *model.Query, b Budget) (model.Verdict, []order.Node, error) {
	return c.solve(q, b, false)
}

// NewSolver asks a new order solver, because clauses from other queries mislead it where reads have
// many choices.
func NewSolver(c *Cascade, q *model.Query, b Budget) (model.Verdict, []order.Node, error) {
	c.solver.Reset()
	return c.solve(q, b, false)
}

// InsistingSolver asks the order solver, within the budget for queries that no other stage answers.
func InsistingSolver(c *Cascade, q *model.Query, b Budget) (model.Verdict, []order.Node, error) {
	return c.solve(q, b, true)
}

func (c *Cascade) solve(q *model.Query, b Budget, insist bool) (model.Verdict, []order.Node, error) {
	verdict, nodes, err := c.solver.Solve(c.ctx, q, b.Conflicts, b.Propagations, b.Queries, insist)
	switch verdict {
	case model.Possible:
		c.Stats.Solved++
	case model.Impossible:
		c.Stats.Refuted++
	}
	return verdict, nodes, err
}

// Near looks for an answer near the observed order. It does nothing once a sweep has held back the
// thread of the query, which covers such answers.
func Near(c *Cascade, q *model.Query, b Budget) (model.Verdict, []order.Node, error) {
	x := c.explorer()
	if x.ExpandedNear >= b.allowed(c.Stats.Queries) || c.heldBackBySweep(q) {
		return model.Unknown, nil, nil
	}
	nodes := x.Near(q, b.States)
	if nodes == nil || !c.valid(nodes) {
		return model.Unknown, nil, nil
	}
	c.Stats.Explored++
	c.follow(nodes)
	return model.Possible, nodes, nil
}

// heldBackBySweep reports whether a sweep has held back the thread of a race whose access was observed
// first.
func (c *Cascade) heldBackBySweep(q *model.Query) bool {
	if c.sweep == nil || !q.IsRace() {
		return false
	}
	first, _ := q.ObservedPair(c.m)
	return c.sweep.HasHeldBack(first)
}

// AllStates searches the states from the start of the window, best first.
func AllStates(c *Cascade, q *model.Query, b Budget) (model.Verdict, []order.Node, error) {
	x := c.explorer()
	if x.Expanded >= b.Total || x.Exact && q.IsRace() && x.Expanded > b.Total/exactRacesPart {
		return model.Unknown, nil, nil
	}
	verdict, nodes := x.All(q, b.States)
	switch {
	case verdict == model.Impossible:
		c.Stats.Exhausted++
		return model.Impossible, nil, nil
	case verdict == model.Possible && c.valid(nodes):
		c.Stats.Explored++
		return model.Possible, nodes, nil
	}
	return model.Unknown, nil, nil
}

// reachWords bounds the memory for states with one thread held back, in words of 8 bytes. Parents and
// the hash table take about as much again.
const reachWords = 1 << 23

// HeldBack searches the states in which the thread of the access that was observed first is held back,
// see package reach.
func HeldBack(c *Cascade, q *model.Query, b Budget) (model.Verdict, []order.Node, error) {
	if c.reachExpanded >= b.allowed(c.Stats.Queries) {
		return model.Unknown, nil, nil
	}
	x, words := c.explorer(), 0
	for _, r := range c.reaches {
		if r != nil {
			words += len(r.Words)
		}
	}
	if !x.Exact || !q.IsRace() || words > reachWords {
		return model.Unknown, nil, nil
	}
	a, _ := q.ObservedPair(c.m)
	if c.reaches == nil {
		c.reaches = make([]*reach.Search, x.Threads)
	}
	r := &c.reaches[c.m.Chain[a]]
	if *r == nil {
		*r = reach.New(x.Machine, int(c.m.Chain[a]))
	}
	c.reachExpanded += (*r).Explore(a, b.States)
	return Known(c, q, b)
}

// Delays looks for an answer in which the thread of the access that was observed first is delayed, by
// beam searches of at most b.States states each; if that is 0, by short ones near the observed order.
// It does nothing once the beam searches have expanded too many states without an answer.
func Delays(c *Cascade, q *model.Query, b Budget) (model.Verdict, []order.Node, error) {
	if !q.IsRace() {
		return model.Unknown, nil, nil
	}
	if c.delays == nil {
		c.delays = beam.New(c.explorer().Machine)
	}
	if c.fruitless > b.allowed(c.Stats.Queries) {
		return model.Unknown, nil, nil
	}
	before := c.delays.Expanded
	first, second := q.ObservedPair(c.m)
	var nodes []order.Node
	if b.States > 0 {
		nodes = c.delays.Witness(first, second, b.States)
	} else {
		nodes = c.delays.Nearby(first, second)
	}
	if nodes != nil && c.valid(nodes) {
		c.Stats.Explored++
		c.fruitless = max(0, c.fruitless-(c.delays.Expanded-before))
		c.follow(nodes)
		return model.Possible, nodes, nil
	}
	c.fruitless += c.delays.Expanded - before
	return model.Unknown, nil, nil
}

// Grid looks for an answer in the grid of all states, if it is not too large.
func Grid(c *Cascade, q *model.Query, b Budget) (model.Verdict, []order.Node, error) {
	if !q.IsRace() {
		return model.Unknown, nil, nil
	}
	if !c.gridTried {
		if g := grid.New(c.explorer().Machine); g != nil && g.Explore(b.States) {
			c.Grid = g
		}
		c.gridTried = c.Grid != nil || c.ctx.Err() == nil
	}
	if c.Grid == nil {
		return model.Unknown, nil, nil
	}
	return Known(c, q, b)
}

// Sweep looks for an answer with a sweep.
func Sweep(c *Cascade, q *model.Query, b Budget) (model.Verdict, []order.Node, error) {
	if !q.IsRace() {
		return model.Unknown, nil, nil
	}
	if !c.sweepTried {
		c.sweepTried, c.sweep = true, sweep.New(c.explorer().Machine)
	}
	if c.sweep == nil {
		return model.Unknown, nil, nil
	}
	c.sweep.Explore(b.States)
	return Known(c, q, b)
}

// SweepHeldBack looks for an answer with a sweep that holds back the thread of the access that was
// observed first. It does nothing before the round of Sweep is over.
func SweepHeldBack(c *Cascade, q *model.Query, b Budget) (model.Verdict, []order.Node, error) {
	if !q.IsRace() || c.sweep == nil || c.heldBackExpanded >= b.Total {
		return model.Unknown, nil, nil
	}
	first, _ := q.ObservedPair(c.m)
	n := c.sweep.HoldBack(first, b.States)
	if c.heldBackExpanded += n; n == 0 {
		return model.Unknown, nil, nil
	}
	return Known(c, q, b)
}

// whenBusy runs a stage once queries have cost more than a total, which shows that the window has many
// hard queries.
func whenBusy(then Func) Func {
	return func(c *Cascade, q *model.Query, b Budget) (model.Verdict, []order.Node, error) {
		if c.expanded() <= b.Total {
			return model.Unknown, nil, nil
		}
		return then(c, q, b)
	}
}

// onlyRaces runs a stage for races only.
func onlyRaces(then Func) Func {
	return func(c *Cascade, q *model.Query, b Budget) (model.Verdict, []order.Node, error) {
		if !q.IsRace() {
			return model.Unknown, nil, nil
		}
		return then(c, q, b)
	}
}

// Unlimited is a total that is never spent.
const Unlimited = math.MaxInt

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

// How budgets follow from the conflicts and propagations that the solver may spend on a query.
const (
	StatesPerConflict   = 100 // that a search may look at, for a query
	QueriesPerModel     = 20  // so many queries may spend all of their budget
	growthPart          = 20  // each query raises what all may look at by this part of its states
	busyPart            = 4   // the searches for all queries begin when queries have cost this part of what all may
	PointsPerState      = 320 // that a grid may look at, for each state that all queries may
	sweepPerQuery       = 5   // how many times as many states a sweep may look at for a query
	glancePart          = 128 // a first search near the observed order looks at this part of a query's states
	lookPart            = 8   // a second one, and one with a thread held back, at this part
	insistence          = 32  // how many times as much the solver may spend on a query that nothing else answers
	insistentQueries    = 8 * QueriesPerModel
	farPerSweep         = 2 // the last beams may look at so many times as many states as a sweep
	heldBackPerSweep    = 2 // sweeps with a thread held back, at so many times as many as all others
	heldBackPart        = 8 // each of these at this part
	exactRacesPart      = 8 // the search of all states stops for races after this part if states are exact
	briefPart           = 64
	briefConflictsPart  = 4
	manyWritesPerChoice = 8 // see manyChoices
)

// DefaultStages returns the stages for a model. Every stage that answers is exact. The order of
// the stages, and how much each may spend, are what is fastest on the benchmarks.
//
// Most queries are answered by the stages of the first list, which look at one schedule at most.
// The solver does the rest where each read has one write that it may see. Where reads have choices,
// searches among schedules and the solver take turns, first with a part of a query's budget. The
// searches are fast where reads have many choices; the solver, where they have few, and locks
// and edges leave little. What all queries may spend together is bounded, but each query adds a
// look near the observed order, where most answers are.
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
	return append(stages, SearchStages(manyChoices(m), conflicts, propagations)...)
}

// SearchStages returns the stages after the quick ones of a model in which reads have choices,
// many or few.
func SearchStages(many bool, conflicts, propagations int) []Stage {
	states := StatesPerConflict * conflicts
	all := QueriesPerModel * states
	swept := sweepPerQuery * states
	solver := func(part int) Budget {
		return Budget{Conflicts: conflicts / part, Propagations: propagations / part, Queries: QueriesPerModel}
	}
	insistent := func(part int) Budget {
		return Budget{Conflicts: insistence * conflicts / part, Propagations: insistence * propagations / part, Queries: insistentQueries}
	}
	perQuery := func(states int) Budget {
		return Budget{States: states, Total: all, growth: StatesPerConflict * conflicts / growthPart}
	}
	grid := Budget{States: PointsPerState * all}
	// What sweeps with a thread held back may look at for all queries.
	backed := heldBackPerSweep * QueriesPerModel * swept
	few, most := SweepHeldBack(sweep.FewBuckets), SweepHeldBack(sweep.MaxBuckets)

	list := []Stage{{"prepare searches", Budget{}, Prepare}}
	add := func(s ...Stage) { list = append(list, s...) }
	if !many {
		add(Stage{"solver, in brief", solver(briefConflictsPart), Solver})
	}
	add(
		Stage{"grid, if busy", Budget{States: grid.States, Total: all / busyPart}, whenBusy(Grid)},
		Stage{"sweep, if busy", Budget{States: swept, Rounds: 1, Total: all / busyPart}, whenBusy(Sweep(sweep.NoveltyRound))},
		Stage{"delayed thread, nearby", perQuery(0), Delays},
		Stage{"near the observed order, at a glance", perQuery(states / glancePart), Near},
		Stage{"one thread held back", perQuery(states / lookPart), HeldBack},
		Stage{"delayed thread", perQuery(swept), Delays},
	)
	if many {
		add(Stage{"new solver", solver(1), NewSolver})
	}
	add(
		Stage{"sweep, one thread held back, quick", Budget{States: backed / heldBackPart, Total: backed}, few},
		Stage{"near the observed order", perQuery(states / lookPart), Near},
		Stage{"all states, in brief", Budget{States: states / briefPart, Total: all}, AllStates},
	)
	if many {
		add(Stage{"solver, in brief", solver(briefConflictsPart), Solver})
	}
	add(
		Stage{"all states", Budget{States: states, Total: all}, AllStates},
		Stage{"solver", solver(1), Solver},

		// For a race that nothing has answered: ways that cost more than a query may, for they
		// serve all queries, and a solver that may spend more.
		Stage{"new solver, insisting in brief", insistent(briefConflictsPart), onlyRaces(NewSolver)},
		Stage{"grid", grid, Grid},
		Stage{"sweep", Budget{States: swept, Rounds: QueriesPerModel}, Sweep(sweep.NoveltyRound)},
		Stage{"sweep, one thread held back, quick again", Budget{States: backed / heldBackPart, Total: backed}, few},
		Stage{"sweep, one thread held back", Budget{States: backed / heldBackPart, Total: backed}, most},
		Stage{"sweep of all states", Budget{States: swept, Rounds: 1}, Sweep(sweep.BothRounds)},
		Stage{"delayed thread, far", Budget{States: farPerSweep * swept, Total: QueriesPerModel * swept}, Delays},
		Stage{"solver, insisting", insistent(1), onlyRaces(InsistingSolver)},
	)
	return list
}

// manyChoices reports whether the reads that have choices may see many writes, in the mean.
func manyChoices(m *model.Model) bool {
	reads, writes := 0, 0
	for i := range m.Reads {
		if n := len(m.Reads[i].Same); n > 0 {
			reads, writes = reads+1, writes+n
		}
	}
	return writes > manyWritesPerChoice*reads
}

// Func is what a stage does.
type Func = func(*Cascade, *model.Query, Budget) (model.Verdict, []order.Node, error)

// Known has the answers that searches for other queries have found.
func Known(c *Cascade, q *model.Query, _ Budget) (model.Verdict, []order.Node, error) {
	verdict, nodes := c.known(q)
	return verdict, nodes, nil
}

// Edges adds the query to what comes before what in any case: a cycle refutes it.
func Edges(c *Cascade, q *model.Query, _ Budget) (model.Verdict, []order.Node, error) {
	if !c.closure.AddQuery(q) {
		c.Stats.Edges++
		return model.Impossible, nil, nil
	}
	return model.Unknown, nil, nil
}

// SyncPreserving looks for an answer in the observed order. It comes after edgesStage.
func SyncPreserving(c *Cascade, q *model.Query, _ Budget) (model.Verdict, []order.Node, error) {
	if nodes := c.scheduler.SyncPreserving(q); nodes != nil && c.holds(nodes) {
		c.Stats.Preserving++
		return model.Possible, nodes, nil
	}
	return model.Unknown, nil, nil
}

// Closure adds what follows from locks, reads and messages: a cycle refutes the query. It
// comes after edgesStage.
func Closure(c *Cascade, _ *model.Query, _ Budget) (model.Verdict, []order.Node, error) {
	if !c.closure.Saturate() {
		c.Stats.Closure++
		return model.Impossible, nil, nil
	}
	return model.Unknown, nil, nil
}

// Greedy looks for an answer with greedy schedules. It comes after closureStage.
func Greedy(c *Cascade, _ *model.Query, _ Budget) (model.Verdict, []order.Node, error) {
	if nodes := c.scheduler.Greedy(c.holds); nodes != nil {
		c.Stats.Greedy++
		return model.Possible, nodes, nil
	}
	return model.Unknown, nil, nil
}

// Prepare makes the search among schedules, from which the others are made.
func Prepare(c *Cascade, _ *model.Query, _ Budget) (model.Verdict, []order.Node, error) {
	c.explorer()
	return model.Unknown, nil, nil
}

// Solver asks the solver.
func Solver(c *Cascade, q *model.Query, b Budget) (model.Verdict, []order.Node, error) {
	return c.solve(q, b, false)
}

// NewSolver asks a new solver: what one has learned from other queries leads it astray where
// reads have many choices.
func NewSolver(c *Cascade, q *model.Query, b Budget) (model.Verdict, []order.Node, error) {
	c.solving.Reset()
	return c.solve(q, b, b.Queries == insistentQueries)
}

// InsistingSolver asks the solver, on the account of queries that nothing else answers.
func InsistingSolver(c *Cascade, q *model.Query, b Budget) (model.Verdict, []order.Node, error) {
	return c.solve(q, b, true)
}

func (c *Cascade) solve(q *model.Query, b Budget, insist bool) (model.Verdict, []order.Node, error) {
	verdict, nodes, err := c.solving.Solve(c.ctx, q, b.Conflicts, b.Propagations, b.Queries, insist)
	switch verdict {
	case model.Possible:
		c.Stats.Solved++
	case model.Impossible:
		c.Stats.Refuted++
	}
	return verdict, nodes, err
}

// Near looks for an answer near the observed order, unless a sweep has held the query's
// thread back.
func Near(c *Cascade, q *model.Query, b Budget) (model.Verdict, []order.Node, error) {
	x := c.explorer()
	if x.ExpandedNear >= b.allowed(c.Stats.Queries) || c.stalled(q) {
		return model.Unknown, nil, nil
	}
	nodes := x.Near(q, b.States)
	if nodes == nil || !c.holds(nodes) {
		return model.Unknown, nil, nil
	}
	c.Stats.Explored++
	c.lead(nodes)
	return model.Possible, nodes, nil
}

// stalled reports whether a sweep has held back the thread of a query.
func (c *Cascade) stalled(q *model.Query) bool {
	if c.sweep == nil || !q.IsRace() {
		return false
	}
	first, _ := q.ObservedPair(c.m)
	return c.sweep.HasHeldBack(first)
}

// AllStates searches all states that follow from the window's start.
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
	case verdict == model.Possible && c.holds(nodes):
		c.Stats.Explored++
		return model.Possible, nodes, nil
	}
	return model.Unknown, nil, nil
}

// reachWords bounds the memory of the states with a thread held back, in words of 8
// bytes; what is kept besides takes about as much.
const reachWords = 1 << 23

// HeldBack looks for an answer among states with the thread held back that was observed to
// come first, see reach.
func HeldBack(c *Cascade, q *model.Query, b Budget) (model.Verdict, []order.Node, error) {
	if c.reached >= b.allowed(c.Stats.Queries) {
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
	c.reached += (*r).Explore(a, b.States)
	return Known(c, q, b)
}

// Delays looks for an answer in which the thread that was observed to come first waits
// for long, with beams of so many states at most, or, if none are given, not far from the observed
// order, unless the beams have looked at too many states in vain.
func Delays(c *Cascade, q *model.Query, b Budget) (model.Verdict, []order.Node, error) {
	if !q.IsRace() {
		return model.Unknown, nil, nil
	}
	if c.ahead == nil {
		c.ahead = beam.New(c.explorer().Machine)
	}
	if c.vain > b.allowed(c.Stats.Queries) {
		return model.Unknown, nil, nil
	}
	looked := c.ahead.Expanded
	first, second := q.ObservedPair(c.m)
	var nodes []order.Node
	if b.States > 0 {
		nodes = c.ahead.Witness(first, second, b.States)
	} else {
		nodes = c.ahead.Nearby(first, second)
	}
	if nodes != nil && c.holds(nodes) {
		c.Stats.Explored++
		c.vain = max(0, c.vain-(c.ahead.Expanded-looked))
		c.lead(nodes)
		return model.Possible, nodes, nil
	}
	c.vain += c.ahead.Expanded - looked
	return model.Unknown, nil, nil
}

// Grid looks for an answer in a grid, if the window has one that is not too large.
func Grid(c *Cascade, q *model.Query, b Budget) (model.Verdict, []order.Node, error) {
	if !q.IsRace() {
		return model.Unknown, nil, nil
	}
	if !c.gridded {
		if g := grid.New(c.explorer().Machine); g != nil && g.Explore(b.States) {
			c.Grid = g
		}
		c.gridded = c.Grid != nil || c.ctx.Err() == nil
	}
	if c.Grid == nil {
		return model.Unknown, nil, nil
	}
	return Known(c, q, b)
}

// Sweep looks for an answer with a sweep.
func Sweep(which sweep.Rounds) Func {
	return func(c *Cascade, q *model.Query, b Budget) (model.Verdict, []order.Node, error) {
		if !q.IsRace() {
			return model.Unknown, nil, nil
		}
		if !c.swept {
			c.swept, c.sweep = true, sweep.New(c.explorer().Machine)
		}
		if c.sweep == nil {
			return model.Unknown, nil, nil
		}
		for range b.Rounds {
			c.sweep.Explore(b.States, which)
			if verdict, nodes := c.known(q); verdict != model.Unknown {
				return verdict, nodes, nil
			}
		}
		return model.Unknown, nil, nil
	}
}

// SweepHeldBack looks for an answer with a sweep that holds the thread back that was observed to
// come first, and tells so many contents of memory apart, once the first round is over.
func SweepHeldBack(parts int) Func {
	return func(c *Cascade, q *model.Query, b Budget) (model.Verdict, []order.Node, error) {
		if !q.IsRace() || c.sweep == nil || c.backed >= b.Total {
			return model.Unknown, nil, nil
		}
		first, _ := q.ObservedPair(c.m)
		n := c.sweep.HoldBack(first, parts, b.States)
		if c.backed += n; n == 0 {
			return model.Unknown, nil, nil
		}
		return Known(c, q, b)
	}
}

// whenBusy runs a stage when there have been many queries, and not easy ones.
func whenBusy(then Func) Func {
	return func(c *Cascade, q *model.Query, b Budget) (model.Verdict, []order.Node, error) {
		if c.looked() <= b.Total {
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

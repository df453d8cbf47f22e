package mcm

import (
	"math"

	"github.com/heisen-go/heisen/mcm/order"
)

// How budgets follow from the conflicts and propagations that the solver may spend on a query.
const (
	statesPerConflict   = 100 // that a search may look at, for a query
	queriesPerModel     = 20  // so many queries may spend all of their budget
	growthPart          = 20  // each query raises what all may look at by this part of its states
	busyPart            = 4   // the searches for all queries begin when queries have cost this part of what all may
	pointsPerState      = 320 // that a grid may look at, for each state that all queries may
	sweepPerQuery       = 5   // how many times as many states a sweep may look at for a query
	glancePart          = 128 // a first search near the observed order looks at this part of a query's states
	lookPart            = 8   // a second one, and one with a thread held back, at this part
	insistence          = 32  // how many times as much the solver may spend on a query that nothing else answers
	insistentQueries    = 8 * queriesPerModel
	farPerSweep         = 2 // the last beams may look at so many times as many states as a sweep
	heldBackPerSweep    = 2 // sweeps with a thread held back, at so many times as many as all others
	heldBackPart        = 8 // each of these at this part
	exactRacesPart      = 8 // the search of all states stops for races after this part if states are exact
	briefPart           = 64
	briefConflictsPart  = 4
	manyWritesPerChoice = 8 // see manyChoices
)

// defaultStages returns the stages for a model. Every stage that answers is exact. The order of
// the stages, and how much each may spend, are what is fastest on the benchmarks.
//
// Most queries are answered by the stages of the first list, which look at one schedule at most.
// The solver does the rest where each read has one write that it may see. Where reads have choices,
// searches among schedules and the solver take turns, first with a part of a query's budget. The
// searches are fast where reads have many choices; the solver, where they have few, and locks
// and edges leave little. What all queries may spend together is bounded, but each query adds a
// look near the observed order, where most answers are.
func defaultStages(m *causal, conflicts, propagations int) []stage {
	solver := func(part int) budget {
		return budget{conflicts: conflicts / part, propagations: propagations / part, queries: queriesPerModel}
	}
	stages := []stage{
		{"known", budget{}, knownStage},
		{"edges", budget{}, edgesStage},
		{"sync-preserving", budget{}, preservingStage},
		{"closure", budget{}, closureStage},
		{"greedy", budget{}, greedyStage},
	}
	if !m.soft {
		return append(stages, stage{"solver", solver(1), solverStage})
	}
	return append(stages, searchStages(manyChoices(m), conflicts, propagations)...)
}

// searchStages returns the stages after the quick ones of a model in which reads have choices,
// many or few.
func searchStages(many bool, conflicts, propagations int) []stage {
	states := statesPerConflict * conflicts
	all := queriesPerModel * states
	swept := sweepPerQuery * states
	solver := func(part int) budget {
		return budget{conflicts: conflicts / part, propagations: propagations / part, queries: queriesPerModel}
	}
	insistent := func(part int) budget {
		return budget{conflicts: insistence * conflicts / part, propagations: insistence * propagations / part, queries: insistentQueries}
	}
	perQuery := func(states int) budget {
		return budget{states: states, total: all, growth: statesPerConflict * conflicts / growthPart}
	}
	grid := budget{states: pointsPerState * all}
	// What sweeps with a thread held back may look at for all queries.
	backed := heldBackPerSweep * queriesPerModel * swept
	few, most := backStage(fewParts), backStage(mostParts)

	list := []stage{{"prepare searches", budget{}, prepareStage}}
	add := func(s ...stage) { list = append(list, s...) }
	if !many {
		add(stage{"solver, in brief", solver(briefConflictsPart), solverStage})
	}
	add(
		stage{"grid, if busy", budget{states: grid.states, total: all / busyPart}, ifBusy(gridStage)},
		stage{"sweep, if busy", budget{states: swept, rounds: 1, total: all / busyPart}, ifBusy(sweepStage(firstRound))},
		stage{"delayed thread, nearby", perQuery(0), delayStage},
		stage{"near the observed order, at a glance", perQuery(states / glancePart), nearStage},
		stage{"one thread held back", perQuery(states / lookPart), heldBackStage},
		stage{"delayed thread", perQuery(swept), delayStage},
	)
	if many {
		add(stage{"new solver", solver(1), newSolverStage})
	}
	add(
		stage{"sweep, one thread held back, quick", budget{states: backed / heldBackPart, total: backed}, few},
		stage{"near the observed order", perQuery(states / lookPart), nearStage},
		stage{"all states, in brief", budget{states: states / briefPart, total: all}, allStatesStage},
	)
	if many {
		add(stage{"solver, in brief", solver(briefConflictsPart), solverStage})
	}
	add(
		stage{"all states", budget{states: states, total: all}, allStatesStage},
		stage{"solver", solver(1), solverStage},

		// For a race that nothing has answered: ways that cost more than a query may, for they
		// serve all queries, and a solver that may spend more.
		stage{"new solver, insisting in brief", insistent(briefConflictsPart), ifRace(newSolverStage)},
		stage{"grid", grid, gridStage},
		stage{"sweep", budget{states: swept, rounds: queriesPerModel}, sweepStage(firstRound)},
		stage{"sweep, one thread held back, quick again", budget{states: backed / heldBackPart, total: backed}, few},
		stage{"sweep, one thread held back", budget{states: backed / heldBackPart, total: backed}, most},
		stage{"sweep of all states", budget{states: swept, rounds: 1}, sweepStage(bothRounds)},
		stage{"delayed thread, far", budget{states: farPerSweep * swept, total: queriesPerModel * swept}, delayStage},
		stage{"solver, insisting", insistent(1), ifRace(insistStage)},
	)
	return list
}

// manyChoices reports whether the reads that have choices may see many writes, in the mean.
func manyChoices(m *causal) bool {
	reads, writes := 0, 0
	for i := range m.reads {
		if n := len(m.reads[i].same); n > 0 {
			reads, writes = reads+1, writes+n
		}
	}
	return writes > manyWritesPerChoice*reads
}

// run is what a stage does.
type run = func(*cascade, *query, budget) (outcome, []order.Node, error)

// knownStage has the answers that searches for other queries have found.
func knownStage(c *cascade, q *query, _ budget) (outcome, []order.Node, error) {
	verdict, nodes := c.known(q)
	return verdict, nodes, nil
}

// edgesStage adds the query to what comes before what in any case: a cycle refutes it.
func edgesStage(c *cascade, q *query, _ budget) (outcome, []order.Node, error) {
	if !c.closure.ask(q) {
		c.stats.Edges++
		return impossible, nil, nil
	}
	return unknown, nil, nil
}

// preservingStage looks for an answer in the observed order. It comes after edgesStage.
func preservingStage(c *cascade, q *query, _ budget) (outcome, []order.Node, error) {
	if nodes := c.scheduler.preserving(q); nodes != nil && c.holds(nodes) {
		c.stats.Preserving++
		return possible, nodes, nil
	}
	return unknown, nil, nil
}

// closureStage adds what follows from locks, reads and messages: a cycle refutes the query. It
// comes after edgesStage.
func closureStage(c *cascade, _ *query, _ budget) (outcome, []order.Node, error) {
	if !c.closure.saturate() {
		c.stats.Closure++
		return impossible, nil, nil
	}
	return unknown, nil, nil
}

// greedyStage looks for an answer with greedy schedules. It comes after closureStage.
func greedyStage(c *cascade, _ *query, _ budget) (outcome, []order.Node, error) {
	if nodes := c.scheduler.schedule(c.holds); nodes != nil {
		c.stats.Greedy++
		return possible, nodes, nil
	}
	return unknown, nil, nil
}

// prepareStage makes the search among schedules, from which the others are made.
func prepareStage(c *cascade, _ *query, _ budget) (outcome, []order.Node, error) {
	c.explorer()
	return unknown, nil, nil
}

// solverStage asks the solver.
func solverStage(c *cascade, q *query, b budget) (outcome, []order.Node, error) {
	return c.solve(q, b, false)
}

// newSolverStage asks a new solver: what one has learned from other queries leads it astray where
// reads have many choices.
func newSolverStage(c *cascade, q *query, b budget) (outcome, []order.Node, error) {
	c.solving.forget()
	return c.solve(q, b, b.queries == insistentQueries)
}

// insistStage asks the solver, on the account of queries that nothing else answers.
func insistStage(c *cascade, q *query, b budget) (outcome, []order.Node, error) {
	return c.solve(q, b, true)
}

func (c *cascade) solve(q *query, b budget, insist bool) (outcome, []order.Node, error) {
	verdict, nodes, err := c.solving.solve(c.ctx, q, b.conflicts, b.propagations, b.queries, insist)
	switch verdict {
	case possible:
		c.stats.Solved++
	case impossible:
		c.stats.Refuted++
	}
	return verdict, nodes, err
}

// nearStage looks for an answer near the observed order, unless a sweep has held the query's
// thread back.
func nearStage(c *cascade, q *query, b budget) (outcome, []order.Node, error) {
	x := c.explorer()
	if x.nearby >= b.allowed(c.stats.Questions) || c.stalled(q) {
		return unknown, nil, nil
	}
	nodes := x.near(q, b.states)
	if nodes == nil || !c.holds(nodes) {
		return unknown, nil, nil
	}
	c.stats.Explored++
	c.lead(nodes)
	return possible, nodes, nil
}

// stalled reports whether a sweep has held back the thread of a query.
func (c *cascade) stalled(q *query) bool {
	if c.sweep == nil || !q.race() {
		return false
	}
	first, _ := q.inOrder(c.m)
	return c.sweep.hasHeld(first)
}

// allStatesStage searches all states that follow from the window's start.
func allStatesStage(c *cascade, q *query, b budget) (outcome, []order.Node, error) {
	x := c.explorer()
	if x.looked >= b.total || x.exact && q.race() && x.looked > b.total/exactRacesPart {
		return unknown, nil, nil
	}
	verdict, nodes := x.all(q, b.states)
	switch {
	case verdict == impossible:
		c.stats.Exhausted++
		return impossible, nil, nil
	case verdict == possible && c.holds(nodes):
		c.stats.Explored++
		return possible, nodes, nil
	}
	return unknown, nil, nil
}

// reachWords bounds the memory of the states with a thread held back, in words of 8
// bytes; what is kept besides takes about as much.
const reachWords = 1 << 23

// heldBackStage looks for an answer among states with the thread held back that was observed to
// come first, see reach.
func heldBackStage(c *cascade, q *query, b budget) (outcome, []order.Node, error) {
	if c.reached >= b.allowed(c.stats.Questions) {
		return unknown, nil, nil
	}
	x, words := c.explorer(), 0
	for _, r := range c.reaches {
		if r != nil {
			words += len(r.words)
		}
	}
	if !x.exact || !q.race() || words > reachWords {
		return unknown, nil, nil
	}
	a, _ := q.inOrder(c.m)
	if c.reaches == nil {
		c.reaches = make([]*reach, x.threads)
	}
	r := &c.reaches[c.m.chain[a]]
	if *r == nil {
		*r = newReach(x.moves, int(c.m.chain[a]))
	}
	c.reached += (*r).explore(a, b.states)
	return knownStage(c, q, b)
}

// delayStage looks for an answer in which the thread that was observed to come first waits
// for long, with beams of so many states at most, or, if none are given, not far from the observed
// order, unless the beams have looked at too many states in vain.
func delayStage(c *cascade, q *query, b budget) (outcome, []order.Node, error) {
	if !q.race() {
		return unknown, nil, nil
	}
	if c.ahead == nil {
		c.ahead = newAhead(c.explorer().moves)
	}
	if c.vain > b.allowed(c.stats.Questions) {
		return unknown, nil, nil
	}
	looked := c.ahead.looked
	first, second := q.inOrder(c.m)
	var nodes []order.Node
	if b.states > 0 {
		nodes = c.ahead.meeting(first, second, b.states)
	} else {
		nodes = c.ahead.nearby(first, second)
	}
	if nodes != nil && c.holds(nodes) {
		c.stats.Explored++
		c.vain = max(0, c.vain-(c.ahead.looked-looked))
		c.lead(nodes)
		return possible, nodes, nil
	}
	c.vain += c.ahead.looked - looked
	return unknown, nil, nil
}

// gridStage looks for an answer in a grid, if the window has one that is not too large.
func gridStage(c *cascade, q *query, b budget) (outcome, []order.Node, error) {
	if !q.race() {
		return unknown, nil, nil
	}
	if !c.gridded {
		if g := newGrid(c.explorer().moves); g != nil && g.explore(b.states) {
			c.grid = g
		}
		c.gridded = c.grid != nil || c.ctx.Err() == nil
	}
	if c.grid == nil {
		return unknown, nil, nil
	}
	return knownStage(c, q, b)
}

// sweepStage looks for an answer with a sweep.
func sweepStage(which rounds) run {
	return func(c *cascade, q *query, b budget) (outcome, []order.Node, error) {
		if !q.race() {
			return unknown, nil, nil
		}
		if !c.swept {
			c.swept, c.sweep = true, newSweep(c.explorer().moves)
		}
		if c.sweep == nil {
			return unknown, nil, nil
		}
		for range b.rounds {
			c.sweep.explore(b.states, which)
			if verdict, nodes := c.known(q); verdict != unknown {
				return verdict, nodes, nil
			}
		}
		return unknown, nil, nil
	}
}

// backStage looks for an answer with a sweep that holds the thread back that was observed to
// come first, and tells so many contents of memory apart, once the first round is over.
func backStage(parts int) run {
	return func(c *cascade, q *query, b budget) (outcome, []order.Node, error) {
		if !q.race() || c.sweep == nil || c.backed >= b.total {
			return unknown, nil, nil
		}
		first, _ := q.inOrder(c.m)
		n := c.sweep.back(first, parts, b.states)
		if c.backed += n; n == 0 {
			return unknown, nil, nil
		}
		return knownStage(c, q, b)
	}
}

// ifBusy runs a stage when there have been many queries, and not easy ones.
func ifBusy(then run) run {
	return func(c *cascade, q *query, b budget) (outcome, []order.Node, error) {
		if c.looked() <= b.total {
			return unknown, nil, nil
		}
		return then(c, q, b)
	}
}

// ifRace runs a stage for races only.
func ifRace(then run) run {
	return func(c *cascade, q *query, b budget) (outcome, []order.Node, error) {
		if !q.race() {
			return unknown, nil, nil
		}
		return then(c, q, b)
	}
}

// unlimited is a total that is never spent.
const unlimited = math.MaxInt

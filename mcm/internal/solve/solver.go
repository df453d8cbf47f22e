package solve

import (
	"context"

	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/order"
)

// cost is work of the order solver.
type cost struct{ conflicts, propagations int64 }

// Solver answers queries about one model with an order solver.
type Solver struct {
	m     *model.Model
	style Style
	exact func() bool // reports whether states contain all that constraints depend on, see moves.Machine.Exact

	conflicts, propagations int // the budget of a query

	solver      *order.Solver
	lazy        *Simulation               // finds the clauses that candidates violate
	regular     cost                      // of all queries without insist
	insistent   cost                      // of all queries with insist
	precedences map[[2]int32][]precedence // by the chains of a and b
	nodes       []order.Node              // scratch: the answer
}

// Style is how the order solver is used. The zero value is the default.
type Style struct {
	Eager bool // all constraints from the start
	Fresh bool // a new order solver for each query
}

// New returns a solver for queries about a model, with the budget of a query. exact reports whether
// the states of the model contain all that its constraints depend on.
func New(m *model.Model, sets *model.ValueSets, conflicts, propagations int, style Style, exact func() bool) *Solver {
	return &Solver{
		m: m, style: style, exact: exact, conflicts: conflicts, propagations: propagations,
		lazy: NewSimulation(m, sets), precedences: map[[2]int32][]precedence{},
	}
}

// Solve asks the order solver, within a budget of conflicts and propagations for this query. It does
// nothing if all queries together have cost more than the budgets of the given number of queries.
// Queries with insist are accounted for separately. If the query is a race and is impossible, Solve
// also asks for a precedence that implies it, within the same budget.
func (s *Solver) Solve(ctx context.Context, q *model.Query, conflicts, propagations, queries int, insist bool) (verdict model.Verdict, nodes []order.Node, err error) {
	total := &s.regular
	if insist {
		total = &s.insistent
	}
	if total.conflicts > int64(queries)*int64(s.conflicts) || total.propagations > int64(queries)*int64(s.propagations) {
		return model.Unknown, nil, nil
	}
	verdict, nodes, err = s.ask(ctx, q, conflicts, propagations, total)
	if verdict == model.Impossible && q.IsRace() && err == nil {
		first, second := q.ObservedPair(s.m)
		err = s.learnPrecedence(ctx, first, second, conflicts, propagations, total)
	}
	return verdict, nodes, err
}

// ask asks the order solver, within a budget, and adds the cost to total.
func (s *Solver) ask(ctx context.Context, q *model.Query, conflicts, propagations int, total *cost) (model.Verdict, []order.Node, error) {
	m := s.m
	if s.solver == nil || s.style.Fresh {
		if err := s.start(); err != nil {
			return model.Unknown, nil, err
		}
	}
	before := s.solver.Stats()
	defer func() {
		after := s.solver.Stats()
		total.conflicts += after.Conflicts - before.Conflicts
		total.propagations += after.Propagations - before.Propagations
	}()
	s.solver.SetBudget(int64(max(1, conflicts)), int64(max(1, propagations)))
	var assume []order.Lit
	for _, e := range q.Edges(m) {
		assume = append(assume, order.Lit{Before: e.From, After: e.To})
	}
	for _, n := range s.afterGoal(q) {
		assume = append(assume, order.Lit{Before: m.Goal, After: n})
	}
	for _, l := range s.lazy.prefer {
		if err := s.solver.Prefer(l); err != nil {
			return model.Unknown, nil, err
		}
	}
	s.lazy.prefer = s.lazy.prefer[:0]
	check := s.lazy.Violated
	if m.Literal {
		check = func([]order.Node) [][]order.Lit { return nil }
	}
	result, err := s.solver.Solve(ctx, assume, check)
	if err != nil {
		return model.Unknown, nil, err
	}
	switch result {
	case order.Sat:
		nodes := s.nodes[:0]
		for _, n := range s.solver.Order() {
			if n == m.Goal {
				break
			}
			nodes = append(nodes, n)
		}
		s.nodes = nodes
		return model.Possible, nodes, nil
	case order.Unsat:
		return model.Impossible, nil, nil
	}
	return model.Unknown, nil, nil
}

// Reset makes the next query start with a new order solver. Where reads have many choices, clauses
// and activities that it has learned from other queries mislead the search.
func (s *Solver) Reset() { s.solver = nil }

// start makes the order solver, with all permanent constraints.
func (s *Solver) start() error {
	m := s.m
	chains := make([]int, len(m.Base)-1)
	for c := range chains {
		chains[c] = int(m.Base[c+1] - m.Base[c])
	}
	solver, err := order.NewSolver(chains, order.WithGoalChain(len(chains)-1), order.WithBudget(int64(s.conflicts), int64(s.propagations)))
	if err != nil {
		return err
	}
	for _, list := range [][]model.Edge{m.Edges, m.ReadsFrom} {
		for _, e := range list {
			if err := solver.Require(e.From, e.To); err != nil {
				return err
			}
		}
	}
	if err := solver.PreferOrder(m.Observed); err != nil {
		return err
	}
	if s.style.Eager || m.Literal {
		for _, clause := range s.constraints() {
			if err := solver.Add(clause...); err != nil {
				return err
			}
		}
	}
	if !s.style.Eager && !m.Literal {
		if err := s.encode(solver); err != nil {
			return err
		}
	}
	s.solver, s.lazy.solver, s.lazy.choices = solver, solver, map[*model.Read][]choice{}
	s.lazy.prefer = nil
	return nil
}

// constraints returns all constraints that are single clauses: critical sections, messages, and reads
// that accept one write.
func (s *Solver) constraints() (list [][]order.Lit) {
	m := s.m
	for i := range m.Locks {
		ids := m.Locks[i].Sections
		for j, x := range ids {
			for _, y := range ids[:j] {
				if a, b := &m.Sections[x], &m.Sections[y]; a.Conflicts(b) {
					list = append(list, exclusion(m, a, b))
				}
			}
		}
	}
	for i := range m.Reads {
		r := &m.Reads[i]
		if m.Flow != nil || len(r.Same) > 0 {
			continue
		}
		for _, w := range m.Cells[r.Cell].Writes {
			if w == r.Saw || w == r.Node {
				continue
			}
			clause := []order.Lit{{Before: r.Node, After: w}}
			if !m.Literal {
				clause = append(clause, order.Lit{Before: m.Goal, After: r.Node})
			}
			if r.Saw != model.None {
				clause = append(clause, order.Lit{Before: w, After: r.Saw})
			}
			list = append(list, clause)
		}
	}
	for i := range m.Messages {
		for _, n := range m.Messages[i].Receives {
			for _, e := range m.Messages[i].Sends[m.Rank[n]:] {
				list = append(list, sendAfter(m, n, e))
			}
		}
	}
	return list
}

package mcm

import (
	"context"
	"fmt"

	"github.com/heisen-go/heisen/mcm/order"
)

// account is what the solver has spent.
type account struct{ conflicts, propagations int64 }

// solving asks the solver about queries.
type solving struct {
	m     *causal
	style style
	exact func() bool // what a query's answer would be is known from states alone

	conflicts, propagations int // the budget of a query

	solver  *order.Solver
	lazy    *simulation // for the solver
	usual   account     // of questions to the solver, and of those that it may spend more on
	special account
	walls   map[[2]int32][]mustPrecede // by threads: of who waits, and of who does not get past
	nodes   []order.Node
}

// style is how the solver is asked. The zero value is the default.
type style struct {
	eager bool // all constraints from the start
	fresh bool // a new solver for each question
}

func newSolving(m *causal, sets *valueSets, conflicts, propagations int, style style, exact func() bool) *solving {
	return &solving{
		m: m, style: style, exact: exact, conflicts: conflicts, propagations: propagations,
		lazy: newSimulation(m, sets), walls: map[[2]int32][]mustPrecede{},
	}
}

// solve asks the solver, unless so much has been spent as on so many questions may be; and, if
// two nodes do not meet, whether that is so for more. What questions cost that may insist counts
// apart from the others.
func (s *solving) solve(ctx context.Context, q *query, conflicts, propagations, questions int, insist bool) (verdict outcome, nodes []order.Node, err error) {
	from := &s.usual
	if insist {
		from = &s.special
	}
	if from.conflicts > int64(questions)*int64(s.conflicts) || from.propagations > int64(questions)*int64(s.propagations) {
		return unknown, nil, nil
	}
	verdict, nodes, err = s.spend(ctx, q, conflicts, propagations, from)
	if verdict == impossible && q.race() && err == nil {
		first, second := q.inOrder(s.m)
		err = s.build(ctx, first, second, conflicts, propagations, from)
	}
	return verdict, nodes, err
}

// spend asks the solver, which may spend so much.
func (s *solving) spend(ctx context.Context, q *query, conflicts, propagations int, from *account) (outcome, []order.Node, error) {
	m := s.m
	if s.solver == nil || s.style.fresh {
		if err := s.start(); err != nil {
			return unknown, nil, err
		}
	}
	before := s.solver.Stats()
	defer func() {
		after := s.solver.Stats()
		from.conflicts += after.Conflicts - before.Conflicts
		from.propagations += after.Propagations - before.Propagations
	}()
	s.solver.SetBudget(int64(max(1, conflicts)), int64(max(1, propagations)))
	var assume []order.Lit
	for _, e := range q.edges(m) {
		assume = append(assume, order.Lit{Before: e.from, After: e.to})
	}
	for _, n := range s.beyond(q) {
		assume = append(assume, order.Lit{Before: m.goal, After: n})
	}
	for _, l := range s.lazy.prefer {
		if err := s.solver.Prefer(l); err != nil {
			return unknown, nil, fmt.Errorf("mcm: %w", err)
		}
	}
	s.lazy.prefer = s.lazy.prefer[:0]
	check := s.lazy.violated
	if m.Literal {
		check = func([]order.Node) [][]order.Lit { return nil }
	}
	result, err := s.solver.Solve(ctx, assume, check)
	if err != nil {
		return unknown, nil, fmt.Errorf("mcm: %w", err)
	}
	switch result {
	case order.Sat:
		nodes := s.nodes[:0]
		for _, n := range s.solver.Order() {
			if n == m.goal {
				break
			}
			nodes = append(nodes, n)
		}
		s.nodes = nodes
		return possible, nodes, nil
	case order.Unsat:
		return impossible, nil, nil
	}
	return unknown, nil, nil
}

// forget has the solver begin anew: what it has learned from other questions leads it astray where
// reads have many choices.
func (s *solving) forget() { s.solver = nil }

// start makes the solver, with all edges and, if they are wanted from the start,
// all constraints that are single clauses.
func (s *solving) start() error {
	m := s.m
	chains := make([]int, len(m.base)-1)
	for c := range chains {
		chains[c] = int(m.base[c+1] - m.base[c])
	}
	solver, err := order.NewSolver(chains, order.WithGoalChain(len(chains)-1), order.WithBudget(int64(s.conflicts), int64(s.propagations)))
	if err != nil {
		return fmt.Errorf("mcm: %w", err)
	}
	for _, list := range [][]edge{m.edges, m.seen} {
		for _, e := range list {
			solver.Require(e.from, e.to)
		}
	}
	if err := solver.PreferOrder(m.hint); err != nil {
		return fmt.Errorf("mcm: %w", err)
	}
	if s.style.eager || m.Literal {
		for _, clause := range s.constraints() {
			if err := solver.Add(clause...); err != nil {
				return fmt.Errorf("mcm: %w", err)
			}
		}
	}
	if !s.style.eager && !m.Literal {
		if err := s.tell(solver); err != nil {
			return err
		}
	}
	s.solver, s.lazy.solver, s.lazy.choices = solver, solver, map[*read][]choice{}
	s.lazy.prefer = nil
	return nil
}

// constraints returns all constraints that are single clauses.
func (s *solving) constraints() (list [][]order.Lit) {
	m := s.m
	for i := range m.locks {
		ids := m.locks[i].sections
		for j, x := range ids {
			for _, y := range ids[:j] {
				if a, b := &m.sections[x], &m.sections[y]; a.conflicts(b) {
					list = append(list, exclusion(m, a, b))
				}
			}
		}
	}
	for i := range m.reads {
		r := &m.reads[i]
		if m.flow != nil || len(r.same) > 0 {
			continue
		}
		for _, w := range m.cells[r.cell].writes {
			if w == r.saw || w == r.node {
				continue
			}
			clause := []order.Lit{{Before: r.node, After: w}}
			if !m.Literal {
				clause = append(clause, order.Lit{Before: m.goal, After: r.node})
			}
			if r.saw != none {
				clause = append(clause, order.Lit{Before: w, After: r.saw})
			}
			list = append(list, clause)
		}
	}
	for i := range m.messages {
		for _, n := range m.messages[i].receives {
			for _, e := range m.messages[i].sends[m.rank[n]:] {
				list = append(list, overtaken(m, n, e))
			}
		}
	}
	return list
}

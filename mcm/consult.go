package mcm

import (
	"context"
	"fmt"

	"github.com/heisen-go/heisen/mcm/order"
)

// account is what the solver has spent.
type account struct{ conflicts, propagations int64 }

// solve asks the solver, which may spend a part of the budget.
func (s *solving) solve(q *query, part int) (Verdict, []order.Node, error) {
	return s.consult(q, s.m.conflicts/part, s.m.propagations/part, &s.usual, questionsPerWindow)
}

// insist asks the solver, which may spend a part of several times the budget.
func (s *solving) insist(q *query, part int) (Verdict, []order.Node, error) {
	return s.consult(q, insistence*s.m.conflicts/part, insistence*s.m.propagations/part, &s.special, 8*questionsPerWindow)
}

// consult asks the solver, unless so much has been spent as on so many questions may be; and, if
// two nodes do not meet, whether that is so for more.
func (s *solving) consult(q *query, conflicts, propagations int, from *account, questions int) (verdict Verdict, nodes []order.Node, err error) {
	m := s.m
	if from.conflicts > int64(questions)*int64(m.conflicts) || from.propagations > int64(questions)*int64(m.propagations) {
		return Unknown, nil, nil
	}
	verdict, nodes, err = s.spend(q, conflicts, propagations, from)
	switch verdict {
	case Possible:
		m.stats.Solved++
	case Impossible:
		m.stats.Refuted++
		if q.race() && err == nil {
			first, second := s.inOrder(q)
			err = s.build(first, second, conflicts, propagations, from)
		}
	}
	return verdict, nodes, err
}

// spend asks the solver, which may spend so much.
func (s *solving) spend(q *query, conflicts, propagations int, from *account) (Verdict, []order.Node, error) {
	m := s.m
	if s.solver == nil || m.fresh {
		if err := s.start(); err != nil {
			return Unknown, nil, err
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
			return Unknown, nil, fmt.Errorf("mcm: %w", err)
		}
	}
	s.lazy.prefer = s.lazy.prefer[:0]
	check := s.lazy.violated
	if m.Literal {
		check = func([]order.Node) [][]order.Lit { return nil }
	}
	result, err := s.solver.Solve(context.Background(), assume, check)
	if err != nil {
		return Unknown, nil, fmt.Errorf("mcm: %w", err)
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
		return Possible, nodes, nil
	case order.Unsat:
		return Impossible, nil, nil
	}
	return Unknown, nil, nil
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
	solver, err := order.NewSolver(chains, order.WithGoalChain(len(chains)-1), order.WithBudget(int64(m.conflicts), int64(m.propagations)))
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
	if m.eager || m.Literal {
		for _, clause := range s.constraints() {
			if err := solver.Add(clause...); err != nil {
				return fmt.Errorf("mcm: %w", err)
			}
		}
	}
	if !m.eager && !m.Literal {
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
					list = append(list, m.exclusion(a, b))
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
				list = append(list, m.overtaken(n, e))
			}
		}
	}
	return list
}

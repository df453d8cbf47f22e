package solve

import (
	"context"
	"fmt"

	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/order"
)

// account is what the solver has spent.
type account struct{ conflicts, propagations int64 }

// Solver asks the solver about queries.
type Solver struct {
	m     *model.Model
	style Style
	exact func() bool // what a query's answer would be is known from states alone

	conflicts, propagations int // the budget of a query

	solver      *order.Solver
	lazy        *Simulation // for the solver
	usual       account     // of questions to the solver, and of those that it may spend more on
	special     account
	precedences map[[2]int32][]precedence // by threads: of who waits, and of who does not get past
	nodes       []order.Node
}

// Style is how the solver is asked. The zero value is the default.
type Style struct {
	Eager bool // all constraints from the start
	Fresh bool // a new solver for each question
}

func New(m *model.Model, sets *model.ValueSets, conflicts, propagations int, style Style, exact func() bool) *Solver {
	return &Solver{
		m: m, style: style, exact: exact, conflicts: conflicts, propagations: propagations,
		lazy: NewSimulation(m, sets), precedences: map[[2]int32][]precedence{},
	}
}

// Solve asks the solver, unless so much has been spent as on so many questions may be; and, if
// two nodes do not meet, whether that is so for more. What questions cost that may insist counts
// apart from the others.
func (s *Solver) Solve(ctx context.Context, q *model.Query, conflicts, propagations, questions int, insist bool) (verdict model.Verdict, nodes []order.Node, err error) {
	from := &s.usual
	if insist {
		from = &s.special
	}
	if from.conflicts > int64(questions)*int64(s.conflicts) || from.propagations > int64(questions)*int64(s.propagations) {
		return model.Unknown, nil, nil
	}
	verdict, nodes, err = s.spend(ctx, q, conflicts, propagations, from)
	if verdict == model.Impossible && q.IsRace() && err == nil {
		first, second := q.ObservedPair(s.m)
		err = s.learnPrecedence(ctx, first, second, conflicts, propagations, from)
	}
	return verdict, nodes, err
}

// spend asks the solver, which may spend so much.
func (s *Solver) spend(ctx context.Context, q *model.Query, conflicts, propagations int, from *account) (model.Verdict, []order.Node, error) {
	m := s.m
	if s.solver == nil || s.style.Fresh {
		if err := s.start(); err != nil {
			return model.Unknown, nil, err
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
	for _, e := range q.Edges(m) {
		assume = append(assume, order.Lit{Before: e.From, After: e.To})
	}
	for _, n := range s.beyond(q) {
		assume = append(assume, order.Lit{Before: m.Goal, After: n})
	}
	for _, l := range s.lazy.prefer {
		if err := s.solver.Prefer(l); err != nil {
			return model.Unknown, nil, fmt.Errorf("mcm: %w", err)
		}
	}
	s.lazy.prefer = s.lazy.prefer[:0]
	check := s.lazy.Violated
	if m.Literal {
		check = func([]order.Node) [][]order.Lit { return nil }
	}
	result, err := s.solver.Solve(ctx, assume, check)
	if err != nil {
		return model.Unknown, nil, fmt.Errorf("mcm: %w", err)
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

// Reset has the solver begin anew: what it has learned from other questions leads it astray where
// reads have many choices.
func (s *Solver) Reset() { s.solver = nil }

// start makes the solver, with all edges and, if they are wanted from the start,
// all constraints that are single clauses.
func (s *Solver) start() error {
	m := s.m
	chains := make([]int, len(m.Base)-1)
	for c := range chains {
		chains[c] = int(m.Base[c+1] - m.Base[c])
	}
	solver, err := order.NewSolver(chains, order.WithGoalChain(len(chains)-1), order.WithBudget(int64(s.conflicts), int64(s.propagations)))
	if err != nil {
		return fmt.Errorf("mcm: %w", err)
	}
	for _, list := range [][]model.Edge{m.Edges, m.ReadsFrom} {
		for _, e := range list {
			solver.Require(e.From, e.To)
		}
	}
	if err := solver.PreferOrder(m.Observed); err != nil {
		return fmt.Errorf("mcm: %w", err)
	}
	if s.style.Eager || m.Literal {
		for _, clause := range s.constraints() {
			if err := solver.Add(clause...); err != nil {
				return fmt.Errorf("mcm: %w", err)
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

// constraints returns all constraints that are single clauses.
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
				list = append(list, overtaken(m, n, e))
			}
		}
	}
	return list
}

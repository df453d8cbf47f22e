package solve

import (
	"context"

	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/order"
)

// precedence is that a thread does not get to a node before another one has taken its step a: some
// read on the way cannot see what it has to. So it gets to no later node either, and not before an
// earlier step of the other one: who waits there meets none of them.
type precedence struct{ a, b order.Node }

// Precedes reports whether a wall is between two nodes, so that they do not meet.
func (s *Solver) Precedes(a, b order.Node) bool {
	for _, w := range s.precedences[[2]int32{s.m.Chain[a], s.m.Chain[b]}] {
		if a <= w.a && b >= w.b {
			return true
		}
	}
	return false
}

// beyond returns the nodes, the first ones behind walls, that do not come before the goal of a
// question.
func (s *Solver) beyond(q *model.Query) (list []order.Node) {
	m := s.m
	if len(s.precedences) == 0 {
		return nil
	}
	while := func(a order.Node) { // it has not come
		for k := range int32(len(m.Base) - 1) {
			first := model.None
			for _, w := range s.precedences[[2]int32{m.Chain[a], k}] {
				if a <= w.a && (first == model.None || w.b < first) {
					first = w.b
				}
			}
			if first != model.None {
				list = append(list, first)
			}
		}
	}
	for _, n := range q.Pending {
		while(n)
	}
	for _, e := range q.Order {
		if e.From == m.Goal {
			while(e.To)
		}
	}
	return list
}

// learnPrecedence asks the solver whether there is a wall between two nodes that do not meet; it may spend
// what the question about these might.
func (s *Solver) learnPrecedence(ctx context.Context, a, b order.Node, conflicts, propagations int, from *account) error {
	m := s.m
	if m.Literal || !s.exact() {
		return nil
	}
	q := model.Query{Pending: []order.Node{b}, Order: []model.Edge{{From: m.Goal, To: a}}}
	verdict, _, err := s.spend(ctx, &q, conflicts, propagations, from)
	if verdict == model.Impossible {
		key := [2]int32{m.Chain[a], m.Chain[b]}
		s.precedences[key] = append(s.precedences[key], precedence{a, b})
	}
	return err
}

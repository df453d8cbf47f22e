package solve

import (
	"context"

	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/order"
)

// precedence states that b is never pending before a has happened: some event on the way to b needs
// something that the thread of a does not do before a.
//
// Then the same holds for a and every node after b in its thread, and for every node before a in its
// thread. So no node up to a and no node from b on are pending together.
type precedence struct{ a, b order.Node }

// Precedes reports whether a known precedence implies that b is never pending before a has happened.
func (s *Solver) Precedes(a, b order.Node) bool {
	for _, w := range s.precedences[[2]int32{s.m.Chain[a], s.m.Chain[b]}] {
		if a <= w.a && b >= w.b {
			return true
		}
	}
	return false
}

// afterGoal returns nodes that must come after the goal of a query by known precedences: by chain,
// the first one at most for each node of the query that comes after the goal.
func (s *Solver) afterGoal(q *model.Query) (list []order.Node) {
	m := s.m
	if len(s.precedences) == 0 {
		return nil
	}
	addFor := func(a order.Node) { // a comes after the goal
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
		addFor(n)
	}
	for _, e := range q.Order {
		if e.From == m.Goal {
			addFor(e.To)
		}
	}
	return list
}

// learnPrecedence asks the order solver whether b can be pending before a has happened, and stores a
// precedence if not. a and b are never pending together. The budget is that of the query about them.
func (s *Solver) learnPrecedence(ctx context.Context, a, b order.Node, conflicts, propagations int, total *cost) error {
	m := s.m
	if m.Literal || !s.exact() {
		return nil
	}
	q := model.Query{Pending: []order.Node{b}, Order: []model.Edge{{From: m.Goal, To: a}}}
	verdict, _, err := s.ask(ctx, &q, conflicts, propagations, total)
	if verdict == model.Impossible {
		key := [2]int32{m.Chain[a], m.Chain[b]}
		s.precedences[key] = append(s.precedences[key], precedence{a, b})
	}
	return err
}

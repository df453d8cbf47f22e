package mcm

import (
	"context"

	"github.com/heisen-go/heisen/mcm/order"
)

// mustPrecede is that a thread does not get to a node before another one has taken its step a: some
// read on the way cannot see what it has to. So it gets to no later node either, and not before an
// earlier step of the other one: who waits there meets none of them.
type mustPrecede struct{ a, b order.Node }

// walled reports whether a wall is between two nodes, so that they do not meet.
func (s *solving) walled(a, b order.Node) bool {
	for _, w := range s.walls[[2]int32{s.m.chain[a], s.m.chain[b]}] {
		if a <= w.a && b >= w.b {
			return true
		}
	}
	return false
}

// beyond returns the nodes, the first ones behind walls, that do not come before the goal of a
// question.
func (s *solving) beyond(q *query) (list []order.Node) {
	m := s.m
	if len(s.walls) == 0 {
		return nil
	}
	while := func(a order.Node) { // it has not come
		for k := range int32(len(m.base) - 1) {
			first := none
			for _, w := range s.walls[[2]int32{m.chain[a], k}] {
				if a <= w.a && (first == none || w.b < first) {
					first = w.b
				}
			}
			if first != none {
				list = append(list, first)
			}
		}
	}
	for _, n := range q.next {
		while(n)
	}
	for _, e := range q.order {
		if e.from == m.goal {
			while(e.to)
		}
	}
	return list
}

// build asks the solver whether there is a wall between two nodes that do not meet; it may spend
// what the question about these might.
func (s *solving) build(ctx context.Context, a, b order.Node, conflicts, propagations int, from *account) error {
	m := s.m
	if m.Literal || !s.exact() {
		return nil
	}
	q := query{next: []order.Node{b}, order: []edge{{m.goal, a}}}
	verdict, _, err := s.spend(ctx, &q, conflicts, propagations, from)
	if verdict == impossible {
		key := [2]int32{m.chain[a], m.chain[b]}
		s.walls[key] = append(s.walls[key], mustPrecede{a, b})
	}
	return err
}

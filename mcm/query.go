package mcm

import "github.com/heisen-go/heisen/mcm/order"

// outcome is the answer to a query.
type outcome uint8

const (
	unknown    outcome = iota // the budget was spent
	possible                  // there is a witness
	impossible                // no order of the window's events has it
)

// query is a question: whether there is an instant, the goal, at which some events
// are all next in their threads.
type query struct {
	next  []order.Node
	past  []order.Node // come before the goal
	order []edge       // besides
}

// edges returns what the question says.
func (q *query) edges(m *causal) (list []edge) {
	for _, n := range q.next {
		if p := m.prev(n); p != none {
			list = append(list, edge{p, m.goal})
		}
		for _, e := range m.into(n) {
			list = append(list, edge{e, m.goal})
		}
		list = append(list, edge{m.goal, n})
	}
	for _, n := range q.past {
		list = append(list, edge{n, m.goal})
	}
	return append(list, q.order...)
}

// race reports whether a question is about two nodes that are next, and nothing else.
func (q *query) race() bool { return len(q.next) == 2 && len(q.past)+len(q.order) == 0 }

// observed reports whether the order that the question adds is the observed one.
func (q *query) observed(m *causal) bool {
	for _, e := range q.order {
		if m.event[e.from] > m.event[e.to] {
			return false
		}
	}
	return true
}

// open reports whether none of what is to be next is in a prefix.
func (q *query) open(m *causal, prefix []int32) bool {
	for _, n := range q.next {
		if prefix[m.chain[n]] > m.pos(n) {
			return false
		}
	}
	return true
}

// inOrder returns the accesses that a question is about, as they were observed.
func (q *query) inOrder(m *causal) (first, second order.Node) {
	a, b := q.next[0], q.next[1]
	if m.event[b] < m.event[a] {
		return b, a
	}
	return a, b
}

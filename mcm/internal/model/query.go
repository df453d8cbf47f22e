package model

import "github.com/heisen-go/heisen/mcm/order"

// Verdict is the answer to a query.
type Verdict uint8

const (
	Unknown    Verdict = iota // the budget was spent
	Possible                  // there is a witness
	Impossible                // no order of the window's events has it
)

// Query is a question: whether there is an instant, the goal, at which some events
// are all next in their threads.
type Query struct {
	Pending []order.Node
	Past    []order.Node // come before the goal
	Order   []Edge       // besides
}

// Edges returns what the question says.
func (q *Query) Edges(m *Model) (list []Edge) {
	for _, n := range q.Pending {
		if p := m.Prev(n); p != None {
			list = append(list, Edge{p, m.Goal})
		}
		for _, e := range m.Enablers(n) {
			list = append(list, Edge{e, m.Goal})
		}
		list = append(list, Edge{m.Goal, n})
	}
	for _, n := range q.Past {
		list = append(list, Edge{n, m.Goal})
	}
	return append(list, q.Order...)
}

// IsRace reports whether a question is about two nodes that are next, and nothing else.
func (q *Query) IsRace() bool { return len(q.Pending) == 2 && len(q.Past)+len(q.Order) == 0 }

// InObservedOrder reports whether the order that the question adds is the observed one.
func (q *Query) InObservedOrder(m *Model) bool {
	for _, e := range q.Order {
		if m.Event[e.From] > m.Event[e.To] {
			return false
		}
	}
	return true
}

// Open reports whether none of what is to be next is in a prefix.
func (q *Query) Open(m *Model, prefix []int32) bool {
	for _, n := range q.Pending {
		if prefix[m.Chain[n]] > m.Pos(n) {
			return false
		}
	}
	return true
}

// ObservedPair returns the accesses that a question is about, as they were observed.
func (q *Query) ObservedPair(m *Model) (first, second order.Node) {
	a, b := q.Pending[0], q.Pending[1]
	if m.Event[b] < m.Event[a] {
		return b, a
	}
	return a, b
}

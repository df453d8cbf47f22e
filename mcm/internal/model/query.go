package model

import "github.com/heisen-go/heisen/mcm/order"

// Verdict is the answer to a query.
type Verdict uint8

const (
	Unknown    Verdict = iota // the budget was spent
	Possible                  // there is a witness
	Impossible                // no feasible reordering satisfies the query
)

// Query asks whether a feasible reordering has a point, the goal, at which some nodes are pending:
// each is the next node of its thread.
type Query struct {
	Pending []order.Node
	Past    []order.Node // nodes that come before the goal
	Order   []Edge       // further constraints
}

// Edges returns the constraints of the query.
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

// IsRace reports whether the query asks for two pending nodes, and for nothing else.
func (q *Query) IsRace() bool { return len(q.Pending) == 2 && len(q.Past)+len(q.Order) == 0 }

// InObservedOrder reports whether the observed order satisfies Order.
func (q *Query) InObservedOrder(m *Model) bool {
	for _, e := range q.Order {
		if m.Event[e.From] > m.Event[e.To] {
			return false
		}
	}
	return true
}

// LeavesPending reports whether a prefix, given by the number of nodes of each chain, contains none
// of the pending nodes.
func (q *Query) LeavesPending(m *Model, prefix []int32) bool {
	for _, n := range q.Pending {
		if prefix[m.Chain[n]] > m.Pos(n) {
			return false
		}
	}
	return true
}

// ObservedPair returns the first two pending nodes in the observed order.
func (q *Query) ObservedPair(m *Model) (first, second order.Node) {
	a, b := q.Pending[0], q.Pending[1]
	if m.Event[b] < m.Event[a] {
		return b, a
	}
	return a, b
}

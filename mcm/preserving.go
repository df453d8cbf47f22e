package mcm

import "github.com/heisen-go/heisen/mcm/order"

// preserving looks for an answer in which everything comes in the order in which
// it was observed (Mathur, Pavlogiannis, Viswanathan, "Optimal prediction of
// synchronization-preserving races", POPL 2021): the events that come before the
// goal in any case, and those that they need so that all critical sections but the
// last of each lock have ended and all reads have something to see. It returns the
// nodes up to the goal, or nil.
func (s *scheduler) preserving(q *query) []order.Node {
	m := s.m
	if !q.observed(m) {
		return nil
	}
	prefix := s.prefix
	copy(prefix, s.closure.row(m.goal))
	for grown := true; grown; {
		grown = false
		for i := range m.locks {
			list := m.locks[i].sections
			writer, any := int32(-2), int32(-2) // when the lock was last taken
			for _, id := range list {
				if x := &m.sections[id]; s.starts(x) {
					any = max(any, m.taken(x))
					if !x.shared {
						writer = max(writer, m.taken(x))
					}
				}
			}
			for _, id := range list {
				x := &m.sections[id]
				if !s.starts(x) || m.taken(x) >= any || x.shared && m.taken(x) >= writer {
					continue
				}
				if x.release == none {
					return nil
				}
				grown = s.include(x.release) || grown
			}
		}
		if m.soft {
			for i := range m.reads {
				if r := &m.reads[i]; !r.hard && r.saw != none && prefix[m.chain[r.node]] > m.pos(r.node) {
					grown = s.include(r.saw) || grown
				}
			}
		}
		if !q.open(m, prefix) {
			return nil
		}
	}
	nodes := s.nodes[:0]
	for _, n := range m.hint[1:] {
		if prefix[m.chain[n]] > m.pos(n) {
			nodes = append(nodes, n)
		}
	}
	s.nodes = nodes
	return nodes
}

// starts reports whether a section starts before the goal.
func (s *scheduler) starts(x *criticalSection) bool {
	return x.acquire == none || s.prefix[x.chain] > s.m.pos(x.acquire)
}

// include adds n, and what comes before it in any case, to the events before the
// goal, and reports whether it is new.
func (s *scheduler) include(n order.Node) bool {
	m := s.m
	if s.prefix[m.chain[n]] > m.pos(n) {
		return false
	}
	for c, v := range m.row(n) {
		s.prefix[c] = max(s.prefix[c], v)
	}
	return true
}

package quick

import (
	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/order"
)

// SyncPreserving looks for an answer in which everything comes in the order in which
// it was observed (Mathur, Pavlogiannis, Viswanathan, "Optimal prediction of
// synchronization-preserving races", POPL 2021): the events that come before the
// goal in any case, and those that they need so that all critical sections but the
// last of each lock have ended and all reads have something to see. It returns the
// nodes up to the goal, or nil.
func (s *Scheduler) SyncPreserving(q *model.Query) []order.Node {
	m := s.m
	if !q.InObservedOrder(m) {
		return nil
	}
	prefix := s.prefix
	copy(prefix, s.closure.row(m.Goal))
	for grown := true; grown; {
		grown = false
		for i := range m.Locks {
			list := m.Locks[i].Sections
			writer, any := int32(-2), int32(-2) // when the lock was last taken
			for _, id := range list {
				if x := &m.Sections[id]; s.starts(x) {
					any = max(any, m.AcquiredAt(x))
					if !x.Shared {
						writer = max(writer, m.AcquiredAt(x))
					}
				}
			}
			for _, id := range list {
				x := &m.Sections[id]
				if !s.starts(x) || m.AcquiredAt(x) >= any || x.Shared && m.AcquiredAt(x) >= writer {
					continue
				}
				if x.Release == model.None {
					return nil
				}
				grown = s.include(x.Release) || grown
			}
		}
		if m.HasChoices {
			for i := range m.Reads {
				if r := &m.Reads[i]; !r.Fixed && r.Saw != model.None && prefix[m.Chain[r.Node]] > m.Pos(r.Node) {
					grown = s.include(r.Saw) || grown
				}
			}
		}
		if !q.LeavesPending(m, prefix) {
			return nil
		}
	}
	nodes := s.nodes[:0]
	for _, n := range m.Observed[1:] {
		if prefix[m.Chain[n]] > m.Pos(n) {
			nodes = append(nodes, n)
		}
	}
	s.nodes = nodes
	return nodes
}

// starts reports whether a section starts before the goal.
func (s *Scheduler) starts(x *model.CriticalSection) bool {
	return x.Acquire == model.None || s.prefix[x.Chain] > s.m.Pos(x.Acquire)
}

// include adds n, and what comes before it in any case, to the events before the
// goal, and reports whether it is new.
func (s *Scheduler) include(n order.Node) bool {
	m := s.m
	if s.prefix[m.Chain[n]] > m.Pos(n) {
		return false
	}
	for c, v := range m.Row(n) {
		s.prefix[c] = max(s.prefix[c], v)
	}
	return true
}

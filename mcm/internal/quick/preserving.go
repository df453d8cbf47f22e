package quick

import (
	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/order"
)

// SyncPreserving returns an answer in which all nodes keep their observed order, or nil
// (sync-preserving races; Mathur, Pavlogiannis, Viswanathan, "Optimal Prediction of
// Synchronization-Preserving Races", POPL 2021).
//
// It computes the smallest prefix that contains the nodes that must come before the goal, the ends of
// all critical sections of a lock but the last that starts in the prefix, and the writes that reads
// with choices saw. The answer is the prefix in the observed order, unless a node that is to be
// pending is in it.
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
			lastExclusive, last := int32(-2), int32(-2) // when the latest sections in the prefix started
			for _, id := range list {
				if x := &m.Sections[id]; s.starts(x) {
					last = max(last, m.AcquiredAt(x))
					if !x.Shared {
						lastExclusive = max(lastExclusive, m.AcquiredAt(x))
					}
				}
			}
			for _, id := range list {
				x := &m.Sections[id]
				if !s.starts(x) || m.AcquiredAt(x) >= last || x.Shared && m.AcquiredAt(x) >= lastExclusive {
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

// starts reports whether a section starts in the prefix.
func (s *Scheduler) starts(x *model.CriticalSection) bool {
	return x.Acquire == model.None || s.prefix[x.Chain] > s.m.Pos(x.Acquire)
}

// include adds n, and the nodes that must come before it, to the prefix. It reports whether n is
// new.
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

package sweep

import (
	"slices"

	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/order"
)

// origin is how a state is reached: by a thread's steps from its parent and the movers after them,
// or along a schedule.
type origin struct {
	parent     int32 // a state, or the complement of the index of a schedule from the start of the window
	thread     int16
	silentRuns int16 // the number of silent runs; 0 means all up to and including the next effect
}

// segment is a sequence of states that were found with the same thread held back.
type segment struct {
	first  int32
	holdAt order.Node // where the thread was held back, or None
}

// Witness returns a path after which two nodes are pending, or nil if none is known. The path is
// valid until the next call.
func (s *Sweep) Witness(a, b order.Node) []order.Node {
	i, ok := s.meetingState[[2]order.Node{min(a, b), max(a, b)}]
	if !ok {
		return nil
	}
	defer func() { s.Machine.HoldAt = model.None }()
	s.replayTo(i)
	if s.moveTo(a) && s.moveTo(b) && s.isPending(a) {
		return s.Path
	}
	if s.replayTo(i); s.moveTo(b) && s.moveTo(a) && s.isPending(b) {
		return s.Path
	}
	return nil
}

// moveTo moves a thread forward or back until a is its next node, and reports whether that is
// possible. To move back, it removes nodes from Path together with those that depend on them.
func (s *Sweep) moveTo(a order.Node) bool {
	m := s.Model
	k := m.Chain[a]
	for s.State[k] < m.Pos(a) {
		n := s.Machine.NextNode(int(k))
		if !s.Enabled(n) || s.effect(n) != 0 {
			return false
		}
		s.Step(n)
	}
	if s.State[k] > m.Pos(a) {
		kept := s.nodes[:0]
		for _, n := range s.Path {
			if m.Row(n)[k] <= m.Pos(a) {
				kept = append(kept, n)
			} else {
				s.State[m.Chain[n]]--
			}
		}
		s.nodes, s.Path = s.Path, kept
	}
	return s.isPending(a)
}

// isPending reports whether a node is next in its thread and all its predecessors have been
// executed.
func (s *Sweep) isPending(n order.Node) bool {
	return s.State[s.Model.Chain[n]] == s.Model.Pos(n) && s.IsPending(n)
}

// replayTo executes the path from the start of the window to a state.
func (s *Sweep) replayTo(i int32) {
	at, _ := slices.BinarySearchFunc(s.segments, i+1, func(f segment, i int32) int { return int(f.first) - int(i) })
	s.Machine.HoldAt = s.segments[at-1].holdAt
	s.originChain = s.originChain[:0]
	w := s.origins[i]
	for ; w.parent >= 0; w = s.origins[w.parent] {
		s.originChain = append(s.originChain, w)
	}
	s.Reset()
	for _, n := range s.schedules[^w.parent][:int(w.thread)+int(w.silentRuns)<<15] {
		if s.State[s.Model.Chain[n]] == s.Model.Pos(n) && s.Enabled(n) {
			s.Step(n)
		}
	}
	s.TakeMovers()
	for i := len(s.originChain) - 1; i >= 0; i-- {
		w, k := s.originChain[i], int(s.originChain[i].thread)
		if w.silentRuns > 0 {
			for range w.silentRuns {
				s.takeSilentRun(k)
			}
			continue
		}
		for {
			n := s.Machine.NextNode(k)
			if s.effect(n) != 0 {
				s.Step(n)
				s.TakeMoversAfter(len(s.Path) - 1)
				break
			}
			s.takeSilentRun(k)
		}
	}
}

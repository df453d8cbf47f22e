package sweep

import (
	"slices"

	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/order"
)

// way is how a state is reached from another one: by a thread's steps, and what follows at
// once.
type way struct {
	parent int32 // a state, or, less than none, the complement of a line, from the window's start
	thread int16
	pieces int16 // so many without an effect, all up to an effect if 0
}

// stretch is states that were found one after the other.
type stretch struct {
	first int32
	hold  order.Node // where a thread was held back meanwhile, or none
}

// Refutes reports whether it is known that two nodes do not meet.
func (s *Sweep) Refutes(a, b order.Node) bool {
	if !s.whole {
		return false
	}
	_, ok := s.met[[2]order.Node{min(a, b), max(a, b)}]
	return !ok
}

// Witness returns the nodes up to where two nodes are next, or nil if a meeting is not
// known.
func (s *Sweep) Witness(a, b order.Node) []order.Node {
	i, ok := s.met[[2]order.Node{min(a, b), max(a, b)}]
	if !ok {
		return nil
	}
	defer func() { s.Machine.HoldAt = model.None }()
	s.trace(i)
	if s.until(a) && s.until(b) && s.at(a) {
		return s.Path
	}
	if s.trace(i); s.until(b) && s.until(a) && s.at(b) {
		return s.Path
	}
	return nil
}

// until lets a thread go on, or back, to where a node is next.
func (s *Sweep) until(a order.Node) bool {
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
	return s.at(a)
}

// at reports whether a node is next.
func (s *Sweep) at(n order.Node) bool {
	return s.State[s.Model.Chain[n]] == s.Model.Pos(n) && s.IsPending(n)
}

// trace goes from the window's start to a state.
func (s *Sweep) trace(i int32) {
	at, _ := slices.BinarySearchFunc(s.found, i+1, func(f stretch, i int32) int { return int(f.first) - int(i) })
	s.Machine.HoldAt = s.found[at-1].hold
	s.ways = s.ways[:0]
	w := s.from[i]
	for ; w.parent >= 0; w = s.from[w.parent] {
		s.ways = append(s.ways, w)
	}
	s.Reset()
	for _, n := range s.lines[^w.parent][:int(w.thread)+int(w.pieces)<<15] {
		if s.State[s.Model.Chain[n]] == s.Model.Pos(n) && s.Enabled(n) {
			s.Step(n)
		}
	}
	s.TakeMovers()
	for i := len(s.ways) - 1; i >= 0; i-- {
		w, k := s.ways[i], int(s.ways[i].thread)
		if w.pieces > 0 {
			for range w.pieces {
				s.piece(k)
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
			s.piece(k)
		}
	}
}

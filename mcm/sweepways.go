package mcm

import (
	"slices"

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

// never reports whether it is known that two nodes do not meet.
func (s *sweep) never(a, b order.Node) bool {
	if !s.whole {
		return false
	}
	_, ok := s.met[[2]order.Node{min(a, b), max(a, b)}]
	return !ok
}

// meeting returns the nodes up to where two nodes are next, or nil if a meeting is not
// known.
func (s *sweep) meeting(a, b order.Node) []order.Node {
	i, ok := s.met[[2]order.Node{min(a, b), max(a, b)}]
	if !ok {
		return nil
	}
	defer func() { s.moves.hold = none }()
	s.trace(i)
	if s.until(a) && s.until(b) && s.at(a) {
		return s.path
	}
	if s.trace(i); s.until(b) && s.until(a) && s.at(b) {
		return s.path
	}
	return nil
}

// until lets a thread go on, or back, to where a node is next.
func (s *sweep) until(a order.Node) bool {
	m := s.m
	k := m.chain[a]
	for s.now[k] < m.pos(a) {
		n := s.moves.next(int(k))
		if !s.possible(n) || s.effect(n) != 0 {
			return false
		}
		s.step(n)
	}
	if s.now[k] > m.pos(a) {
		kept := s.nodes[:0]
		for _, n := range s.path {
			if m.row(n)[k] <= m.pos(a) {
				kept = append(kept, n)
			} else {
				s.now[m.chain[n]]--
			}
		}
		s.nodes, s.path = s.path, kept
	}
	return s.at(a)
}

// at reports whether a node is next.
func (s *sweep) at(n order.Node) bool { return s.now[s.m.chain[n]] == s.m.pos(n) && s.ready(n) }

// trace goes from the window's start to a state.
func (s *sweep) trace(i int32) {
	at, _ := slices.BinarySearchFunc(s.found, i+1, func(f stretch, i int32) int { return int(f.first) - int(i) })
	s.moves.hold = s.found[at-1].hold
	s.ways = s.ways[:0]
	w := s.from[i]
	for ; w.parent >= 0; w = s.from[w.parent] {
		s.ways = append(s.ways, w)
	}
	s.reset()
	for _, n := range s.lines[^w.parent][:int(w.thread)+int(w.pieces)<<15] {
		if s.now[s.m.chain[n]] == s.m.pos(n) && s.possible(n) {
			s.step(n)
		}
	}
	s.settle()
	for i := len(s.ways) - 1; i >= 0; i-- {
		w, k := s.ways[i], int(s.ways[i].thread)
		if w.pieces > 0 {
			for range w.pieces {
				s.piece(k)
			}
			continue
		}
		for {
			n := s.moves.next(k)
			if s.effect(n) != 0 {
				s.step(n)
				s.resettle(len(s.path) - 1)
				break
			}
			s.piece(k)
		}
	}
}

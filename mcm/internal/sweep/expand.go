package sweep

import (
	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/moves"
	"github.com/heisen-go/heisen/mcm/order"
)

// expand adds the successors of a state of a layer, and records the pairs that meet there.
func (s *Sweep) expand(l *layer, at int) {
	m := s.Model
	i, allow := l.states[at], l.relevant[at]
	s.load(l.words[at*s.packing.Words : (at+1)*s.packing.Words])
	s.parent = append(s.parent[:0], s.State...)
	s.Path = s.Path[:0]
	copy(s.takenBefore, l.takenSince[at*s.Threads:])
	for k := range s.Threads {
		here := m.Base[k] + order.Node(s.State[k])
		s.firstPlace[k] = here
		for s.firstPlace[k] > m.Base[k] && s.Transitions[s.firstPlace[k]-1].Mover {
			s.firstPlace[k]--
		}
		for silentRuns := 1; ; silentRuns++ {
			n := s.Machine.NextNode(k)
			s.lastPlace[k] = n
			if n == model.None {
				s.lastPlace[k] = m.Base[k+1] - 1
				break
			}
			if !s.Enabled(n) {
				break
			}
			if changed := s.effect(n); changed != 0 {
				if changed&allow != 0 {
					s.Step(n)
					s.TakeMoversAfter(len(s.Path) - 1)
					s.add(origin{i, int16(k), 0}, allCells)
				}
				break
			}
			if left := allow & s.takeSilentRun(k); left != 0 {
				s.add(origin{i, int16(k), int16(silentRuns)}, left)
			}
		}
		copy(s.State, s.parent)
		s.Path = s.Path[:0]
	}
	s.findMeetings(i)
}

// effect returns the cells that a node would change in the current state, as bits; 0 for a node
// without an effect.
func (s *Sweep) effect(n order.Node) (changed uint64) {
	a := &s.Transitions[n]
	switch {
	case a.Message && !s.Model.Receives(n):
		return sendEffect
	case a.Cell == moves.ManyCells && s.Changes(n):
		return allCells
	case a.Written >= 0 && a.Written != s.Value(a.Cell):
		return moves.CellBit(a.Cell)
	}
	return 0
}

// takeSilentRun executes a silent run of thread k. It returns the cells of which the next effect
// must change one; other continuations are reached from the state before the run.
func (s *Sweep) takeSilentRun(k int) (cells uint64) {
	n := s.Machine.NextNode(k)
	from := len(s.Path)
	s.Step(n)
	free := s.enablesOthers[n]
	for n := s.Machine.NextNode(k); n != model.None && s.Transitions[n].Mover && s.Model.Begins[n] < 0 && s.Enabled(n); n = s.Machine.NextNode(k) {
		free = free || s.enablesOthers[n]
		s.Step(n)
	}
	if free {
		s.TakeMoversAfter(from)
		return allCells
	}
	// A section of movers can follow.
	if n := s.Machine.NextNode(k); n != model.None && s.Transitions[n].ReadOnlySection {
		size := len(s.Path)
		if s.TakeMoversAfter(from); len(s.Path) > size {
			return allCells
		}
	}
	for _, n := range s.Path[from:] {
		for _, t := range s.Model.Accesses[s.Model.AccessAt[n]:s.Model.AccessAt[n+1]] {
			cells |= moves.CellBit(t.Cell)
		}
	}
	return cells
}

// updateTaken computes takenAfter from takenBefore and Path.
func (s *Sweep) updateTaken() {
	m := s.Model
	copy(s.takenAfter, s.takenBefore)
	for _, n := range s.Path {
		if id := m.Begins[n]; id >= 0 && m.Sections[id].Lock < 64 {
			for k := range s.takenAfter {
				if k != int(m.Chain[n]) {
					s.takenAfter[k] |= 1 << m.Sections[id].Lock
				}
			}
		}
		if id := m.Ends[n]; id >= 0 && m.Sections[id].Lock < 64 {
			s.takenAfter[m.Chain[n]] &^= 1 << m.Sections[id].Lock
		}
	}
}

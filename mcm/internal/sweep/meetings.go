package sweep

import (
	"math/bits"

	"github.com/heisen-go/heisen/mcm/internal/moves"
	"github.com/heisen-go/heisen/mcm/order"
)

// findMeetings records the pairs that meet at state i.
func (s *Sweep) findMeetings(i int32) {
	s.spans = s.spans[:0]
	for at, k := range s.activeThreads {
		lo, hi := s.firstPlace[k], s.lastPlace[k]
		for a := lo; a <= hi && at > 0; a++ {
			if s.Transitions[a].Cell == moves.NoCell {
				continue
			}
			row := s.checked[int(a)*s.width : (int(a)+1)*s.width]
			for _, o := range s.spans {
				if fresh := o.nodes &^ row[o.word]; fresh != 0 {
					s.addMeetings(i, a, o.word, fresh)
				}
			}
		}
		for w := lo / 64; w <= hi/64; w++ {
			nodes := allCells
			if w == lo/64 {
				nodes &= allCells << (lo % 64)
			}
			if w == hi/64 {
				nodes &= allCells >> (63 - hi%64)
			}
			s.spans = append(s.spans, span{int(w), nodes})
		}
	}
}

// span is a set of nodes, as bits of one word.
type span struct {
	word  int
	nodes uint64
}

// addMeetings records the nodes of a word that meet a.
func (s *Sweep) addMeetings(i int32, a order.Node, word int, nodes uint64) {
	for ; nodes != 0; nodes &= nodes - 1 {
		b := order.Node(64*word + bits.TrailingZeros64(nodes))
		conflicting := s.Conflict(a, b)
		if conflicting && !s.canMeet(a, b) {
			continue
		}
		s.checked[int(a)*s.width+word] |= 1 << (b % 64)
		if conflicting {
			s.meetingState[[2]order.Node{b, a}] = i
		}
	}
}

// canMeet reports whether the nodes can be pending at the same time, as far as locks and
// predecessors decide.
func (s *Sweep) canMeet(a, b order.Node) bool {
	return s.locksAvailable(a, b) && s.locksAvailable(b, a) && s.predecessorsDone(a, b) && s.predecessorsDone(b, a)
}

// locksAvailable reports whether the thread of a, if it moves back to a, still holds its locks
// there: no other thread has taken them since, nor does the thread of b on its way to b.
func (s *Sweep) locksAvailable(a, b order.Node) bool {
	m := s.Model
	k, l := m.Chain[a], m.Chain[b]
	if m.Pos(a) >= s.State[k] {
		return true
	}
	taken := s.takenBefore[k]
	for n := m.Base[l] + order.Node(s.State[l]); n < b; n++ {
		if id := m.Begins[n]; id >= 0 && m.Sections[id].Lock < 64 {
			taken |= 1 << m.Sections[id].Lock
		}
	}
	return s.heldLocks[a].Any&taken == 0
}

// predecessorsDone reports whether everything that must come before a is pending has been executed
// when the thread of b is at b.
func (s *Sweep) predecessorsDone(a, b order.Node) bool {
	m := s.Model
	for i := m.EnablerAt[a]; i < m.EnablerAt[a+1]; i++ {
		e := m.Edges[i].From
		come := s.State[m.Chain[e]]
		if m.Chain[e] == m.Chain[b] {
			come = m.Pos(b)
		}
		if come <= m.Pos(e) {
			return false
		}
	}
	return true
}

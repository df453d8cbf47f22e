package sweep

import (
	"slices"

	"github.com/heisen-go/heisen/mcm/internal/moves"
)

// layer is the states with the same number of executed nodes.
type layer struct {
	words      []uint64 // packed states, one after the other
	states     []int32  // by state of the layer: its number in Sweep.origins
	relevant   []uint64 // by state: the cells of which the next effect must change one, as bits
	takenSince []uint64 // by state and thread: see Sweep.takenBefore
}

// choosePacking computes packing. States leave out lock and send counts, which follow from the
// places of the threads, unless derived would be too large.
func (s *Sweep) choosePacking() {
	m, most := s.Model, s.Limits()
	size := s.Threads + s.Cells
	rest := s.StateSize - size
	if rest*(int(m.Goal)+s.Threads) > maxDerived {
		s.packing = moves.NewPacking(most)
		return
	}
	s.packing = moves.NewPacking(most[:size])
	s.derived = make([]int32, rest*(int(m.Goal)+s.Threads))
	s.Reset()
	first := slices.Clone(s.State[size:])
	for k := range s.Threads {
		s.Reset()
		for n := m.Base[k]; ; n++ {
			row := s.derived[(int(n)+k)*rest:]
			for i, v := range s.State[size:] {
				row[i] = v
				if k > 0 {
					row[i] -= first[i]
				}
			}
			if n == m.Base[k+1] {
				break
			}
			s.Step(n)
		}
	}
	s.Path = s.Path[:0]
}

// load unpacks a state.
func (s *Sweep) load(key []uint64) {
	if s.derived == nil {
		s.packing.Unpack(key, s.State)
		return
	}
	size := s.Threads + s.Cells
	s.packing.Unpack(key, s.State[:size])
	rest := s.State[size:]
	clear(rest)
	for k, v := range s.State[:s.Threads] {
		at := (int(s.Model.Base[k]) + int(v) + k) * len(rest)
		for i, c := range s.derived[at : at+len(rest)] {
			rest[i] += c
		}
	}
}

// add stores the current state, unless it is not new.
func (s *Sweep) add(w origin, allow uint64) {
	if !s.isNovel() {
		return
	}
	sum := 0
	for _, v := range s.State[:s.Threads] {
		sum += int(v)
	}
	l := &s.layers[sum]
	if sum < s.layerAt {
		s.layerAt, s.stateAt = sum, 0
	}
	if n := len(s.freeLayers); l.states == nil && n > 0 {
		*l, s.freeLayers = s.freeLayers[n-1], s.freeLayers[:n-1]
	}
	s.packing.Pack(s.State[:len(s.packing.Fields)], s.key)
	s.updateTaken()
	l.takenSince = append(l.takenSince, s.takenAfter...)
	l.words = append(l.words, s.key...)
	l.states = append(l.states, int32(len(s.origins)))
	l.relevant = append(l.relevant, allow)
	s.origins = append(s.origins, w)
}

// isNovel reports whether a pair of threads is at its places, with memory in its bucket, for the
// first time. It marks all pairs of the state as seen.
func (s *Sweep) isNovel() (novel bool) {
	memory := 0
	for c, v := range s.State[s.Threads : s.Threads+s.Cells] {
		memory += int(v) * (2*(c/4) + 1) << (c % 4)
	}
	memory &= s.buckets - 1
	for at, k := range s.activeThreads {
		s.placeIndex[at] = (s.placeBase[at] + int(s.State[k])) * s.buckets
		row := (s.pairBase[at]+int(s.State[k])*s.placeBase[at])*s.buckets + memory
		for _, o := range s.placeIndex[:at] {
			bit := uint(row + o)
			if old := s.seen[bit/64]; old>>(bit%64)&1 == 0 {
				s.seen[bit/64] = old | 1<<(bit%64)
				novel = true
			}
		}
	}
	return novel
}

package mcm

import (
	"slices"

	"github.com/heisen-go/heisen/mcm/order"
)

// states keeps the states of a model that searches have reached, each with a way
// from the window's start. A state is a state whatever was asked when it was
// reached, so they are shared by all questions: on its way to one goal a search
// comes by where two other accesses are both next, which is the answer to another
// question, and to others it is a place to start from that is nearer than the
// window's start.
//
// A state is a piece of memory: by thread how many nodes have come; by cell the class
// of what it holds; by lock how many hold it exclusively, and shared; by message how
// many were sent. The latter two follow from the first.
type states struct {
	m       *Model
	threads int
	size    int // of a state
	key     int // how much of a state tells it from others

	words []int32
	list  []state
	steps []order.Node // that led to them
	table []int32      // states plus one by hash, linear probing

	cell    []int32 // by node: the cell that it touches, none or several
	writes  []bool  // by node: it writes it
	meets   []int32 // meetings plus one by hash, linear probing
	all     []meeting
	nearby  []int32 // by node: the states found last where it is next, so many of each
	newest  []uint8 // by node: where the next one goes
	forward []int32 // scratch: by thread how many nodes have come
}

// state is how a state was first reached.
type state struct {
	parent   int32 // none if from the window's start
	from, to int32 // its part of steps
}

// meeting is that two nodes that access a cell, one of them writing, are next in their
// threads.
type meeting struct {
	a, b  order.Node // the lower one first
	state int32
	steps int32 // so many of the steps that led from its parent to the state
}

const (
	// stateWords bounds the memory of states and steps, in words of 4 bytes. With the
	// default budget all that the questions of a window may look at fit.
	stateWords = 1 << 23
	// kept is how many states are remembered in nearby of each node.
	kept = 8

	noCell    = -1
	manyCells = -2
)

func newStates(m *Model, size, key int) *states {
	s := &states{
		m: m, threads: len(m.base) - 2, size: size, key: key,
		cell: make([]int32, m.goal), writes: make([]bool, m.goal),
		nearby: make([]int32, kept*int(m.goal)), newest: make([]uint8, m.goal),
		forward: make([]int32, len(m.base)-2),
	}
	for n := range m.goal {
		list := m.touches[m.touchAt[n]:m.touchAt[n+1]]
		switch len(list) {
		case 0:
			s.cell[n] = noCell
		case 1:
			s.cell[n], s.writes[n] = list[0].cell, list[0].write
		default:
			s.cell[n] = manyCells
		}
	}
	s.reset()
	return s
}

// reset forgets all states.
func (s *states) reset() {
	s.words, s.list, s.steps, s.all = s.words[:0], s.list[:0], s.steps[:0], s.all[:0]
	clear(s.table)
	clear(s.meets)
	for i := range s.nearby {
		s.nearby[i] = -1
	}
}

// full reports whether there is no room for more.
func (s *states) full() bool { return len(s.words)+len(s.steps) > stateWords }

// at returns a state.
func (s *states) at(i int32) []int32 { return s.words[int(i)*s.size : int(i)*s.size+s.size] }

// add returns the number of a state, which it remembers if it is new: it was reached
// by steps from its parent, or from the window's start.
func (s *states) add(now []int32, parent int32, path []order.Node) int32 {
	if 2*len(s.list) >= len(s.table) {
		s.table = make([]int32, max(256, 2*len(s.table)))
		for i := range s.list {
			s.table[s.slot(s.at(int32(i)))] = int32(i) + 1
		}
	}
	at := s.slot(now)
	if i := s.table[at]; i > 0 {
		return i - 1
	}
	i := int32(len(s.list))
	s.table[at] = i + 1
	from := int32(len(s.steps))
	s.steps = append(s.steps, path...)
	s.words = append(s.words, now...)
	s.list = append(s.list, state{parent, from, int32(len(s.steps))})
	s.meet(i)
	for k, v := range now[:s.threads] {
		if n := s.m.base[k] + order.Node(v); n < s.m.base[k+1] {
			s.nearby[kept*int(n)+int(s.newest[n]%kept)] = i
			s.newest[n]++
		}
	}
	return i
}

func hash(key []int32) uint64 {
	h := uint64(14695981039346656037)
	for _, v := range key {
		h = (h ^ uint64(uint32(v))) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return h
}

// slot returns where in the table a state is or has to go.
func (s *states) slot(now []int32) int {
	key := now[:s.key]
	mask := len(s.table) - 1
	for i := int(hash(key)) & mask; ; i = (i + 1) & mask {
		at := int(s.table[i]) - 1
		if at < 0 || slices.Equal(s.words[at*s.size:at*s.size+s.key], key) {
			return i
		}
	}
}

// meet notes who meets on the way to a new state.
func (s *states) meet(i int32) {
	m := s.m
	come := s.forward
	clear(come)
	if p := s.list[i].parent; p >= 0 {
		copy(come, s.at(p))
	}
	for at, n := range s.steps[s.list[i].from:s.list[i].to] {
		own := m.chain[n]
		if come[own]++; n+1 == m.base[own+1] || s.cell[n+1] == noCell {
			continue
		}
		for k := range s.threads {
			if o := m.base[k] + order.Node(come[k]); k != int(own) && o < m.base[k+1] && s.clash(n+1, o) {
				s.note(meeting{min(n+1, o), max(n+1, o), i, int32(at) + 1})
			}
		}
	}
}

// clash reports whether two nodes access a cell, one of them writing.
func (s *states) clash(a, b order.Node) bool {
	x, y := s.cell[a], s.cell[b]
	switch {
	case x == noCell || y == noCell:
		return false
	case x >= 0 && y >= 0:
		return x == y && (s.writes[a] || s.writes[b])
	}
	m := s.m
	for _, t := range m.touches[m.touchAt[a]:m.touchAt[a+1]] {
		for _, u := range m.touches[m.touchAt[b]:m.touchAt[b+1]] {
			if t.cell == u.cell && (t.write || u.write) {
				return true
			}
		}
	}
	return false
}

// note remembers a meeting if it is the first of its nodes.
func (s *states) note(x meeting) {
	if 2*len(s.all) >= len(s.meets) {
		s.meets = make([]int32, max(256, 2*len(s.meets)))
		for i := range s.all {
			s.meets[s.place(s.all[i].a, s.all[i].b)] = int32(i) + 1
		}
	}
	if at := s.place(x.a, x.b); s.meets[at] == 0 {
		s.all = append(s.all, x)
		s.meets[at] = int32(len(s.all))
	}
}

// place returns where in meets that of two nodes is or has to go.
func (s *states) place(a, b order.Node) int {
	mask := len(s.meets) - 1
	h := (uint64(uint32(a))<<32 | uint64(uint32(b))) * 0x9e3779b97f4a7c15
	for i := int(h^h>>29) & mask; ; i = (i + 1) & mask {
		at := s.meets[i] - 1
		if at < 0 || s.all[at].a == a && s.all[at].b == b {
			return i
		}
	}
}

// met appends to path the steps to where two nodes are next, and reports whether that
// is known.
func (s *states) met(a, b order.Node, path []order.Node) ([]order.Node, bool) {
	if len(s.all) == 0 {
		return path, false
	}
	at := s.meets[s.place(min(a, b), max(a, b))] - 1
	if at < 0 {
		return path, false
	}
	x := &s.all[at]
	path = s.trace(s.list[x.state].parent, path)
	from := s.list[x.state].from
	return append(path, s.steps[from:from+x.steps]...), true
}

// trace appends to path the steps that led to a state.
func (s *states) trace(i int32, path []order.Node) []order.Node {
	first := len(path)
	for ; i >= 0; i = s.list[i].parent {
		for k := s.list[i].to - 1; k >= s.list[i].from; k-- {
			path = append(path, s.steps[k])
		}
	}
	slices.Reverse(path[first:])
	return path
}

package explore

import (
	"slices"

	"github.com/heisen-go/heisen/mcm/internal/moves"
	"github.com/heisen-go/heisen/mcm/order"
)

// store keeps the states of a model that searches have reached, each with a way
// from the window's start. A state is a state whatever was asked when it was
// reached, so they are shared by all questions: on its way to one goal a search
// comes by where two other accesses are both next, which is the answer to another
// question, and to others it is a place to start from that is nearer than the
// window's start.
//
// A state is, packed into few words: by thread how many nodes have come; by cell the class
// of what it holds; by lock how many hold it exclusively, and shared; by message how
// many were sent. The latter two follow from the first.
type store struct {
	*moves.Machine
	pack  moves.Packing
	words []uint64 // packed states
	list  []state
	steps []order.Node // that led to them
	table []int32      // states plus one by hash, linear probing

	meets   []int32 // meetings plus one by hash, linear probing
	all     []meeting
	nearby  []int32  // by node, thread and piece of the thread: of the states where the node is next one that is farthest in the piece, or -1
	others  int      // for so many threads; beyond, some share their places
	key     []uint64 // scratch
	forward []int32  // scratch: by thread how many nodes have come
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
	// default budget what the questions of a window look at fits, mostly.
	stateWords = 1 << 24
	// pieces is in how many a thread is cut in nearby.
	pieces = 16
	// mostOthers is how many threads have places of their own in nearby.
	mostOthers = 16
)

func newStore(x *moves.Machine) *store {
	s := &store{
		Machine: x, pack: moves.NewPacking(x.Limits()),
		others: min(x.Threads, mostOthers), forward: make([]int32, x.Threads),
	}
	s.nearby = make([]int32, pieces*s.others*int(x.M.Goal))
	s.key = make([]uint64, s.pack.Size)
	s.reset()
	return s
}

// reset forgets all states.
func (s *store) reset() {
	s.words, s.list, s.steps, s.all = s.words[:0], s.list[:0], s.steps[:0], s.all[:0]
	clear(s.table)
	clear(s.meets)
	for i := range s.nearby {
		s.nearby[i] = -1
	}
}

// full reports whether there is no room for more.
func (s *store) full() bool { return 2*len(s.words)+3*len(s.list)+len(s.steps) > stateWords }

// at returns a packed state.
func (s *store) at(i int32) []uint64 { return s.words[int(i)*s.pack.Size : (int(i)+1)*s.pack.Size] }

// load gets a state.
func (s *store) load(i int32, now []int32) { s.pack.Unpack(s.at(i), now) }

// add returns the number of a state, which it remembers if it is new: it was reached
// by steps from its parent, or from the window's start.
func (s *store) add(now []int32, parent int32, path []order.Node) int32 {
	if 2*len(s.list) >= len(s.table) {
		s.table = make([]int32, max(256, 2*len(s.table)))
		for i := range s.list {
			s.table[moves.Slot(s.table, s.words, s.at(int32(i)))] = int32(i) + 1
		}
	}
	s.pack.Pack(now, s.key)
	at := moves.Slot(s.table, s.words, s.key)
	if i := s.table[at]; i > 0 {
		return i - 1
	}
	i := int32(len(s.list))
	s.table[at] = i + 1
	from := int32(len(s.steps))
	s.steps = append(s.steps, path...)
	s.words = append(s.words, s.key...)
	s.list = append(s.list, state{parent, from, int32(len(s.steps))})
	s.meet(i)
	last := -1
	for _, n := range path {
		k := int(s.M.Chain[n])
		if k == last {
			continue
		}
		last = k
		for j := range s.Threads {
			if j != k {
				s.keep(now, k, j, i)
				s.keep(now, j, k, i)
			}
		}
	}
	return i
}

// keep notes that in the i-th state, which is at hand, a thread has a next node while
// another one has come so far.
func (s *store) keep(now []int32, thread, other int, i int32) {
	n := s.M.Base[thread] + order.Node(now[thread])
	if n == s.M.Base[thread+1] {
		return
	}
	at := &s.nearby[s.piece(n, other, now[other])]
	if *at < 0 || s.pack.Part(s.at(*at), other) <= now[other] {
		*at = i
	}
}

// near returns a state in which a node is next and the thread of another so many pieces
// before it, or -1.
func (s *store) near(n, o order.Node, far int) int32 {
	thread := int(s.M.Chain[o])
	at := s.piece(n, thread, s.M.Pos(o)) - far
	if at < s.piece(n, thread, 0) {
		return -1
	}
	return s.nearby[at]
}

// piece returns where in nearby the states are with a node next and so many nodes of a
// thread past.
func (s *store) piece(n order.Node, thread int, past int32) int {
	size := int(s.M.Base[thread+1]-s.M.Base[thread]) + 1
	return (int(n)*s.others+thread%s.others)*pieces + int(past)*pieces/size
}

// meet notes who meets on the way to a new state.
func (s *store) meet(i int32) {
	m := s.M
	come := s.forward
	clear(come)
	if p := s.list[i].parent; p >= 0 {
		s.load(p, come)
	}
	for at, n := range s.steps[s.list[i].from:s.list[i].to] {
		own := m.Chain[n]
		if come[own]++; n+1 == m.Base[own+1] || s.Transitions[n+1].Cell == moves.NoCell {
			continue
		}
		for k := range s.Threads {
			if o := m.Base[k] + order.Node(come[k]); k != int(own) && o < m.Base[k+1] && s.Conflict(n+1, o) {
				s.note(meeting{min(n+1, o), max(n+1, o), i, int32(at) + 1})
			}
		}
	}
}

// note remembers a meeting if it is the first of its nodes.
func (s *store) note(x meeting) {
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
func (s *store) place(a, b order.Node) int {
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
func (s *store) met(a, b order.Node, path []order.Node) ([]order.Node, bool) {
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
func (s *store) trace(i int32, path []order.Node) []order.Node {
	first := len(path)
	for ; i >= 0; i = s.list[i].parent {
		for k := s.list[i].to - 1; k >= s.list[i].from; k-- {
			path = append(path, s.steps[k])
		}
	}
	slices.Reverse(path[first:])
	return path
}

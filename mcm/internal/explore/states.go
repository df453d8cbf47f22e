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
	packing moves.Packing
	words   []uint64 // packed states
	states  []state
	steps   []order.Node // that led to them
	table   []int32      // states plus one by hash, linear probing

	meetingTable []int32 // meetings plus one by hash, linear probing
	meetings     []meeting
	starts       []int32  // by node, thread and piece of the thread: of the states where the node is next one that is farthest in the piece, or -1
	threadSlots  int      // for so many threads; beyond, some share their places
	key          []uint64 // scratch
	progress     []int32  // scratch: by thread how many nodes have come
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
	// maxStoreWords bounds the memory of states and steps, in words of 4 bytes. With the
	// default budget what the questions of a window look at fits, mostly.
	maxStoreWords = 1 << 24
	// piecesPerThread is in how many a thread is cut in nearby.
	piecesPerThread = 16
	// maxThreadSlots is how many threads have places of their own in nearby.
	maxThreadSlots = 16
)

func newStore(x *moves.Machine) *store {
	s := &store{
		Machine: x, packing: moves.NewPacking(x.Limits()),
		threadSlots: min(x.Threads, maxThreadSlots), progress: make([]int32, x.Threads),
	}
	s.starts = make([]int32, piecesPerThread*s.threadSlots*int(x.Model.Goal))
	s.key = make([]uint64, s.packing.Words)
	s.reset()
	return s
}

// reset forgets all states.
func (s *store) reset() {
	s.words, s.states, s.steps, s.meetings = s.words[:0], s.states[:0], s.steps[:0], s.meetings[:0]
	clear(s.table)
	clear(s.meetingTable)
	for i := range s.starts {
		s.starts[i] = -1
	}
}

// full reports whether there is no room for more.
func (s *store) full() bool { return 2*len(s.words)+3*len(s.states)+len(s.steps) > maxStoreWords }

// packed returns a packed state.
func (s *store) packed(i int32) []uint64 {
	return s.words[int(i)*s.packing.Words : (int(i)+1)*s.packing.Words]
}

// load gets a state.
func (s *store) load(i int32, now []int32) { s.packing.Unpack(s.packed(i), now) }

// add returns the number of a state, which it remembers if it is new: it was reached
// by steps from its parent, or from the window's start.
func (s *store) add(now []int32, parent int32, path []order.Node) int32 {
	if 2*len(s.states) >= len(s.table) {
		s.table = make([]int32, max(256, 2*len(s.table)))
		for i := range s.states {
			s.table[moves.FindSlot(s.table, s.words, s.packed(int32(i)))] = int32(i) + 1
		}
	}
	s.packing.Pack(now, s.key)
	at := moves.FindSlot(s.table, s.words, s.key)
	if i := s.table[at]; i > 0 {
		return i - 1
	}
	i := int32(len(s.states))
	s.table[at] = i + 1
	from := int32(len(s.steps))
	s.steps = append(s.steps, path...)
	s.words = append(s.words, s.key...)
	s.states = append(s.states, state{parent, from, int32(len(s.steps))})
	s.findMeetings(i)
	last := -1
	for _, n := range path {
		k := int(s.Model.Chain[n])
		if k == last {
			continue
		}
		last = k
		for j := range s.Threads {
			if j != k {
				s.offerStart(now, k, j, i)
				s.offerStart(now, j, k, i)
			}
		}
	}
	return i
}

// offerStart notes that in the i-th state, which is at hand, a thread has a next node while
// another one has come so far.
func (s *store) offerStart(now []int32, thread, other int, i int32) {
	n := s.Model.Base[thread] + order.Node(now[thread])
	if n == s.Model.Base[thread+1] {
		return
	}
	at := &s.starts[s.startIndex(n, other, now[other])]
	if *at < 0 || s.packing.Field(s.packed(*at), other) <= now[other] {
		*at = i
	}
}

// start returns a state in which a node is next and the thread of another so many pieces
// before it, or -1.
func (s *store) start(n, o order.Node, far int) int32 {
	thread := int(s.Model.Chain[o])
	at := s.startIndex(n, thread, s.Model.Pos(o)) - far
	if at < s.startIndex(n, thread, 0) {
		return -1
	}
	return s.starts[at]
}

// startIndex returns where in nearby the states are with a node next and so many nodes of a
// thread past.
func (s *store) startIndex(n order.Node, thread int, past int32) int {
	size := int(s.Model.Base[thread+1]-s.Model.Base[thread]) + 1
	return (int(n)*s.threadSlots+thread%s.threadSlots)*piecesPerThread + int(past)*piecesPerThread/size
}

// findMeetings notes who meets on the way to a new state.
func (s *store) findMeetings(i int32) {
	m := s.Model
	come := s.progress
	clear(come)
	if p := s.states[i].parent; p >= 0 {
		s.load(p, come)
	}
	for at, n := range s.steps[s.states[i].from:s.states[i].to] {
		own := m.Chain[n]
		if come[own]++; n+1 == m.Base[own+1] || s.Transitions[n+1].Cell == moves.NoCell {
			continue
		}
		for k := range s.Threads {
			if o := m.Base[k] + order.Node(come[k]); k != int(own) && o < m.Base[k+1] && s.Conflict(n+1, o) {
				s.addMeeting(meeting{min(n+1, o), max(n+1, o), i, int32(at) + 1})
			}
		}
	}
}

// addMeeting remembers a meeting if it is the first of its nodes.
func (s *store) addMeeting(x meeting) {
	if 2*len(s.meetings) >= len(s.meetingTable) {
		s.meetingTable = make([]int32, max(256, 2*len(s.meetingTable)))
		for i := range s.meetings {
			s.meetingTable[s.meetingSlot(s.meetings[i].a, s.meetings[i].b)] = int32(i) + 1
		}
	}
	if at := s.meetingSlot(x.a, x.b); s.meetingTable[at] == 0 {
		s.meetings = append(s.meetings, x)
		s.meetingTable[at] = int32(len(s.meetings))
	}
}

// meetingSlot returns where in meets that of two nodes is or has to go.
func (s *store) meetingSlot(a, b order.Node) int {
	mask := len(s.meetingTable) - 1
	h := (uint64(uint32(a))<<32 | uint64(uint32(b))) * 0x9e3779b97f4a7c15
	for i := int(h^h>>29) & mask; ; i = (i + 1) & mask {
		at := s.meetingTable[i] - 1
		if at < 0 || s.meetings[at].a == a && s.meetings[at].b == b {
			return i
		}
	}
}

// pathToMeeting appends to path the steps to where two nodes are next, and reports whether that
// is known.
func (s *store) pathToMeeting(a, b order.Node, path []order.Node) ([]order.Node, bool) {
	if len(s.meetings) == 0 {
		return path, false
	}
	at := s.meetingTable[s.meetingSlot(min(a, b), max(a, b))] - 1
	if at < 0 {
		return path, false
	}
	x := &s.meetings[at]
	path = s.pathTo(s.states[x.state].parent, path)
	from := s.states[x.state].from
	return append(path, s.steps[from:from+x.steps]...), true
}

// pathTo appends to path the steps that led to a state.
func (s *store) pathTo(i int32, path []order.Node) []order.Node {
	first := len(path)
	for ; i >= 0; i = s.states[i].parent {
		for k := s.states[i].to - 1; k >= s.states[i].from; k-- {
			path = append(path, s.steps[k])
		}
	}
	slices.Reverse(path[first:])
	return path
}

package explore

import (
	"slices"

	"github.com/heisen-go/heisen/mcm/internal/moves"
	"github.com/heisen-go/heisen/mcm/order"
)

// store keeps the states that searches have reached, each with a path from the start of the
// window. Since states do not depend on queries, all searches share the store.
//
// A state consists of the components that package moves describes, packed into few words.
type store struct {
	*moves.Machine
	packing moves.Packing
	words   []uint64 // packed states, one after the other
	states  []state
	steps   []order.Node // the path to each state from its parent
	table   []int32      // hash table of states; see moves.FindSlot

	meetingTable []int32 // hash table of meetings, plus one, with linear probing
	meetings     []meeting
	starts       []int32  // see startIndex: the state farthest in its part, or -1
	threadSlots  int      // number of threads with places of their own in starts; further threads share them
	key          []uint64 // scratch
	progress     []int32  // scratch: by thread, how many nodes it has executed
}

// state is how a state was first reached.
type state struct {
	parent   int32 // -1 for the start of the window
	from, to int32 // bounds of the path from the parent in store.steps
}

// meeting is a pair of conflicting nodes that are pending at the same time.
type meeting struct {
	a, b  order.Node // a < b
	state int32
	steps int32 // how many nodes of the path from the parent of state lead to the meeting
}

const (
	// maxStoreWords bounds the memory of states and paths, in words of 4 bytes. With the default
	// budget, the states of most windows fit.
	maxStoreWords = 1 << 24
	// piecesPerThread is the number of equal parts of a thread in starts.
	piecesPerThread = 16
	// maxThreadSlots bounds threadSlots.
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

// full reports whether the store has reached its memory bound.
func (s *store) full() bool { return 2*len(s.words)+3*len(s.states)+len(s.steps) > maxStoreWords }

// packed returns the packed form of a state.
func (s *store) packed(i int32) []uint64 {
	return s.words[int(i)*s.packing.Words : (int(i)+1)*s.packing.Words]
}

// load unpacks a state.
func (s *store) load(i int32, now []int32) { s.packing.Unpack(s.packed(i), now) }

// add returns the number of the state now. It stores the state if it is new; path leads to it from
// its parent, or from the start of the window.
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

// offerStart records state i, which is now, as a start for searches that need the next node of a
// thread pending and another thread near where it is.
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

// start returns a state in which n is pending and the thread of o is in the part of that thread
// which is far parts before o, or -1.
func (s *store) start(n, o order.Node, far int) int32 {
	thread := int(s.Model.Chain[o])
	at := s.startIndex(n, thread, s.Model.Pos(o)) - far
	if at < s.startIndex(n, thread, 0) {
		return -1
	}
	return s.starts[at]
}

// startIndex returns the index in starts for states in which n is pending and another thread has
// executed count nodes.
func (s *store) startIndex(n order.Node, thread int, count int32) int {
	size := int(s.Model.Base[thread+1]-s.Model.Base[thread]) + 1
	return (int(n)*s.threadSlots+thread%s.threadSlots)*piecesPerThread + int(count)*piecesPerThread/size
}

// findMeetings records the conflicting nodes that are pending at the same time on the path to the
// new state i.
func (s *store) findMeetings(i int32) {
	m := s.Model
	progress := s.progress
	clear(progress)
	if p := s.states[i].parent; p >= 0 {
		s.load(p, progress)
	}
	for at, n := range s.steps[s.states[i].from:s.states[i].to] {
		own := m.Chain[n]
		if progress[own]++; n+1 == m.Base[own+1] || s.Transitions[n+1].Cell == moves.NoCell {
			continue
		}
		for k := range s.Threads {
			if o := m.Base[k] + order.Node(progress[k]); k != int(own) && o < m.Base[k+1] && s.Conflict(n+1, o) {
				s.addMeeting(meeting{min(n+1, o), max(n+1, o), i, int32(at) + 1})
			}
		}
	}
}

// addMeeting records a meeting if it is the first one of its nodes.
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

// meetingSlot returns the index in meetingTable where the meeting of two nodes is or belongs.
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

// pathToMeeting appends to path the nodes up to the meeting of a and b, and reports whether one is
// known.
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

// pathTo appends to path the nodes from the start of the window to a state.
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

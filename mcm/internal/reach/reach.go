package reach

import (
	"slices"

	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/moves"
	"github.com/heisen-go/heisen/mcm/order"
)

// Search finds how far all other threads can get while one is held back, which is what
// most questions are about whose answer is no: b comes long after a, and what a's thread
// does after a has to be done before b. Nothing in it depends on a question, so one
// search serves all questions about accesses of the thread.
//
// It holds the thread back at each of its steps in turn that may be of use to others,
// its levels, and goes on from one to the next when it has seen all states: those of a
// level are those of the level before and new ones. When a level is complete, it is
// known how far the others get; where they do not get until later, they do not meet what
// the thread does up to there. That somebody meets the thread on the way is an answer, too.
//
// States are packed, and of the way to them only the parent is kept: it is found again
// by taking the same steps.
type Search struct {
	moves.Machine   // with a state at hand of its own
	thread          int
	levels          []order.Node // where the thread is held back, and none at the end
	level           int          // which of these is being explored
	farthestByLevel []int32      // by level, if it is complete, and thread: how far it gets

	packing   moves.Packing
	Words     []uint64 // packed states
	origins   []origin // by state
	table     []int32  // states plus one by hash, linear probing
	farthest  []int32  // by thread: how far it has got
	stack     []int32  // states to be looked at
	resumable []int32  // states in which the thread can do the step that it is held back at
	meetings  map[[2]order.Node]int32
	hasMet    [][]uint64   // by place in the thread, as bits: who has met it
	key       []uint64     // scratch
	parent    []int32      // scratch: the state that is looked at
	progress  []int32      // scratch: by thread how many nodes have come
	ancestors []int32      // scratch: states
	nodes     []order.Node // scratch
}

// origin is how a state was reached: by a step of a thread from another, and what
// followed at once.
type origin struct {
	parent        int32 // -1 if from the window's start
	level, thread int32
}

func New(x *moves.Machine, thread int) *Search {
	m := x.Model
	r := &Search{Machine: *x, thread: thread, packing: moves.NewPacking(x.Limits()), meetings: map[[2]order.Node]int32{}}
	r.SilentWrites, r.Path = false, nil
	r.UseStaticOrder()
	r.State, r.farthest, r.progress = make([]int32, x.StateSize), make([]int32, x.Threads), make([]int32, x.Threads)
	r.key, r.hasMet = make([]uint64, r.packing.Words), make([][]uint64, m.Base[thread+1]-m.Base[thread])
	for n := m.Base[thread]; n < m.Base[thread+1]; n++ {
		if !x.Invisible(n) {
			r.levels = append(r.levels, n)
		}
	}
	r.levels = append(r.levels, model.None)
	r.HoldAt = r.levels[0]
	r.Reset()
	r.advance(-1)
	r.add(-1, -1)
	return r
}

// advance takes a thread's next step, if there is a thread, and all steps that hinder
// nobody.
func (r *Search) advance(thread int) {
	r.Path = r.Path[:0]
	if thread >= 0 {
		r.Step(r.NextNode(thread))
	}
	r.TakeMovers()
}

// Explore looks at so many states at most, until all are known in which the thread is
// not past a node. It returns how many they were.
func (r *Search) Explore(a order.Node, states int) (looked int) {
	for {
		for ; len(r.stack) > 0; looked++ {
			if looked == states || looked%moves.InterruptEvery == 0 && r.Interrupted() {
				return looked
			}
			i := r.stack[len(r.stack)-1]
			r.stack = r.stack[:len(r.stack)-1]
			r.load(i)
			r.parent = append(r.parent[:0], r.State...)
			for k := range r.Threads {
				copy(r.State, r.parent)
				if n := r.NextNode(k); n == model.None || !r.Enabled(n) {
					continue
				}
				r.advance(k)
				r.add(i, k)
			}
		}
		if r.completeLevels() == r.level {
			r.farthestByLevel = append(r.farthestByLevel, r.farthest...)
		}
		if r.HoldAt == model.None || r.HoldAt >= a {
			return looked
		}
		r.nextLevel()
	}
}

// completeLevels returns how many levels are.
func (r *Search) completeLevels() int { return len(r.farthestByLevel) / r.Threads }

// nextLevel goes to the next level.
func (r *Search) nextLevel() {
	r.level++
	r.HoldAt = r.levels[r.level]
	cross := r.resumable
	r.resumable = nil
	for _, i := range cross {
		r.load(i)
		r.advance(r.thread)
		r.add(i, r.thread)
	}
}

func (r *Search) packed(i int32) []uint64 {
	return r.Words[int(i)*r.packing.Words : (int(i)+1)*r.packing.Words]
}

// load gets a state.
func (r *Search) load(i int32) { r.packing.Unpack(r.packed(i), r.State) }

// add adds the state at hand, to which a thread's step has led, if it is new.
func (r *Search) add(parent int32, thread int) {
	if 2*len(r.origins) >= len(r.table) {
		r.table = make([]int32, max(1024, 2*len(r.table)))
		for i := range r.origins {
			r.table[moves.FindSlot(r.table, r.Words, r.packed(int32(i)))] = int32(i) + 1
		}
	}
	r.packing.Pack(r.State, r.key)
	at := moves.FindSlot(r.table, r.Words, r.key)
	if r.table[at] > 0 {
		return
	}
	i := int32(len(r.origins))
	r.table[at] = i + 1
	r.Words = append(r.Words, r.key...)
	r.origins = append(r.origins, origin{parent, int32(r.level), int32(thread)})
	r.stack = append(r.stack, i)
	r.findMeetings(parent, i)
	for k, v := range r.State[:r.Threads] {
		r.farthest[k] = max(r.farthest[k], v)
	}
	if n := r.HoldAt; n != model.None && r.NextNode(r.thread) == n {
		r.HoldAt = model.None
		if r.Enabled(n) {
			r.resumable = append(r.resumable, i)
		}
		r.HoldAt = n
	}
}

// findMeetings notes who has met the thread that is held back on the way from a state's parent.
func (r *Search) findMeetings(parent, i int32) {
	clear(r.progress)
	if parent >= 0 {
		r.packing.Unpack(r.packed(parent), r.progress)
	}
	for _, n := range r.Path {
		own := int(r.Model.Chain[n])
		r.progress[own]++
		if own != r.thread {
			r.addMeeting(own, i)
			continue
		}
		for k := range r.Threads {
			if k != own {
				r.addMeeting(k, i)
			}
		}
	}
}

// addMeeting notes whether a thread meets the one that is held back.
func (r *Search) addMeeting(thread int, i int32) {
	a, b := r.nextAfter(r.thread), r.nextAfter(thread)
	if a == model.None || b == model.None || !r.Conflict(a, b) {
		return
	}
	known := &r.hasMet[r.progress[r.thread]]
	if *known == nil {
		*known = make([]uint64, r.Model.Goal/64+1)
	}
	if bit := uint64(1) << (b % 64); (*known)[b/64]&bit == 0 {
		(*known)[b/64] |= bit
		r.meetings[[2]order.Node{a, b}] = i
	}
}

// nextAfter returns a thread's next node by what has come, or none.
func (r *Search) nextAfter(thread int) order.Node {
	n := r.Model.Base[thread] + order.Node(r.progress[thread])
	if n == r.Model.Base[thread+1] {
		return model.None
	}
	return n
}

// Refutes reports whether no order lets a thread get to b before a, a node of the thread
// that is held back, as far as that is known.
func (r *Search) Refutes(a, b order.Node) bool {
	done := r.completeLevels()
	level, _ := slices.BinarySearch(r.levels[:len(r.levels)-1], a) // the first one that is not before a
	if level >= done {
		return false
	}
	k := r.Model.Chain[b]
	return r.farthestByLevel[level*r.Threads+int(k)] < r.Model.Pos(b)
}

// Witness returns the nodes up to where two nodes, the first one of the thread that is
// held back, are next, or nil if a meeting is not known.
func (r *Search) Witness(a, b order.Node) []order.Node {
	i, ok := r.meetings[[2]order.Node{a, b}]
	if !ok {
		return nil
	}
	r.ancestors = r.ancestors[:0]
	for ; i >= 0; i = r.origins[i].parent {
		r.ancestors = append(r.ancestors, i)
	}
	hold := r.HoldAt
	defer func() { r.HoldAt = hold }()
	r.nodes = r.nodes[:0]
	r.Reset()
	for _, i := range slices.Backward(r.ancestors) {
		from := r.origins[i]
		r.HoldAt = r.levels[from.level]
		r.advance(int(from.thread))
		r.nodes = append(r.nodes, r.Path...)
	}
	clear(r.progress)
	for at, n := range r.nodes {
		r.progress[r.Model.Chain[n]]++
		if r.nextAfter(r.thread) == a && r.nextAfter(int(r.Model.Chain[b])) == b {
			copy(r.State, r.progress)
			if r.IsPending(a) && r.IsPending(b) {
				return r.nodes[:at+1]
			}
		}
	}
	return nil
}

package reach

import (
	"slices"

	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/moves"
	"github.com/heisen-go/heisen/mcm/order"
)

// Search explores the states of a model with one thread held back.
type Search struct {
	moves.Machine                // with its own current state
	thread          int          // the thread that is held back
	levels          []order.Node // the node at which each level holds the thread back, ending with None
	level           int          // the level that is being explored
	farthestByLevel []int32      // by complete level and thread: how many nodes it can execute

	packing   moves.Packing
	Words     []uint64                // packed states, one after the other
	origins   []origin                // by state
	table     []int32                 // hash table of states; see moves.FindSlot
	farthest  []int32                 // by thread: the most nodes that it has executed
	stack     []int32                 // states that have not been expanded
	resumable []int32                 // states from which the next level resumes: the held node is enabled
	meetings  map[[2]order.Node]int32 // by pair of conflicting nodes, the held thread's first: a state right after they were pending
	hasMet    [][]uint64              // by position in the held thread: the nodes that have met its node there, as bits
	key       []uint64                // scratch
	parent    []int32                 // scratch: the state that is being expanded
	progress  []int32                 // scratch: by thread, how many nodes it has executed
	ancestors []int32                 // scratch: states
	nodes     []order.Node            // scratch
}

// origin is how a state was reached: by a step of one thread from the parent, and the movers after
// it.
type origin struct {
	parent        int32 // -1 for the start of the window
	level, thread int32
}

// New returns a search that holds back one thread. It expands no state yet.
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

// advance executes the next node of a thread, unless thread is -1, and then all movers.
func (r *Search) advance(thread int) {
	r.Path = r.Path[:0]
	if thread >= 0 {
		r.Step(r.NextNode(thread))
	}
	r.TakeMovers()
}

// Explore completes levels until one that holds the thread back at a or later is complete. It
// expands at most the given number of states, and returns how many it has expanded.
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

// completeLevels returns the number of complete levels.
func (r *Search) completeLevels() int { return len(r.farthestByLevel) / r.Threads }

// nextLevel resumes at the next level, from the states in which the held node is enabled.
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

// packed returns the packed form of a state.
func (r *Search) packed(i int32) []uint64 {
	return r.Words[int(i)*r.packing.Words : (int(i)+1)*r.packing.Words]
}

// load makes a state the current one.
func (r *Search) load(i int32) { r.packing.Unpack(r.packed(i), r.State) }

// add stores the current state if it is new. A step of the given thread led to it.
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

// findMeetings records the nodes that were pending together with one of the held thread on the
// path from parent to state i.
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

// addMeeting records whether the next node of a thread meets (conflicts with) the next node of the
// held thread.
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

// nextAfter returns the next node of a thread after progress, or None.
func (r *Search) nextAfter(thread int) order.Node {
	n := r.Model.Base[thread] + order.Node(r.progress[thread])
	if n == r.Model.Base[thread+1] {
		return model.None
	}
	return n
}

// Refutes reports whether the search has shown that b cannot be pending before a, a node of the
// held thread, has been executed.
func (r *Search) Refutes(a, b order.Node) bool {
	done := r.completeLevels()
	level, _ := slices.BinarySearch(r.levels[:len(r.levels)-1], a) // the first one that is not before a
	if level >= done {
		return false
	}
	k := r.Model.Chain[b]
	return r.farthestByLevel[level*r.Threads+int(k)] < r.Model.Pos(b)
}

// Witness returns a path after which a, a node of the held thread, and b are pending, or nil if
// none is known. The path is valid until the next call.
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

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
	moves.Machine // with a state at hand of its own
	thread        int
	levels        []order.Node // where the thread is held back, and none at the end
	level         int          // which of these is being explored
	far           []int32      // by level, if it is complete, and thread: how far it gets

	pack   moves.Packing
	Words  []uint64 // packed states
	from   []origin // by state
	table  []int32  // states plus one by hash, linear probing
	most   []int32  // by thread: how far it has got
	stack  []int32  // states to be looked at
	cross  []int32  // states in which the thread can do the step that it is held back at
	met    map[[2]order.Node]int32
	known  [][]uint64   // by place in the thread, as bits: who has met it
	key    []uint64     // scratch
	parent []int32      // scratch: the state that is looked at
	come   []int32      // scratch: by thread how many nodes have come
	way    []int32      // scratch: states
	nodes  []order.Node // scratch
}

// origin is how a state was reached: by a step of a thread from another, and what
// followed at once.
type origin struct {
	parent        int32 // -1 if from the window's start
	level, thread int32
}

func New(x *moves.Machine, thread int) *Search {
	m := x.M
	r := &Search{Machine: *x, thread: thread, pack: moves.NewPacking(x.Limits()), met: map[[2]order.Node]int32{}}
	r.SilentWrites, r.Path = false, nil
	r.UseStaticOrder()
	r.Now, r.most, r.come = make([]int32, x.Size), make([]int32, x.Threads), make([]int32, x.Threads)
	r.key, r.known = make([]uint64, r.pack.Size), make([][]uint64, m.Base[thread+1]-m.Base[thread])
	for n := m.Base[thread]; n < m.Base[thread+1]; n++ {
		if !x.Invisible(n) {
			r.levels = append(r.levels, n)
		}
	}
	r.levels = append(r.levels, model.None)
	r.Hold = r.levels[0]
	r.Reset()
	r.move(-1)
	r.add(-1, -1)
	return r
}

// move takes a thread's next step, if there is a thread, and all steps that hinder
// nobody.
func (r *Search) move(thread int) {
	r.Path = r.Path[:0]
	if thread >= 0 {
		r.Step(r.Next(thread))
	}
	r.Settle()
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
			r.parent = append(r.parent[:0], r.Now...)
			for k := range r.Threads {
				copy(r.Now, r.parent)
				if n := r.Next(k); n == model.None || !r.CanStep(n) {
					continue
				}
				r.move(k)
				r.add(i, k)
			}
		}
		if r.complete() == r.level {
			r.far = append(r.far, r.most...)
		}
		if r.Hold == model.None || r.Hold >= a {
			return looked
		}
		r.ascend()
	}
}

// complete returns how many levels are.
func (r *Search) complete() int { return len(r.far) / r.Threads }

// ascend goes to the next level.
func (r *Search) ascend() {
	r.level++
	r.Hold = r.levels[r.level]
	cross := r.cross
	r.cross = nil
	for _, i := range cross {
		r.load(i)
		r.move(r.thread)
		r.add(i, r.thread)
	}
}

func (r *Search) at(i int32) []uint64 { return r.Words[int(i)*r.pack.Size : (int(i)+1)*r.pack.Size] }

// load gets a state.
func (r *Search) load(i int32) { r.pack.Unpack(r.at(i), r.Now) }

// add adds the state at hand, to which a thread's step has led, if it is new.
func (r *Search) add(parent int32, thread int) {
	if 2*len(r.from) >= len(r.table) {
		r.table = make([]int32, max(1024, 2*len(r.table)))
		for i := range r.from {
			r.table[moves.Slot(r.table, r.Words, r.at(int32(i)))] = int32(i) + 1
		}
	}
	r.pack.Pack(r.Now, r.key)
	at := moves.Slot(r.table, r.Words, r.key)
	if r.table[at] > 0 {
		return
	}
	i := int32(len(r.from))
	r.table[at] = i + 1
	r.Words = append(r.Words, r.key...)
	r.from = append(r.from, origin{parent, int32(r.level), int32(thread)})
	r.stack = append(r.stack, i)
	r.note(parent, i)
	for k, v := range r.Now[:r.Threads] {
		r.most[k] = max(r.most[k], v)
	}
	if n := r.Hold; n != model.None && r.Next(r.thread) == n {
		r.Hold = model.None
		if r.CanStep(n) {
			r.cross = append(r.cross, i)
		}
		r.Hold = n
	}
}

// note notes who has met the thread that is held back on the way from a state's parent.
func (r *Search) note(parent, i int32) {
	clear(r.come)
	if parent >= 0 {
		r.pack.Unpack(r.at(parent), r.come)
	}
	for _, n := range r.Path {
		own := int(r.M.Chain[n])
		r.come[own]++
		if own != r.thread {
			r.meet(own, i)
			continue
		}
		for k := range r.Threads {
			if k != own {
				r.meet(k, i)
			}
		}
	}
}

// meet notes whether a thread meets the one that is held back.
func (r *Search) meet(thread int, i int32) {
	a, b := r.nextOf(r.thread), r.nextOf(thread)
	if a == model.None || b == model.None || !r.Conflict(a, b) {
		return
	}
	known := &r.known[r.come[r.thread]]
	if *known == nil {
		*known = make([]uint64, r.M.Goal/64+1)
	}
	if bit := uint64(1) << (b % 64); (*known)[b/64]&bit == 0 {
		(*known)[b/64] |= bit
		r.met[[2]order.Node{a, b}] = i
	}
}

// nextOf returns a thread's next node by what has come, or none.
func (r *Search) nextOf(thread int) order.Node {
	n := r.M.Base[thread] + order.Node(r.come[thread])
	if n == r.M.Base[thread+1] {
		return model.None
	}
	return n
}

// Refutes reports whether no order lets a thread get to b before a, a node of the thread
// that is held back, as far as that is known.
func (r *Search) Refutes(a, b order.Node) bool {
	done := r.complete()
	level, _ := slices.BinarySearch(r.levels[:len(r.levels)-1], a) // the first one that is not before a
	if level >= done {
		return false
	}
	k := r.M.Chain[b]
	return r.far[level*r.Threads+int(k)] < r.M.Pos(b)
}

// Witness returns the nodes up to where two nodes, the first one of the thread that is
// held back, are next, or nil if a meeting is not known.
func (r *Search) Witness(a, b order.Node) []order.Node {
	i, ok := r.met[[2]order.Node{a, b}]
	if !ok {
		return nil
	}
	r.way = r.way[:0]
	for ; i >= 0; i = r.from[i].parent {
		r.way = append(r.way, i)
	}
	hold := r.Hold
	defer func() { r.Hold = hold }()
	r.nodes = r.nodes[:0]
	r.Reset()
	for _, i := range slices.Backward(r.way) {
		from := r.from[i]
		r.Hold = r.levels[from.level]
		r.move(int(from.thread))
		r.nodes = append(r.nodes, r.Path...)
	}
	clear(r.come)
	for at, n := range r.nodes {
		r.come[r.M.Chain[n]]++
		if r.nextOf(r.thread) == a && r.nextOf(int(r.M.Chain[b])) == b {
			copy(r.Now, r.come)
			if r.IsPending(a) && r.IsPending(b) {
				return r.nodes[:at+1]
			}
		}
	}
	return nil
}

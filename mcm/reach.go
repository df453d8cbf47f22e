package mcm

import (
	"slices"

	"github.com/heisen-go/heisen/mcm/order"
)

// reach finds how far all other threads can get while one is held back, which is what
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
type reach struct {
	moves  // with a state at hand of its own
	thread int
	levels []order.Node // where the thread is held back, and none at the end
	level  int          // which of these is being explored
	far    []int32      // by level, if it is complete, and thread: how far it gets

	pack   packing
	words  []uint64 // packed states
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

func newReach(x *moves, thread int) *reach {
	m := x.m
	r := &reach{moves: *x, thread: thread, pack: newPacking(x.limits()), met: map[[2]order.Node]int32{}}
	r.bold, r.path = false, nil
	r.askers()
	r.now, r.most, r.come = make([]int32, x.size), make([]int32, x.threads), make([]int32, x.threads)
	r.key, r.known = make([]uint64, r.pack.size), make([][]uint64, m.base[thread+1]-m.base[thread])
	for n := m.base[thread]; n < m.base[thread+1]; n++ {
		if !x.idle(n) {
			r.levels = append(r.levels, n)
		}
	}
	r.levels = append(r.levels, none)
	r.hold = r.levels[0]
	r.reset()
	r.move(-1)
	r.add(-1, -1)
	return r
}

// move takes a thread's next step, if there is a thread, and all steps that hinder
// nobody.
func (r *reach) move(thread int) {
	r.path = r.path[:0]
	if thread >= 0 {
		r.step(r.next(thread))
	}
	r.settle()
}

// explore looks at so many states at most, until all are known in which the thread is
// not past a node. It returns how many they were.
func (r *reach) explore(a order.Node, states int) (looked int) {
	for {
		for ; len(r.stack) > 0; looked++ {
			if looked == states || looked%interruptEvery == 0 && r.interrupted() {
				return looked
			}
			i := r.stack[len(r.stack)-1]
			r.stack = r.stack[:len(r.stack)-1]
			r.load(i)
			r.parent = append(r.parent[:0], r.now...)
			for k := range r.threads {
				copy(r.now, r.parent)
				if n := r.next(k); n == none || !r.possible(n) {
					continue
				}
				r.move(k)
				r.add(i, k)
			}
		}
		if r.complete() == r.level {
			r.far = append(r.far, r.most...)
		}
		if r.hold == none || r.hold >= a {
			return looked
		}
		r.ascend()
	}
}

// complete returns how many levels are.
func (r *reach) complete() int { return len(r.far) / r.threads }

// ascend goes to the next level.
func (r *reach) ascend() {
	r.level++
	r.hold = r.levels[r.level]
	cross := r.cross
	r.cross = nil
	for _, i := range cross {
		r.load(i)
		r.move(r.thread)
		r.add(i, r.thread)
	}
}

func (r *reach) at(i int32) []uint64 { return r.words[int(i)*r.pack.size : (int(i)+1)*r.pack.size] }

// load gets a state.
func (r *reach) load(i int32) { r.pack.unpack(r.at(i), r.now) }

// add adds the state at hand, to which a thread's step has led, if it is new.
func (r *reach) add(parent int32, thread int) {
	if 2*len(r.from) >= len(r.table) {
		r.table = make([]int32, max(1024, 2*len(r.table)))
		for i := range r.from {
			r.table[slot(r.table, r.words, r.at(int32(i)))] = int32(i) + 1
		}
	}
	r.pack.pack(r.now, r.key)
	at := slot(r.table, r.words, r.key)
	if r.table[at] > 0 {
		return
	}
	i := int32(len(r.from))
	r.table[at] = i + 1
	r.words = append(r.words, r.key...)
	r.from = append(r.from, origin{parent, int32(r.level), int32(thread)})
	r.stack = append(r.stack, i)
	r.note(parent, i)
	for k, v := range r.now[:r.threads] {
		r.most[k] = max(r.most[k], v)
	}
	if n := r.hold; n != none && r.next(r.thread) == n {
		r.hold = none
		if r.possible(n) {
			r.cross = append(r.cross, i)
		}
		r.hold = n
	}
}

// note notes who has met the thread that is held back on the way from a state's parent.
func (r *reach) note(parent, i int32) {
	clear(r.come)
	if parent >= 0 {
		r.pack.unpack(r.at(parent), r.come)
	}
	for _, n := range r.path {
		own := int(r.m.chain[n])
		r.come[own]++
		if own != r.thread {
			r.meet(own, i)
			continue
		}
		for k := range r.threads {
			if k != own {
				r.meet(k, i)
			}
		}
	}
}

// meet notes whether a thread meets the one that is held back.
func (r *reach) meet(thread int, i int32) {
	a, b := r.nextOf(r.thread), r.nextOf(thread)
	if a == none || b == none || !r.clash(a, b) {
		return
	}
	known := &r.known[r.come[r.thread]]
	if *known == nil {
		*known = make([]uint64, r.m.goal/64+1)
	}
	if bit := uint64(1) << (b % 64); (*known)[b/64]&bit == 0 {
		(*known)[b/64] |= bit
		r.met[[2]order.Node{a, b}] = i
	}
}

// nextOf returns a thread's next node by what has come, or none.
func (r *reach) nextOf(thread int) order.Node {
	n := r.m.base[thread] + order.Node(r.come[thread])
	if n == r.m.base[thread+1] {
		return none
	}
	return n
}

// never reports whether no order lets a thread get to b before a, a node of the thread
// that is held back, as far as that is known.
func (r *reach) never(a, b order.Node) bool {
	done := r.complete()
	level, _ := slices.BinarySearch(r.levels[:len(r.levels)-1], a) // the first one that is not before a
	if level >= done {
		return false
	}
	k := r.m.chain[b]
	return r.far[level*r.threads+int(k)] < r.m.pos(b)
}

// meeting returns the nodes up to where two nodes, the first one of the thread that is
// held back, are next, or nil if a meeting is not known.
func (r *reach) meeting(a, b order.Node) []order.Node {
	i, ok := r.met[[2]order.Node{a, b}]
	if !ok {
		return nil
	}
	r.way = r.way[:0]
	for ; i >= 0; i = r.from[i].parent {
		r.way = append(r.way, i)
	}
	hold := r.hold
	defer func() { r.hold = hold }()
	r.nodes = r.nodes[:0]
	r.reset()
	for _, i := range slices.Backward(r.way) {
		from := r.from[i]
		r.hold = r.levels[from.level]
		r.move(int(from.thread))
		r.nodes = append(r.nodes, r.path...)
	}
	clear(r.come)
	for at, n := range r.nodes {
		r.come[r.m.chain[n]]++
		if r.nextOf(r.thread) == a && r.nextOf(int(r.m.chain[b])) == b {
			copy(r.now, r.come)
			if r.ready(a) && r.ready(b) {
				return r.nodes[:at+1]
			}
		}
	}
	return nil
}

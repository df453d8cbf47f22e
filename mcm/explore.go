package mcm

import "github.com/heisen-go/heisen/mcm/order"

// explorer looks for an answer among schedules: it lets threads take steps in any
// order, first where that brings them nearest to the goal, until its budget of states
// is spent. It is where reads have choices that a schedule finds at once what follows
// from no constraint: there are many ways, and each of them is short.
//
// A thread that is in a critical section and cannot go on keeps others out and may wait
// for them. So sections are passed in one go where that is possible, and states in
// which somebody is left in one that the goal does not ask for come later.
type explorer struct {
	*moves

	found    *states
	goal     []int32
	observed []int32 // by thread: how far it was, see behind

	parent []int32   // scratch: the state that is looked at
	heap   []waiting // states to be looked at
	search uint32    // counts searches
	seen   []uint32  // by state: the last search that came by

	looked, nearby int // states that were looked at, for all questions, in search of all, and near
}

func newExplorer(m *causal, rows []int32, interrupted func() bool) *explorer {
	x := &explorer{moves: newMoves(m, interrupted)}
	x.rows = rows
	x.found = newStates(x.moves)
	return x
}

// row returns what comes before a node: by chain how many nodes.
func (x *explorer) row(n order.Node) []int32 {
	width := x.threads + 1
	return x.rows[int(n)*width : int(n)*width+width]
}

// left returns how many nodes the goal waits for in the state at hand.
func (x *explorer) left() (n int32) {
	for k, v := range x.goal[:x.threads] {
		n += max(0, v-x.now[k])
	}
	return n
}

// leftCost is what it costs that the goal waits for a node, against a node by which a
// thread is behind.
const leftCost = 4

// behind returns by how many nodes threads are behind in the state at hand that the
// question does not ask about, against the observed order when what is asked about
// came. The threads asked about may have to see what they did.
func (x *explorer) behind() (n int32) {
	for k, v := range x.observed {
		n += max(0, v-x.now[k])
	}
	return n
}

// ask sets the goal and what was observed to have come when what is asked about came.
func (x *explorer) ask(q *query) {
	m := x.m
	x.goal = x.row(m.goal)
	if x.observed == nil {
		x.observed = make([]int32, x.threads)
	}
	clear(x.observed)
	last := int32(0)
	for _, n := range q.next {
		last = max(last, m.event[n])
	}
	for _, n := range m.hint[1:] {
		if m.event[n] >= last {
			break
		}
		x.observed[m.chain[n]]++
	}
	for _, n := range q.next {
		x.observed[m.chain[n]] = 0
	}
}

// sectionCost is what it costs that a thread is in a critical section.
const sectionCost = 16

// lost returns the cost of the state at hand besides: threads in critical sections that
// the goal does not find them in.
func (x *explorer) lost() (cost int32) {
	for k := range x.threads {
		n := x.next(k)
		if n == none || x.enters[n] == none {
			continue
		}
		if goal := x.m.base[k] + order.Node(x.goal[k]); n > goal || goal > x.leaves[n] {
			cost += sectionCost
		}
	}
	return cost
}

// met returns the nodes up to where a question has its answer, if a search has come
// by there, or nil.
func (x *explorer) met(q *query) []order.Node {
	path, ok := x.found.met(q.next[0], q.next[1], x.path[:0])
	if x.path = path; !ok {
		return nil
	}
	m, come := x.m, x.now[:x.threads]
	clear(come)
	for _, n := range path {
		come[m.chain[n]]++
	}
	for _, n := range q.next {
		if !x.ready(n) {
			return nil
		}
	}
	return path
}

// How many states a search near at hand may look at from one that another search has
// found; and from all of these, in parts of what it may look at from where the observed
// order leads.
const (
	statesPerStart = 1000
	startsPerPart  = 4
)

// near looks for an answer to the question that the closure has taken in from
// states where one of the accesses asked about is next, or its thread about to take the
// locks that it holds there, the nearest to the other one first; then from where the
// observed order leads, and from ever farther back; boldly, and then in all ways. The
// states are a measure of how many it looks at from where the observed order leads. It
// returns the nodes up to the goal, or nil.
func (x *explorer) near(q *query, states int) []order.Node {
	x.ask(q)
	looked := x.looked
	defer func() { // another account
		x.nearby += x.looked - looked
		x.looked = looked
	}()
	for _, bold := range [2]bool{true, false} {
		x.room()
		if nodes := x.fromOthers(q, bold, startsPerPart*states); nodes != nil {
			return nodes
		}
		if nodes := x.fromObserved(bold, states); nodes != nil {
			return nodes
		}
	}
	return nil
}

// fromOthers looks for an answer from states that other searches have found.
func (x *explorer) fromOthers(q *query, bold bool, states int) []order.Node {
	end := x.looked + states
	for far := range pieces {
		for k, n := range q.next {
			for j, o := range q.next {
				if j == k {
					continue
				}
				for _, from := range [2]order.Node{n, x.enters[n]} {
					if from == none || x.looked >= end {
						continue
					}
					i := x.found.near(from, o, far)
					if i < 0 {
						continue
					}
					x.found.load(i, x.now)
					if x.passed() {
						continue
					}
					x.begin(bold)
					if x.wait(i) {
						return x.found.trace(i, x.path[:0])
					}
					if verdict, nodes := x.best(statesPerStart); verdict == possible {
						return nodes
					}
				}
			}
		}
	}
	return nil
}

// fromObserved looks for an answer from where the observed order leads.
func (x *explorer) fromObserved(bold bool, states int) []order.Node {
	x.begin(bold)
	far := x.follow(len(x.m.hint))
	states += statesPerNode * int(x.left())
	part, end := states/2, x.looked+states
	for back := 0; back < far && x.looked < end; back = 4*back + 4 {
		if back > 0 {
			x.begin(bold)
			x.follow(far - back)
			part = states / 4
		}
		if verdict, nodes := x.from(part); verdict == possible {
			return nodes
		}
	}
	return nil
}

// passed reports whether a thread is past the goal in the state at hand.
func (x *explorer) passed() bool {
	for k, v := range x.now[:x.threads] {
		if v > 0 && x.row(x.m.base[k] + order.Node(v) - 1)[x.threads] > 0 {
			return true
		}
	}
	return false
}

// all looks for an answer among all states, at so many at most. A verdict other
// than unknown is exact but for reads that need not see what they saw.
func (x *explorer) all(q *query, states int) (outcome, []order.Node) {
	x.room()
	x.ask(q)
	x.begin(false)
	x.reset()
	return x.from(states)
}

// statesPerNode is how many states a search near at hand may look at for each node
// that the goal waits for.
const statesPerNode = 8

// room forgets what was found if there is no room for more.
func (x *explorer) room() {
	if x.found.full() {
		x.found.reset()
		clear(x.seen)
	}
}

// begin begins a search.
func (x *explorer) begin(bold bool) {
	x.bold = bold
	x.heap = x.heap[:0]
	x.search++
}

// follow goes along the observed order, as far as that is possible, for so many
// steps at most, and returns how many there were.
func (x *explorer) follow(steps int) int {
	x.reset()
	for _, n := range x.m.hint[1:] {
		if len(x.path) == steps {
			break
		}
		k := x.m.chain[n]
		if x.row(n)[x.threads] > 0 {
			continue
		}
		if x.m.pos(n) != x.now[k] || !x.possible(n) {
			break
		}
		x.step(n)
	}
	return len(x.path)
}

// from looks at the state at hand, which x.path has led to from the window's start, and
// at what follows from it, see best. An answer in the negative is one to the question if
// it is the window's start.
func (x *explorer) from(states int) (outcome, []order.Node) {
	if i := x.push(-1); i >= 0 {
		return possible, x.found.trace(i, x.path[:0])
	}
	return x.best(states)
}

// best looks at the states that wait, and at states that follow from them, the best
// first, at so many at most. It returns impossible if these were all and there is no
// answer among them.
func (x *explorer) best(states int) (outcome, []order.Node) {
	for range states {
		if len(x.heap) == 0 {
			if x.exact {
				return impossible, nil
			}
			return unknown, nil
		}
		if x.found.full() || x.looked%interruptEvery == 0 && x.interrupted() {
			break
		}
		x.looked++
		at := x.pop()
		x.found.load(at, x.now)
		x.parent = append(x.parent[:0], x.now...)
		for k := range x.threads {
			copy(x.now, x.parent)
			x.path = x.path[:0]
			n := x.next(k)
			if n == none || !x.possible(n) {
				continue
			}
			if x.m.begins[n] >= 0 {
				if x.through(k) {
					if i := x.push(at); i >= 0 {
						return possible, x.found.trace(i, x.path[:0])
					}
				}
				copy(x.now, x.parent)
				x.path = x.path[:0]
			}
			x.step(n)
			if i := x.push(at); i >= 0 {
				return possible, x.found.trace(i, x.path[:0])
			}
		}
	}
	return unknown, nil
}

// push settles the state at hand and lets it wait if it is new. It returns it if it is
// the goal, else -1.
func (x *explorer) push(parent int32) int32 {
	x.settle()
	i := x.found.add(x.now, parent, x.path)
	if x.wait(i) {
		return i
	}
	return -1
}

// wait lets the state at hand, the i-th, wait, unless the search has come by before,
// and reports whether it is the goal.
func (x *explorer) wait(i int32) bool {
	for int(i) >= len(x.seen) {
		x.seen = append(x.seen, 0)
	}
	if x.seen[i] == x.search {
		return false
	}
	x.seen[i] = x.search
	left := x.left()
	x.heap = append(x.heap, waiting{i, leftCost*left + x.behind() + x.lost()})
	x.up(len(x.heap) - 1)
	return left == 0
}

func (x *explorer) up(i int) {
	for i > 0 {
		p := (i - 1) / 2
		if !x.heap[i].above(x.heap[p]) {
			return
		}
		x.heap[i], x.heap[p] = x.heap[p], x.heap[i]
		i = p
	}
}

func (x *explorer) pop() int32 {
	top := x.heap[0].state
	last := len(x.heap) - 1
	x.heap[0] = x.heap[last]
	x.heap = x.heap[:last]
	for i := 0; ; {
		k := 2*i + 1
		if k >= last {
			return top
		}
		if k+1 < last && x.heap[k+1].above(x.heap[k]) {
			k++
		}
		if !x.heap[k].above(x.heap[i]) {
			return top
		}
		x.heap[i], x.heap[k] = x.heap[k], x.heap[i]
		i = k
	}
}

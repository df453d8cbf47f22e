package explore

import (
	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/moves"
	"github.com/heisen-go/heisen/mcm/order"
)

// Explorer looks for an answer among schedules: it lets threads take steps in any
// order, first where that brings them nearest to the goal, until its budget of states
// is spent. It is where reads have choices that a schedule finds at once what follows
// from no constraint: there are many ways, and each of them is short.
//
// A thread that is in a critical section and cannot go on keeps others out and may wait
// for them. So sections are passed in one go where that is possible, and states in
// which somebody is left in one that the goal does not ask for come later.
type Explorer struct {
	*moves.Machine

	found    *store
	goal     []int32
	observed []int32 // by thread: how far it was, see behind

	parent []int32        // scratch: the state that is looked at
	heap   []moves.Ranked // states to be looked at
	search uint32         // counts searches
	seen   []uint32       // by state: the last search that came by

	Looked, Nearby int // states that were looked at, for all questions, in search of all, and near
}

func New(m *model.Model, rows []int32, interrupted func() bool) *Explorer {
	x := &Explorer{Machine: moves.New(m, interrupted)}
	x.Rows = rows
	x.found = newStore(x.Machine)
	return x
}

// row returns what comes before a node: by chain how many nodes.
func (x *Explorer) row(n order.Node) []int32 {
	width := x.Threads + 1
	return x.Rows[int(n)*width : int(n)*width+width]
}

// left returns how many nodes the goal waits for in the state at hand.
func (x *Explorer) left() (n int32) {
	for k, v := range x.goal[:x.Threads] {
		n += max(0, v-x.Now[k])
	}
	return n
}

// leftCost is what it costs that the goal waits for a node, against a node by which a
// thread is behind.
const leftCost = 4

// behind returns by how many nodes threads are behind in the state at hand that the
// question does not ask about, against the observed order when what is asked about
// came. The threads asked about may have to see what they did.
func (x *Explorer) behind() (n int32) {
	for k, v := range x.observed {
		n += max(0, v-x.Now[k])
	}
	return n
}

// ask sets the goal and what was observed to have come when what is asked about came.
func (x *Explorer) ask(q *model.Query) {
	m := x.M
	x.goal = x.row(m.Goal)
	if x.observed == nil {
		x.observed = make([]int32, x.Threads)
	}
	clear(x.observed)
	last := int32(0)
	for _, n := range q.Pending {
		last = max(last, m.Event[n])
	}
	for _, n := range m.Observed[1:] {
		if m.Event[n] >= last {
			break
		}
		x.observed[m.Chain[n]]++
	}
	for _, n := range q.Pending {
		x.observed[m.Chain[n]] = 0
	}
}

// sectionCost is what it costs that a thread is in a critical section.
const sectionCost = 16

// lost returns the cost of the state at hand besides: threads in critical sections that
// the goal does not find them in.
func (x *Explorer) lost() (cost int32) {
	for k := range x.Threads {
		n := x.Next(k)
		if n == model.None || x.Enters[n] == model.None {
			continue
		}
		if goal := x.M.Base[k] + order.Node(x.goal[k]); n > goal || goal > x.Leaves[n] {
			cost += sectionCost
		}
	}
	return cost
}

// Witness returns the nodes up to where a question has its answer, if a search has come
// by there, or nil.
func (x *Explorer) Witness(q *model.Query) []order.Node {
	path, ok := x.found.met(q.Pending[0], q.Pending[1], x.Path[:0])
	if x.Path = path; !ok {
		return nil
	}
	m, come := x.M, x.Now[:x.Threads]
	clear(come)
	for _, n := range path {
		come[m.Chain[n]]++
	}
	for _, n := range q.Pending {
		if !x.IsPending(n) {
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

// Near looks for an answer to the question that the closure has taken in from
// states where one of the accesses asked about is next, or its thread about to take the
// locks that it holds there, the nearest to the other one first; then from where the
// observed order leads, and from ever farther back; boldly, and then in all ways. The
// states are a measure of how many it looks at from where the observed order leads. It
// returns the nodes up to the goal, or nil.
func (x *Explorer) Near(q *model.Query, states int) []order.Node {
	x.ask(q)
	looked := x.Looked
	defer func() { // another account
		x.Nearby += x.Looked - looked
		x.Looked = looked
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
func (x *Explorer) fromOthers(q *model.Query, bold bool, states int) []order.Node {
	end := x.Looked + states
	for far := range pieces {
		for k, n := range q.Pending {
			for j, o := range q.Pending {
				if j == k {
					continue
				}
				for _, from := range [2]order.Node{n, x.Enters[n]} {
					if from == model.None || x.Looked >= end {
						continue
					}
					i := x.found.near(from, o, far)
					if i < 0 {
						continue
					}
					x.found.load(i, x.Now)
					if x.passed() {
						continue
					}
					x.begin(bold)
					if x.wait(i) {
						return x.found.trace(i, x.Path[:0])
					}
					if verdict, nodes := x.best(statesPerStart); verdict == model.Possible {
						return nodes
					}
				}
			}
		}
	}
	return nil
}

// fromObserved looks for an answer from where the observed order leads.
func (x *Explorer) fromObserved(bold bool, states int) []order.Node {
	x.begin(bold)
	far := x.follow(len(x.M.Observed))
	states += statesPerNode * int(x.left())
	part, end := states/2, x.Looked+states
	for back := 0; back < far && x.Looked < end; back = 4*back + 4 {
		if back > 0 {
			x.begin(bold)
			x.follow(far - back)
			part = states / 4
		}
		if verdict, nodes := x.from(part); verdict == model.Possible {
			return nodes
		}
	}
	return nil
}

// passed reports whether a thread is past the goal in the state at hand.
func (x *Explorer) passed() bool {
	for k, v := range x.Now[:x.Threads] {
		if v > 0 && x.row(x.M.Base[k] + order.Node(v) - 1)[x.Threads] > 0 {
			return true
		}
	}
	return false
}

// All looks for an answer among all states, at so many at most. A verdict other
// than unknown is exact but for reads that need not see what they saw.
func (x *Explorer) All(q *model.Query, states int) (model.Verdict, []order.Node) {
	x.room()
	x.ask(q)
	x.begin(false)
	x.Reset()
	return x.from(states)
}

// statesPerNode is how many states a search near at hand may look at for each node
// that the goal waits for.
const statesPerNode = 8

// room forgets what was found if there is no room for more.
func (x *Explorer) room() {
	if x.found.full() {
		x.found.reset()
		clear(x.seen)
	}
}

// begin begins a search.
func (x *Explorer) begin(bold bool) {
	x.SilentWrites = bold
	x.heap = x.heap[:0]
	x.search++
}

// follow goes along the observed order, as far as that is possible, for so many
// steps at most, and returns how many there were.
func (x *Explorer) follow(steps int) int {
	x.Reset()
	for _, n := range x.M.Observed[1:] {
		if len(x.Path) == steps {
			break
		}
		k := x.M.Chain[n]
		if x.row(n)[x.Threads] > 0 {
			continue
		}
		if x.M.Pos(n) != x.Now[k] || !x.CanStep(n) {
			break
		}
		x.Step(n)
	}
	return len(x.Path)
}

// from looks at the state at hand, which x.path has led to from the window's start, and
// at what follows from it, see best. An answer in the negative is one to the question if
// it is the window's start.
func (x *Explorer) from(states int) (model.Verdict, []order.Node) {
	if i := x.push(-1); i >= 0 {
		return model.Possible, x.found.trace(i, x.Path[:0])
	}
	return x.best(states)
}

// best looks at the states that wait, and at states that follow from them, the best
// first, at so many at most. It returns impossible if these were all and there is no
// answer among them.
func (x *Explorer) best(states int) (model.Verdict, []order.Node) {
	for range states {
		if len(x.heap) == 0 {
			if x.Exact {
				return model.Impossible, nil
			}
			return model.Unknown, nil
		}
		if x.found.full() || x.Looked%moves.InterruptEvery == 0 && x.Interrupted() {
			break
		}
		x.Looked++
		at := x.pop()
		x.found.load(at, x.Now)
		x.parent = append(x.parent[:0], x.Now...)
		for k := range x.Threads {
			copy(x.Now, x.parent)
			x.Path = x.Path[:0]
			n := x.Next(k)
			if n == model.None || !x.CanStep(n) {
				continue
			}
			if x.M.Begins[n] >= 0 {
				if x.PassSection(k) {
					if i := x.push(at); i >= 0 {
						return model.Possible, x.found.trace(i, x.Path[:0])
					}
				}
				copy(x.Now, x.parent)
				x.Path = x.Path[:0]
			}
			x.Step(n)
			if i := x.push(at); i >= 0 {
				return model.Possible, x.found.trace(i, x.Path[:0])
			}
		}
	}
	return model.Unknown, nil
}

// push settles the state at hand and lets it wait if it is new. It returns it if it is
// the goal, else -1.
func (x *Explorer) push(parent int32) int32 {
	x.Settle()
	i := x.found.add(x.Now, parent, x.Path)
	if x.wait(i) {
		return i
	}
	return -1
}

// wait lets the state at hand, the i-th, wait, unless the search has come by before,
// and reports whether it is the goal.
func (x *Explorer) wait(i int32) bool {
	for int(i) >= len(x.seen) {
		x.seen = append(x.seen, 0)
	}
	if x.seen[i] == x.search {
		return false
	}
	x.seen[i] = x.search
	left := x.left()
	x.heap = append(x.heap, moves.Ranked{State: i, Cost: leftCost*left + x.behind() + x.lost()})
	x.up(len(x.heap) - 1)
	return left == 0
}

func (x *Explorer) up(i int) {
	for i > 0 {
		p := (i - 1) / 2
		if !x.heap[i].Before(x.heap[p]) {
			return
		}
		x.heap[i], x.heap[p] = x.heap[p], x.heap[i]
		i = p
	}
}

func (x *Explorer) pop() int32 {
	top := x.heap[0].State
	last := len(x.heap) - 1
	x.heap[0] = x.heap[last]
	x.heap = x.heap[:last]
	for i := 0; ; {
		k := 2*i + 1
		if k >= last {
			return top
		}
		if k+1 < last && x.heap[k+1].Before(x.heap[k]) {
			k++
		}
		if !x.heap[k].Before(x.heap[i]) {
			return top
		}
		x.heap[i], x.heap[k] = x.heap[k], x.heap[i]
		i = k
	}
}

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

	store         *store
	goal          []int32
	observedCount []int32 // by thread: how far it was, see behind

	parent     []int32        // scratch: the state that is looked at
	frontier   []moves.Ranked // states to be looked at
	searchID   uint32         // counts searches
	lastSearch []uint32       // by state: the last search that came by

	Expanded, ExpandedNear int // states that were looked at, for all questions, in search of all, and near
}

func New(m *model.Model, rows []int32, interrupted func() bool) *Explorer {
	x := &Explorer{Machine: moves.New(m, interrupted)}
	x.Rows = rows
	x.store = newStore(x.Machine)
	return x
}

// row returns what comes before a node: by chain how many nodes.
func (x *Explorer) row(n order.Node) []int32 {
	width := x.Threads + 1
	return x.Rows[int(n)*width : int(n)*width+width]
}

// distance returns how many nodes the goal waits for in the state at hand.
func (x *Explorer) distance() (n int32) {
	for k, v := range x.goal[:x.Threads] {
		n += max(0, v-x.State[k])
	}
	return n
}

// distanceCost is what it costs that the goal waits for a node, against a node by which a
// thread is behind.
const distanceCost = 4

// lag returns by how many nodes threads are behind in the state at hand that the
// question does not ask about, against the observed order when what is asked about
// came. The threads asked about may have to see what they did.
func (x *Explorer) lag() (n int32) {
	for k, v := range x.observedCount {
		n += max(0, v-x.State[k])
	}
	return n
}

// setQuery sets the goal and what was observed to have come when what is asked about came.
func (x *Explorer) setQuery(q *model.Query) {
	m := x.Model
	x.goal = x.row(m.Goal)
	if x.observedCount == nil {
		x.observedCount = make([]int32, x.Threads)
	}
	clear(x.observedCount)
	last := int32(0)
	for _, n := range q.Pending {
		last = max(last, m.Event[n])
	}
	for _, n := range m.Observed[1:] {
		if m.Event[n] >= last {
			break
		}
		x.observedCount[m.Chain[n]]++
	}
	for _, n := range q.Pending {
		x.observedCount[m.Chain[n]] = 0
	}
}

// sectionCost is what it costs that a thread is in a critical section.
const sectionCost = 16

// sectionPenalty returns the cost of the state at hand besides: threads in critical sections that
// the goal does not find them in.
func (x *Explorer) sectionPenalty() (cost int32) {
	for k := range x.Threads {
		n := x.NextNode(k)
		if n == model.None || x.RegionStart[n] == model.None {
			continue
		}
		if goal := x.Model.Base[k] + order.Node(x.goal[k]); n > goal || goal > x.RegionEnd[n] {
			cost += sectionCost
		}
	}
	return cost
}

// Witness returns the nodes up to where a question has its answer, if a search has come
// by there, or nil.
func (x *Explorer) Witness(q *model.Query) []order.Node {
	path, ok := x.store.pathToMeeting(q.Pending[0], q.Pending[1], x.Path[:0])
	if x.Path = path; !ok {
		return nil
	}
	m, come := x.Model, x.State[:x.Threads]
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
	x.setQuery(q)
	looked := x.Expanded
	defer func() { // another account
		x.ExpandedNear += x.Expanded - looked
		x.Expanded = looked
	}()
	for _, bold := range [2]bool{true, false} {
		x.makeRoom()
		if nodes := x.nearStored(q, bold, startsPerPart*states); nodes != nil {
			return nodes
		}
		if nodes := x.nearObserved(bold, states); nodes != nil {
			return nodes
		}
	}
	return nil
}

// nearStored looks for an answer from states that other searches have found.
func (x *Explorer) nearStored(q *model.Query, bold bool, states int) []order.Node {
	end := x.Expanded + states
	for far := range piecesPerThread {
		for k, n := range q.Pending {
			for j, o := range q.Pending {
				if j == k {
					continue
				}
				for _, from := range [2]order.Node{n, x.RegionStart[n]} {
					if from == model.None || x.Expanded >= end {
						continue
					}
					i := x.store.start(from, o, far)
					if i < 0 {
						continue
					}
					x.store.load(i, x.State)
					if x.overshoots() {
						continue
					}
					x.beginSearch(bold)
					if x.enqueue(i) {
						return x.store.pathTo(i, x.Path[:0])
					}
					if verdict, nodes := x.bestFirst(statesPerStart); verdict == model.Possible {
						return nodes
					}
				}
			}
		}
	}
	return nil
}

// nearObserved looks for an answer from where the observed order leads.
func (x *Explorer) nearObserved(bold bool, states int) []order.Node {
	x.beginSearch(bold)
	far := x.followObserved(len(x.Model.Observed))
	states += statesPerNode * int(x.distance())
	part, end := states/2, x.Expanded+states
	for back := 0; back < far && x.Expanded < end; back = 4*back + 4 {
		if back > 0 {
			x.beginSearch(bold)
			x.followObserved(far - back)
			part = states / 4
		}
		if verdict, nodes := x.searchFrom(part); verdict == model.Possible {
			return nodes
		}
	}
	return nil
}

// overshoots reports whether a thread is past the goal in the state at hand.
func (x *Explorer) overshoots() bool {
	for k, v := range x.State[:x.Threads] {
		if v > 0 && x.row(x.Model.Base[k] + order.Node(v) - 1)[x.Threads] > 0 {
			return true
		}
	}
	return false
}

// All looks for an answer among all states, at so many at most. A verdict other
// than unknown is exact but for reads that need not see what they saw.
func (x *Explorer) All(q *model.Query, states int) (model.Verdict, []order.Node) {
	x.makeRoom()
	x.setQuery(q)
	x.beginSearch(false)
	x.Reset()
	return x.searchFrom(states)
}

// statesPerNode is how many states a search near at hand may look at for each node
// that the goal waits for.
const statesPerNode = 8

// makeRoom forgets what was found if there is no room for more.
func (x *Explorer) makeRoom() {
	if x.store.full() {
		x.store.reset()
		clear(x.lastSearch)
	}
}

// beginSearch begins a search.
func (x *Explorer) beginSearch(bold bool) {
	x.SilentWrites = bold
	x.frontier = x.frontier[:0]
	x.searchID++
}

// followObserved goes along the observed order, as far as that is possible, for so many
// steps at most, and returns how many there were.
func (x *Explorer) followObserved(steps int) int {
	x.Reset()
	for _, n := range x.Model.Observed[1:] {
		if len(x.Path) == steps {
			break
		}
		k := x.Model.Chain[n]
		if x.row(n)[x.Threads] > 0 {
			continue
		}
		if x.Model.Pos(n) != x.State[k] || !x.Enabled(n) {
			break
		}
		x.Step(n)
	}
	return len(x.Path)
}

// searchFrom looks at the state at hand, which x.path has led to from the window's start, and
// at what follows from it, see best. An answer in the negative is one to the question if
// it is the window's start.
func (x *Explorer) searchFrom(states int) (model.Verdict, []order.Node) {
	if i := x.addState(-1); i >= 0 {
		return model.Possible, x.store.pathTo(i, x.Path[:0])
	}
	return x.bestFirst(states)
}

// bestFirst looks at the states that wait, and at states that follow from them, the best
// first, at so many at most. It returns impossible if these were all and there is no
// answer among them.
func (x *Explorer) bestFirst(states int) (model.Verdict, []order.Node) {
	for range states {
		if len(x.frontier) == 0 {
			if x.Exact {
				return model.Impossible, nil
			}
			return model.Unknown, nil
		}
		if x.store.full() || x.Expanded%moves.InterruptEvery == 0 && x.Interrupted() {
			break
		}
		x.Expanded++
		at := x.pop()
		x.store.load(at, x.State)
		x.parent = append(x.parent[:0], x.State...)
		for k := range x.Threads {
			copy(x.State, x.parent)
			x.Path = x.Path[:0]
			n := x.NextNode(k)
			if n == model.None || !x.Enabled(n) {
				continue
			}
			if x.Model.Begins[n] >= 0 {
				if x.RunSection(k) {
					if i := x.addState(at); i >= 0 {
						return model.Possible, x.store.pathTo(i, x.Path[:0])
					}
				}
				copy(x.State, x.parent)
				x.Path = x.Path[:0]
			}
			x.Step(n)
			if i := x.addState(at); i >= 0 {
				return model.Possible, x.store.pathTo(i, x.Path[:0])
			}
		}
	}
	return model.Unknown, nil
}

// addState settles the state at hand and lets it wait if it is new. It returns it if it is
// the goal, else -1.
func (x *Explorer) addState(parent int32) int32 {
	x.TakeMovers()
	i := x.store.add(x.State, parent, x.Path)
	if x.enqueue(i) {
		return i
	}
	return -1
}

// enqueue lets the state at hand, the i-th, wait, unless the search has come by before,
// and reports whether it is the goal.
func (x *Explorer) enqueue(i int32) bool {
	for int(i) >= len(x.lastSearch) {
		x.lastSearch = append(x.lastSearch, 0)
	}
	if x.lastSearch[i] == x.searchID {
		return false
	}
	x.lastSearch[i] = x.searchID
	left := x.distance()
	x.frontier = append(x.frontier, moves.Ranked{State: i, Cost: distanceCost*left + x.lag() + x.sectionPenalty()})
	x.siftUp(len(x.frontier) - 1)
	return left == 0
}

func (x *Explorer) siftUp(i int) {
	for i > 0 {
		p := (i - 1) / 2
		if !x.frontier[i].Before(x.frontier[p]) {
			return
		}
		x.frontier[i], x.frontier[p] = x.frontier[p], x.frontier[i]
		i = p
	}
}

func (x *Explorer) pop() int32 {
	top := x.frontier[0].State
	last := len(x.frontier) - 1
	x.frontier[0] = x.frontier[last]
	x.frontier = x.frontier[:last]
	for i := 0; ; {
		k := 2*i + 1
		if k >= last {
			return top
		}
		if k+1 < last && x.frontier[k+1].Before(x.frontier[k]) {
			k++
		}
		if !x.frontier[k].Before(x.frontier[i]) {
			return top
		}
		x.frontier[i], x.frontier[k] = x.frontier[k], x.frontier[i]
		i = k
	}
}

package explore

import (
	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/moves"
	"github.com/heisen-go/heisen/mcm/order"
)

// Explorer searches the states of one model, for one query after the other.
type Explorer struct {
	*moves.Machine

	store         *store
	goal          []int32 // by thread: how many nodes come before the goal
	observedCount []int32 // by thread: how many nodes it had executed in the observed order; see lag

	parent     []int32        // scratch: the state that is being expanded
	frontier   []moves.Ranked // a heap, least cost first
	searchID   uint32         // number of the current search
	lastSearch []uint32       // by state: the last search that reached it

	Expanded, ExpandedNear int // states that All and Near have expanded, for all queries
}

// New returns an explorer of a model. The rows, which may change between searches, hold what comes
// before each node, the query included.
func New(m *model.Model, rows []int32, interrupted func() bool) *Explorer {
	x := &Explorer{Machine: moves.New(m, interrupted)}
	x.Rows = rows
	x.store = newStore(x.Machine)
	return x
}

// row returns what comes before a node: the number of nodes by thread.
func (x *Explorer) row(n order.Node) []int32 {
	width := x.Threads + 1
	return x.Rows[int(n)*width : int(n)*width+width]
}

// distance returns how many nodes the goal still needs in the current state.
func (x *Explorer) distance() (n int32) {
	for k, v := range x.goal[:x.Threads] {
		n += max(0, v-x.State[k])
	}
	return n
}

// distanceCost is the cost of a node that the goal still needs. A node by which a thread lags
// costs 1.
const distanceCost = 4

// lag returns by how many nodes threads lag behind the observed order at the time of the query's
// nodes. It does not count the threads of the query, which may have to be elsewhere.
func (x *Explorer) lag() (n int32) {
	for k, v := range x.observedCount {
		n += max(0, v-x.State[k])
	}
	return n
}

// setQuery computes the goal and observedCount for a query.
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

// sectionCost is the cost of a thread in a critical section that the goal does not need.
const sectionCost = 16

// sectionPenalty returns the cost of the threads that are in critical sections where the goal does
// not need them.
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

// Witness returns a path after which the two nodes of a query are pending, if an earlier search
// has come across one, or nil. The path is valid until the next call.
func (x *Explorer) Witness(q *model.Query) []order.Node {
	path, ok := x.store.pathToMeeting(q.Pending[0], q.Pending[1], x.Path[:0])
	if x.Path = path; !ok {
		return nil
	}
	m, count := x.Model, x.State[:x.Threads]
	clear(count)
	for _, n := range path {
		count[m.Chain[n]]++
	}
	for _, n := range q.Pending {
		if !x.IsPending(n) {
			return nil
		}
	}
	return path
}

// Budgets of searches that start from stored states.
const (
	// statesPerStart bounds the states of a search from one stored state.
	statesPerStart = 1000
	// startsPerPart bounds the states of the searches from all stored states, as a multiple of
	// those from the observed order.
	startsPerPart = 4
)

// Near searches for the goal from states close to it. It first starts from stored states in which
// one node of the query is pending, or in which its thread is about to enter the locked region
// around the node, then from states along the observed order, each time farther back. It does all
// this with silent writes as movers, and then without. The budget is the number of states for the
// searches along the observed order. Near returns the path to the goal, or nil.
func (x *Explorer) Near(q *model.Query, states int) []order.Node {
	x.setQuery(q)
	looked := x.Expanded
	defer func() { // count these states separately
		x.ExpandedNear += x.Expanded - looked
		x.Expanded = looked
	}()
	for _, silentWrites := range [2]bool{true, false} {
		x.makeRoom()
		if nodes := x.nearStored(q, silentWrites, startsPerPart*states); nodes != nil {
			return nodes
		}
		if nodes := x.nearObserved(silentWrites, states); nodes != nil {
			return nodes
		}
	}
	return nil
}

// nearStored searches from stored states, those nearest to the goal first.
func (x *Explorer) nearStored(q *model.Query, silentWrites bool, states int) []order.Node {
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
					x.beginSearch(silentWrites)
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

// nearObserved searches from the farthest state that the observed order reaches, and from earlier
// ones.
func (x *Explorer) nearObserved(silentWrites bool, states int) []order.Node {
	x.beginSearch(silentWrites)
	far := x.followObserved(len(x.Model.Observed))
	states += statesPerNode * int(x.distance())
	part, end := states/2, x.Expanded+states
	for back := 0; back < far && x.Expanded < end; back = 4*back + 4 {
		if back > 0 {
			x.beginSearch(silentWrites)
			x.followObserved(far - back)
			part = states / 4
		}
		if verdict, nodes := x.searchFrom(part); verdict == model.Possible {
			return nodes
		}
	}
	return nil
}

// overshoots reports whether a thread has executed a node that comes after the goal.
func (x *Explorer) overshoots() bool {
	for k, v := range x.State[:x.Threads] {
		if v > 0 && x.row(x.Model.Base[k] + order.Node(v) - 1)[x.Threads] > 0 {
			return true
		}
	}
	return false
}

// All searches from the start of the window and expands at most the given number of states. It
// answers "impossible" only if the states are exact and it has expanded all of them. The path to
// the goal is valid until the next call.
func (x *Explorer) All(q *model.Query, states int) (model.Verdict, []order.Node) {
	x.makeRoom()
	x.setQuery(q)
	x.beginSearch(false)
	x.Reset()
	return x.searchFrom(states)
}

// statesPerNode is how many states nearObserved may expand in addition for each node that the goal
// still needs.
const statesPerNode = 8

// makeRoom empties the store if it is full.
func (x *Explorer) makeRoom() {
	if x.store.full() {
		x.store.reset()
		clear(x.lastSearch)
	}
}

// beginSearch empties the frontier. A search with silentWrites treats silent writes as movers.
func (x *Explorer) beginSearch(silentWrites bool) {
	x.SilentWrites = silentWrites
	x.frontier = x.frontier[:0]
	x.searchID++
}

// followObserved executes nodes in the observed order from the start of the window, at most the
// given number, up to the first node that is not enabled. It leaves out nodes that come after the
// goal. It returns the number of executed nodes.
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

// searchFrom searches from the current state, to which Path leads from the start of the window.
func (x *Explorer) searchFrom(states int) (model.Verdict, []order.Node) {
	if i := x.addState(-1); i >= 0 {
		return model.Possible, x.store.pathTo(i, x.Path[:0])
	}
	return x.bestFirst(states)
}

// bestFirst expands states of the frontier, least cost first, at most the given number. It answers
// "impossible" if the frontier is empty and states are exact. That answer holds for the query only
// if the search began at the start of the window.
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

// addState executes all movers, stores the current state and adds it to the frontier. It returns
// the state's number if the state is the goal, otherwise -1.
func (x *Explorer) addState(parent int32) int32 {
	x.TakeMovers()
	i := x.store.add(x.State, parent, x.Path)
	if x.enqueue(i) {
		return i
	}
	return -1
}

// enqueue adds the current state, number i, to the frontier, unless this search has reached it
// before. It reports whether the state is the goal.
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

package moves

import (
	"slices"

	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/order"
)

// Machine is the transition system of a model, with one current state. See the package
// documentation.
type Machine struct {
	Model *model.Model

	WriteClass   []int32      // by access: the value class that it writes
	InitialClass []int32      // by cell: the value class at the start of the window
	ReadClass    []int32      // by read: the value class that it requires
	RegionStart  []order.Node // by node: the outermost acquisition whose lock its thread still holds, or None
	RegionEnd    []order.Node // by node: the last node with the same RegionStart
	Transitions  []Transition // by node
	requirements []CellValue  // the required values of all movable critical sections
	dependsOn    []uint64     // by node: bits of what can enable movers of its thread from it on; nil before findDependencies
	changes      []uint64     // by node: bits of what it changes
	Exact        bool         // states contain everything that constraints depend on: exhaustion proves impossibility

	Threads, Cells, locks, StateSize int // components of a state; see State

	Rows         []int32    // by node and thread: how many nodes come before the node; the last column marks nodes after the goal
	HoldAt       order.Node // a node that is never enabled, to hold its thread back, or None
	AlsoHoldAt   order.Node // another such node, or None
	SilentWrites bool       // treat silent writes as movers

	State []int32      // the current state: thread positions, cell classes, lock counts (exclusive, shared), send counts
	Path  []order.Node // the nodes that were executed since the parent state, or since Reset

	Interrupted func() bool // reports whether the search must end early
}

// InterruptEvery is the number of expanded states between two calls of Machine.Interrupted. It is
// a power of two. In a window of 10,000 events a state takes up to a millisecond.
const InterruptEvery = 1 << 6

// Transition is what a node requires of a state, and how it changes the state.
type Transition struct {
	thread          int32
	Cell            int32    // the cell that it accesses, NoCell or ManyCells
	Required        int32    // the class that it reads from Cell; NoCell if it reads nothing, ManyCells if Cell is
	Written         int32    // the class that it writes to Cell; NoCell if it writes nothing, ManyCells if Cell is
	acquires        int32    // index in a state of the exclusive count of the lock that it acquires, followed by the shared count; 0 if none
	releases        int32    // index in a state of the count that it decrements; 0 if none
	shared          bool     // the acquisition is shared
	Writes          bool     // it writes at least one cell
	Message         bool     // it sends or receives
	ChecksOrder     bool     // Enabled must compare its row: it can have more predecessors than the node before it
	Mover           bool     // it is a mover in every state, apart from its acquisition
	movableSection  bool     // it begins a critical section that changes no cell if the requirements hold
	ReadOnlySection bool     // it begins a movable section in which all nodes are movers
	requirements    [2]int32 // bounds of the section's part of Machine.requirements
}

const (
	// NoCell means that a node accesses no cell.
	NoCell = -1
	// ManyCells means that a node accesses several cells; Model.Accesses lists them.
	ManyCells = -2
)

// New returns the transition system of a model. Searches call interrupted from time to time and
// stop when it returns true.
func New(m *model.Model, interrupted func() bool) *Machine {
	x := &Machine{
		Model: m, WriteClass: make([]int32, len(m.Accesses)), InitialClass: make([]int32, len(m.Cells)), ReadClass: make([]int32, len(m.Reads)),
		Threads: len(m.Base) - 2, Cells: len(m.Cells), locks: len(m.Locks),
		Exact: m.Flow == nil, Rows: m.Rows, HoldAt: model.None, AlsoHoldAt: model.None, Interrupted: interrupted,
	}
	x.StateSize = x.Threads + x.Cells + 2*x.locks + len(m.Messages)
	x.State = make([]int32, x.StateSize)
	x.assignClasses()
	x.findTransitions()
	x.findLockedRegions()
	x.findMovers()
	return x
}

// depthChange returns how a node changes the number of held critical sections that its thread
// began at first or later.
func (x *Machine) depthChange(n, first order.Node) (by int) {
	m := x.Model
	if m.Begins[n] >= 0 {
		by++
	}
	if id := m.Ends[n]; id >= 0 && m.Sections[id].Chain == m.Chain[n] && m.Sections[id].Acquire >= first {
		by--
	}
	return by
}

// Reset makes the start of the window the current state.
func (x *Machine) Reset() {
	clear(x.State)
	copy(x.State[x.Threads:], x.InitialClass)
	x.Path = x.Path[:0]
	for i := range x.Model.Locks {
		for _, id := range x.Model.Locks[i].Sections {
			s := &x.Model.Sections[id]
			if s.Acquire != model.None {
				break
			}
			at := x.lockIndex(s.Lock)
			if s.Shared {
				at++
			}
			x.State[at]++
		}
	}
}

// lockIndex returns the index in a state of a lock's exclusive count. The shared count follows.
func (x *Machine) lockIndex(lock int32) int32 { return int32(x.Threads+x.Cells) + 2*lock }

// Value returns the current class of a cell.
func (x *Machine) Value(cell int32) int32 {
	return x.State[x.Threads+int(cell)]
}

// NextNode returns the next node of thread k, or None at the end of the thread.
func (x *Machine) NextNode(k int) order.Node {
	n := x.Model.Base[k] + order.Node(x.State[k])
	if n == x.Model.Base[k+1] {
		return model.None
	}
	return n
}

// Enabled reports whether n, which is the next node of its thread, can be executed in the current
// state.
func (x *Machine) Enabled(n order.Node) bool {
	if n == x.HoldAt || n == x.AlsoHoldAt {
		return false
	}
	a := &x.Transitions[n]
	if a.Required >= 0 {
		if a.Required != x.Value(a.Cell) {
			return false
		}
	} else if a.Required == ManyCells && !x.readsSatisfied(n) {
		return false
	}
	if a.ChecksOrder && !x.predecessorsDone(n) {
		return false
	}
	if at := a.acquires; at > 0 && (x.State[at] > 0 || x.State[at+1] > 0 && !a.shared) {
		return false
	}
	if m := x.Model; a.Message && m.Receives(n) {
		return x.State[x.StateSize-len(m.Messages)+int(m.Message[n])] == m.Rank[n]
	}
	return true
}

// readsSatisfied reports whether all cells that a node reads hold the required classes.
func (x *Machine) readsSatisfied(n order.Node) bool {
	m := x.Model
	for _, t := range m.Accesses[m.AccessAt[n]:m.AccessAt[n+1]] {
		if t.Read >= 0 && x.ReadClass[t.Read] != x.Value(t.Cell) {
			return false
		}
	}
	return true
}

// predecessorsDone reports whether all nodes that must come before n have been executed.
func (x *Machine) predecessorsDone(n order.Node) bool {
	own := int(x.Model.Chain[n])
	width := x.Threads + 1
	row := x.Rows[int(n)*width : int(n)*width+width]
	if row[x.Threads] > 0 {
		return false // the node comes after the goal
	}
	for k, v := range row[:x.Threads] {
		if v > x.State[k] && k != own {
			return false
		}
	}
	return true
}

// isMover reports whether an enabled node is a mover in the current state, apart from its
// acquisition.
func (x *Machine) isMover(n order.Node) bool {
	a := &x.Transitions[n]
	switch {
	case a.Mover || !x.SilentWrites:
		return a.Mover
	case a.Message && !x.Model.Receives(n):
		return false
	case a.Cell == ManyCells:
		return !x.Changes(n)
	}
	return a.Written == x.Value(a.Cell)
}

// Changes reports whether a node would change the class of a cell.
func (x *Machine) Changes(n order.Node) bool {
	m := x.Model
	for i := m.AccessAt[n]; i < m.AccessAt[n+1]; i++ {
		if t := &m.Accesses[i]; t.Write && x.WriteClass[i] != x.Value(t.Cell) {
			return true
		}
	}
	return false
}

// Step executes an enabled node.
func (x *Machine) Step(n order.Node) {
	m, a := x.Model, &x.Transitions[n]
	x.State[a.thread]++
	x.Path = append(x.Path, n)
	if a.Written >= 0 {
		x.State[x.Threads+int(a.Cell)] = a.Written
	} else if a.Cell == ManyCells {
		for i := m.AccessAt[n]; i < m.AccessAt[n+1]; i++ {
			if t := &m.Accesses[i]; t.Write {
				x.State[x.Threads+int(t.Cell)] = x.WriteClass[i]
			}
		}
	}
	x.updateLocks(a, 1)
	if a.Message && !m.Receives(n) {
		x.State[x.StateSize-len(m.Messages)+int(m.Message[n])]++
	}
}

// updateLocks adds by to the count of the lock that a node acquires, and subtracts it from the
// count of the lock that it releases.
func (x *Machine) updateLocks(a *Transition, by int32) {
	if at := a.acquires; at > 0 {
		if a.shared {
			at++
		}
		x.State[at] += by
	}
	if a.releases > 0 {
		x.State[a.releases] -= by
	}
}

// TakeMovers executes enabled movers and movable critical sections until none is left.
func (x *Machine) TakeMovers() {
	for moved := true; moved; {
		moved = false
		for k := range x.Threads {
			moved = x.takeMoversOf(k) || moved
		}
	}
}

// TakeMoversAfter has the effect of TakeMovers if no mover was enabled before Path[from:]. It only
// examines threads that these nodes belong to or can have enabled.
func (x *Machine) TakeMoversAfter(from int) {
	for from < len(x.Path) {
		moved, given := uint64(0), uint64(0)
		for _, n := range x.Path[from:] {
			moved |= 1 << (x.Model.Chain[n] % 64)
			given |= x.changes[n]
		}
		from = len(x.Path)
		base, needs := x.Model.Base, x.dependsOn
		for k, v := range x.State[:x.Threads] {
			if n := base[k] + order.Node(v); n < base[k+1] && (needs[n]&given != 0 || moved>>(k%64)&1 != 0) {
				x.takeMoversOf(k)
			}
		}
	}
}

// takeMoversOf executes the enabled movers of thread k, and reports whether there were any.
func (x *Machine) takeMoversOf(k int) (moved bool) {
	for n := x.NextNode(k); n != model.None; n = x.NextNode(k) {
		a := &x.Transitions[n]
		if a.acquires > 0 {
			if !a.ReadOnlySection && !(x.SilentWrites && a.movableSection) || !x.requirementsHold(a) || !x.Enabled(n) || !x.trySection(k) {
				break
			}
		} else {
			if !a.Mover && !x.SilentWrites || !x.Enabled(n) || !x.isMover(n) {
				break
			}
			x.Step(n)
		}
		moved = true
	}
	return moved
}

// requirementsHold reports whether the cells hold the values that a movable section requires.
func (x *Machine) requirementsHold(a *Transition) bool {
	for _, c := range x.requirements[a.requirements[0]:a.requirements[1]] {
		if x.Value(c.Cell) != c.Class {
			return false
		}
	}
	return true
}

// trySection executes the critical section that thread k begins next, if all its nodes are enabled
// movers. Otherwise it leaves the state as it was.
func (x *Machine) trySection(k int) bool {
	size := len(x.Path)
	first, open := x.NextNode(k), 0
	for n := first; n != model.None && x.Enabled(n); n = x.NextNode(k) {
		if !x.isMover(n) {
			break
		}
		open += x.depthChange(n, first)
		if x.Step(n); open == 0 {
			return true
		}
	}
	for ; len(x.Path) > size; x.Path = x.Path[:len(x.Path)-1] {
		n := x.Path[len(x.Path)-1]
		x.State[k]--
		x.updateLocks(&x.Transitions[n], -1)
	}
	return false
}

// RunSection executes the critical section that thread k begins next, and reports whether that is
// possible without other threads. Otherwise the current state is left in the middle of the
// section.
func (x *Machine) RunSection(k int) bool {
	first, open := x.NextNode(k), 0
	for n := first; n != model.None && x.Enabled(n); n = x.NextNode(k) {
		open += x.depthChange(n, first)
		if x.Step(n); open == 0 {
			return true
		}
	}
	return false
}

// IsPending reports whether everything that must come before n is pending, apart from the nodes of
// its own thread, has been executed.
func (x *Machine) IsPending(n order.Node) bool {
	m := x.Model
	for i := m.EnablerAt[n]; i < m.EnablerAt[n+1]; i++ {
		if e := m.Edges[i].From; x.State[m.Chain[e]] <= m.Pos(e) {
			return false
		}
	}
	return true
}

// Invisible reports whether a node acquires nothing, writes nothing and sends nothing. A search
// that holds its thread back does not need to do so before such a node.
func (x *Machine) Invisible(n order.Node) bool {
	m := x.Model
	return m.Begins[n] < 0 && (m.Message[n] < 0 || m.Receives(n)) &&
		!slices.ContainsFunc(m.Accesses[m.AccessAt[n]:m.AccessAt[n+1]], func(t model.CellAccess) bool { return t.Write })
}

// Conflict reports whether two nodes access a common cell, and at least one of them writes it.
func (x *Machine) Conflict(a, b order.Node) bool {
	k, l := x.Transitions[a].Cell, x.Transitions[b].Cell
	switch {
	case k == NoCell || l == NoCell:
		return false
	case k >= 0 && l >= 0:
		return k == l && (x.Transitions[a].Writes || x.Transitions[b].Writes)
	}
	m := x.Model
	for _, t := range m.Accesses[m.AccessAt[a]:m.AccessAt[a+1]] {
		for _, u := range m.Accesses[m.AccessAt[b]:m.AccessAt[b+1]] {
			if t.Cell == u.Cell && (t.Write || u.Write) {
				return true
			}
		}
	}
	return false
}

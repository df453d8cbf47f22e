package moves

import (
	"slices"

	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/order"
)

// Machine is a state of a model and the steps that are possible there: where each
// thread is, what each cell holds, who holds which locks. Two things keep the states
// few that a search has to look at:
//
//   - A step that hinders nobody is taken at once: a read of what it may see, a
//     release, a whole critical section of such steps. If there is an answer from
//     here without the step, there is one with it. What is left to choose is who
//     takes a lock and who writes. (A write of the value that is there may be of use
//     later, when it is not there any more, and is taken at once only by a bold
//     search, which does not look everywhere.)
//   - Writes of the same value are the same to those that read, so that states which
//     differ in who wrote are one.
type Machine struct {
	Model *model.Model

	WriteClass   []int32      // by touch: writes of the same class are the same to reads of the cell
	InitialClass []int32      // by cell: the class of what was there before the window
	ReadClass    []int32      // by read: the class that it may see
	RegionStart  []order.Node // by node: where its thread took the first of the locks that it holds before it, or none
	RegionEnd    []order.Node // by node: where it gives the last of them back, the last node if it does not
	Transitions  []Transition // by node
	requirements []CellValue  // of critical sections that can hinder nobody: what they find in memory, and leave there
	dependsOn    []uint64     // by node: of what a change may let its thread go on from before it at once, as bits; nil before askers
	changes      []uint64     // by node: what it changes, likewise
	Exact        bool         // states say all that matters, so that no answer among all of them is an answer

	Threads, Cells, locks, StateSize int // of states

	Rows         []int32    // what comes before what, and which nodes come after the goal
	HoldAt       order.Node // where its thread is held back, or none
	AlsoHoldAt   order.Node // and another one, likewise
	SilentWrites bool       // a write of the value that is there is taken at once

	State []int32      // the state at hand
	Path  []order.Node // what led to it from its parent

	Interrupted func() bool // whether a search is to end, as if its budget was spent
}

// InterruptEvery is how many states, a power of two, a search looks at before it asks whether it
// is to end.
const InterruptEvery = 1 << 10

// Transition is what a node needs, and what it does.
type Transition struct {
	thread          int32
	Cell            int32    // that it touches, none or several
	Required        int32    // the class that it may see there, if it is one cell; noCell if it reads none
	Written         int32    // the class that it leaves there, if it is one cell, or noCell
	acquires        int32    // where in a state is by how many the lock is held exclusively, and next to it shared, that it takes; 0 if it takes none
	releases        int32    // where the count is of the lock that it gives back, or 0
	shared          bool     // it takes the lock shared
	Writes          bool     // it writes the cell, or one of several
	Message         bool     // it sends or receives
	ChecksOrder     bool     // more has to come before it than before the one before it, or may have to
	Mover           bool     // it hinders nobody whenever it comes, unless it takes a lock
	movableSection  bool     // it takes a lock, and it and what follows until its thread has given it back can hinder nobody, all in one go
	ReadOnlySection bool     // and are movers
	requirements    [2]int32 // between which places of finds is what it finds, if it passes
}

const (
	NoCell    = -1
	ManyCells = -2
)

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

// depthChange returns by how many sections, of those that its thread starts at first or later, a
// thread is in more after a node than before it.
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

// Reset goes back to the window's start.
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

// lockIndex returns where in a state is by how many a lock is held exclusively; next to it is by
// how many it is held shared.
func (x *Machine) lockIndex(lock int32) int32 { return int32(x.Threads+x.Cells) + 2*lock }

// Value returns the class of what a cell holds.
func (x *Machine) Value(cell int32) int32 {
	return x.State[x.Threads+int(cell)]
}

// NextNode returns a thread's next node, or none.
func (x *Machine) NextNode(k int) order.Node {
	n := x.Model.Base[k] + order.Node(x.State[k])
	if n == x.Model.Base[k+1] {
		return model.None
	}
	return n
}

// Enabled reports whether a node that is next in its thread can come now.
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

// readsSatisfied reports whether a node would see what it may see in all cells that it reads.
func (x *Machine) readsSatisfied(n order.Node) bool {
	m := x.Model
	for _, t := range m.Accesses[m.AccessAt[n]:m.AccessAt[n+1]] {
		if t.Read >= 0 && x.ReadClass[t.Read] != x.Value(t.Cell) {
			return false
		}
	}
	return true
}

// predecessorsDone reports whether what has to come before a node that is next in its thread has come.
func (x *Machine) predecessorsDone(n order.Node) bool {
	own := int(x.Model.Chain[n])
	width := x.Threads + 1
	row := x.Rows[int(n)*width : int(n)*width+width]
	if row[x.Threads] > 0 {
		return false // it comes after the goal
	}
	for k, v := range row[:x.Threads] {
		if v > x.State[k] && k != own {
			return false
		}
	}
	return true
}

// isMover reports whether a node that can come now hinders nobody if it does, unless
// it takes a lock.
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

// Changes reports whether a node would change what a cell holds.
func (x *Machine) Changes(n order.Node) bool {
	m := x.Model
	for i := m.AccessAt[n]; i < m.AccessAt[n+1]; i++ {
		if t := &m.Accesses[i]; t.Write && x.WriteClass[i] != x.Value(t.Cell) {
			return true
		}
	}
	return false
}

// Step lets a node come.
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

// updateLocks counts the locks that a node takes and gives back, or does not any more.
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

// TakeMovers takes all steps that hinder nobody.
func (x *Machine) TakeMovers() {
	for moved := true; moved; {
		moved = false
		for k := range x.Threads {
			moved = x.takeMoversOf(k) || moved
		}
	}
}

// TakeMoversAfter is settle where all such steps had been taken before those of the path from one
// on: it looks only at threads that took these, and at what their steps may be of use to.
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

// takeMoversOf lets a thread take steps that hinder nobody, and reports whether there were any.
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

// requirementsHold reports whether memory holds what a critical section that can hinder nobody finds.
func (x *Machine) requirementsHold(a *Transition) bool {
	for _, c := range x.requirements[a.requirements[0]:a.requirements[1]] {
		if x.Value(c.Cell) != c.Class {
			return false
		}
	}
	return true
}

// trySection takes a thread through a critical section, if all of its steps are possible
// and in sum hinder nobody.
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

// RunSection takes a thread through a critical section in one go, whatever it does there,
// and reports whether that is possible; if not, the state at hand is useless.
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

// IsPending reports whether what has to come before a node can be next, besides its
// thread's steps, has come.
func (x *Machine) IsPending(n order.Node) bool {
	m := x.Model
	for i := m.EnablerAt[n]; i < m.EnablerAt[n+1]; i++ {
		if e := m.Edges[i].From; x.State[m.Chain[e]] <= m.Pos(e) {
			return false
		}
	}
	return true
}

// Invisible reports whether a node can neither hinder nor help another thread.
func (x *Machine) Invisible(n order.Node) bool {
	m := x.Model
	return m.Begins[n] < 0 && (m.Message[n] < 0 || m.Receives(n)) &&
		!slices.ContainsFunc(m.Accesses[m.AccessAt[n]:m.AccessAt[n+1]], func(t model.CellAccess) bool { return t.Write })
}

// Conflict reports whether two nodes access a cell, one of them writing.
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

package model

import (
	"fmt"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/order"
)

// None means that there is no node: no write, because the value was there before the window; no
// acquisition, because the lock was held before the window; no release, because the lock is held
// after the window.
const None order.Node = -1

// Model is the maximal causal model of a window. See the package documentation.
type Model struct {
	window.Rules
	Window  *window.Window
	Records []heisen.Record

	// Nodes are numbered chain after chain. Each thread with nodes has a chain. The last chain
	// holds the goal only.
	Node     []order.Node // by record: its node, or None
	Event    []int32      // by node: its record
	Chain    []int32      // by node
	Base     []order.Node // by chain: its first node; and one entry more for the end
	threads  []heisen.Thread
	Goal     order.Node
	Observed []order.Node // the goal, then all nodes in the observed order

	Edges     []Edge  // the order that every feasible reordering keeps, besides program order; sorted by To
	ReadsFrom []Edge  // edges from the only write that a read may see, and others that do not delay when a node is pending
	Rows      []int32 // by node and chain: how many nodes of the chain come before the node or are it, by all edges

	Cells    []cell
	Accesses []CellAccess // by node, see AccessAt
	AccessAt []int32      // by node: its first of Accesses; and one entry more
	Reads    []Read
	Locks    []lock
	Sections []CriticalSection
	Begins   []int32 // by node: the section that it begins, or -1
	Ends     []int32 // by node: the section that it ends, or -1
	Messages []message
	Message  []int32 // by node: the message that it sends or receives, or -1
	Rank     []int32 // by node: how many sends of its message came before it

	Flow *Flow // with ControlFlow

	EnablerAt  []int32 // by node: its first of Edges; and one entry more
	HasChoices bool    // some reads are not fixed
}

// Edge is the constraint that one node comes before another.
type Edge struct{ From, To order.Node }

// cell is a piece of memory that every access touches as a whole or not at all.
type cell struct {
	Writes []order.Node // sorted
}

// CellAccess is the access of a node to a cell.
type CellAccess struct {
	Cell  int32
	Read  int32 // index of the read, or -1 if the node does not read the cell
	Write bool
}

// Read is the constraint that a node sees an accepted value in a cell.
type Read struct {
	Node    order.Node
	Cell    int32
	Saw     order.Node   // the observed source, or None if the value was there before the window
	Same    []order.Node // the writes known to write the value that it saw, sorted; may contain Saw
	Initial bool         // the value before the window is accepted
	Fixed   bool         // the read has one choice, and ReadsFrom has it
	Unowned bool         // it reads the state of an unowned lock, which matters without a decision, too
	Decides bool         // with ControlFlow: it matters without another decision
}

// HasChoice reports whether the read accepts more than one source: several writes, or a write and
// the value before the window.
func (r *Read) HasChoice() bool { return len(r.Same) > 0 || r.Initial && r.Saw != None }

// Accepts reports whether w, which may be None, may be the source of the read.
func (r *Read) Accepts(w order.Node) bool {
	if w == r.Saw {
		return true
	}
	if w == None {
		return r.Initial
	}
	_, ok := slices.BinarySearch(r.Same, w)
	return ok
}

// lock is a lock that several threads use.
type lock struct {
	object   heisen.Object
	Sections []int32 // sorted by acquisition; those held before the window come first
}

// CriticalSection is a critical section of one thread.
type CriticalSection struct {
	Lock    int32
	Chain   int32 // -1 if the thread has no nodes
	Shared  bool
	Acquire order.Node // None if the lock was held before the window
	Release order.Node // None if the lock is held after the window
}

// message is the sends and receives of one object.
type message struct {
	Sends, Receives []order.Node // in the observed order
}

// Conflicts reports whether two sections of the same lock exclude each other.
func (s *CriticalSection) Conflicts(o *CriticalSection) bool {
	return s.Chain != o.Chain && !(s.Shared && o.Shared)
}

// New returns the model of a window. The slices of the window must not change afterwards.
func New(w *window.Window, rules window.Rules) (*Model, error) {
	m := &Model{Rules: rules, Window: w, Records: w.Records}
	if w.Index != nil && len(w.Index) != len(w.Records) {
		return nil, fmt.Errorf("%d positions for %d records", len(w.Index), len(w.Records))
	}
	for _, p := range w.Executions {
		if p.Entry < 0 || p.Entry >= p.End || p.End >= len(w.Records) || w.Records[p.Entry].Thread != w.Records[p.End].Thread ||
			!w.Records[p.Entry].Op.IsAccess() || !w.Records[p.End].Op.IsAccess() {
			return nil, fmt.Errorf("an execution of a section from record %d to %d of %d", p.Entry, p.End, len(w.Records))
		}
	}
	newBuilder(m).build()
	return m, nil
}

// Pos returns the position of a node in its chain, from 0.
func (m *Model) Pos(n order.Node) int32 { return int32(n - m.Base[m.Chain[n]]) }

// Row returns, by chain, how many nodes come before n or are it in every feasible reordering, as
// far as edges say.
func (m *Model) Row(n order.Node) []int32 {
	width := len(m.Base) - 1
	return m.Rows[int(n)*width : int(n)*width+width]
}

// Before reports whether edges put a before b, or a is b.
func (m *Model) Before(a, b order.Node) bool { return m.Row(b)[m.Chain[a]] > m.Pos(a) }

// Prev returns the node before n in its chain, or None.
func (m *Model) Prev(n order.Node) order.Node {
	if n == m.Base[m.Chain[n]] {
		return None
	}
	return n - 1
}

// Enablers returns the nodes of other chains that must come before n can be pending.
func (m *Model) Enablers(n order.Node) (list []order.Node) {
	for i := m.EnablerAt[n]; i < m.EnablerAt[n+1]; i++ {
		list = append(list, m.Edges[i].From)
	}
	return list
}

// AccessOf returns the index of a node's access to a cell, which it must have.
func (m *Model) AccessOf(n order.Node, cell int32) int32 {
	i := m.AccessAt[n]
	for m.Accesses[i].Cell != cell {
		i++
	}
	return i
}

// Receives reports whether a node with a message receives it.
func (m *Model) Receives(n order.Node) bool {
	q := &m.Messages[m.Message[n]]
	return int(m.Rank[n]) >= len(q.Sends) || q.Sends[m.Rank[n]] != n
}

// AcquiredAt returns the record of a section's acquisition, or -1 if the lock was held before the
// window.
func (m *Model) AcquiredAt(x *CriticalSection) int32 {
	if x.Acquire == None {
		return -1
	}
	return m.Event[x.Acquire]
}

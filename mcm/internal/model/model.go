package model

import (
	"fmt"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/order"
)

// None stands for no node: the writer of a value that was there before the window,
// the acquisition of a lock that was held before, a release that never comes.
const None order.Node = -1

// Model is the maximal causal model of a window: the constraints that every order
// of a part of its events meets which any program that can show the window can
// show as well. A Model is asked questions: Race, Deadlock, Between. It belongs to
// one goroutine.
type Model struct {
	window.Rules
	Window  *window.Window
	Records []heisen.Record

	// Events that constrain others or are constrained are nodes, numbered chain
	// after chain: the threads, and last the goal, the instant that is asked for.
	Node     []order.Node // by record; none if it is not a node
	Event    []int32      // by node: the record
	Chain    []int32      // by node
	Base     []order.Node // by chain: its first node; and one more
	threads  []heisen.Thread
	Goal     order.Node
	Observed []order.Node // the goal, then all nodes as they were observed

	Edges     []Edge  // what comes before what in any case, besides each thread's steps
	ReadsFrom []Edge  // likewise, of reads and what they saw
	Rows      []int32 // by node and chain: how many nodes of the chain come before it, itself included

	Cells    []cell
	Accesses []CellAccess // of nodes, see touchAt
	AccessAt []int32      // by node, and one more
	Reads    []Read
	Locks    []lock
	Sections []CriticalSection
	Begins   []int32 // by node: the section that it starts, or -1
	Ends     []int32 // by node: the section that it ends, or -1
	Messages []message
	Message  []int32 // by node: the message that it sends or receives, or -1
	Rank     []int32 // by node: how many sends of the message were before it

	Flow *Flow // with ControlFlow

	EnablerAt  []int32 // by node: its first of edges, and one more
	HasChoices bool    // some reads are not hard
}

type Edge struct{ From, To order.Node }

// cell is a piece of memory that every access touches as a whole or not at all.
type cell struct {
	Writes []order.Node // sorted
}

// CellAccess is that a node accesses a cell.
type CellAccess struct {
	Cell  int32
	Read  int32 // index of the read, -1 if it reads nothing
	Write bool
}

// Read is that a node reads a cell.
type Read struct {
	Node    order.Node
	Cell    int32
	Saw     order.Node   // the write that it saw, none if that was before the window
	Same    []order.Node // writes of the same value, sorted; nil if only what it saw will do
	Initial bool         // what was there before the window will do
	Fixed   bool         // what it saw comes before it in any case: an edge
	Unowned bool         // it is of a lock without an owner, and matters whatever decisions depend on
}

// HasChoice reports whether there is more than one write that the read may see, or what was
// there before the window and a write.
func (r *Read) HasChoice() bool { return len(r.Same) > 0 || r.Initial && r.Saw != None }

// Accepts reports whether the read may see the write w.
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
	Sections []int32 // by the node of the acquisition; those held before come first
}

// CriticalSection is that a thread holds a lock.
type CriticalSection struct {
	Lock    int32
	Chain   int32
	Shared  bool
	Acquire order.Node // none if it was held before the window
	Release order.Node // none if it is held after it
}

// message is what is sent and received through one object.
type message struct {
	Sends, Receives []order.Node // in the order of the stream
}

// Conflicts reports whether two sections exclude each other.
func (s *CriticalSection) Conflicts(o *CriticalSection) bool {
	return s.Chain != o.Chain && !(s.Shared && o.Shared)
}

// New returns the model of a window. It takes time in proportion to the
// events times the threads. The window's slices must not change afterwards.
func New(w *window.Window, rules window.Rules) (*Model, error) {
	m := &Model{Rules: rules, Window: w, Records: w.Records}
	if w.Index != nil && len(w.Index) != len(w.Records) {
		return nil, fmt.Errorf("mcm: %d positions for %d records", len(w.Index), len(w.Records))
	}
	for _, p := range w.Passages {
		if p.Entry < 0 || p.Entry >= p.End || p.End >= len(w.Records) || w.Records[p.Entry].Thread != w.Records[p.End].Thread ||
			!w.Records[p.Entry].Op.IsAccess() || !w.Records[p.End].Op.IsAccess() {
			return nil, fmt.Errorf("mcm: a passage from record %d to %d of %d", p.Entry, p.End, len(w.Records))
		}
	}
	newBuilder(m).build()
	return m, nil
}

// Pos returns the place of a node in its chain, from 0.
func (m *Model) Pos(n order.Node) int32 { return int32(n - m.Base[m.Chain[n]]) }

// Row returns what comes before n in any case: by chain how many nodes.
func (m *Model) Row(n order.Node) []int32 {
	width := len(m.Base) - 1
	return m.Rows[int(n)*width : int(n)*width+width]
}

// Before reports whether a comes before b in any case, or is b.
func (m *Model) Before(a, b order.Node) bool { return m.Row(b)[m.Chain[a]] > m.Pos(a) }

// Prev returns the node before n in its chain, or none.
func (m *Model) Prev(n order.Node) order.Node {
	if n == m.Base[m.Chain[n]] {
		return None
	}
	return n - 1
}

// Enablers returns what has to come before n can be next, apart from its thread's
// steps.
func (m *Model) Enablers(n order.Node) (list []order.Node) {
	for i := m.EnablerAt[n]; i < m.EnablerAt[n+1]; i++ {
		list = append(list, m.Edges[i].From)
	}
	return list
}

// AccessOf returns a node's touch of a cell.
func (m *Model) AccessOf(n order.Node, cell int32) int32 {
	i := m.AccessAt[n]
	for m.Accesses[i].Cell != cell {
		i++
	}
	return i
}

// Receives reports whether a node of a message receives it.
func (m *Model) Receives(n order.Node) bool {
	q := &m.Messages[m.Message[n]]
	return int(m.Rank[n]) >= len(q.Sends) || q.Sends[m.Rank[n]] != n
}

// AcquiredAt returns when a section was observed to start.
func (m *Model) AcquiredAt(x *CriticalSection) int32 {
	if x.Acquire == None {
		return -1
	}
	return m.Event[x.Acquire]
}

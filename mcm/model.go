package mcm

import (
	"fmt"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/order"
)

// none stands for no node: the writer of a value that was there before the window,
// the acquisition of a lock that was held before, a release that never comes.
const none order.Node = -1

// causal is the maximal causal model of a window: the constraints that every order
// of a part of its events meets which any program that can show the window can
// show as well. A Model is asked questions: Race, Deadlock, Between. It belongs to
// one goroutine.
type causal struct {
	window.Rules
	window  *window.Window
	records []heisen.Record

	// Events that constrain others or are constrained are nodes, numbered chain
	// after chain: the threads, and last the goal, the instant that is asked for.
	node    []order.Node // by record; none if it is not a node
	event   []int32      // by node: the record
	chain   []int32      // by node
	base    []order.Node // by chain: its first node; and one more
	threads []heisen.Thread
	goal    order.Node
	hint    []order.Node // the goal, then all nodes as they were observed

	edges []edge  // what comes before what in any case, besides each thread's steps
	seen  []edge  // likewise, of reads and what they saw
	rows  []int32 // by node and chain: how many nodes of the chain come before it, itself included

	cells    []cell
	touches  []touch // of nodes, see touchAt
	touchAt  []int32 // by node, and one more
	reads    []read
	locks    []lock
	sections []criticalSection
	begins   []int32 // by node: the section that it starts, or -1
	ends     []int32 // by node: the section that it ends, or -1
	messages []message
	message  []int32 // by node: the message that it sends or receives, or -1
	rank     []int32 // by node: how many sends of the message were before it

	flow *flow // with ControlFlow

	intoAt []int32 // by node: its first of edges, and one more
	soft   bool    // some reads are not hard
}

type edge struct{ from, to order.Node }

// cell is a piece of memory that every access touches as a whole or not at all.
type cell struct {
	writes []order.Node // sorted
}

// touch is that a node accesses a cell.
type touch struct {
	cell  int32
	read  int32 // index of the read, -1 if it reads nothing
	write bool
}

// read is that a node reads a cell.
type read struct {
	node order.Node
	cell int32
	saw  order.Node   // the write that it saw, none if that was before the window
	same []order.Node // writes of the same value, sorted; nil if only what it saw will do
	init bool         // what was there before the window will do
	hard bool         // what it saw comes before it in any case: an edge
	lock bool         // it is of a lock without an owner, and matters whatever decisions depend on
}

// choice reports whether there is more than one write that the read may see, or what was
// there before the window and a write.
func (r *read) choice() bool { return len(r.same) > 0 || r.init && r.saw != none }

// accepts reports whether the read may see the write w.
func (r *read) accepts(w order.Node) bool {
	if w == r.saw {
		return true
	}
	if w == none {
		return r.init
	}
	_, ok := slices.BinarySearch(r.same, w)
	return ok
}

// lock is a lock that several threads use.
type lock struct {
	object   heisen.Object
	sections []int32 // by the node of the acquisition; those held before come first
}

// criticalSection is that a thread holds a lock.
type criticalSection struct {
	lock    int32
	chain   int32
	shared  bool
	acquire order.Node // none if it was held before the window
	release order.Node // none if it is held after it
}

// message is what is sent and received through one object.
type message struct {
	sends, receives []order.Node // in the order of the stream
}

// conflicts reports whether two sections exclude each other.
func (s *criticalSection) conflicts(o *criticalSection) bool {
	return s.chain != o.chain && !(s.shared && o.shared)
}

// newCausal returns the model of a window. It takes time in proportion to the
// events times the threads. The window's slices must not change afterwards.
func newCausal(w *window.Window, rules window.Rules) (*causal, error) {
	m := &causal{Rules: rules, window: w, records: w.Records}
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

// pos returns the place of a node in its chain, from 0.
func (m *causal) pos(n order.Node) int32 { return int32(n - m.base[m.chain[n]]) }

// row returns what comes before n in any case: by chain how many nodes.
func (m *causal) row(n order.Node) []int32 {
	width := len(m.base) - 1
	return m.rows[int(n)*width : int(n)*width+width]
}

// before reports whether a comes before b in any case, or is b.
func (m *causal) before(a, b order.Node) bool { return m.row(b)[m.chain[a]] > m.pos(a) }

// prev returns the node before n in its chain, or none.
func (m *causal) prev(n order.Node) order.Node {
	if n == m.base[m.chain[n]] {
		return none
	}
	return n - 1
}

// into returns what has to come before n can be next, apart from its thread's
// steps.
func (m *causal) into(n order.Node) (list []order.Node) {
	for i := m.intoAt[n]; i < m.intoAt[n+1]; i++ {
		list = append(list, m.edges[i].from)
	}
	return list
}

// touchOf returns a node's touch of a cell.
func (m *causal) touchOf(n order.Node, cell int32) int32 {
	i := m.touchAt[n]
	for m.touches[i].cell != cell {
		i++
	}
	return i
}

// receives reports whether a node of a message receives it.
func (m *causal) receives(n order.Node) bool {
	q := &m.messages[m.message[n]]
	return int(m.rank[n]) >= len(q.sends) || q.sends[m.rank[n]] != n
}

// taken returns when a section was observed to start.
func (m *causal) taken(x *criticalSection) int32 {
	if x.acquire == none {
		return -1
	}
	return m.event[x.acquire]
}

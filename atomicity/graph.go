package atomicity

import (
	"slices"

	"github.com/heisen-go/heisen"
)

// graph is the part of the graph of transactions that can still matter: the open transactions, and
// for each node that a later event may be connected with, the open transactions before it.
//
// Two things hold between events. The set of an open transaction contains the sets of its members.
// A node that is no open transaction is in the list of dependents of each member of its set; what
// the members have learned since is missing from its set, and connect adds it.
type graph struct {
	open    []*openTransaction // by slot; nil for a free slot
	vacant  []uint32           // free slots
	spare   []*openTransaction
	nodes   []*node // free ones
	scratch []member
}

// node is a transaction, or events of a thread outside of transactions, with the set of the open
// transactions before it.
type node struct {
	before []member // by slot
	slot   int32    // of the open transaction that it is, or -1
	refs   int32    // points and threads that refer to it
	listed int32    // lists of dependents that it is in
}

// member is a member of a set: the open transaction in a slot, and the first edge of the path from
// it, as an index into its departures.
type member struct{ slot, departure uint32 }

// openTransaction is a transaction that has not ended.
type openTransaction struct {
	node       *node
	begin      heisen.Access
	departures []edge
	dependents []*node
	sweepAt    int // length of dependents at which those without references are dropped

	closed bool // the transaction is on a cycle
	cycle  cycle
}

// cycle is a path from a transaction back to it: its first edge and its last.
type cycle struct{ out, back edge }

// edge is two events that conflict, of different threads.
type edge struct {
	source, target heisen.Access
	// told is about the transaction on whose cycle the edge is. Of the first edge, the thread of target knows some event
	// of the transaction by then. Of the last edge, the transaction knows source.
	told bool
}

// rank is the greater the more an edge explains.
func (e *edge) rank() int {
	switch {
	case !e.target.Op.IsAccess():
		return 0
	case e.told:
		return 1
	}
	return 2
}

// byData reports whether a cycle returns to an access, and is no exchange of news: either what others did does not
// follow what the transaction told them, or they did not tell it.
func (c *cycle) byData() bool { return c.back.target.Op.IsAccess() && !(c.out.told && c.back.told) }

// returns records a cycle of t. The first cycle by data is kept, or else the first that comes back to an access, or
// else the first.
func (t *openTransaction) returns(c cycle) {
	if t.closed && (t.cycle.byData() || !c.byData() && (t.cycle.back.target.Op.IsAccess() || !c.back.target.Op.IsAccess())) {
		return
	}
	t.closed, t.cycle = true, c
}

// oldest returns the index of the first event of all open transactions, and false if there are none.
func (g *graph) oldest() (index uint64, some bool) {
	for _, t := range g.open {
		if t != nil && (!some || t.begin.Index < index) {
			index, some = t.begin.Index, true
		}
	}
	return index, some
}

// matters reports whether a later cycle can have a path through n. n may be nil.
func (n *node) matters() bool { return n != nil && (n.slot >= 0 || len(n.before) > 0) }

// newNode returns a node without references, after the node from, which may be nil and is not an open
// transaction. The caller must call begin or enlist.
func (g *graph) newNode(from *node) *node {
	var n *node
	if last := len(g.nodes) - 1; last >= 0 {
		n, g.nodes = g.nodes[last], g.nodes[:last]
	} else {
		n = new(node)
	}
	n.slot = -1
	if from == nil {
		return n
	}
	n.before = append(n.before, g.closure(from.before)...)
	return n
}

// enlist adds n, which is no open transaction, to the dependents of the members of its set.
func (g *graph) enlist(n *node) {
	for _, m := range n.before {
		g.list(n, m.slot)
	}
}

// release drops a reference to n, which may be nil.
func (g *graph) release(n *node) {
	if n != nil {
		n.refs--
		g.recycle(n)
	}
}

func (g *graph) recycle(n *node) {
	if n.refs == 0 && n.listed == 0 && n.slot < 0 {
		n.before = n.before[:0]
		g.nodes = append(g.nodes, n)
	}
}

// list adds n to the dependents of the transaction in a slot.
func (g *graph) list(n *node, slot uint32) {
	t := g.open[slot]
	if len(t.dependents) >= t.sweepAt {
		t.dependents = slices.DeleteFunc(t.dependents, func(u *node) bool {
			if u.refs > 0 || u == n {
				return false
			}
			u.before = slices.DeleteFunc(u.before, func(m member) bool { return m.slot == slot })
			u.listed--
			g.recycle(u)
			return true
		})
		t.sweepAt = max(64, 2*len(t.dependents))
	}
	t.dependents = append(t.dependents, n)
	n.listed++
}

// begin opens a transaction whose node newNode has made.
func (g *graph) begin(n *node, begin heisen.Access) *openTransaction {
	var t *openTransaction
	if last := len(g.spare) - 1; last >= 0 {
		t, g.spare = g.spare[last], g.spare[:last]
	} else {
		t = &openTransaction{sweepAt: 64}
	}
	t.node, t.begin, t.closed = n, begin, false
	slot := uint32(len(g.open))
	if last := len(g.vacant) - 1; last >= 0 {
		slot, g.vacant = g.vacant[last], g.vacant[:last]
		g.open[slot] = t
	} else {
		g.open = append(g.open, t)
	}
	n.slot = int32(slot)
	return t
}

// end closes a transaction.
func (g *graph) end(t *openTransaction) {
	n := t.node
	slot := uint32(n.slot)
	n.slot = -1
	g.open[slot] = nil
	for _, p := range g.open {
		if p != nil {
			p.node.before = without(p.node.before, slot) // it contains what is before t
		}
	}
	for i, u := range t.dependents {
		t.dependents[i] = nil
		u.listed--
		u.before = without(u.before, slot)
		if u.refs > 0 {
			g.extend(u, n.before)
		} else {
			g.recycle(u)
		}
	}
	g.enlist(n)
	t.node = nil
	t.dependents, t.departures = t.dependents[:0], t.departures[:0]
	g.spare = append(g.spare, t)
	g.vacant = append(g.vacant, slot)
	g.recycle(n)
}

func without(set []member, slot uint32) []member {
	if i, ok := find(set, slot); ok {
		return slices.Delete(set, i, i+1)
	}
	return set
}

func find(set []member, slot uint32) (int, bool) {
	return slices.BinarySearchFunc(set, slot, func(m member, slot uint32) int { return int(m.slot) - int(slot) })
}

// extend adds members to the set of a node that is no open transaction.
func (g *graph) extend(n *node, more []member) {
	for _, m := range more {
		if i, ok := find(n.before, m.slot); !ok {
			n.before = slices.Insert(n.before, i, m)
			g.list(n, m.slot)
		}
	}
}

// closure returns a set with what its members have learned. The result is valid until the next call.
func (g *graph) closure(set []member) []member {
	g.scratch = append(g.scratch[:0], set...)
	for _, m := range set {
		g.add(g.open[m.slot].node.before)
	}
	return g.scratch
}

// add adds members to the scratch set.
func (g *graph) add(more []member) {
	for _, m := range more {
		if i, ok := find(g.scratch, m.slot); !ok {
			g.scratch = slices.Insert(g.scratch, i, m)
		}
	}
}

// connect adds the edge from a point to r, an event of the node to, which is the open transaction t,
// or no transaction if t is nil. The thread of r knows the news. No cycle begins with the edge unless
// it carries. If the edge closes a cycle, connect does
// not add it; it returns the departure of t with which the cycle begins, and true.
func (g *graph) connect(from *point, to *node, t *openTransaction, r *heisen.Record, index uint64, known news, carries bool) (departure uint32, closed bool) {
	set := g.closure(from.node.before)
	if t != nil {
		if i, ok := find(set, uint32(to.slot)); ok {
			return set[i].departure, true
		}
	}
	if from.node.slot >= 0 && carries {
		set = g.depart(from, to, r, index, known)
	}
	if t == nil {
		g.extend(to, set)
		return 0, false
	}
	if !merge(&to.before, set) {
		return 0, false
	}
	for _, p := range g.open { // those after t
		if p != nil && p != t {
			if _, ok := find(p.node.before, uint32(to.slot)); ok {
				merge(&p.node.before, to.before)
			}
		}
	}
	return 0, false
}

// depart adds to the scratch set the open transaction that has the point from, with the edge from there
// to r, an event of the node to, as its departure. If the transaction is before the node already, by
// an edge that explains less, the edge takes its place. It returns the scratch set.
func (g *graph) depart(from *point, to *node, r *heisen.Record, index uint64, known news) []member {
	slot := uint32(from.node.slot)
	u := g.open[slot]
	e := edge{from.access, heisen.AccessOf(r, index), known.since(u.begin.Thread, u.begin.Index)}
	i, before := find(to.before, slot)
	if before && e.rank() <= u.departures[to.before[i].departure].rank() {
		return g.scratch
	}
	departure := uint32(len(u.departures))
	u.departures = append(u.departures, e)
	if before {
		to.before[i].departure = departure
	}
	g.add([]member{{slot, departure}})
	return g.scratch
}

// merge adds members to a set. It reports whether the set has grown.
func merge(set *[]member, more []member) (grown bool) {
	for _, m := range more {
		if i, ok := find(*set, m.slot); !ok {
			*set = slices.Insert(*set, i, m)
			grown = true
		}
	}
	return grown
}

package model

import (
	"sort"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/order"
)

// Flow has the reads that must see an accepted value because a decision depends on them (Huang,
// Meredith, Roşu 2014, section 3: control flow abstraction).
//
// Once a read has seen a value that it does not accept, its thread has deviated: what the thread
// writes from then on may have another value, and a read of such a value is not accepted either. There
// are two kinds of decisions.
//
//   - A Branch, an atomic operation that reads, and an event of a BarrierPair other than a plain access,
//     because hidden code decides on it, depend on all earlier reads of their threads. They do not come
//     before the goal if their thread has deviated.
//   - A read that decides (heisen.Decides) depends on the value that it sees. If the model has no cell
//     for it, because only its thread uses the variable, it depends on what the thread had read before
//     it last wrote the variable. It is a decision of the first kind then, with a Bound.
type Flow struct {
	// Bound is, by node, the last node of its thread on whose reads the node depends as a decision of the
	// first kind, or None.
	Bound []order.Node

	m         *Model
	width     int
	depends   []int32      // by node and chain: on how many nodes of the chain, from the first, its reads depend at least
	decisions [][]decision // by chain, in order
	needs     [][]int32    // by decision: on how many nodes of each chain it and the ones before it in its chain depend at least
}

// decision is a node and the index of its row in Flow.needs.
type decision struct {
	node order.Node
	row  int
}

func newFlow(b *builder) *Flow {
	m := b.Model
	f := &Flow{m: m, width: len(m.Base) - 1}
	f.depends = make([]int32, len(m.Rows))
	f.decisions, f.Bound = make([][]decision, f.width), make([]order.Node, m.Goal)
	for _, n := range m.Observed[1:] {
		row := f.row(n)
		if p := m.Prev(n); p != None {
			copy(row, f.row(p))
		}
		for _, r := range m.readsOf(n) {
			row[m.Chain[n]] = m.Pos(n) + 1
			if r.Saw != None && !r.HasChoice() {
				raise(row, f.row(r.Saw))
			}
		}
		f.decide(n, b.boundOf(n))
	}
	return f
}

// readsOf returns the reads of a node that decisions may depend on.
func (m *Model) readsOf(n order.Node) (list []*Read) {
	for _, t := range m.Accesses[m.AccessAt[n]:m.AccessAt[n+1]] {
		if t.Read >= 0 && !m.Reads[t.Read].Unowned {
			list = append(list, &m.Reads[t.Read])
		}
	}
	return list
}

// decide adds the decision of a node, if it is one.
func (f *Flow) decide(n, bound order.Node) {
	f.Bound[n] = bound
	var from []order.Node // the nodes on whose rows it depends
	if bound != None {
		from = append(from, bound)
	}
	decides := false
	for _, r := range f.m.readsOf(n) {
		if r.Decides {
			decides = true
			if r.Saw != None && !r.HasChoice() {
				from = append(from, r.Saw)
			}
		}
	}
	if bound == None && !decides {
		return
	}
	c := f.m.Chain[n]
	need := make([]int32, f.width)
	if list := f.decisions[c]; len(list) > 0 {
		copy(need, f.needs[list[len(list)-1].row])
	}
	for _, x := range from {
		raise(need, f.row(x))
	}
	f.decisions[c] = append(f.decisions[c], decision{n, len(f.needs)})
	f.needs = append(f.needs, need)
}

func (f *Flow) row(n order.Node) []int32 { return f.depends[int(n)*f.width : int(n)*f.width+f.width] }

// raise makes row the maximum of both.
func raise(row, other []int32) {
	for c, v := range other {
		row[c] = max(row[c], v)
	}
}

// Needed returns, by chain, a number of nodes whose reads must all see accepted values, besides reads
// that decide. It is a lower bound, given how many nodes of each chain come before the goal.
func (f *Flow) Needed(prefix []int32) []int32 {
	need := make([]int32, f.width)
	for c, list := range f.decisions {
		end := f.m.Base[c] + order.Node(prefix[c])
		i := sort.Search(len(list), func(i int) bool { return list[i].node >= end })
		if i > 0 {
			raise(need, f.needs[list[i-1].row])
		}
	}
	return need
}

// findDecisions finds, with ControlFlow, the records that are decisions of the first kind, see Flow. Of the
// reads that decide, most are none: their threads have read nothing in between on which another decision does
// not depend already.
func (b *builder) findDecisions() {
	b.bound = Unset(len(b.Records))
	written := make([]int32, len(b.bounds)) // by cell that one thread uses: its last write, plus one
	free := make([][]int32, len(b.present)) // by thread: reads that do not decide, and on which no decision depends yet
	cover := func(t, bound int32) {
		i := sort.Search(len(free[t]), func(i int) bool { return free[t][i] > bound })
		free[t] = free[t][i:]
	}
	for i := range b.Records {
		r, t := &b.Records[i], b.thread[i]
		from, to := b.accessed(r)
		if b.decidesOnAll(i, from < to) {
			b.bound[i] = int32(i)
			cover(t, int32(i))
			continue
		}
		if window.IsAllocation(r.Op) {
			from, to = b.reached(window.AllocationSpan(r))
		}
		last, shared := int32(0), false
		for c := from; c < to; c++ {
			if u := &b.uses[c]; u.shared && u.written {
				shared = true
				continue
			}
			last = max(last, written[c])
			if window.Writes(r) {
				written[c] = int32(i) + 1
			}
		}
		if !window.IsRead(r.Op) {
			continue
		}
		switch decides := r.Flags&heisen.Decides != 0; {
		case !decides && shared:
			free[t] = append(free[t], int32(i))
		case decides && last > 0 && len(free[t]) > 0 && free[t][0] < last-1:
			b.bound[i] = last - 1
			cover(t, last-1)
		}
	}
}

// decidesOnAll reports whether record i is a decision that depends on all earlier reads of its thread.
func (b *builder) decidesOnAll(i int, accesses bool) bool {
	r := &b.Records[i]
	if b.openPairs != nil && b.openPairs[i] != nil && r.Op != heisen.Read && r.Op != heisen.Write {
		return true // by hidden code
	}
	return r.Op == heisen.Branch || accesses && window.IsRead(r.Op) && r.Op != heisen.Read && r.Flags&heisen.Decides == 0
}

// boundOf returns Flow.Bound of a node.
func (b *builder) boundOf(n order.Node) order.Node {
	record := b.bound[b.Event[n]]
	if record < 0 {
		return None
	}
	first := b.Base[b.Chain[n]]
	count := sort.Search(int(n-first)+1, func(k int) bool { return b.Event[first+order.Node(k)] > record })
	if count == 0 {
		return None
	}
	return first + order.Node(count) - 1
}

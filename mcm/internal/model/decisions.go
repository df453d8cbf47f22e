package model

import (
	"sort"

	"github.com/heisen-go/heisen/mcm/order"
)

// Flow has the reads that must see an accepted value because a decision depends on them (Huang,
// Meredith, Roşu 2014, section 3: control flow abstraction).
//
// A decision is a Branch event, or an atomic operation that reads, because its effect can depend on
// the value. A decision depends on the earlier reads of its thread. If one of these reads sees a
// write, the decision also depends on what the thread of the write had read before. So once a read
// has seen a value that it does not accept, its thread has deviated: what the thread writes from
// then on may have another value, and no decision of a thread that has deviated may come before the
// goal.
type Flow struct {
	m         *Model
	width     int
	depends   []int32        // by node and chain: on how many nodes of the chain, from the first, its reads depend at least
	decisions [][]order.Node // by chain, in order
	Decides   []bool         // by node
}

func newFlow(b *builder) *Flow {
	m := b.Model
	f := &Flow{m: m, width: len(m.Base) - 1}
	f.depends = make([]int32, len(m.Rows))
	f.decisions, f.Decides = make([][]order.Node, f.width), make([]bool, m.Goal)
	for _, n := range m.Observed[1:] {
		row := f.row(n)
		if p := m.Prev(n); p != None {
			copy(row, f.row(p))
		}
		for _, t := range m.Accesses[m.AccessAt[n]:m.AccessAt[n+1]] {
			if t.Read < 0 || m.Reads[t.Read].Unowned {
				continue
			}
			row[m.Chain[n]] = m.Pos(n) + 1
			if r := &m.Reads[t.Read]; r.Saw != None && !r.HasChoice() {
				w := r.Saw
				for c, v := range f.row(w) {
					row[c] = max(row[c], v)
				}
			}
		}
		if b.decides(&m.Records[m.Event[n]]) {
			f.decisions[m.Chain[n]] = append(f.decisions[m.Chain[n]], n)
			f.Decides[n] = true
		}
	}
	return f
}

func (f *Flow) row(n order.Node) []int32 { return f.depends[int(n)*f.width : int(n)*f.width+f.width] }

// Needed returns, by chain, a number of nodes whose reads must all see accepted values. It is a
// lower bound, given how many nodes of each chain come before the goal.
func (f *Flow) Needed(prefix []int32) []int32 {
	need := make([]int32, f.width)
	for c, list := range f.decisions {
		end := f.m.Base[c] + order.Node(prefix[c])
		i := sort.Search(len(list), func(i int) bool { return list[i] >= end })
		if i > 0 {
			for k, v := range f.row(list[i-1]) {
				need[k] = max(need[k], v)
			}
		}
	}
	return need
}

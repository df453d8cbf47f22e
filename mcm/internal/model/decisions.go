package model

import (
	"sort"

	"github.com/heisen-go/heisen/mcm/order"
)

// Flow says which reads have to see the values that they saw because decisions depend
// on them. A decision is a Branch event, or an atomic operation that reads, for what
// that does may depend on what it sees. A decision depends on the reads before it by the
// same thread; and the value that one of these sees was made from what its writer's
// thread had read before. So a read that sees something else spoils what its thread
// writes from then on, and no decision may come in a thread that is spoilt.
type Flow struct {
	m         *Model
	width     int
	depends   []int32        // by node and chain: on how many nodes of the chain, from the first, its reads depend in any case
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

// Needed returns, by chain, how many nodes have reads that matter in any case if so many
// of each chain come before the goal.
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

package mcm

import (
	"sort"

	"github.com/heisen-go/heisen/mcm/order"
)

// flow says which reads have to see the values that they saw because decisions depend
// on them. A decision is a Branch event, or an atomic operation that reads, for what
// that does may depend on what it sees. A decision depends on the reads before it by the
// same thread; and the value that one of these sees was made from what its writer's
// thread had read before. So a read that sees something else spoils what its thread
// writes from then on, and no decision may come in a thread that is spoilt.
type flow struct {
	m         *causal
	width     int
	depends   []int32        // by node and chain: on how many nodes of the chain, from the first, its reads depend in any case
	decisions [][]order.Node // by chain, in order
	decides   []bool         // by node
}

func newFlow(b *builder) *flow {
	m := b.causal
	f := &flow{m: m, width: len(m.base) - 1}
	f.depends = make([]int32, len(m.rows))
	f.decisions, f.decides = make([][]order.Node, f.width), make([]bool, m.goal)
	for _, n := range m.hint[1:] {
		row := f.row(n)
		if p := m.prev(n); p != none {
			copy(row, f.row(p))
		}
		for _, t := range m.touches[m.touchAt[n]:m.touchAt[n+1]] {
			if t.read < 0 || m.reads[t.read].lock {
				continue
			}
			row[m.chain[n]] = m.pos(n) + 1
			if r := &m.reads[t.read]; r.saw != none && !r.choice() {
				w := r.saw
				for c, v := range f.row(w) {
					row[c] = max(row[c], v)
				}
			}
		}
		if b.decides(&m.records[m.event[n]]) {
			f.decisions[m.chain[n]] = append(f.decisions[m.chain[n]], n)
			f.decides[n] = true
		}
	}
	return f
}

func (f *flow) row(n order.Node) []int32 { return f.depends[int(n)*f.width : int(n)*f.width+f.width] }

// needed returns, by chain, how many nodes have reads that matter in any case if so many
// of each chain come before the goal.
func (f *flow) needed(prefix []int32) []int32 {
	need := make([]int32, f.width)
	for c, list := range f.decisions {
		end := f.m.base[c] + order.Node(prefix[c])
		i := sort.Search(len(list), func(i int) bool { return list[i] >= end })
		if i > 0 {
			for k, v := range f.row(list[i-1]) {
				need[k] = max(need[k], v)
			}
		}
	}
	return need
}

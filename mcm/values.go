package mcm

import (
	"slices"

	"github.com/heisen-go/heisen/mcm/order"
)

// valueSet is what reads of a cell that want the same value may see, and what they
// may not: lists of writes, chain by chain.
type valueSet struct {
	same, rivals     []order.Node
	sameAt, rivalsAt []int32 // by chain where its writes begin, and one more
}

// valueSets are the sets of a model's reads.
type valueSets struct {
	list []valueSet
	of   []int32 // by read: its set, -1 if it has one choice
}

func newValueSets(m *causal) *valueSets {
	type key struct {
		cell      int32
		same, saw order.Node
	}
	known := map[key]int32{}
	v := &valueSets{of: make([]int32, len(m.reads))}
	for i := range m.reads {
		r := &m.reads[i]
		v.of[i] = -1
		if len(r.same) == 0 && !(r.init && r.saw != none) {
			continue
		}
		k := key{r.cell, none, none}
		if len(r.same) > 0 {
			k.same = r.same[0]
		}
		if _, ok := slices.BinarySearch(r.same, r.saw); !ok {
			k.saw = r.saw
		}
		set, ok := known[k]
		if !ok {
			set = int32(len(v.list))
			known[k] = set
			v.list = append(v.list, m.valueSet(r))
		}
		v.of[i] = set
	}
	return v
}

func (m *causal) valueSet(r *read) (v valueSet) {
	for _, w := range m.cells[r.cell].writes {
		if r.accepts(w) {
			v.same = append(v.same, w)
		} else {
			v.rivals = append(v.rivals, w)
		}
	}
	at := func(list []order.Node) (starts []int32) {
		for _, n := range m.base {
			starts = append(starts, int32(firstFrom(list, n)))
		}
		return starts
	}
	v.sameAt, v.rivalsAt = at(v.same), at(v.rivals)
	return v
}

// cover finds, by chain, how many nodes come before a rival that comes before a read,
// in an order given by rows: a write among them is not what the read sees. It
// reports whether there is such a rival.
func (m *causal) cover(r *read, v *valueSet, rows, cover []int32) (covered bool) {
	clear(cover)
	width := len(cover)
	row := func(n order.Node) []int32 { return rows[int(n)*width : int(n)*width+width] }
	for k, come := range row(r.node) {
		if int32(k) == m.chain[r.node] {
			come = m.pos(r.node)
		}
		list := v.rivals[v.rivalsAt[k]:v.rivalsAt[k+1]]
		if i := firstFrom(list, m.base[k]+order.Node(come)); i > 0 { // the last one of the chain before the read
			covered = true
			for j, p := range row(list[i-1]) {
				cover[j] = max(cover[j], p)
			}
		}
	}
	return covered
}

// firstFrom returns the index of the first node in a sorted list that is at least n.
func firstFrom(list []order.Node, n order.Node) int {
	lo, hi := 0, len(list)
	for lo < hi {
		if h := int(uint(lo+hi) >> 1); list[h] < n {
			lo = h + 1
		} else {
			hi = h
		}
	}
	return lo
}

package model

import (
	"slices"

	"github.com/heisen-go/heisen/mcm/order"
)

// ValueSet is what reads of a cell that want the same value may see, and what they
// may not: lists of writes, chain by chain.
type ValueSet struct {
	Same, Rivals     []order.Node
	SameAt, RivalsAt []int32 // by chain where its writes begin, and one more
}

// ValueSets are the sets of a model's reads.
type ValueSets struct {
	List []ValueSet
	Of   []int32 // by read: its set, -1 if it has one choice
}

func NewValueSets(m *Model) *ValueSets {
	type key struct {
		cell      int32
		same, saw order.Node
	}
	known := map[key]int32{}
	v := &ValueSets{Of: make([]int32, len(m.Reads))}
	for i := range m.Reads {
		r := &m.Reads[i]
		v.Of[i] = -1
		if len(r.Same) == 0 && !(r.Initial && r.Saw != None) {
			continue
		}
		k := key{r.Cell, None, None}
		if len(r.Same) > 0 {
			k.same = r.Same[0]
		}
		if _, ok := slices.BinarySearch(r.Same, r.Saw); !ok {
			k.saw = r.Saw
		}
		set, ok := known[k]
		if !ok {
			set = int32(len(v.List))
			known[k] = set
			v.List = append(v.List, m.valueSet(r))
		}
		v.Of[i] = set
	}
	return v
}

func (m *Model) valueSet(r *Read) (v ValueSet) {
	for _, w := range m.Cells[r.Cell].Writes {
		if r.Accepts(w) {
			v.Same = append(v.Same, w)
		} else {
			v.Rivals = append(v.Rivals, w)
		}
	}
	at := func(list []order.Node) (starts []int32) {
		for _, n := range m.Base {
			starts = append(starts, int32(FirstFrom(list, n)))
		}
		return starts
	}
	v.SameAt, v.RivalsAt = at(v.Same), at(v.Rivals)
	return v
}

// Cover finds, by chain, how many nodes come before a rival that comes before a read,
// in an order given by rows: a write among them is not what the read sees. It
// reports whether there is such a rival.
func (m *Model) Cover(r *Read, v *ValueSet, rows, cover []int32) (covered bool) {
	clear(cover)
	width := len(cover)
	row := func(n order.Node) []int32 { return rows[int(n)*width : int(n)*width+width] }
	for k, come := range row(r.Node) {
		if int32(k) == m.Chain[r.Node] {
			come = m.Pos(r.Node)
		}
		list := v.Rivals[v.RivalsAt[k]:v.RivalsAt[k+1]]
		if i := FirstFrom(list, m.Base[k]+order.Node(come)); i > 0 { // the last one of the chain before the read
			covered = true
			for j, p := range row(list[i-1]) {
				cover[j] = max(cover[j], p)
			}
		}
	}
	return covered
}

// FirstFrom returns the index of the first node in a sorted list that is at least n.
func FirstFrom(list []order.Node, n order.Node) int {
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

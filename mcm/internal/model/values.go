package model

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/order"
)

// valueKey is a known value of a cell. Equal keys mean equal bytes in the cell.
type valueKey struct {
	cell   int32 // index in builder.bounds
	offset uint16
	length uint16
	value  uint64
}

// findValues finds which writes wrote the same value to a cell, and the values before the window as
// far as a read shows them. It does nothing if no read has a known value.
func (b *builder) findValues() {
	any := false
	for i := range b.Records {
		if r := &b.Records[i]; r.Flags&heisen.HasValue != 0 && b.relevant[i] && window.IsRead(r.Op) {
			any = true
			break
		}
	}
	if !any {
		return
	}
	b.values = map[valueKey][]order.Node{}
	b.initialValues = map[int32]valueKey{}
	written := make([]bool, len(b.bounds))
	for _, n := range b.Observed[1:] {
		r := &b.Records[b.Event[n]]
		if window.IsAllocation(r.Op) {
			for c, to := b.reached(window.AllocationSpan(r)); c < to; c++ {
				written[c] = true
			}
			continue
		}
		from, to := b.accessed(r)
		for c := from; c < to; c++ {
			key, ok := b.valueOf(r, c)
			if ok && window.IsRead(r.Op) && !written[c] {
				if _, known := b.initialValues[int32(c)]; !known {
					b.initialValues[int32(c)] = key
				}
			}
			if ok && r.Op.IsWrite() {
				b.values[key] = append(b.values[key], n)
			}
			written[c] = written[c] || window.Writes(r)
		}
	}
	for _, list := range b.values {
		slices.Sort(list)
	}
}

// valueOf returns the value that r reads or writes, as far as it lies in cell c, if it is known.
// An atomic update reads one value and writes another, and the record has room for one, so neither
// counts as known.
func (b *builder) valueOf(r *heisen.Record, c int) (valueKey, bool) {
	if r.Flags&heisen.HasValue == 0 || r.Op == heisen.AtomicUpdate || !r.Op.IsAccess() {
		return valueKey{}, false
	}
	return valueKey{int32(c), uint16(b.bounds[c] - r.Object), uint16(r.Size()), r.Value}, true
}

// ValueSet is shared by the reads of a cell that accept the same writes. It has these writes and
// the others, the rivals, each sorted by chain.
type ValueSet struct {
	Same, Rivals     []order.Node
	SameAt, RivalsAt []int32 // by chain: its first write; and one entry more
}

// ValueSets are the value sets of the reads of a model.
type ValueSets struct {
	List []ValueSet
	Of   []int32 // by read: its set, or -1 if it has one choice
}

// NewValueSets returns the value sets of a model.
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
		if !r.HasChoice() {
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

// Cover computes, by chain, how many nodes come before a rival that comes before a read, in the
// order given by rows. The read cannot see a write among them, because the rival overwrites it.
// Cover reports whether there is such a rival.
func (m *Model) Cover(r *Read, v *ValueSet, rows, cover []int32) (covered bool) {
	clear(cover)
	width := len(cover)
	row := func(n order.Node) []int32 { return rows[int(n)*width : int(n)*width+width] }
	for k, before := range row(r.Node) {
		if int32(k) == m.Chain[r.Node] {
			before = m.Pos(r.Node)
		}
		list := v.Rivals[v.RivalsAt[k]:v.RivalsAt[k+1]]
		if i := FirstFrom(list, m.Base[k]+order.Node(before)); i > 0 { // list[i-1] is the last rival of the chain before the read
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

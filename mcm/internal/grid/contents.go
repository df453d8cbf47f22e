package grid

import (
	"math/bits"
	"slices"
)

// shift is a change of memory: content number i becomes i+by for each i in mask.
type shift struct {
	mask uint64
	by   int
}

// findContents numbers the contents of memory and computes how steps change them. It reports
// whether there are at most 64.
func (g *Grid) findContents() bool {
	m, x := g.m, g.machine
	most := x.Limits()[x.Threads : x.Threads+x.Cells]
	lowest := make([]int32, x.Cells)
	for _, f := range g.unwritten {
		lowest[f.cell] = 1 // classes are numbered from what a cell holds at first
	}
	stride, values, count := make([]int, x.Cells), make([]int, x.Cells), 1
	for c, v := range most {
		stride[c], values[c] = count, int(v-lowest[c])+1
		g.start += uint64(count) * uint64(max(0, x.InitialClass[c]-lowest[c]))
		if count *= values[c]; count > 64 {
			return false
		}
	}
	g.start, g.contentCount = 1<<g.start, count
	for i := range g.axes {
		for p := range g.axes[i].steps {
			s := &g.axes[i].steps[p]
			for content := range count {
				can, by := true, 0
				for i := m.AccessAt[s.node]; i < m.AccessAt[s.node+1]; i++ {
					t := &m.Accesses[i]
					v := int32(content/stride[t.Cell]%values[t.Cell]) + lowest[t.Cell]
					can = can && (t.Read < 0 || x.ReadClass[t.Read] == v)
					if t.Write {
						by += int(x.WriteClass[i]-v) * stride[t.Cell]
					}
				}
				if !can {
					continue
				}
				if by == 0 {
					s.unchanged |= 1 << content
				} else {
					s.shiftBy(by).mask |= 1 << content
				}
			}
		}
	}
	return true
}

// shiftBy returns the part of a step that shifts contents by the given distance.
func (s *macroStep) shiftBy(by int) *shift {
	if s.mask == 0 || s.by == by {
		s.by = by
		return &s.shift
	}
	k := slices.IndexFunc(s.more, func(t shift) bool { return t.by == by })
	if k < 0 {
		k = len(s.more)
		s.more = append(s.more, shift{0, by})
	}
	return &s.more[k]
}

// predecessors returns the contents from which a step leads to the given ones.
func (s *macroStep) predecessors(contents uint64) uint64 {
	from := contents&s.unchanged | bits.RotateLeft64(contents, -s.by)&s.mask
	for _, t := range s.more {
		from |= bits.RotateLeft64(contents, -t.by) & t.mask
	}
	return from
}

package mcm

import "slices"

// fresh is a cell of which no step reads or writes what it holds at first: so it holds that
// where all threads are before their first writes of it, and only there. As that can be told from
// where they are, contents of memory need not tell that value from another one; but there no
// step may read it.
type fresh struct {
	cell int32
	bare []uint64 // a row: where the last axis' thread has not written it
	shut []uint64 // a row: where that thread's step reads it and it has not
}

// findFresh finds cells that are fresh, up to 64.
func (g *grid) findFresh() {
	m, x := g.m, g.moves
	known, written := make([]bool, x.cells), make([]bool, x.cells)
	for i := range m.touches {
		t := &m.touches[i]
		first := x.start[t.cell]
		if t.read >= 0 && x.want[t.read] == first || t.write && x.class[i] == first {
			known[t.cell] = true
		}
		written[t.cell] = written[t.cell] || t.write
	}
	for c := range int32(x.cells) {
		if written[c] && !known[c] && len(g.fresh) < 64 {
			g.fresh = append(g.fresh, fresh{cell: c})
		}
	}
	g.bare = make([]uint64, g.first[len(g.axes)])
	for i := range g.axes {
		bare := uint64(1)<<len(g.fresh) - 1
		for p := range g.axes[i].steps {
			s := &g.axes[i].steps[p]
			g.bare[g.first[i]+p] = bare
			for _, t := range m.touches[m.touchAt[s.node]:m.touchAt[s.node+1]] {
				k := slices.IndexFunc(g.fresh, func(f fresh) bool { return f.cell == t.cell })
				if k >= 0 && t.read >= 0 {
					s.needs |= 1 << k
				}
				if k >= 0 && t.write {
					bare &^= 1 << k
				}
			}
		}
		g.bare[g.first[i]+len(g.axes[i].steps)] = bare
	}
}

// layOutFresh finds where in rows the last axis' thread has not written fresh cells.
func (g *grid) layOutFresh() {
	l := &g.layout
	for k := range g.fresh {
		f := &g.fresh[k]
		f.bare, f.shut = make([]uint64, l.words), make([]uint64, l.words)
		for p := range g.places(g.last) {
			if g.bare[g.first[g.last]+p]>>k&1 == 0 {
				break
			}
			f.bare[p/l.each] |= l.at(p, l.full)
			if p < len(g.axes[g.last].steps) && g.axes[g.last].steps[p].needs>>k&1 != 0 {
				f.shut[p/l.each] |= l.at(p, l.full)
			}
		}
	}
}

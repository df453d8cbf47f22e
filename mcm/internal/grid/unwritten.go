package grid

import "slices"

// unwritten is a cell whose initial value no step reads or writes. It holds that value as long as
// no thread has passed its first write. Since places determine this, memory contents do not
// distinguish the initial value from another one. Instead, steps that read the cell are not
// permitted there.
type unwritten struct {
	cell       int32
	notWritten []uint64 // a row: where the last thread has not written it
	blocked    []uint64 // a row: where that thread reads it and has not written it
}

// findUnwritten finds up to 64 unwritten cells.
func (g *Grid) findUnwritten() {
	m, x := g.m, g.machine
	known, written := make([]bool, x.Cells), make([]bool, x.Cells)
	for i := range m.Accesses {
		t := &m.Accesses[i]
		first := x.InitialClass[t.Cell]
		if t.Read >= 0 && x.ReadClass[t.Read] == first || t.Write && x.WriteClass[i] == first {
			known[t.Cell] = true
		}
		written[t.Cell] = written[t.Cell] || t.Write
	}
	for c := range int32(x.Cells) {
		if written[c] && !known[c] && len(g.unwritten) < 64 {
			g.unwritten = append(g.unwritten, unwritten{cell: c})
		}
	}
	g.unwrittenAt = make([]uint64, g.firstPlace[len(g.axes)])
	for i := range g.axes {
		left := uint64(1)<<len(g.unwritten) - 1
		for p := range g.axes[i].steps {
			s := &g.axes[i].steps[p]
			g.unwrittenAt[g.firstPlace[i]+p] = left
			for _, t := range m.Accesses[m.AccessAt[s.node]:m.AccessAt[s.node+1]] {
				k := slices.IndexFunc(g.unwritten, func(f unwritten) bool { return f.cell == t.Cell })
				if k >= 0 && t.Read >= 0 {
					s.readsUnwritten |= 1 << k
				}
				if k >= 0 && t.Write {
					left &^= 1 << k
				}
			}
		}
		g.unwrittenAt[g.firstPlace[i]+len(g.axes[i].steps)] = left
	}
}

// layOutUnwritten computes the rows of unwritten cells.
func (g *Grid) layOutUnwritten() {
	l := &g.layout
	for k := range g.unwritten {
		f := &g.unwritten[k]
		f.notWritten, f.blocked = make([]uint64, l.words), make([]uint64, l.words)
		for p := range g.places(g.lastAxis) {
			if g.unwrittenAt[g.firstPlace[g.lastAxis]+p]>>k&1 == 0 {
				break
			}
			f.notWritten[p/l.each] |= l.at(p, l.full)
			if p < len(g.axes[g.lastAxis].steps) && g.axes[g.lastAxis].steps[p].readsUnwritten>>k&1 != 0 {
				f.blocked[p/l.each] |= l.at(p, l.full)
			}
		}
	}
}

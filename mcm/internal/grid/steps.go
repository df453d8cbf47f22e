package grid

import (
	"math/bits"
)

// crossing is a step of a thread, other than the last, from the points of a row.
type crossing struct {
	step    *macroStep
	enabled []uint64 // a row: where the step is permitted
	to      *gridSlice
	block   int
}

// findSteps computes invisibleSteps and otherSteps of a row. The bits of unwritten are the cells
// that none of the other threads has written.
func (g *Grid) findSteps(block int, unwritten uint64, this, next *gridSlice) {
	g.invisibleSteps, g.otherSteps = g.invisibleSteps[:0], g.otherSteps[:0]
	for x := range g.lastAxis {
		p := g.pos[x]
		if p == len(g.axes[x].steps) || !g.allows(&g.canStep, x) {
			continue
		}
		c := crossing{&g.axes[x].steps[p], g.enabledRows[g.firstPlace[x]+p], next, block}
		if x > 0 {
			c.to, c.block = this, block+g.stride[x]
		}
		if needs := c.step.readsUnwritten & unwritten; needs != 0 {
			copy(g.masked[x], c.enabled)
			c.enabled = g.masked[x]
			for ; needs != 0; needs &= needs - 1 {
				subtract(c.enabled, g.unwritten[bits.TrailingZeros64(needs)].notWritten)
			}
		}
		if !c.step.invisible {
			g.otherSteps = append(g.otherSteps, c)
		} else if c.step.unchanged != 0 {
			g.invisibleSteps = append(g.invisibleSteps, c)
		}
	}
}

// subtract clears the bits of b in a.
func subtract(a, b []uint64) {
	for w, v := range b {
		a[w] &^= v
	}
}

// segment returns, of the row of a matrix for the current place of a thread, the bits of the last
// axis.
func (g *Grid) segment(a *matrix, axis int) []uint64 {
	return g.lanes(a, g.firstPlace[axis]+g.pos[axis])
}

// lanes returns, of row i of a matrix, the bits of the last axis.
func (g *Grid) lanes(a *matrix, i int) []uint64 {
	return a.row(i)[g.firstPlace[g.lastAxis]/64 : g.firstPlace[g.lastAxis+1]/64]
}

// allows reports whether a matrix holds for the current place of a thread and those of all others
// but the last.
func (g *Grid) allows(a *matrix, axis int) bool {
	for y := range g.lastAxis {
		if y != axis && !a.has(g.firstPlace[axis]+g.pos[axis], g.firstPlace[y]+g.pos[y]) {
			return false
		}
	}
	return true
}

// advanceLast lets the last thread advance as far as it can, except with contents with which an
// invisible step of another thread is possible. It returns the bounds of the words with points.
func (g *Grid) advanceLast(row []uint64, unwritten uint64) (from, to int) {
	for row[from] == 0 {
		from++
	}
	can, same, lets := g.lastCan[:len(row)], g.group.lastEnabled[:len(row)], g.lastEnabledRows[g.firstPlace[g.lastAxis-1]+g.pos[g.lastAxis-1]][:len(row)]
	for w := from; w < len(can); w++ {
		can[w] = same[w] & lets[w]
	}
	for i := range g.invisibleSteps {
		passes, invisible := g.layout.all(g.invisibleSteps[i].step.unchanged), g.invisibleSteps[i].enabled[:len(row)]
		for w := from; w < len(can); w++ {
			can[w] &^= invisible[w] & passes
		}
	}
	for ; unwritten != 0; unwritten &= unwritten - 1 {
		subtract(can, g.unwritten[bits.TrailingZeros64(unwritten)].blocked)
	}
	each, size := g.layout.each, g.layout.size
	carry := uint64(0)
	for w := from; w < len(row); w++ {
		v := row[w] | carry
		if v == 0 {
			continue
		}
		can, turns := can[w], g.rowSteps[w*each:(w+1)*each]
		for i := range turns {
			v |= carry
			t := &turns[i]
			carry = bits.RotateLeft64(v&(can&t.unchanged), size) | bits.RotateLeft64(v&(can&t.mask), t.by)
			for _, m := range t.more {
				carry |= bits.RotateLeft64(v&(can&m.mask), m.by)
			}
		}
		row[w] = v
		to = w + 1
	}
	return from, to
}

// advanceOther takes a step of another thread from the points of a row. An invisible step removes
// the contents with which it is taken from the row.
func (g *Grid) advanceOther(row []uint64, from, to int, c *crossing) {
	w, bit := c.block/64, uint64(1)<<(c.block%64)
	number := c.to.rows[c.block]
	if c.to.hasRow[w]&bit == 0 {
		number = g.newRow()
	}
	row = row[from:to]
	goal, can := g.rows[number][from:to][:len(row)], c.enabled[from:to][:len(row)]
	passes, some := g.layout.all(c.step.unchanged), uint64(0)
	if c.step.invisible {
		for w, v := range row {
			after := v & can[w] & passes
			goal[w] |= after
			row[w] = v &^ after
			some |= after
		}
	} else {
		mask, by := g.layout.all(c.step.shift.mask), c.step.shift.by
		for w, v := range row {
			v &= can[w]
			after := v&passes | bits.RotateLeft64(v&mask, by)
			goal[w] |= after
			some |= after
		}
		for _, m := range c.step.more {
			mask := g.layout.all(m.mask)
			for w, v := range row {
				after := bits.RotateLeft64(v&can[w]&mask, m.by)
				goal[w] |= after
				some |= after
			}
		}
	}
	if some != 0 {
		c.to.hasRow[w] |= bit
		c.to.rows[c.block] = number
	} else if c.to.hasRow[w]&bit == 0 {
		g.freeRows = append(g.freeRows, number)
	}
}

// dropInvisible removes contents with which an invisible step of the last thread is possible, and
// computes reached. It returns the bounds of the words that are not empty.
func (g *Grid) dropInvisible(row []uint64, from, to int) (first, end int) {
	clear(g.reached)
	row, can, idle := row[:to], g.lastCan[:to], g.invisibleRow[:to]
	first = to
	for w := to - 1; w >= from; w-- {
		v := row[w] &^ (can[w] & idle[w])
		row[w] = v
		if v != 0 {
			first, end = w, max(end, w+1)
			p := w * g.layout.each
			g.reached[p/64] |= g.layout.flags(v) << (p % 64)
		}
	}
	return first, end
}

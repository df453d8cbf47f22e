package grid

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// slice is the points of a slice that have been reached, in rows by block, which is where all
// threads are but the first and the last one.
type slice struct {
	has  []uint64 // as bits, which blocks have a row
	rows []int32  // by block: its number
}

// past is the points of a slice that had been reached in the end and where something was left
// besides quiet steps.
type past struct {
	rows   []uint64 // as bits, which blocks have such points
	before []tally  // by word of these: how much there is of what comes before
	bits   []uint64 // of each row, as bits, which words are not empty
	hints  []uint8  // of each lane of these words, see layout
}

// tally is a number of rows, and of hints.
type tally struct{ rows, hints int32 }

// newSlice returns a slice without points.
func (g *Grid) newSlice() *slice {
	return &slice{make([]uint64, (g.blocks+63)/64), make([]int32, g.blocks)}
}

// newRow returns the number of an empty row.
func (g *Grid) newRow() int32 {
	if n := len(g.free); n > 0 {
		row := g.free[n-1]
		g.free = g.free[:n-1]
		return row
	}
	g.rows = append(g.rows, make([]uint64, g.layout.words))
	return int32(len(g.rows) - 1)
}

// Explore goes through the grid, and reports whether it has no more points than so many, and
// takes no more memory than it may.
func (g *Grid) Explore(points int) bool {
	points = min(points, gridLooked)
	this, next := g.newSlice(), g.newSlice()
	this.has[0], this.rows[0] = 1, g.newRow()
	g.rows[this.rows[0]][0] = g.start
	for i := range g.places(0) {
		g.through(i, this, next)
		this, next = next, this
		if g.looked > points || g.size > gridBytes || g.moves.Interrupted() {
			return false
		}
	}
	g.rows, g.free, g.bits, g.hints, g.leads, g.lets = nil, nil, nil, nil, nil, nil
	return true
}

// through finds what follows from the points of the i-th slice, which it empties: further
// points there, and points of the next one. It notes who meets, and remembers which points
// there were.
func (g *Grid) through(i int, this, next *slice) {
	old := past{rows: make([]uint64, len(this.has)), before: make([]tally, len(this.has))}
	rows := int32(0)
	for w := range this.has {
		old.before[w] = tally{rows, int32(len(g.hints))}
		for this.has[w] != 0 { // as threads go on, there are more
			bit := this.has[w] & -this.has[w]
			this.has[w] &^= bit
			if g.pass(i, 64*w+bits.TrailingZeros64(bit), this, next) {
				old.rows[w] |= bit
				rows++
			}
		}
	}
	old.bits, old.hints = slices.Clone(g.bits), slices.Clone(g.hints)
	g.bits, g.hints = g.bits[:0], g.hints[:0]
	g.past = append(g.past, old)
	g.size += 16*len(old.rows) + 8*len(old.bits) + len(old.hints)
}

// lap is what is the same for rows that differ in where the thread of the last axis but one
// is: it is about the others, but that of the last axis.
type lap struct {
	slice, block int
	known        bool     // nobody has met since
	bare         uint64   // the fresh cells that none of them has written
	lets         []uint64 // a row: where they let the last axis' thread go on
	open         []uint64 // as bits, the places whose nodes are to meet one of theirs
	pairs        bool     // they are to meet each other
}

// newLap finds what is the same for rows from where threads are.
func (g *Grid) newLap() {
	l := &g.lap
	l.known, l.bare, l.pairs = true, ^uint64(0), false
	for w := range l.lets {
		l.lets[w] = ^uint64(0)
	}
	clear(l.open)
	for x := range g.last - 1 {
		at := g.first[x] + g.pos[x]
		l.bare &= g.bare[at]
		for w, v := range g.lets[at] {
			l.lets[w] &= v
		}
		near := true
		for y := range g.last - 1 {
			near = near && (x == y || g.near.has(at, g.first[y]+g.pos[y]))
		}
		for p := g.early[at]; p < at || p == at && near; p++ {
			l.pairs = l.pairs || l.open[p/64]>>(p%64)&1 != 0
			for w, v := range g.open.row(p) {
				l.open[w] |= v
			}
		}
	}
}

// pass finds what follows from the points of a row, and reports whether something is left there
// besides quiet steps.
func (g *Grid) pass(i, block int, this, next *slice) bool {
	g.locate(point{slice: int32(i), block: int32(block)})
	step := g.pos[g.last-1]
	if l := &g.lap; !l.known || l.slice != i || l.block != block-step {
		l.slice, l.block = i, block-step
		g.newLap()
	}
	bare := g.lap.bare & g.bare[g.first[g.last-1]+step]
	g.cross(block, bare, this, next)
	row := g.rows[this.rows[block]]
	from, to := g.along(row, bare)
	for _, v := range row[from:to] {
		g.looked += bits.OnesCount64(g.layout.marks(v))
	}
	for i := range g.quiets {
		g.across(row, from, to, &g.quiets[i])
	}
	first, end := g.settle(row, from, to)
	if first < end {
		for i := range g.others {
			g.across(row, first, end, &g.others[i])
		}
		g.remember(row, first, end)
		if g.mayBePending() {
			g.notePendingOf(block, row)
		}
	}
	clear(row[from:to])
	g.free = append(g.free, this.rows[block])
	return first < end
}

// crossing is that a thread but that of the last axis takes its step from the points of a
// row.
type crossing struct {
	step  *fused
	can   []uint64 // where in the row
	to    *slice
	block int
}

// cross finds which threads but that of the last axis can take their steps from a row: g.quiets
// and g.others. Some fresh cells have not been written by any of these threads.
func (g *Grid) cross(block int, bare uint64, this, next *slice) {
	g.quiets, g.others = g.quiets[:0], g.others[:0]
	for x := range g.last {
		p := g.pos[x]
		if p == len(g.axes[x].steps) || !g.all(&g.may, x) {
			continue
		}
		c := crossing{&g.axes[x].steps[p], g.leads[g.first[x]+p], next, block}
		if x > 0 {
			c.to, c.block = this, block+g.stride[x]
		}
		if needs := c.step.needs & bare; needs != 0 {
			copy(g.masked[x], c.can)
			c.can = g.masked[x]
			for ; needs != 0; needs &= needs - 1 {
				subtract(c.can, g.unwritten[bits.TrailingZeros64(needs)].bare)
			}
		}
		if !c.step.quiet {
			g.others = append(g.others, c)
		} else if c.step.passes != 0 {
			g.quiets = append(g.quiets, c)
		}
	}
}

// subtract leaves of some bits those that others have not.
func subtract(a, b []uint64) {
	for w, v := range b {
		a[w] &^= v
	}
}

// segment returns, of the place of a thread, the bits of the places of the last axis.
func (g *Grid) segment(a *matrix, axis int) []uint64 { return g.lanes(a, g.first[axis]+g.pos[axis]) }

// lanes returns the bits of the places of the last axis of a row of a matrix.
func (g *Grid) lanes(a *matrix, i int) []uint64 {
	return a.row(i)[g.first[g.last]/64 : g.first[g.last+1]/64]
}

// all reports whether a thread's place goes together with those of all others but that of
// the last axis.
func (g *Grid) all(a *matrix, axis int) bool {
	for y := range g.last {
		if y != axis && !a.has(g.first[axis]+g.pos[axis], g.first[y]+g.pos[y]) {
			return false
		}
	}
	return true
}

// along lets the thread of the last axis go on as far as it can, but with contents with which
// a quiet step of another one is possible. It returns between which words of the row there
// are points.
func (g *Grid) along(row []uint64, bare uint64) (from, to int) {
	for row[from] == 0 {
		from++
	}
	can, same, lets := g.can[:len(row)], g.lap.lets[:len(row)], g.lets[g.first[g.last-1]+g.pos[g.last-1]][:len(row)]
	for w := from; w < len(can); w++ {
		can[w] = same[w] & lets[w]
	}
	for i := range g.quiets {
		passes, quiet := g.layout.all(g.quiets[i].step.passes), g.quiets[i].can[:len(row)]
		for w := from; w < len(can); w++ {
			can[w] &^= quiet[w] & passes
		}
	}
	for ; bare != 0; bare &= bare - 1 {
		subtract(can, g.unwritten[bits.TrailingZeros64(bare)].shut)
	}
	each, size := g.layout.each, g.layout.size
	carry := uint64(0)
	for w := from; w < len(row); w++ {
		v := row[w] | carry
		if v == 0 {
			continue
		}
		can, turns := can[w], g.turns[w*each:(w+1)*each]
		for i := range turns {
			v |= carry
			t := &turns[i]
			carry = bits.RotateLeft64(v&(can&t.passes), size) | bits.RotateLeft64(v&(can&t.mask), t.by)
			for _, m := range t.more {
				carry |= bits.RotateLeft64(v&(can&m.mask), m.by)
			}
		}
		row[w] = v
		to = w + 1
	}
	return from, to
}

// across lets another thread take its step from the points of a row, as far as it can. A
// quiet step leaves nothing behind that it can be taken with.
func (g *Grid) across(row []uint64, from, to int, c *crossing) {
	w, bit := c.block/64, uint64(1)<<(c.block%64)
	number := c.to.rows[c.block]
	if c.to.has[w]&bit == 0 {
		number = g.newRow()
	}
	row = row[from:to]
	goal, can := g.rows[number][from:to][:len(row)], c.can[from:to][:len(row)]
	passes, some := g.layout.all(c.step.passes), uint64(0)
	if c.step.quiet {
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
		c.to.has[w] |= bit
		c.to.rows[c.block] = number
	} else if c.to.has[w]&bit == 0 {
		g.free = append(g.free, number)
	}
}

// settle leaves in a row those contents with which no quiet step is possible, and finds at
// which places there are any. It returns between which words.
func (g *Grid) settle(row []uint64, from, to int) (first, end int) {
	clear(g.reached)
	row, can, idle := row[:to], g.can[:to], g.idle[:to]
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

// remember keeps which points there are in a row.
func (g *Grid) remember(row []uint64, from, to int) {
	n := len(g.bits)
	for range (len(row) + 63) / 64 {
		g.bits = append(g.bits, 0)
	}
	words := g.bits[n:]
	n = len(g.hints)
	hints := slices.Grow(g.hints, g.layout.each*(to-from)+8)
	hints = hints[:cap(hints)]
	for w := from; w < to; w++ {
		if v := row[w]; v != 0 {
			words[w/64] |= 1 << (w % 64)
			binary.LittleEndian.PutUint64(hints[n:], g.layout.hints(v))
			n += g.layout.each
		}
	}
	g.hints = hints[:n]
}

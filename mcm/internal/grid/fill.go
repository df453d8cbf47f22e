package grid

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// gridSlice is the points of a slice that have been reached, in rows by block, which is where all
// threads are but the first and the last one.
type gridSlice struct {
	hasRow []uint64 // as bits, which blocks have a row
	rows   []int32  // by block: its number
}

// expandedSlice is the points of a slice that had been reached in the end and where something was left
// besides quiet steps.
type expandedSlice struct {
	rows     []uint64 // as bits, which blocks have such points
	offsets  []offset // by word of these: how much there is of what comes before
	wordBits []uint64 // of each row, as bits, which words are not empty
	hints    []uint8  // of each lane of these words, see layout
}

// offset is a number of rows, and of hints.
type offset struct{ rows, hints int32 }

// newSlice returns a slice without points.
func (g *Grid) newSlice() *gridSlice {
	return &gridSlice{make([]uint64, (g.blocks+63)/64), make([]int32, g.blocks)}
}

// newRow returns the number of an empty row.
func (g *Grid) newRow() int32 {
	if n := len(g.freeRows); n > 0 {
		row := g.freeRows[n-1]
		g.freeRows = g.freeRows[:n-1]
		return row
	}
	g.rows = append(g.rows, make([]uint64, g.layout.words))
	return int32(len(g.rows) - 1)
}

// Explore goes through the grid, and reports whether it has no more points than so many, and
// takes no more memory than it may.
func (g *Grid) Explore(points int) bool {
	points = min(points, maxExpanded)
	this, next := g.newSlice(), g.newSlice()
	this.hasRow[0], this.rows[0] = 1, g.newRow()
	g.rows[this.rows[0]][0] = g.start
	for i := range g.places(0) {
		g.expandSlice(i, this, next)
		this, next = next, this
		if g.pointCount > points || g.keptBytes > maxBytes || g.machine.Interrupted() {
			return false
		}
	}
	g.rows, g.freeRows, g.wordBits, g.hints, g.enabledRows, g.lastEnabledRows = nil, nil, nil, nil, nil, nil
	return true
}

// expandSlice finds what follows from the points of the i-th slice, which it empties: further
// points there, and points of the next one. It notes who meets, and remembers which points
// there were.
func (g *Grid) expandSlice(i int, this, next *gridSlice) {
	old := expandedSlice{rows: make([]uint64, len(this.hasRow)), offsets: make([]offset, len(this.hasRow))}
	rows := int32(0)
	for w := range this.hasRow {
		old.offsets[w] = offset{rows, int32(len(g.hints))}
		for this.hasRow[w] != 0 { // as threads go on, there are more
			bit := this.hasRow[w] & -this.hasRow[w]
			this.hasRow[w] &^= bit
			if g.expandRow(i, 64*w+bits.TrailingZeros64(bit), this, next) {
				old.rows[w] |= bit
				rows++
			}
		}
	}
	old.wordBits, old.hints = slices.Clone(g.wordBits), slices.Clone(g.hints)
	g.wordBits, g.hints = g.wordBits[:0], g.hints[:0]
	g.expanded = append(g.expanded, old)
	g.keptBytes += 16*len(old.rows) + 8*len(old.wordBits) + len(old.hints)
}

// rowGroup is what is the same for rows that differ in where the thread of the last axis but one
// is: it is about the others, but that of the last axis.
type rowGroup struct {
	slice, block int
	valid        bool     // nobody has met since
	unwritten    uint64   // the fresh cells that none of them has written
	lastEnabled  []uint64 // a row: where they let the last axis' thread go on
	unmet        []uint64 // as bits, the places whose nodes are to meet one of theirs
	unmetPair    bool     // they are to meet each other
}

// newGroup finds what is the same for rows from where threads are.
func (g *Grid) newGroup() {
	l := &g.group
	l.valid, l.unwritten, l.unmetPair = true, ^uint64(0), false
	for w := range l.lastEnabled {
		l.lastEnabled[w] = ^uint64(0)
	}
	clear(l.unmet)
	for x := range g.lastAxis - 1 {
		at := g.firstPlace[x] + g.pos[x]
		l.unwritten &= g.unwrittenAt[at]
		for w, v := range g.lastEnabledRows[at] {
			l.lastEnabled[w] &= v
		}
		near := true
		for y := range g.lastAxis - 1 {
			near = near && (x == y || g.canPend.has(at, g.firstPlace[y]+g.pos[y]))
		}
		for p := g.earliest[at]; p < at || p == at && near; p++ {
			l.unmetPair = l.unmetPair || l.unmet[p/64]>>(p%64)&1 != 0
			for w, v := range g.unmet.row(p) {
				l.unmet[w] |= v
			}
		}
	}
}

// expandRow finds what follows from the points of a row, and reports whether something is left there
// besides quiet steps.
func (g *Grid) expandRow(i, block int, this, next *gridSlice) bool {
	g.locate(point{slice: int32(i), block: int32(block)})
	step := g.pos[g.lastAxis-1]
	if l := &g.group; !l.valid || l.slice != i || l.block != block-step {
		l.slice, l.block = i, block-step
		g.newGroup()
	}
	bare := g.group.unwritten & g.unwrittenAt[g.firstPlace[g.lastAxis-1]+step]
	g.findSteps(block, bare, this, next)
	row := g.rows[this.rows[block]]
	from, to := g.advanceLast(row, bare)
	for _, v := range row[from:to] {
		g.pointCount += bits.OnesCount64(g.layout.marks(v))
	}
	for i := range g.invisibleSteps {
		g.advanceOther(row, from, to, &g.invisibleSteps[i])
	}
	first, end := g.dropInvisible(row, from, to)
	if first < end {
		for i := range g.otherSteps {
			g.advanceOther(row, first, end, &g.otherSteps[i])
		}
		g.recordRow(row, first, end)
		if g.mayMeet() {
			g.findMeetings(block, row)
		}
	}
	clear(row[from:to])
	g.freeRows = append(g.freeRows, this.rows[block])
	return first < end
}

// crossing is that a thread but that of the last axis takes its step from the points of a
// row.
type crossing struct {
	step    *macroStep
	enabled []uint64 // where in the row
	to      *gridSlice
	block   int
}

// findSteps finds which threads but that of the last axis can take their steps from a row: g.quiets
// and g.others. Some fresh cells have not been written by any of these threads.
func (g *Grid) findSteps(block int, bare uint64, this, next *gridSlice) {
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
		if needs := c.step.readsUnwritten & bare; needs != 0 {
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

// subtract leaves of some bits those that others have not.
func subtract(a, b []uint64) {
	for w, v := range b {
		a[w] &^= v
	}
}

// segment returns, of the place of a thread, the bits of the places of the last axis.
func (g *Grid) segment(a *matrix, axis int) []uint64 {
	return g.lanes(a, g.firstPlace[axis]+g.pos[axis])
}

// lanes returns the bits of the places of the last axis of a row of a matrix.
func (g *Grid) lanes(a *matrix, i int) []uint64 {
	return a.row(i)[g.firstPlace[g.lastAxis]/64 : g.firstPlace[g.lastAxis+1]/64]
}

// allows reports whether a thread's place goes together with those of all others but that of
// the last axis.
func (g *Grid) allows(a *matrix, axis int) bool {
	for y := range g.lastAxis {
		if y != axis && !a.has(g.firstPlace[axis]+g.pos[axis], g.firstPlace[y]+g.pos[y]) {
			return false
		}
	}
	return true
}

// advanceLast lets the thread of the last axis go on as far as it can, but with contents with which
// a quiet step of another one is possible. It returns between which words of the row there
// are points.
func (g *Grid) advanceLast(row []uint64, bare uint64) (from, to int) {
	for row[from] == 0 {
		from++
	}
	can, same, lets := g.lastCan[:len(row)], g.group.lastEnabled[:len(row)], g.lastEnabledRows[g.firstPlace[g.lastAxis-1]+g.pos[g.lastAxis-1]][:len(row)]
	for w := from; w < len(can); w++ {
		can[w] = same[w] & lets[w]
	}
	for i := range g.invisibleSteps {
		passes, quiet := g.layout.all(g.invisibleSteps[i].step.unchanged), g.invisibleSteps[i].enabled[:len(row)]
		for w := from; w < len(can); w++ {
			can[w] &^= quiet[w] & passes
		}
	}
	for ; bare != 0; bare &= bare - 1 {
		subtract(can, g.unwritten[bits.TrailingZeros64(bare)].blocked)
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

// advanceOther lets another thread take its step from the points of a row, as far as it can. A
// quiet step leaves nothing behind that it can be taken with.
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

// dropInvisible leaves in a row those contents with which no quiet step is possible, and finds at
// which places there are any. It returns between which words.
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

// recordRow keeps which points there are in a row.
func (g *Grid) recordRow(row []uint64, from, to int) {
	n := len(g.wordBits)
	for range (len(row) + 63) / 64 {
		g.wordBits = append(g.wordBits, 0)
	}
	words := g.wordBits[n:]
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

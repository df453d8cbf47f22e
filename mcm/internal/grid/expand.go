package grid

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// gridSlice is the reached points of a slice that have not been expanded, in rows by block. A
// block gives the places of all threads but the first and the last.
type gridSlice struct {
	hasRow []uint64 // as bits: the blocks with a row
	rows   []int32  // by block: the number of its row in Grid.rows
}

// expandedSlice is what the grid keeps of a slice: the points with states from which a step other
// than an invisible one can be next.
type expandedSlice struct {
	rows     []uint64 // as bits: the blocks with such points
	offsets  []offset // by word of rows: the position in wordBits and hints
	wordBits []uint64 // of each row, as bits: the words that are not empty
	hints    []uint8  // of each lane of these words; see layout.hints
}

// offset is a number of rows and of hints.
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

// Explore expands the grid. It returns false, and the grid cannot be used, if the grid has more
// than the given number of points or takes too much memory.
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

// expandSlice expands slice i, which adds points to this slice and to the next. It records the
// pairs that meet and keeps the expanded slice. It leaves this empty.
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

// rowGroup is what rows have in common that differ only in the place of the second to last thread.
// It concerns the threads of the axes before that one.
type rowGroup struct {
	slice, block int
	valid        bool     // no pair has met since it was computed
	unwritten    uint64   // the unwritten cells that none of these threads has written
	lastEnabled  []uint64 // a row: where these threads permit the last thread's step
	unmet        []uint64 // as bits: the places whose nodes have not met one of theirs
	unmetPair    bool     // some of their own nodes have not met
}

// newGroup computes the group of the current places.
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

// expandRow expands a row, and reports whether it is kept.
func (g *Grid) expandRow(i, block int, this, next *gridSlice) bool {
	g.locate(point{slice: int32(i), block: int32(block)})
	step := g.pos[g.lastAxis-1]
	if l := &g.group; !l.valid || l.slice != i || l.block != block-step {
		l.slice, l.block = i, block-step
		g.newGroup()
	}
	unwritten := g.group.unwritten & g.unwrittenAt[g.firstPlace[g.lastAxis-1]+step]
	g.findSteps(block, unwritten, this, next)
	row := g.rows[this.rows[block]]
	from, to := g.advanceLast(row, unwritten)
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

// recordRow appends the points of a row to wordBits and hints.
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

package mcm

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/heisen-go/heisen/mcm/order"
)

// slice is the points of a slice that have been reached, in rows by block, which is where all
// threads are but the first and the last one.
type slice struct {
	has  []uint64 // as bits, which blocks have a row
	rows []int32  // by block: its number
}

// past is the points of a slice that had been reached in the end.
type past struct {
	rows   []uint64 // as bits, which blocks have a row
	before []tally  // by word of these: how much there is of what comes before
	bits   []uint64 // of each row, as bits, which words are not empty
	hints  []uint8  // of each lane of these words, of each eighth content whether it could be one of these
}

// tally is a number of rows and of hints.
type tally struct{ rows, hints int32 }

// newRow returns the number of an empty row.
func (g *grid) newRow() int32 {
	if n := len(g.free); n > 0 {
		row := g.free[n-1]
		g.free = g.free[:n-1]
		return row
	}
	row := len(g.rows) / g.layout.words
	g.rows = append(g.rows, make([]uint64, g.layout.words)...)
	return int32(row)
}

// row returns a row of a list of them.
func (g *grid) row(rows []uint64, i int) []uint64 {
	return rows[i*g.layout.words : (i+1)*g.layout.words]
}

// explore goes through the grid, and reports whether it has no more points than so many, and
// takes no more memory than it may.
func (g *grid) explore(points int) bool {
	points = min(points, gridLooked)
	words := (g.blocks + 63) / 64
	this, next := &slice{make([]uint64, words), make([]int32, g.blocks)}, &slice{make([]uint64, words), make([]int32, g.blocks)}
	this.has[0], this.rows[0] = 1, g.newRow()
	g.rows[0] = g.start
	for i := range g.places(0) {
		g.through(i, this, next)
		this, next = next, this
		if g.looked > points || g.size > gridBytes {
			return false
		}
	}
	g.rows, g.free, g.bits, g.hints = nil, nil, nil, nil
	return true
}

// through finds what follows from the points of the i-th slice, which it empties: further
// points there, and points of the next one. It notes who meets, and remembers which points
// there were.
func (g *grid) through(i int, this, next *slice) {
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

// pass does what is to be done with a row.
func (g *grid) pass(i, block int, this, next *slice) bool {
	g.locate(point{slice: int32(i), block: int32(block)})
	number := this.rows[block]
	bare := ^uint64(0)
	for x := range g.last {
		bare &= g.bare[g.first[x]+g.pos[x]]
	}
	g.quiets, g.others = g.quiets[:0], g.others[:0]
	for x := range g.last {
		p := g.pos[x]
		if p == len(g.axes[x].steps) || !g.all(&g.may, x) {
			continue
		}
		c := crossing{&g.axes[x].steps[p], g.row(g.goesOn, g.first[x]+p), next, block}
		if x > 0 {
			c.to, c.block = this, block+g.stride[x]
		}
		if needs := c.step.needs & bare; needs != 0 {
			can := g.row(g.masked, x)
			copy(can, c.can)
			for ; needs != 0; needs &= needs - 1 {
				for w, v := range g.fresh[bits.TrailingZeros64(needs)].bare {
					can[w] &^= v
				}
			}
			c.can = can
		}
		if !c.step.quiet {
			g.others = append(g.others, c)
		} else if c.step.passes != 0 {
			g.quiets = append(g.quiets, c)
		}
	}
	row := g.row(g.rows, int(number))
	from, to := g.along(row, bare)
	for _, v := range row[from:to] {
		g.looked += bits.OnesCount64(g.layout.marks(v))
	}
	for i := range g.quiets {
		g.across(number, from, to, &g.quiets[i])
	}
	first, end := g.settle(g.row(g.rows, int(number)), from, to)
	if first < end {
		for i := range g.others {
			g.across(number, first, end, &g.others[i])
		}
		row = g.row(g.rows, int(number))
		g.remember(row, first, end)
		g.meetings(block, row)
	}
	row = g.row(g.rows, int(number))
	clear(row[from:to])
	g.free = append(g.free, number)
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

// segment returns, of the place of a thread, the bits of the places of the last axis.
func (g *grid) segment(a *matrix, axis int) []uint64 { return g.lanes(a, g.first[axis]+g.pos[axis]) }

// lanes returns the bits of the places of the last axis of a row of a matrix.
func (g *grid) lanes(a *matrix, i int) []uint64 {
	return a.row(i)[g.first[g.last]/64 : g.first[g.last+1]/64]
}

// all reports whether a thread's place goes together with those of all others but that of
// the last axis.
func (g *grid) all(a *matrix, axis int) bool {
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
func (g *grid) along(row []uint64, bare uint64) (from, to int) {
	for row[from] == 0 {
		from++
	}
	can := g.can[:len(row)]
	copy(can[from:], g.row(g.lets, g.first[0]+g.pos[0])[from:])
	for x := 1; x < g.last; x++ {
		lets := g.row(g.lets, g.first[x]+g.pos[x])[:len(row)]
		for w := from; w < len(can); w++ {
			can[w] &= lets[w]
		}
	}
	for i := range g.quiets {
		passes, quiet := g.layout.all(g.quiets[i].step.passes), g.quiets[i].can[:len(row)]
		for w := from; w < len(can); w++ {
			can[w] &^= quiet[w] & passes
		}
	}
	for ; bare != 0; bare &= bare - 1 {
		for w, v := range g.fresh[bits.TrailingZeros64(bare)].shut {
			can[w] &^= v
		}
	}
	each, size := g.layout.each, g.layout.size
	carry := uint64(0)
	for w := from; w < len(row); w++ {
		v := row[w] | carry
		carry = 0
		if v == 0 {
			continue
		}
		to = w + 1
		can := can[w]
		turns := g.turns[w*each : (w+1)*each]
		if g.many[w] {
			v, carry = along(v, can, size, turns)
			row[w] = v
			continue
		}
		last := &turns[len(turns)-1]
		for i := range turns[:len(turns)-1] {
			t := &turns[i]
			v |= bits.RotateLeft64(v&(can&t.passes), size) | bits.RotateLeft64(v&(can&t.mask), t.by)
		}
		carry = bits.RotateLeft64(v&(can&last.passes), size) | bits.RotateLeft64(v&(can&last.mask), last.by)
		row[w] = v
	}
	return from, to
}

// along is the same for a word of which steps make several moves.
func along(v, can uint64, size int, turns []turn) (uint64, uint64) {
	for i := range turns {
		t := &turns[i]
		after := bits.RotateLeft64(v&can&t.passes, size) | bits.RotateLeft64(v&can&t.mask, t.by)
		for _, m := range t.more {
			after |= bits.RotateLeft64(v&can&m.mask, m.by)
		}
		if i == len(turns)-1 {
			return v, after
		}
		v |= after
	}
	return v, 0
}

// remember keeps which points there are in a row.
func (g *grid) remember(row []uint64, from, to int) {
	width := (len(row) + 63) / 64
	for range width {
		g.bits = append(g.bits, 0)
	}
	words := g.bits[len(g.bits)-width:]
	g.hints = slices.Grow(g.hints, g.layout.each*(to-from)+8)
	n, hints := len(g.hints), g.hints[:cap(g.hints)]
	for w := from; w < to; w++ {
		if v := row[w]; v != 0 {
			words[w/64] |= 1 << (w % 64)
			binary.LittleEndian.PutUint64(hints[n:], g.layout.hints(v))
			n += g.layout.each
		}
	}
	g.hints = hints[:n]
}

// across lets another thread take its step from all points of a row, as far as it can. A
// quiet step leaves nothing behind that it can be taken with.
func (g *grid) across(number int32, from, to int, c *crossing) {
	w, bit := c.block/64, uint64(1)<<(c.block%64)
	target := c.to.rows[c.block]
	if c.to.has[w]&bit == 0 {
		target = g.newRow()
	}
	row := g.row(g.rows, int(number))[from:to]
	goal, can := g.row(g.rows, int(target))[from:to][:len(row)], c.can[from:to][:len(row)]
	passes, some := g.layout.all(c.step.passes), uint64(0)
	if c.step.quiet {
		for w, v := range row {
			after := v & can[w] & passes
			goal[w] |= after
			row[w] = v &^ after
			some |= after
		}
	} else {
		var first shift
		if len(c.step.moves) > 0 {
			first = c.step.moves[0]
		}
		mask := g.layout.all(first.mask)
		for w, v := range row {
			v &= can[w]
			after := v&passes | bits.RotateLeft64(v&mask, first.by)
			goal[w] |= after
			some |= after
		}
		for i := 1; i < len(c.step.moves); i++ {
			m := c.step.moves[i]
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
		c.to.rows[c.block] = target
	} else if c.to.has[w]&bit == 0 {
		g.free = append(g.free, target)
	}
}

// settle leaves in a row those contents with which no quiet step is possible, and finds at
// which places there are any. It returns between which words.
func (g *grid) settle(row []uint64, from, to int) (first, end int) {
	clear(g.reached)
	first, each := to, g.layout.each
	row, can, idle := row[:to], g.can[:to], g.idle[:to]
	for w := to - 1; w >= from; w-- {
		v := row[w]
		if v == 0 {
			continue
		}
		v &^= can[w] & idle[w]
		row[w] = v
		if v != 0 {
			first, end = w, max(end, w+1)
			p := w * each
			g.reached[p/64] |= g.layout.flags(v) << (p % 64)
		}
	}
	return first, end
}

// meetings notes who meets at the points of a row: at places where threads are, if they are
// near there, and at earlier ones, if they have taken quiet steps only since, which can as
// well come later.
func (g *grid) meetings(block int, row []uint64) {
	g.visits = g.visits[:0]
	for x := range g.last {
		at := g.first[x] + g.pos[x]
		for p := g.early[at]; p <= at; p++ {
			if g.left[p] > 0 {
				g.visits = append(g.visits, visit{axis: x, at: p})
			}
		}
	}
	if len(g.visits) == 0 {
		return
	}
	some := false
	g.late(g.reached, g.earlier)
	for i := range g.visits {
		v := &g.visits[i]
		for w, open := range g.lanes(&g.open, v.at) {
			v.open = v.open || open&(g.reached[w]|g.earlier[w]) != 0
		}
		some = some || v.open
		for k := range g.visits[:i] {
			some = some || g.visits[k].axis != v.axis && g.open.has(v.at, g.visits[k].at)
		}
	}
	if !some {
		return
	}
	g.visits = slices.DeleteFunc(g.visits, func(v visit) bool {
		return v.at == g.first[v.axis]+g.pos[v.axis] && !g.all(&g.near, v.axis)
	})
	copy(g.there, g.reached)
	for x := range g.last {
		for w, near := range g.segment(&g.from, x) {
			g.there[w] &= near
		}
	}
	for i := range g.visits {
		v := &g.visits[i]
		v.lanes = g.reached
		if v.at == g.first[v.axis]+g.pos[v.axis] {
			v.lanes = g.exact[v.axis]
			for w, near := range g.segment(&g.near, v.axis) {
				v.lanes[w] = g.reached[w] & near
			}
		}
		if v.open {
			g.late(v.lanes, g.earlier)
			open := g.lanes(&g.open, v.at)
			for w, lanes := range v.lanes {
				exact := lanes & g.there[w]
				for f := (exact | g.earlier[w]) & open[w]; f != 0; f &= f - 1 {
					l := 64*w + bits.TrailingZeros64(f)
					from := l
					if exact&(f&-f) == 0 {
						for from++; v.lanes[from/64]>>(from%64)&1 == 0; from++ {
						}
					}
					g.meet(v.at, g.first[g.last]+l, block, from, row)
				}
			}
		}
		for _, o := range g.visits[:i] {
			if o.axis == v.axis || !g.open.has(v.at, o.at) {
				continue
			}
			for w := range v.lanes {
				if both := v.lanes[w] & o.lanes[w]; both != 0 {
					g.meet(v.at, o.at, block, 64*w+bits.TrailingZeros64(both), row)
					break
				}
			}
		}
	}
}

// visit is that the thread of an axis but the last one is at a place.
type visit struct {
	axis, at int
	open     bool     // the last axis' thread may be where it has not met it yet
	lanes    []uint64 // where it is meanwhile
}

// late finds where the thread of the last axis can be as well as at some of its places, if its
// quiet steps come later.
func (g *grid) late(lanes, earlier []uint64) {
	clear(earlier)
	for more := true; more; {
		more = false
		carry := uint64(0)
		for w := len(lanes) - 1; w >= 0; w-- {
			at := lanes[w] | earlier[w]
			back := (at>>1 | carry) & g.quiet[w]
			carry = at << 63
			if back&^earlier[w] != 0 {
				earlier[w] |= back
				more = true
			}
		}
	}
}

// meet notes that the threads of two places meet there from a point on.
func (g *grid) meet(at, other, block, lane int, row []uint64) {
	g.open.unset(at, other)
	g.open.unset(other, at)
	g.left[at]--
	g.left[other]--
	a, b := min(g.node[at], g.node[other]), max(g.node[at], g.node[other])
	g.goals[[2]order.Node{a, b}] = point{int32(g.pos[0]), int32(block), int32(lane), g.layout.of(row, lane)}
}

// never reports whether two accesses do not meet in a grid that has been gone through.
func (g *grid) never(a, b order.Node) bool {
	if g.place[a] < 0 || g.place[b] < 0 {
		return false
	}
	_, ok := g.goals[[2]order.Node{min(a, b), max(a, b)}]
	return !ok && g.moves.clash(a, b)
}

// meeting returns the nodes up to where two nodes are next, or nil if they do not meet.
func (g *grid) meeting(a, b order.Node) []order.Node {
	goal, ok := g.goals[[2]order.Node{min(a, b), max(a, b)}]
	if !ok {
		return nil
	}
	way := g.way(goal)
	g.nodes = g.nodes[:0]
	clear(g.pos)
	clear(g.come)
	for _, x := range slices.Backward(way) {
		s := &g.axes[x].steps[g.pos[x]]
		g.pos[x]++
		for n := s.first; n < s.end; n++ {
			if c := g.m.chain[n]; c == g.m.chain[a] && n >= a || c == g.m.chain[b] && n >= b {
				break // it comes later
			}
			g.take(n)
		}
	}
	for _, n := range [2]order.Node{a, b} {
		x := g.axis[g.m.chain[n]]
		if g.pos[x] == int(g.place[n]) {
			for o := g.axes[x].steps[g.pos[x]].first; o < n; o++ {
				g.take(o)
			}
		}
		for _, e := range g.m.into(n) {
			g.wait(g.m.row(e), -1)
		}
	}
	return g.nodes
}

// take lets a node come.
func (g *grid) take(n order.Node) {
	g.wait(g.m.row(n), g.m.chain[n])
	g.nodes = append(g.nodes, n)
	g.come[g.m.chain[n]]++
}

// wait lets as many nodes come of threads that have no axis, but for one thread, as a row
// says.
func (g *grid) wait(row []int32, but int32) {
	for k, x := range g.axis {
		for x < 0 && int32(k) != but && g.come[k] < row[k] {
			g.take(g.m.base[k] + order.Node(g.come[k]))
		}
	}
}

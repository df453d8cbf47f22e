package mcm

import (
	"math/bits"
	"slices"

	"github.com/heisen-go/heisen/mcm/order"
)

// slice is the points of a slice that have been reached: by block, which is where all
// threads are but the first and the last one, a row, or nil if none has.
type slice [][]uint64

// A row is of points that differ in where the last thread is: first, as bits, where points
// have been reached, then what memory can hold there.

// past is the points of a slice that had been reached in the end.
type past struct {
	rows   []uint64 // as bits, which blocks have a row
	before []int32  // by word of these: how many rows there are before
	bits   []uint64 // of each row the first part
	at     []int32  // by row: where its hints are
	hints  []uint8  // of each point
}

// hint is what is remembered of what memory could hold at a point: of each eighth content
// whether it could be one of these.
func hint(contents uint64) uint8 {
	contents |= contents >> 32
	contents |= contents >> 16
	return uint8(contents | contents>>8)
}

// row returns a row of a slice, which it makes if there is none.
func (g *grid) row(s slice, block int) []uint64 {
	if s[block] == nil {
		if n := len(g.pool); n > 0 {
			s[block], g.pool = g.pool[n-1], g.pool[:n-1]
		} else {
			s[block] = make([]uint64, g.width+g.places(g.last))
		}
	}
	return s[block]
}

// explore goes through the grid, and reports whether it has no more points than so many, and
// takes no more memory than it may.
func (g *grid) explore(points int) bool {
	points = min(points, gridLooked)
	this, next := make(slice, g.blocks), make(slice, g.blocks)
	row := g.row(this, 0)
	row[0], row[g.width] = 1, g.start
	for i := range g.places(0) {
		g.through(i, this, next)
		this, next = next, this
		if g.looked > points || g.size > gridBytes {
			return false
		}
	}
	g.pool, g.bits, g.at, g.hints = nil, nil, nil, nil
	return true
}

// through finds what follows from the points of the i-th slice, which it empties: further
// points there, and points of the next one. It notes who meets, and remembers which points
// there were.
func (g *grid) through(i int, this, next slice) {
	clear(g.pos)
	g.pos[0] = i
	old := past{rows: make([]uint64, g.blocks/64+1), before: make([]int32, g.blocks/64+1)}
	for block, row := range this {
		if block > 0 {
			for x := g.last - 1; ; x-- {
				if g.pos[x]++; g.pos[x] < g.places(x) {
					break
				}
				g.pos[x] = 0
			}
		}
		if row = this[block]; row == nil {
			continue
		}
		g.quiets, g.others = g.quiets[:0], g.others[:0]
		for x := range g.last {
			p := g.pos[x]
			if p == len(g.axes[x].steps) || !g.all(&g.may, x) {
				continue
			}
			c := crossing{&g.axes[x].steps[p], g.segment(&g.may, x), next, block, nil}
			if x > 0 {
				c.to, c.block = this, block+g.stride[x]
			}
			if !c.step.quiet {
				g.others = append(g.others, c)
			} else if c.step.passes != 0 {
				g.quiets = append(g.quiets, c)
			}
		}
		g.at = append(g.at, int32(len(g.hints)))
		g.along(row)
		for i := range g.others {
			g.across(row, &g.others[i])
		}
		g.meetings(block, row)
		old.rows[block/64] |= 1 << (block % 64)
		g.bits = append(g.bits, row[:g.width]...)
		g.empty(row)
		this[block] = nil
	}
	for w := 1; w < len(old.rows); w++ {
		old.before[w] = old.before[w-1] + int32(bits.OnesCount64(old.rows[w-1]))
	}
	old.bits, old.at, old.hints = slices.Clone(g.bits), slices.Clone(g.at), slices.Clone(g.hints)
	g.bits, g.at, g.hints = g.bits[:0], g.at[:0], g.hints[:0]
	g.past = append(g.past, old)
	g.size += 12*len(old.rows) + 8*len(old.bits) + 4*len(old.at) + len(old.hints)
}

// empty keeps a row that is of no use any more for another one.
func (g *grid) empty(row []uint64) {
	for w, v := range row[:g.width] {
		for ; v != 0; v &= v - 1 {
			row[g.width+64*w+bits.TrailingZeros64(v)] = 0
		}
		row[w] = 0
	}
	g.pool = append(g.pool, row)
}

// crossing is that a thread but that of the last axis takes its step from the points of a
// row.
type crossing struct {
	step  *fused
	can   []uint64 // by where the last axis' thread is
	to    slice
	block int
	row   []uint64 // if it is known
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

// along lets the thread of the last axis go on as far as it can, and leaves in the row
// those contents with which no quiet step is possible.
func (g *grid) along(row []uint64) {
	copy(g.can, g.segment(&g.back, 0))
	for x := 1; x < g.last; x++ {
		for w, v := range g.segment(&g.back, x) {
			g.can[w] &= v
		}
	}
	steps := g.axes[g.last].steps
	came, lanes := row[:g.width], row[g.width:]
	for w := range came {
		done, left := uint64(0), uint64(0)
		for came[w] != done { // as it goes on, there are more
			bit := came[w] &^ done
			bit &= -bit
			done |= bit
			l := 64*w + bits.TrailingZeros64(bit)
			v := lanes[l]
			g.hints = append(g.hints, hint(v))
			for i := range g.quiets {
				c := &g.quiets[i]
				if quiet := v & c.step.passes; quiet != 0 && c.can[w]&bit != 0 {
					if c.row == nil {
						c.row = g.row(c.to, c.block)
					}
					c.row[w] |= bit
					c.row[g.width+l] |= quiet
					v &^= quiet
				}
			}
			if g.can[w]&bit != 0 {
				s := &steps[l]
				if after := s.after(v); after != 0 {
					came[(l+1)/64] |= 1 << ((l + 1) % 64)
					lanes[l+1] |= after
					if s.quiet {
						v &^= after
					}
				}
			}
			if lanes[l] = v; v != 0 {
				left |= bit
			}
		}
		g.looked += bits.OnesCount64(done)
		g.reached[w] = left
	}
}

// across lets another thread take its step from all points of a row, as far as it can.
func (g *grid) across(row []uint64, c *crossing) {
	target, lanes := c.to[c.block], row[g.width:]
	for w, v := range c.can {
		fresh := uint64(0)
		for v &= g.reached[w]; v != 0; v &= v - 1 {
			l := 64*w + bits.TrailingZeros64(v)
			after := c.step.after(lanes[l])
			if after == 0 {
				continue
			}
			if target == nil {
				target = g.row(c.to, c.block)
			}
			target[g.width+l] |= after
			fresh |= v & -v
		}
		if fresh != 0 {
			target[w] |= fresh
		}
	}
}

// meetings notes who meets at the points of a row: at places where threads are, if they are
// near there, and at earlier ones, if they have taken quiet steps only since, which can as
// well come later.
func (g *grid) meetings(block int, row []uint64) {
	for w := range g.there {
		g.there[w] = g.reached[w]
		for x := range g.last {
			g.there[w] &= g.segment(&g.from, x)[w]
		}
	}
	g.visits = g.visits[:0]
	g.late(g.reached, g.earlier)
	for x := range g.last {
		at := g.first[x] + g.pos[x]
		for p := at - 1; p >= g.early[at]; p-- {
			g.visits = append(g.visits, visit{x, p, g.reached, g.earlier})
		}
		if g.pos[x] == len(g.axes[x].steps) || !g.all(&g.near, x) {
			continue
		}
		v := visit{x, at, g.exact[x], g.before[x]}
		for w, near := range g.segment(&g.near, x) {
			v.lanes[w] = g.reached[w] & near
		}
		g.late(v.lanes, v.earlier)
		g.visits = append(g.visits, v)
	}
	for i, v := range g.visits {
		known := g.lanes(&g.met, v.at)
		for w, lanes := range v.lanes {
			exact := lanes & g.there[w]
			for f := (exact | v.earlier[w]) &^ known[w]; f != 0; f &= f - 1 {
				l := 64*w + bits.TrailingZeros64(f)
				from := l
				if exact&(f&-f) == 0 {
					for from++; v.lanes[from/64]>>(from%64)&1 == 0; from++ {
					}
				}
				g.meet(v.at, g.first[g.last]+l, block, from, row)
			}
		}
		for _, o := range g.visits[:i] {
			if o.axis == v.axis || g.met.has(v.at, o.at) {
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
	lanes    []uint64 // where the last axis' thread is meanwhile
	earlier  []uint64 // and where it can be as well
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
	g.met.set(at, other)
	g.met.set(other, at)
	a, b := min(g.node[at], g.node[other]), max(g.node[at], g.node[other])
	if g.moves.clash(a, b) && !g.masks[a].excludes(g.masks[b]) {
		g.goals[[2]order.Node{a, b}] = point{int32(g.pos[0]), int32(block), int32(lane), row[g.width+lane]}
	}
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

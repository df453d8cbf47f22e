package grid

import (
	"math/bits"

	"github.com/heisen-go/heisen/mcm/order"
)

// mayBePending reports whether anybody may meet at the points of a row who is to and has not done so,
// which is seldom so: it need not be exact.
func (g *Grid) mayBePending() bool {
	if g.lap.pairs {
		return true
	}
	g.late(g.reached, g.earlier)
	open := func(places []uint64) bool {
		for w, v := range places[g.first[g.last]/64:] {
			if v&(g.reached[w]|g.earlier[w]) != 0 {
				return true
			}
		}
		return false
	}
	at := g.first[g.last-1] + g.pos[g.last-1]
	for p := g.early[at]; p <= at; p++ {
		if g.lap.open[p/64]>>(p%64)&1 != 0 || open(g.open.row(p)) {
			return true
		}
	}
	return open(g.lap.open)
}

// visit is that the thread of an axis but the last one is at a place.
type visit struct {
	axis, at int
	lanes    []uint64 // where the last axis' thread is meanwhile
}

// notePendingOf notes who meets at the points of a row: at places where threads are, if they are
// near there, and at earlier ones, if they have taken quiet steps only since, which can as
// well come later.
func (g *Grid) notePendingOf(block int, row []uint64) {
	copy(g.there, g.reached)
	for x := range g.last {
		for w, near := range g.segment(&g.from, x) {
			g.there[w] &= near
		}
	}
	g.visits = g.visits[:0]
	for x := range g.last {
		at := g.first[x] + g.pos[x]
		for p := g.early[at]; p < at; p++ {
			g.visits = append(g.visits, visit{x, p, g.reached})
		}
		if g.pos[x] == len(g.axes[x].steps) || !g.all(&g.near, x) {
			continue
		}
		v := visit{x, at, g.exact[x]}
		for w, near := range g.segment(&g.near, x) {
			v.lanes[w] = g.reached[w] & near
		}
		g.visits = append(g.visits, v)
	}
	for i, v := range g.visits {
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
				g.notePending(v.at, g.first[g.last]+l, block, from, row)
			}
		}
		for _, o := range g.visits[:i] {
			if o.axis == v.axis || !g.open.has(v.at, o.at) {
				continue
			}
			for w := range v.lanes {
				if both := v.lanes[w] & o.lanes[w]; both != 0 {
					g.notePending(v.at, o.at, block, 64*w+bits.TrailingZeros64(both), row)
					break
				}
			}
		}
	}
}

// late finds where the thread of the last axis can be as well as at some of its places, if its
// quiet steps come later.
func (g *Grid) late(lanes, earlier []uint64) {
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

// notePending notes that the threads of two places meet there from a point on.
func (g *Grid) notePending(at, other, block, lane int, row []uint64) {
	g.lap.known = false
	g.open.unset(at, other)
	g.open.unset(other, at)
	a, b := min(g.node[at], g.node[other]), max(g.node[at], g.node[other])
	g.goals[[2]order.Node{a, b}] = point{int32(g.pos[0]), int32(block), int32(lane), g.layout.of(row, lane)}
}

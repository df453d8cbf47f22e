package grid

import (
	"math/bits"

	"github.com/heisen-go/heisen/mcm/order"
)

// mayMeet reports whether a pair can meet at a row that has not met before. It can err on the side
// of true.
func (g *Grid) mayMeet() bool {
	if g.group.unmetPair {
		return true
	}
	g.findEarlier(g.reached, g.earlier)
	open := func(places []uint64) bool {
		for w, v := range places[g.firstPlace[g.lastAxis]/64:] {
			if v&(g.reached[w]|g.earlier[w]) != 0 {
				return true
			}
		}
		return false
	}
	at := g.firstPlace[g.lastAxis-1] + g.pos[g.lastAxis-1]
	for p := g.earliest[at]; p <= at; p++ {
		if g.group.unmet[p/64]>>(p%64)&1 != 0 || open(g.unmet.row(p)) {
			return true
		}
	}
	return open(g.group.unmet)
}

// visit is a thread, other than the last, at a place.
type visit struct {
	axis, at int
	lanes    []uint64 // the places of the last thread meanwhile, as bits
}

// findMeetings records the pairs that meet at a row: at the current places where nodes can be
// pending, and at earlier places, if only invisible steps follow them, because these steps can be
// postponed.
func (g *Grid) findMeetings(block int, row []uint64) {
	copy(g.pendable, g.reached)
	for x := range g.lastAxis {
		for w, near := range g.segment(&g.canPendT, x) {
			g.pendable[w] &= near
		}
	}
	g.visits = g.visits[:0]
	for x := range g.lastAxis {
		at := g.firstPlace[x] + g.pos[x]
		for p := g.earliest[at]; p < at; p++ {
			g.visits = append(g.visits, visit{x, p, g.reached})
		}
		if g.pos[x] == len(g.axes[x].steps) || !g.allows(&g.canPend, x) {
			continue
		}
		v := visit{x, at, g.exactLanes[x]}
		for w, near := range g.segment(&g.canPend, x) {
			v.lanes[w] = g.reached[w] & near
		}
		g.visits = append(g.visits, v)
	}
	for i, v := range g.visits {
		g.findEarlier(v.lanes, g.earlier)
		open := g.lanes(&g.unmet, v.at)
		for w, lanes := range v.lanes {
			exact := lanes & g.pendable[w]
			for f := (exact | g.earlier[w]) & open[w]; f != 0; f &= f - 1 {
				l := 64*w + bits.TrailingZeros64(f)
				from := l
				if exact&(f&-f) == 0 {
					for from++; v.lanes[from/64]>>(from%64)&1 == 0; from++ {
					}
				}
				g.addMeeting(v.at, g.firstPlace[g.lastAxis]+l, block, from, row)
			}
		}
		for _, o := range g.visits[:i] {
			if o.axis == v.axis || !g.unmet.has(v.at, o.at) {
				continue
			}
			for w := range v.lanes {
				if both := v.lanes[w] & o.lanes[w]; both != 0 {
					g.addMeeting(v.at, o.at, block, 64*w+bits.TrailingZeros64(both), row)
					break
				}
			}
		}
	}
}

// findEarlier computes where the last thread can be instead if it postpones invisible steps.
func (g *Grid) findEarlier(lanes, earlier []uint64) {
	clear(earlier)
	for more := true; more; {
		more = false
		carry := uint64(0)
		for w := len(lanes) - 1; w >= 0; w-- {
			at := lanes[w] | earlier[w]
			back := (at>>1 | carry) & g.invisiblePlaces[w]
			carry = at << 63
			if back&^earlier[w] != 0 {
				earlier[w] |= back
				more = true
			}
		}
	}
}

// addMeeting records that the nodes of two places meet at a point.
func (g *Grid) addMeeting(at, other, block, lane int, row []uint64) {
	g.group.valid = false
	g.unmet.unset(at, other)
	g.unmet.unset(other, at)
	a, b := min(g.node[at], g.node[other]), max(g.node[at], g.node[other])
	g.meetings[[2]order.Node{a, b}] = point{int32(g.pos[0]), int32(block), int32(lane), g.layout.of(row, lane)}
}

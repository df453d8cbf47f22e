package grid

import (
	"math/bits"
	"slices"

	"github.com/heisen-go/heisen/mcm/order"
)

// lastStep is the last step of a path to a point with one content.
type lastStep struct {
	axis   int8  // of its thread, or atStart or noPath
	before uint8 // the content before it, as a bit number
}

const (
	atStart = -1
	noPath  = -2
)

// backStep is a point of a backward search.
type backStep struct {
	at   point
	axis int    // of the step to it that is being tried
	rest uint64 // the contents before that step that have not been tried
}

// Refutes reports whether two accesses are never pending together. The grid must be explored.
func (g *Grid) Refutes(a, b order.Node) bool {
	_, ok := g.meetings[[2]order.Node{min(a, b), max(a, b)}]
	return !ok && g.Covers(a, b)
}

// Covers reports whether the grid decides whether two nodes meet.
func (g *Grid) Covers(a, b order.Node) bool {
	return g.place[a] >= 0 && g.place[b] >= 0 && g.machine.Conflict(a, b)
}

// Witness returns a path after which two nodes are pending, or nil if they do not meet. The path
// is valid until the next call.
func (g *Grid) Witness(a, b order.Node) []order.Node {
	goal, ok := g.meetings[[2]order.Node{min(a, b), max(a, b)}]
	if !ok {
		return nil
	}
	way := g.pathBack(goal)
	g.nodes = g.nodes[:0]
	clear(g.pos)
	clear(g.offAxisProgress)
	for _, x := range slices.Backward(way) {
		s := &g.axes[x].steps[g.pos[x]]
		g.pos[x]++
		for n := s.first; n < s.end; n++ {
			if c := g.m.Chain[n]; c == g.m.Chain[a] && n >= a || c == g.m.Chain[b] && n >= b {
				break // the rest of the step comes later
			}
			g.takeNode(n)
		}
	}
	for _, n := range [2]order.Node{a, b} {
		x := g.axis[g.m.Chain[n]]
		if g.pos[x] == int(g.place[n]) {
			for o := g.axes[x].steps[g.pos[x]].first; o < n; o++ {
				g.takeNode(o)
			}
		}
		for _, e := range g.m.Enablers(n) {
			g.takeOffAxis(g.m.Row(e), -1)
		}
	}
	return g.nodes
}

// takeNode appends a node to the path, after the nodes of threads without an axis that must
// precede it.
func (g *Grid) takeNode(n order.Node) {
	g.takeOffAxis(g.m.Row(n), g.m.Chain[n])
	g.nodes = append(g.nodes, n)
	g.offAxisProgress[g.m.Chain[n]]++
}

// takeOffAxis appends nodes of threads without an axis, except one thread, up to the counts of a
// row.
func (g *Grid) takeOffAxis(row []int32, but int32) {
	for k, x := range g.axis {
		for x < 0 && int32(k) != but && g.offAxisProgress[k] < row[k] {
			g.takeNode(g.m.Base[k] + order.Node(g.offAxisProgress[k]))
		}
	}
}

// pathBack returns the axes of the steps to one of the contents of a reached point, the last step
// first.
func (g *Grid) pathBack(goal point) (way []int8) {
	for ; goal.contents != 0; goal.contents &= goal.contents - 1 {
		at := goal
		at.contents &= -at.contents
		g.goBack(at)
		last := g.lastSteps[g.key(at)]
		if last.axis == noPath {
			continue
		}
		for ; last.axis != atStart; last = g.lastSteps[g.key(at)] {
			way = append(way, last.axis)
			at = g.moved(at, int(last.axis))
			at.contents = 1 << last.before
		}
		return way
	}
	return nil
}

// key returns a number that identifies a point with one content.
func (g *Grid) key(p point) uint64 {
	at := (uint64(p.slice)*uint64(g.blocks)+uint64(p.block))*uint64(g.places(g.lastAxis)) + uint64(p.lane)
	return at<<6 | uint64(bits.TrailingZeros64(p.contents))
}

// goBack computes lastSteps for a point with one content, and for all points that a depth-first
// backward search visits.
func (g *Grid) goBack(goal point) {
	if _, ok := g.lastSteps[g.key(goal)]; ok {
		return
	}
	end := func(last lastStep) {
		g.lastSteps[g.key(g.backStack[len(g.backStack)-1].at)] = last
		g.backStack = g.backStack[:len(g.backStack)-1]
	}
	g.backStack = append(g.backStack[:0], backStep{goal, len(g.axes), 0})
	for len(g.backStack) > 0 {
		c := &g.backStack[len(g.backStack)-1]
		if c.rest == 0 {
			if c.axis--; c.axis >= 0 {
				c.rest = g.previous(c.at, c.axis).contents
				continue
			}
			if c.at == (point{contents: g.start}) {
				end(lastStep{axis: atStart})
			} else {
				end(lastStep{axis: noPath})
			}
			continue
		}
		before := g.previous(c.at, c.axis)
		before.contents = c.rest & -c.rest
		known, ok := g.lastSteps[g.key(before)]
		switch {
		case !ok:
			g.backStack = append(g.backStack, backStep{before, len(g.axes), 0})
		case known.axis == noPath:
			c.rest &= c.rest - 1
		default:
			end(lastStep{int8(c.axis), uint8(bits.TrailingZeros64(before.contents))})
		}
	}
}

// previous returns the point before a step of a thread, with the contents that it can have had
// there. The contents are empty if there is no such step.
func (g *Grid) previous(p point, axis int) point {
	g.locate(p)
	if g.pos[axis] == 0 {
		return point{}
	}
	g.pos[axis]--
	s := &g.axes[axis].steps[g.pos[axis]]
	if p.contents = s.predecessors(p.contents); p.contents == 0 || !g.allowed(axis) {
		return point{}
	}
	p = g.moved(p, axis)
	for x := range g.axes { // no other step is taken where an invisible one is possible
		if x == axis && s.invisible {
			break
		}
		if g.pos[x] < len(g.axes[x].steps) && g.axes[x].steps[g.pos[x]].invisible && g.allowed(x) {
			p.contents &^= g.axes[x].steps[g.pos[x]].unchanged
		}
	}
	if p.contents != 0 && !s.invisible { // contents that invisible steps removed are not kept
		p.contents = g.expanded[p.slice].possible(p, &g.layout)
	}
	return p
}

// moved returns the neighbor of a point one step of a thread earlier.
func (g *Grid) moved(p point, axis int) point {
	switch axis {
	case 0:
		p.slice--
	case g.lastAxis:
		p.lane--
	default:
		p.block -= int32(g.stride[axis])
	}
	return p
}

// locate sets pos to the places of a point.
func (g *Grid) locate(p point) {
	g.pos[0], g.pos[g.lastAxis] = int(p.slice), int(p.lane)
	rest := int(p.block)
	for x := 1; x < g.lastAxis; x++ {
		g.pos[x] = rest / g.stride[x]
		rest %= g.stride[x]
	}
}

// allowed reports whether the other threads and unwritten cells permit a thread's step at pos.
func (g *Grid) allowed(axis int) bool {
	needs := g.axes[axis].steps[g.pos[axis]].readsUnwritten
	for y := range g.axes {
		needs &= g.unwrittenAt[g.firstPlace[y]+g.pos[y]]
	}
	if needs != 0 {
		return false
	}
	for y := range g.axes {
		if y != axis && !g.canStep.has(g.firstPlace[axis]+g.pos[axis], g.firstPlace[y]+g.pos[y]) {
			return false
		}
	}
	return true
}

// possible returns which of the contents of a point can have been reached, as far as the hints
// tell.
func (s *expandedSlice) possible(p point, l *layout) (contents uint64) {
	w, bit := p.block/64, uint64(1)<<(p.block%64)
	if s.rows[w]&bit == 0 {
		return 0
	}
	width := (l.words + 63) / 64
	k := int(s.offsets[w].rows) * width
	n := k + bits.OnesCount64(s.rows[w]&(bit-1))*width
	row := s.wordBits[n : n+width]
	word, lane := int(p.lane)/l.each, int(p.lane)%l.each
	if row[word/64]>>(word%64)&1 == 0 {
		return 0
	}
	before := bits.OnesCount64(row[word/64] & (1<<(word%64) - 1))
	for _, v := range s.wordBits[k : n+word/64] {
		before += bits.OnesCount64(v)
	}
	hint := s.hints[int(s.offsets[w].hints)+before*l.each+lane]
	return p.contents & (uint64(hint) * 0x0101010101010101)
}

package mcm

import "math/bits"

// branch is a step on the way to a point.
type branch struct{ parent, axis int32 }

// trail is a way that is followed back, and has come into a slice.
type trail struct {
	from int32 // a branch
	at   point
}

// findWays finds ways to all goals: back through the slices between two that are kept,
// the last ones first.
func (g *grid) findWays() {
	g.leaf = make([]int32, len(g.goals))
	goals := make([][]int32, g.places(0)) // by slice
	most := 0
	for i, p := range g.goals {
		goals[p.slice] = append(goals[p.slice], int32(i))
		most = max(most, int(p.slice))
	}
	known := map[point]int32{}
	var trails []trail // that have come into the slice at hand
	for c := most / g.every; c >= 0; c-- {
		first, last := c*g.every, min((c+1)*g.every-1, most)
		between := make([]kept, last-first+1)
		this, next := g.unpack(&g.kept[c]), make(slice, g.blocks)
		for i := range between {
			between[i].at = []int32{0}
			g.through(first+i, this, next, &between[i])
			this, next = next, this
		}
		for _, row := range this {
			if row != nil {
				clear(row)
				g.pool = append(g.pool, row)
			}
		}
		for i := last; i >= first; i-- {
			k := &between[i-first]
			clear(known)
			var out []trail
			for _, t := range trails {
				t.at.contents &= g.contents(k, int(t.at.block), int(t.at.lane))
				g.tree[t.from].parent = g.follow(t.at, k, known, &out)
			}
			for _, at := range goals[i] {
				g.leaf[at] = g.follow(g.goals[at], k, known, &out)
			}
			trails = out
			*k = kept{}
		}
	}
	g.kept, g.pool = nil, nil
}

// unpack returns a slice that is kept.
func (g *grid) unpack(k *kept) slice {
	s := make(slice, g.blocks)
	for block := range s {
		n := int(k.at[block+1]-k.at[block]) / g.bytes
		if n == 0 {
			continue
		}
		row, from := g.row(s, block), int(k.from[block])
		for l := from; l < from+n; l++ {
			row[l] = g.contents(k, block, l)
		}
	}
	return s
}

// follow follows a way back from one of the contents at a point to one that is known, to the
// start, or into the slice before, and returns the branch that it ends with.
func (g *grid) follow(p point, k *kept, known map[point]int32, out *[]trail) int32 {
	ends := int32(-1)
	for from := int32(-1); ; {
		p.contents = 1 << bits.TrailingZeros64(p.contents)
		at, ok := known[p]
		if !ok {
			at = int32(len(g.tree))
			g.tree = append(g.tree, branch{-1, -1})
			known[p] = at
		}
		if from < 0 {
			ends = at
		} else {
			g.tree[from].parent = at
		}
		if ok {
			return ends
		}
		axis, before := g.previous(p, k)
		if axis < 0 {
			return ends
		}
		g.tree[at].axis = int32(axis)
		if axis == 0 {
			*out = append(*out, trail{at, before})
			return ends
		}
		from, p = at, before
	}
}

// previous returns a point of the same slice from which a thread's step leads to a point,
// or, if there is none, of the slice before, and the axis; or -1 at the start.
func (g *grid) previous(p point, k *kept) (axis int, before point) {
	g.pos[0], g.pos[g.last] = int(p.slice), int(p.lane)
	rest := int(p.block)
	for x := 1; x < g.last; x++ {
		g.pos[x] = rest / g.stride[x]
		rest %= g.stride[x]
	}
	for x := g.last; x >= 0; x-- {
		if g.pos[x] == 0 {
			continue
		}
		before = p
		s := &g.axes[x].steps[g.pos[x]-1]
		before.contents = s.before(p.contents)
		switch x {
		case 0:
			before.slice--
			return 0, before
		case g.last:
			before.lane--
		default:
			before.block -= int32(g.stride[x])
		}
		at := g.first[x] + g.pos[x] - 1
		may := true
		for y := range g.axes {
			may = may && (y == x || g.may.has(at, g.first[y]+g.pos[y]))
		}
		if !may {
			continue
		}
		if before.contents &= g.contents(k, int(before.block), int(before.lane)); before.contents != 0 {
			return x, before
		}
	}
	return -1, p
}

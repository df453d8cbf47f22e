package lockset

import (
	"cmp"
	"slices"
)

// vertex is something that threads hold and wait for: a lock, or one of the two parts of a read-write
// lock.
type vertex struct {
	lock      *lockNode
	target    uint64 // the latest search of which it is a target
	component *component
	at        int // index into component.vertices
	out, in   []*edge
}

// edge means that a thread that held from went on to to: it acquired it, or held it afterwards.
type edge struct {
	from, to *vertex
	uses     int // paths that have it
	atOut    int // index into from.out
	atIn     int // index into to.in
}

// component is a strongly connected component of the graph, or several after an edge was removed. An
// edge between two components leads from the lower rank to the higher one.
type component struct {
	rank     int64
	vertices []*vertex
	reached  uint64 // the latest forward search that visited it
	reaches  uint64 // the latest backward search that visited it
}

// lockGraph maintains the strongly connected components of the lock-order graph, and a topological
// order of them, as edges are added. It uses the algorithm of Pearce and Kelly, "A Dynamic
// Topological Sort Algorithm for Directed Acyclic Graphs" (JEA 2007). An edge against the order
// causes a forward and a backward search, limited to the ranks between its ends. The components
// that both searches visit become one.
type lockGraph struct {
	edges    map[edgeKey]*edge
	rank     int64
	searches uint64
	ahead    []*component // scratch
	behind   []*component // scratch
	ranks    []int64      // scratch
}

type edgeKey struct{ from, to *vertex }

func (g *lockGraph) init() { g.edges = map[edgeKey]*edge{} }

func (g *lockGraph) newVertex(l *lockNode) *vertex {
	g.rank++
	v := &vertex{lock: l, component: &component{rank: g.rank}}
	v.component.vertices = []*vertex{v}
	return v
}

// connect returns the edge between two vertices, a new one if there is none, for another use. A vertex has
// no edge to itself: connect returns nil.
func (g *lockGraph) connect(from, to *vertex) *edge {
	if from == to {
		return nil
	}
	key := edgeKey{from, to}
	if e := g.edges[key]; e != nil {
		e.uses++
		return e
	}
	e := &edge{from: from, to: to, uses: 1, atOut: len(from.out), atIn: len(to.in)}
	g.edges[key] = e
	from.out = append(from.out, e)
	to.in = append(to.in, e)
	if from.component.rank > to.component.rank {
		g.reorder(from.component, to.component)
	}
	return e
}

// reorder restores the topological order after an edge to a component of lower rank. It searches from the
// smaller component first: if that leads straight to the other one, the two become one at the place of the
// other, which needs no second search. So a large component that grows by one vertex after the other is not
// searched each time.
func (g *lockGraph) reorder(from, to *component) {
	g.searches++
	if len(to.vertices) <= len(from.vertices) {
		if g.forward(from, to); len(g.ahead) == 2 && from.reached == g.searches {
			g.absorb(from, to)
			return
		}
		g.backward(from, to)
	} else {
		if g.backward(from, to); len(g.behind) == 2 && to.reaches == g.searches {
			g.absorb(to, from)
			return
		}
		g.forward(from, to)
	}
	g.rearrange()
}

// forward finds the components that to leads to, up to the rank of from.
func (g *lockGraph) forward(from, to *component) {
	g.ahead = append(g.ahead[:0], to)
	to.reached = g.searches
	for i := 0; i < len(g.ahead); i++ {
		if g.ahead[i] == from {
			continue // what follows it has a higher rank
		}
		for _, v := range g.ahead[i].vertices {
			for _, e := range v.out {
				if c := e.to.component; c.rank <= from.rank && c.reached != g.searches {
					c.reached = g.searches
					g.ahead = append(g.ahead, c)
				}
			}
		}
	}
}

// backward finds the components that lead to from, down to the rank of to.
func (g *lockGraph) backward(from, to *component) {
	g.behind = append(g.behind[:0], from)
	from.reaches = g.searches
	for i := 0; i < len(g.behind); i++ {
		if g.behind[i] == to {
			continue // what precedes it has a lower rank
		}
		for _, v := range g.behind[i].vertices {
			for _, e := range v.in {
				if c := e.from.component; c.rank >= to.rank && c.reaches != g.searches {
					c.reaches = g.searches
					g.behind = append(g.behind, c)
				}
			}
		}
	}
}

// rearrange gives the components that forward and backward have found their ranks in another order.
func (g *lockGraph) rearrange() {
	now := g.searches
	// The components behind get the lowest of the ranks, those ahead the highest. Each group keeps
	// its order.
	byRank := func(a, b *component) int { return cmp.Compare(a.rank, b.rank) }
	slices.SortFunc(g.ahead, byRank)
	slices.SortFunc(g.behind, byRank)
	g.ranks = g.ranks[:0]
	for _, c := range g.ahead {
		g.ranks = append(g.ranks, c.rank)
	}
	for _, c := range g.behind {
		if c.reached != now {
			g.ranks = append(g.ranks, c.rank)
		}
	}
	slices.Sort(g.ranks)
	low, high := 0, len(g.ranks)
	for _, c := range g.behind {
		if c.reached != now {
			c.rank = g.ranks[low]
			low++
		}
	}
	for _, c := range slices.Backward(g.ahead) {
		if c.reaches != now {
			high--
			c.rank = g.ranks[high]
		}
	}
	if low < high { // the edge closes a cycle
		g.merge(g.ranks[low], now)
	}
	clear(g.ahead)
	clear(g.behind)
}

// merge makes one component of those that both searches visited.
func (g *lockGraph) merge(rank int64, search uint64) {
	var whole *component
	for _, c := range g.ahead {
		if c.reaches == search && (whole == nil || len(c.vertices) > len(whole.vertices)) {
			whole = c
		}
	}
	for _, c := range g.ahead {
		if c.reaches == search && c != whole {
			g.absorb(whole, c)
		}
	}
	whole.rank = rank
}

// absorb adds the vertices of c to another component.
func (g *lockGraph) absorb(whole, c *component) {
	for _, v := range c.vertices {
		v.component, v.at = whole, len(whole.vertices)
		whole.vertices = append(whole.vertices, v)
	}
	c.vertices = nil
}

// disconnect ends a use of an edge, which may be nil, and removes it after the last one. The order stays
// valid.
func (g *lockGraph) disconnect(e *edge) {
	if e == nil {
		return
	}
	if e.uses--; e.uses > 0 {
		return
	}
	delete(g.edges, edgeKey{e.from, e.to})
	e.from.out = removeAt(e.from.out, e.atOut, func(moved *edge) { moved.atOut = e.atOut })
	e.to.in = removeAt(e.to.in, e.atIn, func(moved *edge) { moved.atIn = e.atIn })
}

// removeVertex removes a vertex without edges. v may be nil.
func (g *lockGraph) removeVertex(v *vertex) {
	if v != nil {
		c := v.component
		c.vertices = removeAt(c.vertices, v.at, func(moved *vertex) { moved.at = v.at })
	}
}

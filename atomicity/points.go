package atomicity

import "github.com/heisen-go/heisen"

// point is an event with which later ones may conflict. The node may be nil: then no later cycle
// needs the event.
type point struct {
	node   *node
	access heisen.Access
}

// pointOf returns an event of t as a point that does not count as a reference to its node.
func pointOf(t *serialThread, r *heisen.Record, index uint64) point {
	if !t.node.matters() {
		return point{}
	}
	return point{t.node, heisen.AccessOf(r, index)}
}

// keep counts the reference of a copied point.
func (p *point) keep() {
	if p.node != nil {
		p.node.refs++
	}
}

func (p *point) clear(g *graph) {
	g.release(p.node)
	p.node = nil
}

// set makes p an event of t.
func (p *point) set(g *graph, t *serialThread, r *heisen.Record, index uint64) {
	old := p.node
	*p = pointOf(t, r, index)
	p.keep()
	g.release(old)
}

// points has at most one event of each thread, the first one of the thread's latest transaction that
// has any.
type points []point

// put adds an event of t. It first drops the points that no longer matter if there is no room.
func (s *points) put(g *graph, t *serialThread, r *heisen.Record, index uint64) {
	for i := range *s {
		if p := &(*s)[i]; p.node != nil && p.access.Thread == t.id {
			if p.node != t.node {
				p.set(g, t, r, index)
			}
			return
		}
	}
	if !t.node.matters() {
		return
	}
	if len(*s) == cap(*s) {
		s.prune(g)
	}
	p := pointOf(t, r, index)
	p.keep()
	*s = append(*s, p)
}

func (s *points) prune(g *graph) {
	kept := (*s)[:0]
	for _, p := range *s {
		if p.node.matters() {
			kept = append(kept, p)
		} else {
			g.release(p.node)
		}
	}
	clear((*s)[len(kept):])
	*s = kept
}

func (s *points) clone() {
	*s = append(points(nil), *s...)
	for i := range *s {
		(*s)[i].keep()
	}
}

func (s *points) clear(g *graph) {
	for i := range *s {
		(*s)[i].clear(g)
	}
	*s = (*s)[:0]
}

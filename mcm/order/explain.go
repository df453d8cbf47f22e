package order

// explainer finds out, when a conflict is analysed, why the rows order two nodes:
// which literals are the edges of a path between them. Most implied literals are
// never asked about, so nothing is kept when they are implied.
type explainer struct {
	reached []int32 // by chain: highest position visited, -1 if none
	seen    []visit // all visits of a search
	now     []int32 // of these, the ones to go on from, at the present cost
	next    []int32 // and at the next cost
}

// visit is a node that the search reached, over an edge, from another visit.
type visit struct {
	node Node
	edge int32
	from int32
}

func (x *explainer) init(width int) { x.reached = make([]int32, width) }

// why appends to clause the negations of literals from which l, which the rows
// imply, follows: those of the edges of a shortest path, among edges that are
// older than the given place on the trail.
func (s *Solver) why(l lit, place int32, clause *[]lit) {
	a, b := s.nodesOf(l)
	s.path(a, b, place, clause)
}

// path appends the negated literals of the edges of a path from a to b. It is a
// search backwards from b that goes on in order of cost, where edges of chains,
// required edges and facts cost nothing and literals cost 1 (a 0-1 breadth-first
// search), but those that the conflict at hand has met already cost nothing either. Who reaches a place of a chain has reached all places before it, so
// each place is looked at once; and the rows tell which places a is before, so
// that the search never leaves the part between a and b.
func (s *Solver) path(a, b Node, place int32, clause *[]lit) {
	s.stats.Explanations++
	x, r := &s.explain, &s.rows
	for c := range x.reached {
		x.reached[c] = -1
	}
	w := s.width
	ca, pa := int(s.chainOf[a]), s.posOf[a]
	sink := a == r.goal
	after := r.cell[r.after : r.after+w]
	x.seen = append(x.seen[:0], visit{b, -1, -1})
	x.now, x.next = append(x.now[:0], 0), x.next[:0]
	for len(x.now) > 0 {
		for i := 0; i < len(x.now); i++ {
			at := x.now[i]
			z := x.seen[at].node
			c, p := s.chainOf[z], s.posOf[z]
			if int(c) == ca && p >= pa {
				for v := x.seen[at]; v.edge >= 0; v = x.seen[v.from] {
					if e := &r.edge[v.edge]; e.lit >= 0 && s.level[e.lit>>1] > 0 {
						*clause = append(*clause, e.lit.not())
					}
				}
				return
			}
			low := x.reached[c]
			if p <= low {
				continue
			}
			x.reached[c] = p
			for q := p; q > low; q, z = q-1, z-1 {
				if sink {
					if q < after[c] {
						break
					}
				} else if r.cell[int(z)*w+ca] <= pa {
					if s.past(z) {
						continue // one before it in the chain may know more
					}
					break
				}
				for e := r.in[z]; e >= 0; e = r.edge[e].nextIn {
					ed := &r.edge[e]
					u := ed.from
					if ed.at >= place || s.posOf[u] <= x.reached[s.chainOf[u]] {
						continue
					}
					switch {
					case u == a:
					case u == r.goal:
						continue
					case sink:
						if s.posOf[u] < after[s.chainOf[u]] {
							continue
						}
					case r.cell[int(u)*w+ca] <= pa:
						continue
					}
					x.seen = append(x.seen, visit{u, e, at})
					if s.free(ed.lit) {
						x.now = append(x.now, int32(len(x.seen)-1))
					} else {
						x.next = append(x.next, int32(len(x.seen)-1))
					}
				}
			}
		}
		x.now, x.next = x.next, x.now[:0]
	}
	// An explanation with holes would make wrong verdicts.
	panic("order: the rows know of a path that does not exist")
}

// free reports whether an edge costs an explanation nothing: what is required, a
// fact, or a literal that the clause being learned has met already.
func (s *Solver) free(l lit) bool {
	return l < 0 || s.level[l>>1] == 0 || s.learn.seen[l>>1]
}

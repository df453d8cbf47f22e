package order

// explainer finds the literals that make the rows order two nodes: those of the edges of a path
// between the nodes. The search happens only when conflict analysis needs it. Most implied
// literals are never explained, so nothing is stored when a literal is implied.
type explainer struct {
	reached []int32 // by chain: highest position visited, or -1
	seen    []step  // all visits of a search
	now     []int32 // steps to expand at the current cost
	next    []int32 // steps to expand at the next cost
}

// step is a node that the search reached by an edge from another step.
type step struct {
	node Node
	edge int32
	from int32
}

func (x *explainer) init(width int) { x.reached = make([]int32, width) }

// explainRows appends to clause the negations of the literals that imply l, which the rows imply:
// the literals of a cheapest path of edges that are older than a position on the trail.
func (s *Solver) explainRows(l lit, place int32, clause *[]lit) {
	a, b := s.nodesOf(l)
	s.path(a, b, place, clause)
}

// path appends the negated literals of the edges of a path from a to b. It is a backward 0-1
// breadth-first search from b. Chain edges, required edges, facts of level 0, and literals that the
// current conflict analysis has met already cost 0; other literals cost 1. When the search reaches
// a position of a chain it has reached all positions before it, so it visits each position once.
// The rows say which nodes a comes before, so the search stays between a and b.
func (s *Solver) path(a, b Node, place int32, clause *[]lit) {
	s.stats.Explanations++
	x, r := &s.explain, &s.rows
	for c := range x.reached {
		x.reached[c] = -1
	}
	w := s.width
	ca, pa := int(s.chainOf[a]), s.posOf[a]
	fromGoal := a == r.goal
	after := r.cell[r.after : r.after+w]
	x.seen = append(x.seen[:0], step{b, -1, -1})
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
				if fromGoal {
					if q < after[c] {
						break
					}
				} else if r.cell[int(z)*w+ca] <= pa {
					if s.afterGoal(z) {
						continue // an earlier node of the chain may have a higher row
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
					case fromGoal:
						if s.posOf[u] < after[s.chainOf[u]] {
							continue
						}
					case r.cell[int(u)*w+ca] <= pa:
						continue
					}
					x.seen = append(x.seen, step{u, e, at})
					if s.freeEdge(ed.lit) {
						x.now = append(x.now, int32(len(x.seen)-1))
					} else {
						x.next = append(x.next, int32(len(x.seen)-1))
					}
				}
			}
		}
		x.now, x.next = x.next, x.now[:0]
	}
	// An incomplete explanation would make results wrong.
	panic("order: no path explains the rows")
}

// freeEdge reports whether an edge costs an explanation nothing: it is required, a fact of level 0,
// or a literal that the conflict analysis has met already.
func (s *Solver) freeEdge(l lit) bool {
	return l < 0 || s.level[l>>1] == 0 || s.learn.seen[l>>1]
}

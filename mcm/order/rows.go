package order

// rows is the theory solver. It keeps, for each node, the number of nodes of each chain that come
// before it or are it: a vector clock. a comes before b if the cell of b for the chain of a is
// greater than the position of a. A new edge raises the rows of the nodes after it to the row of
// the node that it leaves. Every raised cell is logged and restored on backtracking.
type rows struct {
	cell []int32 // width cells per node; then the second row of the goal
	in   []int32 // by node: last edge that enters it, or -1
	out  []int32 // by node: last edge that leaves it, or -1
	edge []edge  // the edges that raised rows, in the order of the trail
	log  []raised

	goal  Node   // the goal node, or -1
	after int    // offset in cell of its second row: per chain the first position after the goal
	whole bool   // rows of nodes after the goal are raised too; see raise
	delta []gain // scratch: the gains of the edge that is being added
	stack []Node // scratch: nodes whose rows are to be raised
}

// edge orders two nodes of different chains. Edges are added and removed in stack order, so the
// last edge is the first of both its lists.
type edge struct {
	from, to Node
	lit      lit   // the literal of the edge, or noLit if it is required
	at       int32 // position of the literal on the trail, -1 if required
	nextIn   int32
	nextOut  int32
}

// raised is an entry of the log: a cell and its old value.
type raised struct {
	cell, old int32
	node      Node // the node of the cell, -1 for the second row of the goal
}

// gain is a cell of a row and the value to which it is raised.
type gain struct{ chain, to int32 }

func (r *rows) init(s *Solver) {
	n := len(s.chainOf)
	r.cell = make([]int32, (n+1)*s.width)
	r.in, r.out = make([]int32, n), make([]int32, n)
	for i := range n {
		r.cell[i*s.width+int(s.chainOf[i])] = s.posOf[i] + 1
		r.in[i], r.out[i] = -1, -1
	}
	r.goal, r.after = -1, n*s.width
	if s.cfg.goal >= 0 {
		r.goal = s.first[s.cfg.goal]
	}
	// No node is known to come after the goal: the first position is the chain's length.
	copy(r.cell[r.after:], s.chains)
}

// before reports whether a is known to come before b.
func (s *Solver) before(a, b Node) bool {
	r := &s.rows
	if a == r.goal {
		return r.cell[r.after+int(s.chainOf[b])] <= s.posOf[b] && a != b
	}
	return r.cell[int(b)*s.width+int(s.chainOf[a])] > s.posOf[a] && a != b
}

// throughGoal reports whether b comes before the goal and the goal before a. An edge from a to b
// would then close a cycle that the rows do not show.
func (s *Solver) throughGoal(a, b Node) bool {
	k := s.rows.goal
	return k >= 0 && a != k && b != k && s.before(b, k) && s.before(k, a)
}

// addEdge makes a come before b. That must be neither known nor contradict the rows. It assigns all
// atoms that follow. It reports false, with the conflict in s.conflict, if one of them is false.
func (s *Solver) addEdge(a, b Node, l lit, at int32) bool {
	r := &s.rows
	e := int32(len(r.edge))
	r.edge = append(r.edge, edge{a, b, l, at, r.in[b], r.out[a]})
	r.in[b], r.out[a] = e, e
	k := r.goal
	if a == k {
		return s.goalBefore(b)
	}
	if !s.raise(a, b) {
		return false
	}
	return k < 0 || k == b || !s.before(k, a) || s.before(k, b) || s.goalBefore(b)
}

// raise raises the rows of b and of all nodes after it to the row of a. All that is new about them
// comes through the edge from a to b, so they can gain no more than the row of a. The walk stops at
// a node that gains nothing, because the nodes after it have at least its row.
//
// During a search the walk also stops at nodes after the goal. Their rows contain at least the
// nodes that come directly before them, which suffices to linearize. A cycle among them can be
// missed; linearize finds it, and from then on all rows are raised (whole). This does not apply if
// all constraints are clauses, because their atoms would then have to be decided one by one.
func (s *Solver) raise(a, b Node) bool {
	r := &s.rows
	w := s.width
	from, to := r.cell[int(a)*w:int(a)*w+w], r.cell[int(b)*w:int(b)*w+w]
	delta := r.delta[:0]
	for c, v := range from {
		if v > to[c] {
			delta = append(delta, gain{int32(c), v})
		}
	}
	r.delta = delta
	logging := len(s.levels) > 0 || s.roles.first != nil
	skipping := len(s.levels) > 0 && r.goal >= 0 && !r.whole && s.roles.first != nil
	stack := append(r.stack[:0], b)
	cells := int64(0)
	for len(stack) > 0 {
		x := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		end := s.first[s.chainOf[x]] + Node(s.chains[s.chainOf[x]])
		for ; x < end; x++ {
			if skipping && x != b && s.afterGoal(x) {
				break
			}
			gained := false
			base := int(x) * w
			row := r.cell[base : base+w]
			for _, d := range delta {
				old := row[d.chain]
				if old >= d.to {
					continue
				}
				gained = true
				cells++
				row[d.chain] = d.to
				if logging {
					r.log = append(r.log, raised{int32(base) + d.chain, old, x})
				}
				if s.atoms.list[base+int(d.chain)].n > 0 && !s.implyBefore(base+int(d.chain), old, d.to) {
					r.stack = stack
					return false
				}
			}
			if !gained {
				break
			}
			if x == r.goal {
				break
			}
			for e := r.out[x]; e >= 0; e = r.edge[e].nextOut {
				stack = append(stack, r.edge[e].to)
			}
		}
	}
	r.stack = stack
	s.stats.RowCells += cells
	s.stats.Propagations += cells
	return true
}

// goalBefore makes the goal come before b and all nodes after b. The positions of a chain that come
// after b are an interval up to its end, which a binary search in the rows finds.
func (s *Solver) goalBefore(b Node) bool {
	r := &s.rows
	row := r.after
	cb, pb := int(s.chainOf[b]), s.posOf[b]
	delta := r.delta[:0] // the old values of the cells
	for c := range s.chains {
		old := r.cell[row+c]
		now := pb
		if c != cb {
			lo, hi := int32(0), old
			for lo < hi {
				m := (lo + hi) / 2
				if r.cell[(int(s.first[c])+int(m))*s.width+cb] > pb {
					hi = m
				} else {
					lo = m + 1
				}
			}
			now = lo
		}
		if now >= old || s.first[c] == r.goal && s.chains[c] == 1 {
			continue
		}
		if len(s.levels) > 0 {
			r.log = append(r.log, raised{int32(row + c), old, -1})
		}
		r.cell[row+c] = now
		delta = append(delta, gain{int32(c), old})
		s.stats.RowCells++
		s.stats.Propagations++
	}
	r.delta = delta
	// Explanations need the complete row, so the atoms are assigned after it.
	for _, d := range delta {
		if !s.implyAfter(int(r.goal)*s.width+int(d.chain), r.cell[row+int(d.chain)], d.to) {
			return false
		}
	}
	return true
}

// undo removes edges and restores raised cells, down to the given lengths of the logs.
func (r *rows) undo(edges, cells int32) {
	for i := len(r.log) - 1; i >= int(cells); i-- {
		r.cell[r.log[i].cell] = r.log[i].old
	}
	r.log = r.log[:cells]
	for i := len(r.edge) - 1; i >= int(edges); i-- {
		e := &r.edge[i]
		r.in[e.to], r.out[e.from] = e.nextIn, e.nextOut
	}
	r.edge = r.edge[:edges]
}

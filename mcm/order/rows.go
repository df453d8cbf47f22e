package order

// rows holds what is known of the order: for every node, how many nodes of each
// chain come before it or are it. One comparison answers whether a comes before
// b. An edge raises the cells of the nodes past it, to the row of the node it
// leaves; each raised cell is logged, and restored on backtracking.
type rows struct {
	cell []int32 // node by node, width cells each; then the second row of the sink
	in   []int32 // by node: last edge that enters it, -1 if none
	out  []int32 // by node: last edge that leaves it
	edge []edge  // that told something new, in the order of the trail
	log  []raised

	goal  Node   // the node through which nothing is concluded, or -1
	after int    // where in cell its second row is
	whole bool   // rows of what comes after the sink are raised as well, see raise
	delta []gain // scratch: what the edge being added brings
	stack []Node // scratch: nodes whose rows are to be raised
}

// edge orders two nodes of different chains. Both lists through edges are
// stacks, so the last edge is always the first of its lists.
type edge struct {
	from, to Node
	lit      lit   // that is the edge, or noLit if it is required
	at       int32 // place of the literal on the trail, -1 if required
	nextIn   int32
	nextOut  int32
}

// raised is an entry of the log: a cell and what it was.
type raised struct {
	cell, old int32
	node      Node // that the cell is of, -1 if it is of the second row of the sink
}

// gain is a cell of a row and what it is raised to.
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
	// The second row has the first position of each chain that comes after the
	// sink, the chain's length if none does.
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

// throughGoal reports whether b comes before the sink and the sink before a: an
// edge from a to b would close a cycle that rows do not show.
func (s *Solver) throughGoal(a, b Node) bool {
	k := s.rows.goal
	return k >= 0 && a != k && b != k && s.before(b, k) && s.before(k, a)
}

// addEdge makes a come before b, which is neither known nor contradicts what is
// known, and assigns all atoms that follow. It reports false, with the conflict
// in clash, if one of them is already assigned the other way.
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

// raise raises the rows of b and of all that comes after it to the row of a.
// Everything that is new about any of them comes through the edge from a to b,
// so the row of a is all that any of them can gain; and a node that gains
// nothing ends the walk, for what comes after it has at least its row.
//
// So does, in a search, a node that comes after the sink. It need not know more than who
// comes before it directly, and what these know: enough to put it in its place, for as
// long as it does it is not undone. Only a cycle may be overlooked, and only among such
// nodes; linearise finds it, and then the rows are whole from there on. (Not so
// where all constraints are clauses: their atoms would have to be decided one by one.)
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
	logging := len(s.marks) > 0 || s.uses.first != nil
	skipping := len(s.marks) > 0 && r.goal >= 0 && !r.whole && s.uses.first != nil
	stack := append(r.stack[:0], b)
	cells := int64(0)
	for len(stack) > 0 {
		x := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		end := s.first[s.chainOf[x]] + Node(s.chains[s.chainOf[x]])
		for ; x < end; x++ {
			if skipping && x != b && s.past(x) {
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

// goalBefore makes the sink come before b and all that is after b, which the
// rows find by bisection: positions of a chain that are after b are an interval
// up to its end.
func (s *Solver) goalBefore(b Node) bool {
	r := &s.rows
	row := r.after
	cb, pb := int(s.chainOf[b]), s.posOf[b]
	delta := r.delta[:0] // what the cells were
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
		if len(s.marks) > 0 {
			r.log = append(r.log, raised{int32(row + c), old, -1})
		}
		r.cell[row+c] = now
		delta = append(delta, gain{int32(c), old})
		s.stats.RowCells++
		s.stats.Propagations++
	}
	r.delta = delta
	// Explanations need the whole row, so atoms come when it is complete.
	for _, d := range delta {
		if !s.implyAfter(int(r.goal)*s.width+int(d.chain), r.cell[row+int(d.chain)], d.to) {
			return false
		}
	}
	return true
}

// undo takes back edges and raised cells, down to the given lengths of the logs.
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

package order

import "sort"

// What reads see. A read that comes before the sink may see the sources that are
// left: those that do not come after it and are not covered, by a rival that comes
// after them and before the read. In a chain they are one piece, and what covers its
// beginning, and comes after its end, says why the others are out. If one is left the
// read sees it, else it has a choice. Then, chain by chain, the last rival before the
// read comes before what it sees, and the first one after that comes after the read.

// readArrived is told that a read comes before the sink.
func (s *Solver) readArrived(i int32) bool {
	r := &s.reads.list[i]
	if r.saw < 0 && r.only >= 0 {
		return s.see(i, r.only, r.guard)
	}
	s.reads.activity.add(i)
	s.doubt(i)
	return true
}

// doubt has a read looked at whose choices may have become fewer.
func (s *Solver) doubt(i int32) {
	n := &s.reads
	if !n.queued[i] {
		n.queued[i] = true
		n.doubts = append(n.doubts, i)
	}
}

// settle looks at reads whose choices may have become fewer, until there is something
// to propagate. It reports false, with the conflict in clash, if one has none left.
func (s *Solver) settle() bool {
	n := &s.reads
	for size := len(s.trail); len(n.doubts) > 0 && len(s.trail) == size; {
		last := len(n.doubts) - 1
		i := n.doubts[last]
		n.doubts, n.queued[i] = n.doubts[:last], false
		r := &n.list[i]
		if r.saw >= 0 || !s.sure(r.guard) {
			continue
		}
		left, ok := s.decideLast(i)
		if !ok {
			return false
		}
		if left > 1 {
			s.weigh(i, left)
		}
	}
	return true
}

// weigh notes how many choices a read has, and reports whether that is as it was noted
// last.
func (s *Solver) weigh(i int32, left int) bool {
	a := &s.reads.activity
	weight := 1 / float64(left)
	if a.weight[i] == weight {
		return true
	}
	a.weigh(i, weight)
	return false
}

// pick returns the choice to decide: of the read that was in the most conflicts for each
// choice that it has left, the one nearest to the preferred order. It is noLit if no read
// needs one; in busy it reports that there is something to propagate, or a conflict,
// instead.
//
// After backtracking a read has more choices than were noted, which is found out when it
// comes up.
func (s *Solver) pick() (p lit, busy bool) {
	n := &s.reads
	for {
		i, ok := n.activity.pop()
		if !ok {
			return noLit, false
		}
		r := &n.list[i]
		if r.saw >= 0 || !s.sure(r.guard) {
			continue // unsee or readArrived put it back
		}
		left, ok := s.decideLast(i)
		n.activity.add(i)
		switch {
		case !ok:
			s.stuck = true
			return noLit, true
		case left == 1:
			return noLit, true
		case s.weigh(i, left):
			return lit(2 * s.choice(i, s.preferred(i))), false
		}
	}
}

// cover finds which sources rivals cover, of those that come before a read: by chain how
// many nodes, and by which rival. It reports whether there is such a rival.
func (s *Solver) cover(r *read) (any bool) {
	n, cell, width := &s.reads, s.rows.cell, s.width
	w := &n.wants[r.want]
	at := n.variables[w.variable].at
	clear(n.covered)
	for c, pos := range cell[int(r.node)*width : int(r.node)*width+width] {
		if at[c] == at[c+1] || pos == 0 {
			continue
		}
		if int32(c) == s.chainOf[r.node] {
			pos-- // it does not come before itself
		}
		i := s.rivalBefore(w, int32(c), pos)
		if i < 0 {
			continue
		}
		any = true
		row := int(n.writes[i].node) * width
		for k, p := range cell[row : row+width] {
			if p > n.covered[k] {
				n.covered[k], n.by[k] = p, i
			}
		}
	}
	return any
}

// left returns the piece of a want's sources in a chain that are left to a read,
// after cover.
func (s *Solver) left(r *read, w *want, chain int) (lo, hi int32) {
	n, cell, own := &s.reads, s.rows.cell, s.chainOf[r.node]
	lo, hi = w.at[chain], w.at[chain+1]
	if from := n.covered[chain]; from > 0 {
		for end := hi; lo < end; {
			if m := int32(uint32(lo+end) >> 1); n.writes[w.sources[m]].pos < from {
				lo = m + 1
			} else {
				end = m
			}
		}
	}
	pos := s.posOf[r.node]
	past := s.chains[chain]
	if s.rows.goal >= 0 {
		past = cell[s.rows.after+chain]
	}
	for k := lo; k < hi; {
		m := int32(uint32(k+hi) >> 1)
		x := &n.writes[w.sources[m]]
		if x.pos >= past || cell[int(x.node)*s.width+int(own)] > pos {
			hi = m
		} else {
			k = m + 1
		}
	}
	return lo, hi
}

// look returns how many choices a read has.
func (s *Solver) look(i int32) (count int) {
	n := &s.reads
	r := &n.list[i]
	w := &n.wants[r.want]
	covered := s.cover(r)
	if w.initial && !covered {
		count++
	}
	for c := range s.width {
		if w.at[c] < w.at[c+1] {
			lo, hi := s.left(r, w, c)
			count += int(hi - lo)
		}
	}
	for _, v := range r.choices {
		if s.value[2*v] < 0 {
			_, x := s.atoms.ends[v].chosen()
			switch y := &n.writes[x]; {
			case y.node < 0 && covered:
			case y.node >= 0 && (y.pos < n.covered[s.chainOf[y.node]] || s.before(r.node, y.node) || s.past(y.node)):
			default:
				count--
			}
		}
	}
	return count
}

// open reports whether nothing has excluded a choice of a read but for what comes before
// what.
func (s *Solver) open(i, x int32) bool {
	v := s.choiceOf(i, x)
	return v < 0 || s.value[2*v] >= 0
}

// last returns a choice that a read has, -1 if it has none.
func (s *Solver) last(i int32) int32 {
	n := &s.reads
	r := &n.list[i]
	w := &n.wants[r.want]
	if initial := n.variables[w.variable].initial; !s.cover(r) && w.initial && s.open(i, initial) {
		return initial
	}
	for c := range s.width {
		lo, hi := s.left(r, w, c)
		for _, x := range w.sources[lo:hi] {
			if s.open(i, x) {
				return x
			}
		}
	}
	return -1
}

// preferred returns the choice of a read, which has one, that it has in the preferred
// order: the last source before it there; else the first one after it.
func (s *Solver) preferred(i int32) int32 {
	n := &s.reads
	r := &n.list[i]
	w := &n.wants[r.want]
	covered := s.cover(r)
	rank := func(x int32) int32 { return s.lin.rank[n.writes[x].node] }
	before, after := int32(-1), int32(-1)
	for c := range s.width {
		lo, hi := s.left(r, w, c)
		list := w.sources[lo:hi]
		m := sort.Search(len(list), func(k int) bool { return rank(list[k]) > s.lin.rank[r.node] })
		for k := m - 1; k >= 0; k-- {
			if x := list[k]; s.open(i, x) {
				if before < 0 || rank(x) > rank(before) {
					before = x
				}
				break
			}
		}
		for _, x := range list[m:] {
			if s.open(i, x) {
				if after < 0 || rank(x) < rank(after) {
					after = x
				}
				break
			}
		}
	}
	if initial := n.variables[w.variable].initial; before < 0 && w.initial && !covered && s.open(i, initial) {
		return initial
	}
	if before >= 0 {
		return before
	}
	return after
}

// decideLast assigns the choice of a read if it has one, and returns how many it has. It
// reports false, with the conflict in clash, if it has none.
func (s *Solver) decideLast(i int32) (left int, ok bool) {
	if left = s.look(i); left > 1 {
		return left, true
	}
	n := &s.reads
	r := &n.list[i]
	last := s.last(i)
	s.exclude(i, last)
	if left == 0 {
		s.clash = s.clash[:0]
		s.prove(r.guard, n.proof, int32(len(s.trail)), &s.clash)
		return 0, false
	}
	p := lit(2 * s.choice(i, last))
	switch {
	case s.value[p] > 0: // and will be propagated
	case len(s.marks) == 0:
		s.assign(p, decided)
	default:
		s.assign(p, s.note(because{rule: ruleLast, index: i, from: int32(len(s.notes.facts)), to: int32(len(s.notes.facts) + len(n.proof))}))
		s.notes.facts = append(s.notes.facts, n.proof...)
	}
	return 1, true
}

// fact is that a comes before b; or, if a is negative, that a literal, b, is false.
type fact struct{ a, b Node }

// exclude finds out why a read has no choice but one, or none at all if that is -1, and
// leaves it in proof.
func (s *Solver) exclude(i, but int32) {
	n := &s.reads
	r := &n.list[i]
	w := &n.wants[r.want]
	n.proof = n.proof[:0]
	note := func(a, b Node) { n.proof = append(n.proof, fact{a, b}) }
	excluded := func(x int32) {
		if x != but {
			note(-1, Node(2*s.choice(i, x)))
		}
	}
	initial := w.initial
	if initial && !s.cover(r) {
		excluded(n.variables[w.variable].initial)
		initial = false
	}
	for c := range s.width {
		from, to := w.at[c], w.at[c+1]
		if from == to {
			continue
		}
		lo, hi := s.left(r, w, c)
		if lo > from {
			rival := n.writes[n.by[c]].node
			note(n.writes[w.sources[lo-1]].node, rival)
			note(rival, r.node)
			initial = false // that rival covers it as well
		}
		for _, x := range w.sources[lo:hi] {
			excluded(x)
		}
		if hi < to {
			x := n.writes[w.sources[hi]].node
			if s.before(r.node, x) || x == r.node {
				note(r.node, x)
			} else {
				note(s.rows.goal, x)
			}
		}
	}
	if initial {
		for c, p := range n.covered {
			if p > 0 {
				note(n.writes[n.by[c]].node, r.node)
				break
			}
		}
	}
}

// prove appends to clause the negations of what facts and a guard follow from.
func (s *Solver) prove(guard lit, facts []fact, place int32, clause *[]lit) {
	if guard >= 0 {
		*clause = append(*clause, guard.not())
	}
	for _, f := range facts {
		if f.a == -1 {
			*clause = append(*clause, lit(f.b))
		} else {
			s.path(f.a, f.b, place, clause)
		}
	}
}

// see makes a read see a write, because of key, and draws the conclusions.
func (s *Solver) see(i, x int32, key lit) bool {
	n := &s.reads
	r := &n.list[i]
	r.saw, r.key, r.next = x, key, n.writes[x].reader
	n.writes[x].reader = i
	n.seen = append(n.seen, i)
	if from := n.writes[x].node; from >= 0 && !s.derive(from, r.node, because{rule: ruleSees, index: i}) {
		return false
	}
	w := &n.wants[r.want]
	at := n.variables[w.variable].at
	for c := range int32(s.width) {
		if at[c] == at[c+1] {
			continue
		}
		if !s.keepBefore(i, c) {
			return false
		}
		if c != s.chainOf[r.node] {
			if y := s.rivalAfter(w, c, x); y >= 0 && !s.keepAfter(i, y) {
				return false
			}
		}
	}
	return true
}

// keepBefore puts the last rival in a chain that comes before a read before what the
// read sees.
func (s *Solver) keepBefore(i, chain int32) bool {
	n := &s.reads
	r := &n.list[i]
	pos := s.rows.cell[int(r.node)*s.width+int(chain)]
	if chain == s.chainOf[r.node] {
		pos--
	}
	y := s.rivalBefore(&n.wants[r.want], chain, pos)
	return y < 0 || s.derive(n.writes[y].node, n.writes[r.saw].node, because{rule: ruleBefore, index: i, other: y})
}

// keepAfter puts a rival that comes after what a read sees after the read. If it comes
// after the sink it does so if that matters.
func (s *Solver) keepAfter(i, y int32) bool {
	n := &s.reads
	return s.past(n.writes[y].node) ||
		s.derive(n.list[i].node, n.writes[y].node, because{rule: ruleAfter, index: i, other: y})
}

// readRaised is told that more nodes of a chain come before a read.
func (s *Solver) readRaised(i, chain int32) bool {
	n := &s.reads
	r := &n.list[i]
	switch at := n.variables[n.wants[r.want].variable].at; {
	case at[chain] == at[chain+1]:
	case r.saw >= 0:
		return s.keepBefore(i, chain)
	case s.sure(r.guard):
		s.doubt(i)
	}
	return true
}

// writeRaised is told that the nodes of a chain at positions from old to now-1 come
// before a write. It comes after whoever reads a value that it overwrites.
func (s *Solver) writeRaised(y int32, variable Variable, chain, old, now int32) bool {
	n := &s.reads
	v := &n.variables[variable]
	me := &n.writes[y]
	for x := s.writeFrom(v, chain, old); x < v.at[chain+1] && n.writes[x].pos < now; x++ {
		for i := n.writes[x].reader; i >= 0; i = n.list[i].next {
			if r := &n.list[i]; r.node != me.node && !n.wants[r.want].accepts(me.value) && !s.keepAfter(i, y) {
				return false
			}
		}
	}
	return true
}

// unsee takes back what reads see, down to so many of them.
func (s *Solver) unsee(seen int32) {
	n := &s.reads
	for k := len(n.seen) - 1; k >= int(seen); k-- {
		r := &n.list[n.seen[k]]
		n.writes[r.saw].reader, r.saw = r.next, -1
		n.activity.add(n.seen[k])
	}
	n.seen = n.seen[:seen]
}

package order

import "sort"

// This file propagates the constraints of AddRead. A source of a read is a write of an accepted
// value, a rival a write of another value. A read before the goal may read a source that does not
// come after it and is not covered, that is, followed by a rival that comes before the read. In
// each chain these sources form an interval: a rival covers the earlier ones, and the later ones
// come after the read. If one source is left, it is assigned; if none is left, there is a conflict.
// Once a read has a source, the last rival before the read in each chain comes before the source,
// and the first rival after the source comes after the read.

// readActivated is called when a read has come before the goal.
func (s *Solver) readActivated(i int32) bool {
	r := &s.reads.list[i]
	if r.source < 0 && r.only >= 0 {
		return s.setSource(i, r.only, r.guard)
	}
	s.reads.activity.add(i)
	s.enqueueRead(i)
	return true
}

// enqueueRead adds a read to the queue of reads whose choices may have become fewer.
func (s *Solver) enqueueRead(i int32) {
	n := &s.reads
	if !n.queued[i] {
		n.queued[i] = true
		n.queue = append(n.queue, i)
	}
}

// propagateReads processes the queue of reads until there is something to propagate. It reports
// false, with the conflict in s.conflict, if a read has no choice left.
func (s *Solver) propagateReads() bool {
	n := &s.reads
	for size := len(s.trail); len(n.queue) > 0 && len(s.trail) == size; {
		last := len(n.queue) - 1
		i := n.queue[last]
		n.queue, n.queued[i] = n.queue[:last], false
		r := &n.list[i]
		if r.source >= 0 || !s.active(r.guard) {
			continue
		}
		left, ok := s.assignLastChoice(i)
		if !ok {
			return false
		}
		if left > 1 {
			s.setChoices(i, left)
		}
	}
	return true
}

// setChoices updates the weight of a read in the decision heuristic. It reports whether the number
// of choices is unchanged.
func (s *Solver) setChoices(i int32, left int) bool {
	a := &s.reads.activity
	weight := 1 / float64(left)
	if a.weight[i] == weight {
		return true
	}
	a.weigh(i, weight)
	return false
}

// pickChoice returns the choice to decide: of the read with the highest weighted score, the choice
// nearest to the preferred order. It returns noLit if every read has a source. In busy it reports
// that there is something to propagate, or a conflict, instead.
//
// After backtracking a read may have more choices than its weight says. pickChoice corrects that
// when the read comes up.
func (s *Solver) pickChoice() (p lit, busy bool) {
	n := &s.reads
	for {
		i, ok := n.activity.pop()
		if !ok {
			return noLit, false
		}
		r := &n.list[i]
		if r.source >= 0 || !s.active(r.guard) {
			continue // unsee or readArrived put it back
		}
		left, ok := s.assignLastChoice(i)
		n.activity.add(i)
		switch {
		case !ok:
			s.pendingConflict = true
			return noLit, true
		case left == 1:
			return noLit, true
		case s.setChoices(i, left):
			return lit(2 * s.choice(i, s.preferred(i))), false
		}
	}
}

// cover computes which sources are covered by rivals that come before a read: per chain the number
// of covered nodes and the rival. It reports whether there is such a rival.
func (s *Solver) cover(r *read) (any bool) {
	n, cell, width := &s.reads, s.rows.cell, s.width
	w := &n.sets[r.set]
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

// remaining returns the range of the sources in a chain that remain for a read, after cover.
func (s *Solver) remaining(r *read, w *valueSet, chain int) (lo, hi int32) {
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

// countChoices returns the number of choices of a read.
func (s *Solver) countChoices(i int32) (count int) {
	n := &s.reads
	r := &n.list[i]
	w := &n.sets[r.set]
	covered := s.cover(r)
	if w.initial && !covered {
		count++
	}
	for c := range s.width {
		if w.at[c] < w.at[c+1] {
			lo, hi := s.remaining(r, w, c)
			count += int(hi - lo)
		}
	}
	for _, v := range r.choices {
		if s.value[2*v] < 0 {
			_, x := s.atoms.pairs[v].chosen()
			switch y := &n.writes[x]; {
			case y.node < 0 && covered:
			case y.node >= 0 && (y.pos < n.covered[s.chainOf[y.node]] || s.before(r.node, y.node) || s.afterGoal(y.node)):
			default:
				count--
			}
		}
	}
	return count
}

// notExcluded reports whether the choice variable of a read and a write is not false.
func (s *Solver) notExcluded(i, x int32) bool {
	v := s.choiceOf(i, x)
	return v < 0 || s.value[2*v] >= 0
}

// anyChoice returns a choice of a read, or -1.
func (s *Solver) anyChoice(i int32) int32 {
	n := &s.reads
	r := &n.list[i]
	w := &n.sets[r.set]
	if initial := n.variables[w.variable].initial; !s.cover(r) && w.initial && s.notExcluded(i, initial) {
		return initial
	}
	for c := range s.width {
		lo, hi := s.remaining(r, w, c)
		for _, x := range w.sources[lo:hi] {
			if s.notExcluded(i, x) {
				return x
			}
		}
	}
	return -1
}

// preferred returns the choice of a read nearest to the preferred order: the last source before the
// read there, else the first one after it.
func (s *Solver) preferred(i int32) int32 {
	n := &s.reads
	r := &n.list[i]
	w := &n.sets[r.set]
	covered := s.cover(r)
	rank := func(x int32) int32 { return s.lin.rank[n.writes[x].node] }
	before, after := int32(-1), int32(-1)
	for c := range s.width {
		lo, hi := s.remaining(r, w, c)
		list := w.sources[lo:hi]
		m := sort.Search(len(list), func(k int) bool { return rank(list[k]) > s.lin.rank[r.node] })
		for k := m - 1; k >= 0; k-- {
			if x := list[k]; s.notExcluded(i, x) {
				if before < 0 || rank(x) > rank(before) {
					before = x
				}
				break
			}
		}
		for _, x := range list[m:] {
			if s.notExcluded(i, x) {
				if after < 0 || rank(x) < rank(after) {
					after = x
				}
				break
			}
		}
	}
	if initial := n.variables[w.variable].initial; before < 0 && w.initial && !covered && s.notExcluded(i, initial) {
		return initial
	}
	if before >= 0 {
		return before
	}
	return after
}

// assignLastChoice assigns the choice of a read if it has only one. It returns the number of
// choices. It reports false, with the conflict in s.conflict, if there is none.
func (s *Solver) assignLastChoice(i int32) (left int, ok bool) {
	if left = s.countChoices(i); left > 1 {
		return left, true
	}
	n := &s.reads
	r := &n.list[i]
	last := s.anyChoice(i)
	s.explainExclusion(i, last)
	if left == 0 {
		s.conflict = s.conflict[:0]
		s.explainFacts(r.guard, n.proof, int32(len(s.trail)), &s.conflict)
		return 0, false
	}
	p := lit(2 * s.choice(i, last))
	switch {
	case s.value[p] > 0: // and will be propagated
	case len(s.levels) == 0:
		s.assign(p, reasonDecision)
	default:
		s.assign(p, s.addNote(ruleNote{rule: ruleLast, index: i, from: int32(len(s.notes.facts)), to: int32(len(s.notes.facts) + len(n.proof))}))
		s.notes.facts = append(s.notes.facts, n.proof...)
	}
	return 1, true
}

// fact is the fact that a comes before b; or, if a is negative, that the literal b is false.
type fact struct{ a, b Node }

// explainExclusion computes why all choices of a read but one are excluded, or all of them if that
// one is -1. The result is in reads.proof.
func (s *Solver) explainExclusion(i, but int32) {
	n := &s.reads
	r := &n.list[i]
	w := &n.sets[r.set]
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
		lo, hi := s.remaining(r, w, c)
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

// explainFacts appends to clause the negations of the literals that imply a guard and facts.
func (s *Solver) explainFacts(guard lit, facts []fact, place int32, clause *[]lit) {
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

// setSource sets the source of a read, because of a literal, and draws the conclusions.
func (s *Solver) setSource(i, x int32, key lit) bool {
	n := &s.reads
	r := &n.list[i]
	r.source, r.cause, r.nextReader = x, key, n.writes[x].reader
	n.writes[x].reader = i
	n.bound = append(n.bound, i)
	if from := n.writes[x].node; from >= 0 && !s.derive(from, r.node, ruleNote{rule: ruleSees, index: i}) {
		return false
	}
	w := &n.sets[r.set]
	at := n.variables[w.variable].at
	for c := range int32(s.width) {
		if at[c] == at[c+1] {
			continue
		}
		if !s.orderRivalBefore(i, c) {
			return false
		}
		if c != s.chainOf[r.node] {
			if y := s.rivalAfter(w, c, x); y >= 0 && !s.orderRivalAfter(i, y) {
				return false
			}
		}
	}
	return true
}

// orderRivalBefore orders the last rival in a chain that comes before a read before its source.
func (s *Solver) orderRivalBefore(i, chain int32) bool {
	n := &s.reads
	r := &n.list[i]
	pos := s.rows.cell[int(r.node)*s.width+int(chain)]
	if chain == s.chainOf[r.node] {
		pos--
	}
	y := s.rivalBefore(&n.sets[r.set], chain, pos)
	return y < 0 || s.derive(n.writes[y].node, n.writes[r.source].node, ruleNote{rule: ruleBefore, index: i, other: y})
}

// orderRivalAfter orders a rival that comes after the source of a read after the read. A rival
// after the goal needs no order.
func (s *Solver) orderRivalAfter(i, y int32) bool {
	n := &s.reads
	return s.afterGoal(n.writes[y].node) ||
		s.derive(n.list[i].node, n.writes[y].node, ruleNote{rule: ruleAfter, index: i, other: y})
}

// readRaised is called when more nodes of a chain come before a read.
func (s *Solver) readRaised(i, chain int32) bool {
	n := &s.reads
	r := &n.list[i]
	switch at := n.variables[n.sets[r.set].variable].at; {
	case at[chain] == at[chain+1]:
	case r.source >= 0:
		return s.orderRivalBefore(i, chain)
	case s.active(r.guard):
		s.enqueueRead(i)
	}
	return true
}

// writeRaised is called when the nodes of a chain at positions from old to now-1 come before a
// write. The write comes after every read whose source is one of them, if it is a rival.
func (s *Solver) writeRaised(y int32, variable Variable, chain, old, now int32) bool {
	n := &s.reads
	v := &n.variables[variable]
	me := &n.writes[y]
	for x := s.writeFrom(v, chain, old); x < v.at[chain+1] && n.writes[x].pos < now; x++ {
		for i := n.writes[x].reader; i >= 0; i = n.list[i].nextReader {
			if r := &n.list[i]; r.node != me.node && !n.sets[r.set].accepts(me.value) && !s.orderRivalAfter(i, y) {
				return false
			}
		}
	}
	return true
}

// undoSources undoes setSource down to a number of reads with a source.
func (s *Solver) undoSources(seen int32) {
	n := &s.reads
	for k := len(n.bound) - 1; k >= int(seen); k-- {
		r := &n.list[n.bound[k]]
		n.writes[r.source].reader, r.source = r.nextReader, -1
		n.activity.add(n.bound[k])
	}
	n.bound = n.bound[:seen]
}

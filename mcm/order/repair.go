package order

// repairer finds the constraints of AddRead and AddLock that a candidate violates. All conclusions
// of the decided order have been drawn, but a candidate orders more: a rival that is unordered with
// a read and its source may come between them, and two critical sections may overlap that nothing
// has ordered.
type repairer struct {
	last       []int32   // by variable: its last write so far
	open       [][]int32 // by lock: sections that have not ended
	violations []violation
}

// violation is a read that reads a rival, or two critical sections that overlap.
type violation struct {
	kind  roleKind // reading or starting
	index int32    // the read or the section
	by    int32    // the write or the other section
	saw   int32    // the write that the read was to see, and why
	key   lit
}

// repair adds a clause for each constraint that the candidate violates, so that the search decides
// it. It reports whether there are any.
func (s *Solver) repair() bool {
	x, r, n := &s.roles, &s.repairer, &s.reads
	if x.first == nil {
		return false
	}
	r.last, r.violations = r.last[:0], r.violations[:0]
	for i := range n.variables {
		r.last = append(r.last, n.variables[i].initial)
	}
	for len(r.open) < len(s.sections.locks) {
		r.open = append(r.open, nil)
	}
	for i := range r.open {
		r.open[i] = append(r.open[i][:0], s.sections.locks[i].outset...)
	}
	for _, node := range s.lin.order {
		if node == s.rows.goal {
			break
		}
		s.visit(node)
	}
	for i := 0; i < len(r.violations) && !s.unsat; i++ {
		s.addRepair(&r.violations[i])
	}
	return len(r.violations) > 0
}

// visit processes the next node of the candidate.
func (s *Solver) visit(node Node) {
	x, r, n, sections := &s.roles, &s.repairer, &s.reads, &s.sections
	for k := x.first[node]; k >= 0; k = x.list[k].next {
		switch u := &x.list[k]; u.kind {
		case roleRead:
			rd := &n.list[u.index]
			w := &n.sets[rd.set]
			if last := r.last[w.variable]; !w.accepts(n.writes[last].value) {
				r.violations = append(r.violations, violation{kind: roleRead, index: u.index, by: last, saw: rd.source, key: rd.cause})
			}
		case roleStart:
			me := &sections.list[u.index]
			for _, j := range r.open[me.lock] {
				if me.excludes(&sections.list[j]) {
					r.violations = append(r.violations, violation{kind: roleStart, index: u.index, by: j})
				}
			}
			r.open[me.lock] = append(r.open[me.lock], u.index)
		}
	}
	for k := x.first[node]; k >= 0; k = x.list[k].next {
		switch u := &x.list[k]; u.kind {
		case roleWrite:
			r.last[u.variable] = u.index
		case roleEnd:
			open := r.open[sections.list[u.index].lock]
			for at, j := range open {
				if j == u.index {
					r.open[sections.list[u.index].lock] = append(open[:at], open[at+1:]...)
					break
				}
			}
		}
	}
}

// addRepair adds the clause that a candidate violates. All reads of it have a source.
func (s *Solver) addRepair(b *violation) {
	s.clause = s.clause[:0]
	switch b.kind {
	case roleRead:
		node, saw, rival := s.reads.list[b.index].node, s.reads.writes[b.saw].node, s.reads.writes[b.by].node
		s.addDisjunction(b.key, Lit{rival, saw}, Lit{node, rival})
	case roleStart:
		x, y := &s.sections.list[b.index], &s.sections.list[b.by]
		s.addDisjunction(x.guard, Lit{x.End, y.Start})
		s.addDisjunction(y.guard, Lit{y.End, x.Start})
	}
	s.insert()
}

// addDisjunction appends literals to s.clause: the negation of a guard or choice, and those of the
// others that are about two nodes.
func (s *Solver) addDisjunction(guard lit, others ...Lit) {
	if guard >= 0 {
		s.addLiteral(guard.not())
	}
	for _, l := range others {
		if l.Before >= 0 && l.After >= 0 {
			s.addLiteral(s.literal(l))
		}
	}
}

// addLiteral appends a literal to s.clause unless it is false at level 0.
func (s *Solver) addLiteral(p lit) {
	known := p >= 0 && s.value[p] != 0 && s.level[p>>1] == 0
	if p != never && !(known && s.value[p] < 0) {
		s.clause = append(s.clause, p)
	}
}

package order

// repairer finds what a candidate violates of reads and sections. What follows for
// them was concluded when it did, but a candidate orders more: a rival that is
// ordered with neither a read nor what it sees may come to be between, and two sections may
// overlap that need not.
type repairer struct {
	last   []int32   // by variable: its last write so far
	open   [][]int32 // by lock: sections that have not ended
	broken []violation
}

// violation is that a read sees another write, or that two sections overlap.
type violation struct {
	kind  useKind // reading or starting
	index int32   // the read or the section
	by    int32   // the write or the other section
	saw   int32   // the write that the read was to see, and why
	key   lit
}

// repair adds a clause for each read and each two sections whose constraint the candidate
// violates, so that the search decides. It reports whether there are any.
func (s *Solver) repair() bool {
	x, r, n := &s.uses, &s.repairer, &s.reads
	if x.first == nil {
		return false
	}
	r.last, r.broken = r.last[:0], r.broken[:0]
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
		s.check(node)
	}
	for i := 0; i < len(r.broken) && !s.false0; i++ {
		s.mend(&r.broken[i])
	}
	return len(r.broken) > 0
}

// check lets a node come next in the candidate.
func (s *Solver) check(node Node) {
	x, r, n, sections := &s.uses, &s.repairer, &s.reads, &s.sections
	for k := x.first[node]; k >= 0; k = x.list[k].next {
		switch u := &x.list[k]; u.kind {
		case reading:
			rd := &n.list[u.index]
			w := &n.wants[rd.want]
			if last := r.last[w.variable]; !w.accepts(n.writes[last].value) {
				r.broken = append(r.broken, violation{kind: reading, index: u.index, by: last, saw: rd.saw, key: rd.key})
			}
		case starting:
			me := &sections.list[u.index]
			for _, j := range r.open[me.lock] {
				if me.excludes(&sections.list[j]) {
					r.broken = append(r.broken, violation{kind: starting, index: u.index, by: j})
				}
			}
			r.open[me.lock] = append(r.open[me.lock], u.index)
		}
	}
	for k := x.first[node]; k >= 0; k = x.list[k].next {
		switch u := &x.list[k]; u.kind {
		case writing:
			r.last[u.variable] = u.index
		case ending:
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

// mend adds the clause that a candidate violates. All reads in it have chosen.
func (s *Solver) mend(b *violation) {
	s.scaled = s.scaled[:0]
	switch b.kind {
	case reading:
		node, saw, rival := s.reads.list[b.index].node, s.reads.writes[b.saw].node, s.reads.writes[b.by].node
		s.either(b.key, Lit{rival, saw}, Lit{node, rival})
	case starting:
		x, y := &s.sections.list[b.index], &s.sections.list[b.by]
		s.either(x.guard, Lit{x.End, y.Start})
		s.either(y.guard, Lit{y.End, x.Start})
	}
	s.insert()
}

// either appends literals to scaled: that a guard, or choice, does not hold; and those
// of the others that are about two nodes.
func (s *Solver) either(guard lit, others ...Lit) {
	if guard >= 0 {
		s.scale(guard.not())
	}
	for _, l := range others {
		if l.Before >= 0 && l.After >= 0 {
			s.scale(s.literal(l))
		}
	}
}

// scale appends a literal to the clause that is being added, unless it is false for
// good.
func (s *Solver) scale(p lit) {
	known := p >= 0 && s.value[p] != 0 && s.level[p>>1] == 0
	if p != never && !(known && s.value[p] < 0) {
		s.scaled = append(s.scaled, p)
	}
}

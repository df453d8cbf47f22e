package order

import (
	"cmp"
	"slices"
)

// learner turns conflicts into learned clauses.
type learner struct {
	seen    []bool  // by variable: it is in the clause, or was resolved away
	touched []int32 // the variables that seen is set for: all of them
	clause  []lit   // what is learned
	why     []lit   // scratch: an explanation
	stamp   []int32 // by level: to count levels
	stamps  int32
	limit   int     // learned clauses at which they are reduced
	order   []int32 // scratch: clauses to reduce
}

func (l *learner) newVariable() { l.seen = append(l.seen, false) }

// resolve learns from the conflict in clash, backtracks to where the learned
// clause leaves one literal and assigns it. It reports false, and notes that the
// problem is contradictory, if no decision takes part.
func (s *Solver) resolve() bool {
	s.stats.Conflicts++
	top := int32(0)
	for _, l := range s.clash {
		top = max(top, s.level[l>>1])
	}
	if top == 0 {
		s.false0 = true
		return false
	}
	s.cancel(top)
	s.analyze()
	c := s.learn.clause
	s.stats.LearnedClauses++
	s.stats.LearnedLits += int64(len(c))
	if s.logged != nil {
		s.logged(c)
	}
	if len(c) == 1 {
		s.cancel(0)
		s.assign(c[0], decided)
	} else {
		last := 1 // to watch: the literal that was false last
		for i := range c {
			if i > 0 && s.level[c[i]>>1] > s.level[c[last]>>1] {
				last = i
			}
		}
		c[1], c[last] = c[last], c[1]
		lbd := s.levels(c)
		s.cancel(s.level[c[1]>>1])
		s.assign(c[0], s.clauses.add(c, flagLearned, lbd))
	}
	s.activity.decay()
	s.reads.activity.decay()
	return true
}

// analyze resolves clash, of which a literal is of the present level, with the
// reasons of literals of that level, the latest first, until one of them is left
// (the first unique implication point). It leaves the clause in learn.clause, that
// literal first.
func (s *Solver) analyze() {
	l := &s.learn
	now := int32(len(s.marks))
	l.clause = append(l.clause[:0], noLit)
	open, at := 0, len(s.trail)-1
	lits := s.clash
	var p lit
	for {
		for _, q := range lits {
			v := int32(q >> 1)
			if l.seen[v] || s.level[v] == 0 {
				continue
			}
			l.seen[v] = true
			l.touched = append(l.touched, v)
			s.activity.bump(v)
			if i, _ := s.atoms.ends[v].chosen(); i >= 0 {
				s.reads.activity.bump(i)
			}
			if s.level[v] == now {
				open++
			} else {
				l.clause = append(l.clause, q)
			}
		}
		for !l.seen[s.trail[at]>>1] {
			at--
		}
		p = s.trail[at]
		at--
		if open--; open == 0 {
			break
		}
		lits = s.reasonOf(p)
	}
	l.clause[0] = p.not()
	if s.cfg.minimize {
		s.minimize()
	}
	// Also those that were resolved away or minimised: a flag that stays would
	// make a later analysis leave out a literal, and what it learns would be
	// wrong.
	for _, v := range l.touched {
		l.seen[v] = false
	}
	l.touched = l.touched[:0]
}

// reasonOf returns the other literals of the clause that p, which is implied,
// follows from; all are false. The slice is valid until the next call.
func (s *Solver) reasonOf(p lit) []lit {
	v := p >> 1
	l := &s.learn
	l.why = l.why[:0]
	switch r := s.reason[v]; {
	case r == implied:
		s.why(p, s.place[v], &l.why)
		return l.why
	case r <= noted:
		s.premises(&s.notes.list[noted-r], s.place[v], &l.why)
		return l.why
	}
	for _, q := range s.clauses.literals(s.reason[v]) {
		if lit(q) != p {
			l.why = append(l.why, lit(q))
		}
	}
	return l.why
}

// minimize drops literals that follow from the others: whose reason is a clause
// of which all other literals are in the learned clause too, or are facts.
func (s *Solver) minimize() {
	l := &s.learn
	now := int32(len(s.marks))
	kept := l.clause[:1]
	for _, p := range l.clause[1:] {
		if !s.redundant(p.not(), now) {
			kept = append(kept, p)
		}
	}
	s.stats.Minimized += int64(len(l.clause) - len(kept))
	l.clause = kept
}

func (s *Solver) redundant(p lit, now int32) bool {
	if s.reason[p>>1] == decided {
		return false
	}
	for _, q := range s.reasonOf(p) {
		v := q >> 1
		if s.level[v] > 0 && (!s.learn.seen[v] || s.level[v] == now) {
			return false
		}
	}
	return true
}

// levels returns of how many levels the literals of a clause are.
func (s *Solver) levels(c []lit) int32 {
	l := &s.learn
	for len(l.stamp) <= len(s.marks) {
		l.stamp = append(l.stamp, 0)
	}
	l.stamps++
	n := int32(0)
	for _, p := range c {
		if lv := s.level[p>>1]; l.stamp[lv] != l.stamps {
			l.stamp[lv] = l.stamps
			n++
		}
	}
	return n
}

// reduce deletes half of the learned clauses: those of the most levels, of these
// the oldest. Clauses of two levels or two literals stay, and those that are
// reasons.
func (s *Solver) reduce() {
	l, c := &s.learn, &s.clauses
	l.order = l.order[:0]
	for _, ref := range c.learned {
		first := lit(c.literals(ref)[0])
		locked := s.value[first] > 0 && s.reason[first>>1] == ref
		if c.arena[ref+clauseNote] > 2 && c.arena[ref]>>2 > 2 && !locked {
			l.order = append(l.order, ref)
		}
	}
	slices.SortFunc(l.order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(c.arena[b+clauseNote], c.arena[a+clauseNote]), cmp.Compare(a, b))
	})
	drop := l.order[:len(l.order)/2]
	for _, ref := range drop {
		c.remove(ref)
	}
	s.stats.DeletedClauses += int64(len(drop))
	l.limit += l.limit/10 + 1
	s.compact()
}

// blame finds assumptions from which the negation of p, an assumption that is
// false, follows.
func (s *Solver) blame(p lit) {
	l := &s.learn
	s.failed = s.failed[:0]
	s.fail(p)
	mark := func(v int32) {
		if !l.seen[v] && s.level[v] > 0 {
			l.seen[v] = true
			l.touched = append(l.touched, v)
		}
	}
	mark(int32(p >> 1))
	for at := len(s.trail) - 1; at >= 0 && len(s.marks) > 0 && at >= int(s.marks[0].trail); at-- {
		q := s.trail[at]
		if !l.seen[q>>1] {
			continue
		}
		if s.reason[q>>1] == decided {
			s.fail(q)
			continue
		}
		for _, o := range s.reasonOf(q) {
			mark(int32(o >> 1))
		}
	}
	for _, v := range l.touched {
		l.seen[v] = false
	}
	l.touched = l.touched[:0]
}

// fail notes an assumption as one that failed.
func (s *Solver) fail(p lit) {
	for i, q := range s.asked {
		if q == p {
			s.failed = append(s.failed, s.askedL[i])
			return
		}
	}
}

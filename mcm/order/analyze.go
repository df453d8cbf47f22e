package order

import (
	"cmp"
	"slices"
)

// learner is the state of conflict analysis.
type learner struct {
	seen    []bool  // by variable: in the clause or resolved away
	touched []int32 // the variables for which seen is set
	clause  []lit   // the learned clause
	why     []lit   // scratch: an explanation
	stamp   []int32 // by level, to count levels
	stamps  int32
	limit   int     // number of learned clauses at which reduce is due
	order   []int32 // scratch: clauses to reduce
}

func (l *learner) newVariable() { l.seen = append(l.seen, false) }

// resolveConflict learns a clause from s.conflict, backtracks to the level where the clause is unit
// and assigns its literal. It reports false, and marks the problem unsatisfiable, if the conflict
// needs no decision.
func (s *Solver) resolveConflict() bool {
	s.stats.Conflicts++
	top := int32(0)
	for _, l := range s.conflict {
		top = max(top, s.level[l>>1])
	}
	if top == 0 {
		s.unsat = true
		return false
	}
	s.backtrack(top)
	s.analyze()
	c := s.learn.clause
	s.stats.LearnedClauses++
	s.stats.LearnedLits += int64(len(c))
	if s.logged != nil {
		s.logged(c)
	}
	if len(c) == 1 {
		s.backtrack(0)
		s.assign(c[0], reasonDecision)
	} else {
		last := 1 // watch the literal that became false last
		for i := range c {
			if i > 0 && s.level[c[i]>>1] > s.level[c[last]>>1] {
				last = i
			}
		}
		c[1], c[last] = c[last], c[1]
		lbd := s.lbd(c)
		s.backtrack(s.level[c[1]>>1])
		s.assign(c[0], s.clauses.add(c, flagLearned, lbd))
	}
	s.activity.decay()
	s.reads.activity.decay()
	return true
}

// analyze resolves s.conflict with the reasons of its literals of the current level, the latest
// first, until one is left: the first unique implication point (1UIP; Marques-Silva, Sakallah:
// GRASP, 1999). The learned clause is in learn.clause, with that literal first.
func (s *Solver) analyze() {
	l := &s.learn
	now := int32(len(s.levels))
	l.clause = append(l.clause[:0], noLit)
	open, at := 0, len(s.trail)-1
	lits := s.conflict
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
			if i, _ := s.atoms.pairs[v].chosen(); i >= 0 {
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
	// Also the variables that were resolved away or minimized: a flag that stays set would make a
	// later analysis drop a literal and learn a wrong clause.
	for _, v := range l.touched {
		l.seen[v] = false
	}
	l.touched = l.touched[:0]
}

// reasonOf returns the other literals of the clause that implies p. All are false. The slice is
// valid until the next call.
func (s *Solver) reasonOf(p lit) []lit {
	v := p >> 1
	l := &s.learn
	l.why = l.why[:0]
	switch r := s.reason[v]; {
	case r == reasonRows:
		s.explainRows(p, s.trailPos[v], &l.why)
		return l.why
	case r <= reasonRule:
		s.premises(&s.notes.list[reasonRule-r], s.trailPos[v], &l.why)
		return l.why
	}
	for _, q := range s.clauses.literals(s.reason[v]) {
		if lit(q) != p {
			l.why = append(l.why, lit(q))
		}
	}
	return l.why
}

// minimize removes literals that the others imply (local minimization; Sörensson, Biere, SAT 2009):
// the literals of their reasons are in the clause or facts of level 0.
func (s *Solver) minimize() {
	l := &s.learn
	now := int32(len(s.levels))
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
	if s.reason[p>>1] == reasonDecision {
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

// lbd returns the number of levels of the literals of a clause (literals blocks distance; Audemard,
// Simon, IJCAI 2009).
func (s *Solver) lbd(c []lit) int32 {
	l := &s.learn
	for len(l.stamp) <= len(s.levels) {
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

// reduce deletes half of the learned clauses: those with the highest LBD, of equal ones the oldest.
// Clauses with an LBD up to 2, clauses of two literals and reasons stay.
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

// analyzeFinal finds the failed assumptions: those from which the negation of p, a false
// assumption, follows.
func (s *Solver) analyzeFinal(p lit) {
	l := &s.learn
	s.failed = s.failed[:0]
	s.addFailed(p)
	mark := func(v int32) {
		if !l.seen[v] && s.level[v] > 0 {
			l.seen[v] = true
			l.touched = append(l.touched, v)
		}
	}
	mark(int32(p >> 1))
	for at := len(s.trail) - 1; at >= 0 && len(s.levels) > 0 && at >= int(s.levels[0].trail); at-- {
		q := s.trail[at]
		if !l.seen[q>>1] {
			continue
		}
		if s.reason[q>>1] == reasonDecision {
			s.addFailed(q)
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

// addFailed adds p to the failed assumptions if it is one.
func (s *Solver) addFailed(p lit) {
	for i, q := range s.assumptions {
		if q == p {
			s.failed = append(s.failed, s.givenAssumptions[i])
			return
		}
	}
}

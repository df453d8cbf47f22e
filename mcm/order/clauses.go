package order

import "slices"

// clauses stores clauses in an arena and propagates them with two watched literals per clause
// (Moskewicz et al.: Chaff, DAC 2001). A clause has a header, a note and its literals. A literal
// that a clause implies is one of its watched literals.
type clauses struct {
	arena   []int32
	given   []int32     // permanent clauses
	learned []int32     // learned clauses
	watch   [][]watcher // by literal: clauses to visit when it becomes true
	occurs  [][]int32   // by variable: the permanent clauses that contain it
	wasted  int         // words of deleted clauses in the arena
}

// A clause has two words before its literals. The first is four times the number of literals, plus
// flags. The second is its note: the index of the literal that last made a permanent clause hold,
// or the LBD of a learned clause.
const (
	clauseNote  = 1
	clauseWords = 2
)
const (
	flagLearned = 1
	flagDeleted = 2
)

// watcher is a clause reference times two, plus 1 for a clause of two literals, and one of its
// literals. If that literal is true the clause need not be visited.
type watcher struct {
	clause int32
	other  lit
}

func (c *clauses) newVariable() {
	c.watch = append(c.watch, nil, nil)
	c.occurs = append(c.occurs, nil)
}

// literals returns the literals of a clause, in place.
func (c *clauses) literals(ref int32) []int32 {
	n := c.arena[ref] >> 2
	return c.arena[ref+clauseWords : ref+clauseWords+n]
}

// add stores a clause of at least two literals and watches the first two.
func (c *clauses) add(ls []lit, flags, note int32) int32 {
	ref := int32(len(c.arena))
	c.arena = append(c.arena, int32(len(ls))<<2|flags, note)
	for _, l := range ls {
		c.arena = append(c.arena, int32(l))
	}
	w := 2 * ref
	if len(ls) == 2 {
		w |= 1
	}
	c.watch[ls[0].not()] = append(c.watch[ls[0].not()], watcher{w, ls[1]})
	c.watch[ls[1].not()] = append(c.watch[ls[1].not()], watcher{w, ls[0]})
	if flags&flagLearned != 0 {
		c.learned = append(c.learned, ref)
	} else {
		c.given = append(c.given, ref)
		for _, l := range ls {
			c.occurs[l>>1] = append(c.occurs[l>>1], ref)
		}
	}
	return ref
}

// intern checks a clause and stores its simplified form in s.clause: without duplicates and without
// literals that are false at level 0. If the clause is true at level 0 or a tautology, s.clause is
// just always.
func (s *Solver) intern(clause []Lit) error {
	for _, l := range clause {
		if err := s.valid(l); err != nil {
			return err
		}
	}
	s.clause = s.clause[:0]
	for _, l := range clause {
		p := s.literal(l)
		if p >= 0 && s.value[p] != 0 && s.level[p>>1] == 0 {
			if s.value[p] > 0 {
				p = always
			} else {
				p = never
			}
		}
		switch p {
		case never:
			continue
		case always:
			s.clause = append(s.clause[:0], always)
			return nil
		}
		double := false
		for _, q := range s.clause {
			if q == p.not() {
				s.clause = append(s.clause[:0], always)
				return nil
			}
			double = double || q == p
		}
		if !double {
			s.clause = append(s.clause, p)
		}
	}
	return nil
}

// insert adds s.clause at any level of the search. If the clause is false or unit now, insert
// backtracks to the level where it became so, and learns from the conflict or assigns the literal.
func (s *Solver) insert() {
	ls := s.clause
	switch {
	case s.unsat || len(ls) > 0 && ls[0] == always:
		return
	case len(ls) == 0:
		s.unsat = true
		return
	case len(ls) == 1:
		s.backtrack(0)
		s.assign(ls[0], reasonDecision)
		return
	}
	for i := range 2 { // watch literals that are not false, then those that became false last
		for j := i + 1; j < len(ls); j++ {
			if s.falseSince(ls[j]) > s.falseSince(ls[i]) {
				ls[i], ls[j] = ls[j], ls[i]
			}
		}
	}
	ref := s.clauses.add(ls, 0, 0)
	// A clause without an open presumed literal may hold now and not after backtracking. Nothing
	// would wake it then.
	if !slices.ContainsFunc(ls, func(l lit) bool { return s.presumed[l] && s.value[l] >= 0 }) {
		for _, l := range ls {
			s.activity.add(int32(l >> 1))
		}
	}
	switch {
	case s.value[ls[0]] < 0:
		s.conflict = append(s.conflict[:0], ls...)
		s.resolveConflict()
	case s.value[ls[0]] == 0 && s.value[ls[1]] < 0:
		s.backtrack(s.level[ls[1]>>1])
		s.assign(ls[0], ref)
	}
}

// falseSince returns the level at which l became false, or a high number if it is not false.
func (s *Solver) falseSince(l lit) int32 {
	if s.value[l] < 0 {
		return s.level[l>>1]
	}
	return 1 << 30
}

// propagateClauses is unit propagation. It reports false, with the conflict in s.conflict, if a
// clause became false.
func (s *Solver) propagateClauses() bool {
	c := &s.clauses
	for s.clauseHead < len(s.trail) {
		p := s.trail[s.clauseHead]
		s.clauseHead++
		s.stats.Propagations++
		ws, kept := c.watch[p], 0
		gone := p.not()
		if s.presumed[gone] {
			s.wake(gone)
		}
	watchers:
		for i := 0; i < len(ws); i++ {
			w := ws[i]
			if s.value[w.other] > 0 {
				ws[kept] = w
				kept++
				continue
			}
			ref := w.clause >> 1
			first := w.other
			if w.clause&1 == 0 {
				ls := c.literals(ref)
				if lit(ls[0]) == gone {
					ls[0], ls[1] = ls[1], ls[0]
				}
				first = lit(ls[0])
				if first != w.other && s.value[first] > 0 {
					ws[kept] = watcher{w.clause, first}
					kept++
					continue
				}
				for k := 2; k < len(ls); k++ {
					if l := lit(ls[k]); s.value[l] >= 0 {
						ls[1], ls[k] = int32(l), int32(gone)
						c.watch[l.not()] = append(c.watch[l.not()], watcher{w.clause, first})
						continue watchers
					}
				}
			}
			ws[kept] = watcher{w.clause, first}
			kept++
			if s.value[first] == 0 {
				s.assign(first, ref)
				continue
			}
			s.conflict = s.conflict[:0]
			for _, l := range c.literals(ref) {
				s.conflict = append(s.conflict, lit(l))
			}
			kept += copy(ws[kept:], ws[i+1:])
			c.watch[p] = ws[:kept]
			return false
		}
		c.watch[p] = ws[:kept]
	}
	return true
}

// satisfied reports whether a permanent clause holds, counting unassigned presumed literals as
// true.
func (s *Solver) satisfied(ref int32) bool {
	ls := s.clauses.literals(ref)
	note := &s.clauses.arena[ref+clauseNote]
	if s.holds(lit(ls[*note])) {
		return true
	}
	for i, l := range ls {
		if s.holds(lit(l)) {
			*note = int32(i)
			return true
		}
	}
	return false
}

func (s *Solver) holds(p lit) bool { return s.value[p] > 0 || s.value[p] == 0 && s.presumed[p] }

// wake adds the unassigned variables of clauses to the heap that may no longer hold because the
// presumed literal p became false.
func (s *Solver) wake(p lit) {
	for _, ref := range s.clauses.occurs[p>>1] {
		if s.satisfied(ref) {
			continue
		}
		for _, l := range s.clauses.literals(ref) {
			if s.value[l] == 0 {
				s.activity.add(l >> 1)
			}
		}
	}
}

// remove marks a learned clause as deleted. compact reclaims it.
func (c *clauses) remove(ref int32) {
	c.arena[ref] |= flagDeleted
	c.wasted += int(c.arena[ref]>>2) + clauseWords
}

// compact drops deleted clauses from the lists. It compacts the arena if a quarter of it is waste.
func (s *Solver) compact() {
	c := &s.clauses
	deleted := func(ref int32) bool { return c.arena[ref]&flagDeleted != 0 }
	for l, ws := range c.watch {
		kept := ws[:0]
		for _, w := range ws {
			if !deleted(w.clause >> 1) {
				kept = append(kept, w)
			}
		}
		c.watch[l] = kept
	}
	kept := c.learned[:0]
	for _, ref := range c.learned {
		if !deleted(ref) {
			kept = append(kept, ref)
		}
	}
	c.learned = kept
	if 4*c.wasted < len(c.arena) {
		return
	}
	// Clauses keep their order, so each one moves down.
	moved := make([]int32, 0, len(c.given)+len(c.learned)) // old references, in order
	to := make([]int32, 0, cap(moved))
	end := int32(0)
	for ref := int32(0); ref < int32(len(c.arena)); {
		n := c.arena[ref]>>2 + clauseWords
		if !deleted(ref) {
			moved, to = append(moved, ref), append(to, end)
			end += n
		}
		ref += n
	}
	where := make([]int32, len(c.arena))
	for i, ref := range moved {
		n := c.arena[ref]>>2 + clauseWords
		where[ref] = to[i]
		copy(c.arena[to[i]:], c.arena[ref:ref+n])
	}
	c.arena = c.arena[:end]
	c.wasted = 0
	for _, refs := range [][]int32{c.given, c.learned} {
		for i := range refs {
			refs[i] = where[refs[i]]
		}
	}
	for _, refs := range c.occurs {
		for i := range refs {
			refs[i] = where[refs[i]]
		}
	}
	for _, ws := range c.watch {
		for i := range ws {
			ws[i].clause = 2*where[ws[i].clause>>1] | ws[i].clause&1
		}
	}
	for _, l := range s.trail {
		if r := &s.reason[l>>1]; *r >= 0 {
			*r = where[*r]
		}
	}
}

package order

import "slices"

// clauses holds clauses in one arena and propagates them by two watched
// literals. A clause is a header, a word that depends on its kind, and its
// literals; an implied literal's clause has it among the two watched ones.
type clauses struct {
	arena   []int32
	given   []int32     // permanent clauses
	learned []int32     // learned clauses
	watch   [][]watcher // by literal: clauses to look at when it becomes true
	occurs  [][]int32   // by variable: permanent clauses
	wasted  int         // words of the arena in deleted clauses
}

// A clause's words before its literals: first four times the number of literals,
// and flags; then its note, of a permanent clause which literal last made it hold,
// of a learned one of how many levels its literals were (LBD).
const (
	clauseNote  = 1
	clauseWords = 2
)
const (
	flagLearned = 1
	flagDeleted = 2
)

// watcher is a clause, times two and 1 more if it has two literals, with one of
// its literals: if that is true there is no need to look at the clause.
type watcher struct {
	clause int32
	other  lit
}

func (c *clauses) newVariable() {
	c.watch = append(c.watch, nil, nil)
	c.occurs = append(c.occurs, nil)
}

// literals returns a clause's literals, in place.
func (c *clauses) literals(ref int32) []int32 {
	n := c.arena[ref] >> 2
	return c.arena[ref+clauseWords : ref+clauseWords+n]
}

// add puts a clause of at least two literals into the arena and watches its
// first two.
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

// intern checks a clause and turns it into scaled: without literals that are
// false for good and without doubles. If the clause holds for good, scaled is
// just that.
func (s *Solver) intern(clause []Lit) error {
	for _, l := range clause {
		if err := s.valid(l); err != nil {
			return err
		}
	}
	s.scaled = s.scaled[:0]
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
			s.scaled = append(s.scaled[:0], always)
			return nil
		}
		double := false
		for _, q := range s.scaled {
			if q == p.not() {
				s.scaled = append(s.scaled[:0], always)
				return nil
			}
			double = double || q == p
		}
		if !double {
			s.scaled = append(s.scaled, p)
		}
	}
	return nil
}

// insert adds the clause in scaled, at any level. If it is false now, or leaves
// one literal, the search is taken back to where that was first so, and the
// conflict is learned from or the literal assigned.
func (s *Solver) insert() {
	ls := s.scaled
	switch {
	case s.false0 || len(ls) > 0 && ls[0] == always:
		return
	case len(ls) == 0:
		s.false0 = true
		return
	case len(ls) == 1:
		s.cancel(0)
		s.assign(ls[0], decided)
		return
	}
	for i := range 2 { // to watch: what is not false, then what was false last
		for j := i + 1; j < len(ls); j++ {
			if s.falseSince(ls[j]) > s.falseSince(ls[i]) {
				ls[i], ls[j] = ls[j], ls[i]
			}
		}
	}
	ref := s.clauses.add(ls, 0, 0)
	// A clause that holds now by other literals than lax ones may not hold after
	// backtracking, and nothing would wake it.
	if !slices.ContainsFunc(ls, func(l lit) bool { return s.lax[l] && s.value[l] >= 0 }) {
		for _, l := range ls {
			s.activity.add(int32(l >> 1))
		}
	}
	switch {
	case s.value[ls[0]] < 0:
		s.clash = append(s.clash[:0], ls...)
		s.resolve()
	case s.value[ls[0]] == 0 && s.value[ls[1]] < 0:
		s.cancel(s.level[ls[1]>>1])
		s.assign(ls[0], ref)
	}
}

// falseSince returns the level at which l became false, a high number if it is
// not false.
func (s *Solver) falseSince(l lit) int32 {
	if s.value[l] < 0 {
		return s.level[l>>1]
	}
	return 1 << 30
}

// propagateClauses propagates what was assigned through clauses. It reports
// false, with the conflict in clash, if a clause became false.
func (s *Solver) propagateClauses() bool {
	c := &s.clauses
	for s.head < len(s.trail) {
		p := s.trail[s.head]
		s.head++
		s.stats.Propagations++
		ws, kept := c.watch[p], 0
		gone := p.not()
		if s.lax[gone] {
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
			s.clash = s.clash[:0]
			for _, l := range c.literals(ref) {
				s.clash = append(s.clash, lit(l))
			}
			kept += copy(ws[kept:], ws[i+1:])
			c.watch[p] = ws[:kept]
			return false
		}
		c.watch[p] = ws[:kept]
	}
	return true
}

// satisfied reports whether a permanent clause holds, be it by an open literal
// that is lax.
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

func (s *Solver) holds(p lit) bool { return s.value[p] > 0 || s.value[p] == 0 && s.lax[p] }

// wake puts the open variables of clauses into the heap that may not hold any
// more because p, a lax literal, became false.
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

// remove marks a learned clause as deleted; compact makes it disappear.
func (c *clauses) remove(ref int32) {
	c.arena[ref] |= flagDeleted
	c.wasted += int(c.arena[ref]>>2) + clauseWords
}

// compact drops deleted clauses, and moves the others together if it pays.
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
	// Clauses keep their order, so each moves down into room that was left by
	// then.
	moved := make([]int32, 0, len(c.given)+len(c.learned)) // old places, in order
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

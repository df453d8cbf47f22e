package order

import (
	"context"
	"fmt"
	"slices"

	"github.com/heisen-go/heisen"
)

// Solve searches for an order that satisfies all constraints and the assumptions.
//
// If check is not nil, Solve calls it with each candidate: a total order that satisfies everything
// added so far, close to the preferred order. The check returns clauses that the candidate
// violates, or none to accept it. The clauses become permanent and the search continues. The check
// may also return clauses that the candidate satisfies, but at least one must be violated. The
// slice is valid during the call. The check may call Holds and NewBool, and no other method.
//
// Solve returns Unknown with a nil error if the budget is spent. The error is that of ctx, which
// Solve checks at each decision and conflict, or wraps ErrNode (in an assumption or a clause of the
// check), ErrCheck, or heisen.ErrOption for a nil context; the result is then Unknown.
// What was learned stays valid in all cases, so a later call continues from there.
func (s *Solver) Solve(ctx context.Context, assume []Lit, check func(order []Node) [][]Lit) (Result, error) {
	if s.zero() {
		return Unknown, heisen.ErrZero
	}
	if ctx == nil {
		return Unknown, fmt.Errorf("order.Solver.Solve: %w: the context is nil", heisen.ErrOption)
	}
	s.stats.Solves++
	s.failed, s.found, s.truth = s.failed[:0], s.found[:0], s.truth[:0]
	s.assumptions, s.givenAssumptions = s.assumptions[:0], s.givenAssumptions[:0]
	for _, l := range assume {
		if err := s.valid(l); err != nil {
			return Unknown, err
		}
	}
	if s.unsat {
		return Unsat, nil
	}
	for _, l := range assume {
		switch p := s.literal(l); p {
		case always:
		case never:
			s.failed = append(s.failed, l)
			return Unsat, nil
		default:
			s.assumptions, s.givenAssumptions = append(s.assumptions, p), append(s.givenAssumptions, l)
		}
	}
	result, err := s.search(ctx, check)
	s.backtrack(0)
	return result, err
}

// search is the loop of conflict-driven clause learning (CDCL).
func (s *Solver) search(ctx context.Context, check func(order []Node) [][]Lit) (Result, error) {
	conflicts, propagations := s.stats.Conflicts, s.stats.Propagations
	run, runs := s.stats.Conflicts, int64(1)
	for {
		clashed := !s.propagate()
		if clashed {
			s.resolveConflict()
			if s.unsat {
				return Unsat, nil
			}
		}
		if err := ctx.Err(); err != nil {
			return Unknown, err
		}
		if b := s.budget.conflicts; b > 0 && s.stats.Conflicts-conflicts >= b {
			return Unknown, nil
		}
		if b := s.budget.propagations; b > 0 && s.stats.Propagations-propagations >= b {
			return Unknown, nil
		}
		if clashed {
			continue
		}
		if u := int64(s.cfg.restarts); u > 0 && s.stats.Conflicts-run >= u*luby(runs) {
			run = s.stats.Conflicts
			runs++
			s.stats.Restarts++
			s.backtrack(min(int32(len(s.levels)), int32(len(s.assumptions))))
			continue
		}
		if s.learn.limit > 0 && len(s.clauses.learned) >= s.learn.limit {
			s.reduce()
		}
		if n := len(s.levels); n < len(s.assumptions) {
			p := s.assumptions[n]
			if s.value[p] < 0 {
				s.analyzeFinal(p)
				return Unsat, nil
			}
			s.newLevel()
			if s.value[p] == 0 {
				s.assign(p, reasonDecision)
			}
			continue
		}
		if s.decide() {
			continue
		}
		s.stats.Candidates++
		if !s.linearize() {
			s.rows.whole = true
			s.backtrack(0)
			continue
		}
		if s.repair() {
			if s.unsat {
				return Unsat, nil
			}
			continue
		}
		s.bindBools()
		if accepted, err := s.consult(check); err != nil {
			return Unknown, err
		} else if s.unsat {
			return Unsat, nil
		} else if accepted {
			s.found = append(s.found[:0], s.lin.order...)
			return Sat, nil
		}
	}
}

// consult calls the check with the candidate and adds the clauses that it returns. It reports
// whether there were none.
func (s *Solver) consult(check func(order []Node) [][]Lit) (accepted bool, err error) {
	if check == nil {
		return true, nil
	}
	violated := check(s.lin.order)
	if len(violated) == 0 {
		return true, nil
	}
	progress := slices.ContainsFunc(violated, func(clause []Lit) bool { return !slices.ContainsFunc(clause, s.Holds) })
	for _, clause := range violated {
		if err := s.intern(clause); err != nil {
			return false, err
		}
		s.insert()
		if s.unsat {
			return false, nil
		}
	}
	if !progress {
		return false, fmt.Errorf("%w: %d clauses", ErrCheck, len(violated))
	}
	return false, nil
}

// propagate propagates the trail to a fixed point: first through clauses, which is cheap, then
// through the rows, one edge at a time, then through reads and critical sections. It reports false,
// with the conflict in s.conflict, if there is a conflict.
func (s *Solver) propagate() bool {
	if s.pendingConflict {
		s.pendingConflict = false
		return false
	}
	if s.backtracked {
		s.backtracked = false
		s.assignAllLate()
	}
	for {
		if !s.propagateClauses() {
			return false
		}
		if s.edgeHead == len(s.trail) {
			if !s.propagateConstraints() || s.edgeHead == len(s.trail) && !s.propagateReads() {
				return false
			}
			if s.edgeHead == len(s.trail) {
				return true
			}
			continue
		}
		p := s.trail[s.edgeHead]
		at := int32(s.edgeHead)
		s.edgeHead++
		if e := s.atoms.pairs[p>>1]; e.low < 0 {
			if i, x := e.chosen(); i >= 0 && p&1 == 0 && s.reads.list[i].source < 0 && !s.setSource(i, x, p) {
				return false
			}
			continue
		}
		a, b := s.nodesOf(p)
		if b == s.rows.goal && !s.nodeActivated(a) {
			return false
		}
		if s.before(a, b) {
			continue
		}
		if s.before(b, a) {
			s.conflict = append(s.conflict[:0], p.not())
			s.path(b, a, int32(len(s.trail)), &s.conflict)
			return false
		}
		if s.throughGoal(a, b) {
			k := s.rows.goal
			s.conflict = append(s.conflict[:0], p.not())
			s.path(b, k, int32(len(s.trail)), &s.conflict)
			s.path(k, a, int32(len(s.trail)), &s.conflict)
			return false
		}
		if !s.addEdge(a, b, p, at) {
			return false
		}
	}
}

// assign makes an unassigned literal true.
func (s *Solver) assign(p lit, reason int32) {
	v := p >> 1
	s.value[p], s.value[p.not()] = 1, -1
	s.level[v] = int32(len(s.levels))
	s.reason[v] = reason
	s.trailPos[v] = int32(len(s.trail))
	s.trail = append(s.trail, p)
}

// newLevel begins a decision level.
func (s *Solver) newLevel() {
	s.levels = append(s.levels, levelStart{
		int32(len(s.trail)), int32(len(s.rows.edge)), int32(len(s.rows.log)), int32(len(s.idle)),
		int32(len(s.reads.bound)), int32(len(s.notes.list)), int32(len(s.notes.facts)),
	})
}

// backtrack undoes all levels after the given one.
func (s *Solver) backtrack(level int32) {
	if int(level) >= len(s.levels) {
		return
	}
	m := s.levels[level]
	for i := len(s.trail) - 1; i >= int(m.trail); i-- {
		p := s.trail[i]
		s.value[p], s.value[p.not()] = 0, 0
	}
	// Variables that were removed from the heap at a deeper level may have to be decided again.
	for _, v := range s.idle[m.idle:] {
		s.activity.add(v)
	}
	s.idle = s.idle[:m.idle]
	s.trail = s.trail[:m.trail]
	s.rows.undo(m.edges, m.cells)
	s.roles.seen = min(s.roles.seen, len(s.rows.log))
	s.undoSources(m.seen)
	s.notes.list, s.notes.facts = s.notes.list[:m.notes], s.notes.facts[:m.facts]
	s.pendingConflict = false
	s.levels = s.levels[:level]
	s.clauseHead, s.edgeHead = len(s.trail), len(s.trail)
	s.backtracked = true
}

// decide begins a level with a decision: a choice of a read or, if every read has a source, an
// unassigned literal of a permanent clause that does not hold. It reports false if all clauses
// hold.
//
// The heap contains every unassigned variable of such clauses. The variables of a clause enter the
// heap when the clause is added or its last presumed literal becomes false. They enter it again
// when the level at which they were removed is undone.
func (s *Solver) decide() bool {
	p, busy := s.pickChoice()
	if busy {
		return true
	}
	v := int32(-1)
	for p == noLit {
		var ok bool
		if v, ok = s.activity.pop(); !ok {
			return false
		}
		if s.value[2*v] == 0 && s.atoms.pairs[v].low > firstChoice { // pickChoice decides choices
			p = s.chooseLiteral(v)
		}
		if p == noLit {
			s.idle = append(s.idle, v)
		}
	}
	s.stats.Decisions++
	s.newLevel()
	switch v {
	case -1:
	case int32(p >> 1):
		s.idle = append(s.idle, v)
	default:
		s.activity.add(v)
	}
	s.assign(p, reasonDecision)
	return true
}

// chooseLiteral returns the literal to decide for a permanent clause with v that does not hold: the
// literal of v if it is preferred, else another preferred literal if there is one, else that of v.
// It returns noLit if all clauses with v hold.
func (s *Solver) chooseLiteral(v int32) lit {
	for _, ref := range s.clauses.occurs[v] {
		if s.satisfied(ref) {
			continue
		}
		own, best := noLit, noLit
		for _, l := range s.clauses.literals(ref) {
			p := lit(l)
			if s.value[p] != 0 {
				continue
			}
			if int32(p>>1) == v {
				own = p
			}
			if s.isPreferred(p) && (best == noLit || s.activity.above(int32(p>>1), int32(best>>1))) {
				best = p
			}
		}
		if best == noLit || s.isPreferred(own) {
			return own
		}
		return best
	}
	return noLit
}

// isPreferred reports whether p is the literal of its variable that is tried first.
func (s *Solver) isPreferred(p lit) bool {
	v := p >> 1
	up := s.phase[v] > 0
	if s.phase[v] == 0 {
		e := s.atoms.pairs[v]
		up = s.lin.rank[e.low] < s.lin.rank[e.high]
	}
	return up == (p&1 == 0)
}

// bindBools sets the values of the booleans in the candidate.
func (s *Solver) bindBools() {
	s.truth = s.truth[:0]
	for _, v := range s.bools {
		s.truth = append(s.truth, s.value[2*v] > 0)
	}
}

// luby returns the i-th number, from 1, of the sequence 1 1 2 1 1 2 4 ... of Luby, Sinclair,
// Zuckerman (Optimal Speedup of Las Vegas Algorithms, 1993).
func luby(i int64) int64 {
	for {
		k := int64(1)
		for k < i {
			k = 2*k + 1
		}
		if k == i {
			return (k + 1) / 2
		}
		i -= k / 2
	}
}

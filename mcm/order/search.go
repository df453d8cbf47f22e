package order

import "fmt"

// Solve looks for an order that satisfies everything permanent and the
// assumptions. When all holds that is known, check, if not nil, is shown
// a candidate: a total order that agrees with everything decided and is otherwise
// close to the preferred one. It returns clauses that the candidate violates,
// which become permanent, or none to accept; a clause that it does not violate may
// be among them. The slice it is shown is valid during the call; it may ask Holds
// and make booleans with NewBool, and must not call other methods.
//
// If the verdict is Unknown though there is budget left, Err says why.
func (s *Solver) Solve(assume []Lit, check func(order []Node) [][]Lit) Verdict {
	s.stats.Solves++
	s.failed, s.found, s.truth = s.failed[:0], s.found[:0], s.truth[:0]
	s.asked, s.askedL = s.asked[:0], s.askedL[:0]
	s.err = nil
	for _, l := range assume {
		if s.err = s.valid(l); s.err != nil {
			return Unknown
		}
	}
	if s.false0 {
		return No
	}
	for _, l := range assume {
		switch p := s.literal(l); p {
		case always:
		case never:
			s.failed = append(s.failed, l)
			return No
		default:
			s.asked, s.askedL = append(s.asked, p), append(s.askedL, l)
		}
	}
	verdict := s.search(check)
	s.cancel(0)
	return verdict
}

// search is the loop of conflict-driven clause learning.
func (s *Solver) search(check func(order []Node) [][]Lit) Verdict {
	conflicts, propagations := s.stats.Conflicts, s.stats.Propagations
	run, runs := s.stats.Conflicts, int64(1)
	for {
		clashed := !s.propagate()
		if clashed {
			s.resolve()
			if s.false0 {
				return No
			}
		}
		if b := s.budget.conflicts; b > 0 && s.stats.Conflicts-conflicts >= b {
			return Unknown
		}
		if b := s.budget.propagations; b > 0 && s.stats.Propagations-propagations >= b {
			return Unknown
		}
		if clashed {
			continue
		}
		if u := int64(s.cfg.restarts); u > 0 && s.stats.Conflicts-run >= u*luby(runs) {
			run = s.stats.Conflicts
			runs++
			s.stats.Restarts++
			s.cancel(min(int32(len(s.marks)), int32(len(s.asked))))
			continue
		}
		if s.learn.limit > 0 && len(s.clauses.learned) >= s.learn.limit {
			s.reduce()
		}
		if n := len(s.marks); n < len(s.asked) {
			p := s.asked[n]
			if s.value[p] < 0 {
				s.blame(p)
				return No
			}
			s.deepen()
			if s.value[p] == 0 {
				s.assign(p, decided)
			}
			continue
		}
		if s.decide() {
			continue
		}
		s.stats.Candidates++
		if !s.linearise() {
			s.rows.whole = true
			s.cancel(0)
			continue
		}
		if s.repair() {
			if s.false0 {
				return No
			}
			continue
		}
		s.bindBools()
		if check == nil {
			s.accept()
			return Yes
		}
		violated := check(s.lin.order)
		if len(violated) == 0 {
			s.accept()
			return Yes
		}
		progress := false
		for _, clause := range violated {
			holds := false
			for _, l := range clause {
				holds = holds || s.Holds(l)
			}
			progress = progress || !holds
		}
		for _, clause := range violated {
			if s.err = s.intern(clause); s.err != nil {
				return Unknown
			}
			s.insert()
			if s.false0 {
				return No
			}
		}
		if !progress {
			s.err = fmt.Errorf("order: %w: %d clauses", ErrCheck, len(violated))
			return Unknown
		}
	}
}

// propagate draws all conclusions from what was assigned, first through clauses,
// which is cheap, then through the rows, one edge at a time. It reports false,
// with the conflict in clash, if there is one.
func (s *Solver) propagate() bool {
	if s.stuck {
		s.stuck = false
		return false
	}
	if s.opened {
		s.opened = false
		s.catchUpAll()
	}
	for {
		if !s.propagateClauses() {
			return false
		}
		if s.edged == len(s.trail) {
			if !s.conclude() || s.edged == len(s.trail) && !s.settle() {
				return false
			}
			if s.edged == len(s.trail) {
				return true
			}
			continue
		}
		p := s.trail[s.edged]
		at := int32(s.edged)
		s.edged++
		if e := s.atoms.ends[p>>1]; e.low < 0 {
			if i, x := e.chosen(); i >= 0 && p&1 == 0 && s.reads.list[i].saw < 0 && !s.see(i, x, p) {
				return false
			}
			continue
		}
		a, b := s.nodesOf(p)
		if b == s.rows.sink && !s.arrived(a) {
			return false
		}
		if s.before(a, b) {
			continue
		}
		if s.before(b, a) {
			s.clash = append(s.clash[:0], p.not())
			s.path(b, a, int32(len(s.trail)), &s.clash)
			return false
		}
		if s.throughSink(a, b) {
			k := s.rows.sink
			s.clash = append(s.clash[:0], p.not())
			s.path(b, k, int32(len(s.trail)), &s.clash)
			s.path(k, a, int32(len(s.trail)), &s.clash)
			return false
		}
		if !s.addEdge(a, b, p, at) {
			return false
		}
	}
}

// assign makes an open literal true.
func (s *Solver) assign(p lit, reason int32) {
	v := p >> 1
	s.value[p], s.value[p.not()] = 1, -1
	s.level[v] = int32(len(s.marks))
	s.reason[v] = reason
	s.place[v] = int32(len(s.trail))
	s.trail = append(s.trail, p)
}

// deepen begins a decision level.
func (s *Solver) deepen() {
	s.marks = append(s.marks, mark{
		int32(len(s.trail)), int32(len(s.rows.edge)), int32(len(s.rows.log)), int32(len(s.idle)),
		int32(len(s.reads.seen)), int32(len(s.notes.list)), int32(len(s.notes.facts)),
	})
}

// cancel backtracks to the end of a level.
func (s *Solver) cancel(level int32) {
	if int(level) >= len(s.marks) {
		return
	}
	m := s.marks[level]
	for i := len(s.trail) - 1; i >= int(m.trail); i-- {
		p := s.trail[i]
		s.value[p], s.value[p.not()] = 0, 0
	}
	// What was taken from the heap at a deeper level may have to be decided.
	for _, v := range s.idle[m.idle:] {
		s.activity.add(v)
	}
	s.idle = s.idle[:m.idle]
	s.trail = s.trail[:m.trail]
	s.rows.undo(m.edges, m.cells)
	s.uses.seen = min(s.uses.seen, len(s.rows.log))
	s.unsee(m.seen)
	s.notes.list, s.notes.facts = s.notes.list[:m.notes], s.notes.facts[:m.facts]
	s.stuck = false
	s.marks = s.marks[:level]
	s.head, s.edged = len(s.trail), len(s.trail)
	s.opened = true
}

// decide begins a level with what a read sees or, if none has to choose, an open literal
// of a permanent clause that does not hold. It reports false if all hold.
//
// The heap has every open variable of such clauses: those of a clause come into
// it when the clause is added or its last lax literal becomes false, and return
// to it when the level is left at which they were taken out.
func (s *Solver) decide() bool {
	p, busy := s.pick()
	if busy {
		return true
	}
	v := int32(-1)
	for p == noLit {
		var ok bool
		if v, ok = s.activity.pop(); !ok {
			return false
		}
		if s.value[2*v] == 0 && s.atoms.ends[v].low > firstChoice { // choices are the reads' business
			p = s.choose(v)
		}
		if p == noLit {
			s.idle = append(s.idle, v)
		}
	}
	s.stats.Decisions++
	s.deepen()
	switch v {
	case -1:
	case int32(p >> 1):
		s.idle = append(s.idle, v)
	default:
		s.activity.add(v)
	}
	s.assign(p, decided)
	return true
}

// choose returns the literal to decide for the sake of a permanent clause with v
// that does not hold: that of v if it is the way that is tried first, else one
// that is if there is one. It returns noLit if all clauses with v hold.
func (s *Solver) choose(v int32) lit {
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
			if s.tried(p) && (best == noLit || s.activity.above(int32(p>>1), int32(best>>1))) {
				best = p
			}
		}
		if best == noLit || s.tried(own) {
			return own
		}
		return best
	}
	return noLit
}

// tried reports whether p is the way that its variable is tried first.
func (s *Solver) tried(p lit) bool {
	v := p >> 1
	up := s.phase[v] > 0
	if s.phase[v] == 0 {
		e := s.atoms.ends[v]
		up = s.lin.rank[e.low] < s.lin.rank[e.high]
	}
	return up == (p&1 == 0)
}

// bindBools fixes what booleans are in the candidate.
func (s *Solver) bindBools() {
	s.truth = s.truth[:0]
	for _, v := range s.bools {
		s.truth = append(s.truth, s.value[2*v] > 0)
	}
}

// accept makes the candidate the order found.
func (s *Solver) accept() { s.found = append(s.found[:0], s.lin.order...) }

// luby returns the i-th number, from 1, of Luby's sequence 1 1 2 1 1 2 4 ...
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

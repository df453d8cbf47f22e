package order

// role is the part that a node has in a constraint of AddRead or AddLock.
type role struct {
	kind     roleKind
	index    int32    // of the read, write or section
	variable Variable // of a write
	next     int32    // next role of the same node, or -1
}

type roleKind uint8

const (
	roleRead roleKind = iota
	roleWrite
	roleStart
	roleEnd
)

// roles are the roles of all nodes.
type roles struct {
	first []int32 // by node, or -1; nil if there are no roles
	list  []role
	seen  int // length of the processed part of the log of raised cells
}

// addRole adds a role of a node.
func (s *Solver) addRole(n Node, u role) {
	x := &s.roles
	if x.first == nil {
		x.first = make([]int32, len(s.chainOf))
		for i := range x.first {
			x.first[i] = -1
		}
	}
	u.next = x.first[n]
	x.first[n] = int32(len(x.list))
	x.list = append(x.list, u)
}

// guard returns the literal that a node comes before the goal, or always if there is no
// goal.
func (s *Solver) guard(n Node) lit {
	if s.rows.goal < 0 {
		return always
	}
	return s.literal(Lit{n, s.rows.goal})
}

// active reports whether the constraint with a guard applies.
func (s *Solver) active(guard lit) bool { return guard == always || guard >= 0 && s.value[guard] > 0 }

// nodeActivated is called when a node has come before the goal: its constraints apply.
func (s *Solver) nodeActivated(n Node) bool {
	x := &s.roles
	if x.first == nil {
		return true
	}
	for k := x.first[n]; k >= 0; k = x.list[k].next {
		switch u := &x.list[k]; u.kind {
		case roleRead:
			if !s.readActivated(u.index) {
				return false
			}
		case roleStart:
			if !s.sectionActivated(u.index) {
				return false
			}
		}
	}
	return true
}

// propagateConstraints propagates the cells that were raised through the constraints of AddRead and
// AddLock. It reports false, with the conflict in s.conflict, if there is a conflict.
func (s *Solver) propagateConstraints() bool {
	x, r := &s.roles, &s.rows
	if x.first == nil {
		return true
	}
	for x.seen < len(r.log) {
		e := &r.log[x.seen]
		x.seen++
		if e.node < 0 || x.first[e.node] < 0 {
			continue
		}
		chain, old, now := e.cell-int32(int(e.node)*s.width), e.old, r.cell[e.cell]
		for k := x.first[e.node]; k >= 0; k = x.list[k].next {
			ok := true
			switch u := &x.list[k]; u.kind {
			case roleRead:
				ok = s.readRaised(u.index, chain)
			case roleWrite:
				ok = s.writeRaised(u.index, u.variable, chain, old, now)
			case roleEnd:
				ok = s.endRaised(u.index, chain, old, now)
			}
			if !ok {
				return false
			}
		}
	}
	if len(s.levels) == 0 {
		r.log, x.seen = r.log[:0], 0 // level 0 is never undone
	}
	return true
}

// rule is an inference rule of AddRead or AddLock.
type rule int32

const (
	ruleSees     rule = iota // the source of a read comes before it
	ruleBefore               // a rival before the read comes before its source
	ruleAfter                // a rival after the source comes after the read
	ruleLast                 // a read has one choice left
	ruleSections             // a critical section ends before the other one starts
)

// ruleNote is the reason of a literal that a rule implies. Its premises are computed only if a
// conflict needs them.
type ruleNote struct {
	rule
	index    int32 // the read, or the section that ends
	other    int32 // the rival, or the section that starts
	from, to int32 // of ruleLast, facts
}

// notes are the reasons of all literals that rules imply.
type notes struct {
	list  []ruleNote
	facts []fact
}

// addNote returns the reason of a literal, as Solver.reason has it.
func (s *Solver) addNote(b ruleNote) int32 {
	s.notes.list = append(s.notes.list, b)
	return reasonRule - int32(len(s.notes.list)-1)
}

// derive assigns that a comes before b, unless it is known. It reports false, with the conflict in
// s.conflict, if that is impossible. A negative node is one that nothing comes before or after.
func (s *Solver) derive(a, b Node, why ruleNote) bool {
	p := never
	if a >= 0 && b >= 0 {
		if s.before(a, b) {
			return true
		}
		p = s.literal(Lit{a, b})
	}
	switch {
	case p == always || p >= 0 && s.value[p] > 0:
	case p == never || s.value[p] < 0:
		s.conflict = s.conflict[:0]
		if p >= 0 {
			s.conflict = append(s.conflict, p)
		}
		s.premises(&why, int32(len(s.trail)), &s.conflict)
		return false
	case len(s.levels) == 0:
		s.assign(p, reasonDecision)
	default:
		s.assign(p, s.addNote(why))
	}
	return true
}

// premises appends to clause the negations of the literals from which a rule concluded, at a
// position of the trail. It searches for the paths that existed then.
func (s *Solver) premises(b *ruleNote, place int32, clause *[]lit) {
	if b.rule == ruleSections {
		s.explainSections(b.index, b.other, place, clause)
		return
	}
	n := &s.reads
	r := &n.list[b.index]
	if b.rule == ruleLast {
		s.explainFacts(r.guard, s.notes.facts[b.from:b.to], place, clause)
		return
	}
	if r.cause >= 0 {
		*clause = append(*clause, r.cause.not())
	}
	switch saw := n.writes[r.source].node; {
	case b.rule == ruleBefore:
		s.path(n.writes[b.other].node, r.node, place, clause)
	case b.rule == ruleAfter && saw >= 0:
		s.path(saw, n.writes[b.other].node, place, clause)
	}
}

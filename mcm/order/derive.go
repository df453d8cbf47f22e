package order

// use is that a node takes part in a constraint of AddRead or AddSections.
type use struct {
	kind     useKind
	index    int32    // of the read, write or section
	variable Variable // of a write
	next     int32    // another use by the same node, -1 if there is none
}

type useKind uint8

const (
	reading useKind = iota
	writing
	starting
	ending
)

// uses are all of them.
type uses struct {
	first []int32 // by node, -1 if there is none; nil if there are none at all
	list  []use
	seen  int // of the log of raised cells so much was looked at
}

// take notes a use of a node.
func (s *Solver) take(n Node, u use) {
	x := &s.uses
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

// guard returns the literal that says that a node comes before the sink, if there is
// one.
func (s *Solver) guard(n Node) lit {
	if s.rows.goal < 0 {
		return always
	}
	return s.literal(Lit{n, s.rows.goal})
}

// sure reports whether a guard holds.
func (s *Solver) sure(guard lit) bool { return guard == always || guard >= 0 && s.value[guard] > 0 }

// arrived is told that a node comes before the sink.
func (s *Solver) arrived(n Node) bool {
	x := &s.uses
	if x.first == nil {
		return true
	}
	for k := x.first[n]; k >= 0; k = x.list[k].next {
		switch u := &x.list[k]; u.kind {
		case reading:
			if !s.readArrived(u.index) {
				return false
			}
		case starting:
			if !s.sectionArrived(u.index) {
				return false
			}
		}
	}
	return true
}

// conclude draws the conclusions of reads and sections from cells that were raised. It
// reports false, with the conflict in clash, if there is one.
func (s *Solver) conclude() bool {
	x, r := &s.uses, &s.rows
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
			case reading:
				ok = s.readRaised(u.index, chain)
			case writing:
				ok = s.writeRaised(u.index, u.variable, chain, old, now)
			case ending:
				ok = s.endRaised(u.index, chain, old, now)
			}
			if !ok {
				return false
			}
		}
	}
	if len(s.marks) == 0 {
		r.log, x.seen = r.log[:0], 0 // it is for good
	}
	return true
}

// rule is why a literal follows from a read or from sections.
type rule int32

const (
	ruleSees     rule = iota // what a read sees comes before it
	ruleBefore               // a rival before the read comes before that
	ruleAfter                // a rival after that comes after the read
	ruleLast                 // a read has one choice left
	ruleSections             // of two sections one has ended when the other starts
)

// because is the reason of a literal: the rule, and what it is about.
type because struct {
	rule
	index    int32 // the read, or the section that ends
	other    int32 // the rival, or the section that starts
	from, to int32 // of ruleLast, facts
}

// notes are the reasons of literals that follow from reads and sections.
type notes struct {
	list  []because
	facts []fact
}

// note returns a reason as a literal has it.
func (s *Solver) note(b because) int32 {
	s.notes.list = append(s.notes.list, b)
	return noted - int32(len(s.notes.list)-1)
}

// derive assigns that a comes before b, unless it does. It reports false, with the
// conflict in clash, if that is impossible; a node that is negative is one that nothing
// comes before, or after.
func (s *Solver) derive(a, b Node, why because) bool {
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
		s.clash = s.clash[:0]
		if p >= 0 {
			s.clash = append(s.clash, p)
		}
		s.premises(&why, int32(len(s.trail)), &s.clash)
		return false
	case len(s.marks) == 0:
		s.assign(p, decided)
	default:
		s.assign(p, s.note(why))
	}
	return true
}

// premises appends to clause the negations of what a conclusion follows from that was
// drawn at a place on the trail. It searches for the paths that were there then: a
// conclusion that no conflict needs costs nothing more than its note.
func (s *Solver) premises(b *because, place int32, clause *[]lit) {
	if b.rule == ruleSections {
		s.whyFollows(b.index, b.other, place, clause)
		return
	}
	n := &s.reads
	r := &n.list[b.index]
	if b.rule == ruleLast {
		s.prove(r.guard, s.notes.facts[b.from:b.to], place, clause)
		return
	}
	if r.key >= 0 {
		*clause = append(*clause, r.key.not())
	}
	switch saw := n.writes[r.saw].node; {
	case b.rule == ruleBefore:
		s.path(n.writes[b.other].node, r.node, place, clause)
	case b.rule == ruleAfter && saw >= 0:
		s.path(saw, n.writes[b.other].node, place, clause)
	}
}

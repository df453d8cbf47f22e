package order

// uses says, by node, which constraints of reads and sections it takes part in.
type uses struct {
	first  []int32 // by node, -1 if none
	list   []use
	seen   int         // of the log of raised cells, these were looked at
	last   []int32     // scratch: by variable, its last write in a candidate
	open   [][]int32   // scratch: by lock, its sections that are open
	broken []violation // scratch: of a candidate
}

// violation is a read, and which write it sees in a candidate, or two sections that overlap
// there.
type violation struct {
	kind      uint8
	index, by int32
	saw       int32 // the write that it was to see, and why
	key       lit
}

type use struct {
	kind    uint8
	index   int32
	further int32 // of a write, its variable
	next    int32
}

const (
	useRead uint8 = iota
	useWrite
	useStart
	useEnd
)

// Why a literal follows: where notes begin.
const (
	becauseSees     int32 = iota // what a read sees comes before it
	becauseBefore                // another write comes before that
	becauseAfter                 // or after the read
	becauseLast                  // there is one choice left
	becauseExcluded              // of two sections one has ended when the other starts
)

func (u *uses) init(s *Solver) {
	if u.first == nil {
		u.first = make([]int32, len(s.chainOf))
		for i := range u.first {
			u.first[i] = -1
		}
	}
}

func (u *uses) add(n Node, kind uint8, index, further int32) {
	u.list = append(u.list, use{kind, index, further, u.first[n]})
	u.first[n] = int32(len(u.list) - 1)
}

// arrive is told that a node comes before the sink.
func (s *Solver) arrive(n Node) bool {
	if s.uses.first == nil {
		return true
	}
	for k := s.uses.first[n]; k >= 0; k = s.uses.list[k].next {
		switch u := &s.uses.list[k]; u.kind {
		case useRead:
			if !s.arriveRead(u.index) {
				return false
			}
		case useStart:
			if !s.arriveSection(u.index) {
				return false
			}
		}
	}
	return true
}

// conclude draws conclusions of reads and sections from cells that were raised.
func (s *Solver) conclude() bool {
	u, r := &s.uses, &s.rows
	if u.first == nil {
		return true
	}
	for u.seen < len(r.log) {
		e := r.log[u.seen]
		u.seen++
		x := int(e.cell) / s.width
		if x >= len(u.first) || u.first[x] < 0 {
			continue
		}
		chain := e.cell - int32(x*s.width)
		for k := u.first[x]; k >= 0; k = u.list[k].next {
			ok := true
			switch y := &u.list[k]; y.kind {
			case useRead:
				ok = s.readRaised(y.index, chain, e.old)
			case useWrite:
				ok = s.writeRaised(y.index, y.further, chain, e.old, r.cell[e.cell])
			case useEnd:
				ok = s.endRaised(y.index, chain, e.old, r.cell[e.cell])
			}
			if !ok {
				return false
			}
		}
	}
	return true
}

// derive assigns that a comes before b, for a reason that it notes. It reports false, with
// the conflict in clash, if that is impossible.
func (s *Solver) derive(a, b Node, because, i, x int32) bool {
	p := never
	if a >= 0 && b >= 0 {
		if s.before(a, b) {
			return true
		}
		p = s.literal(Lit{a, b})
	}
	switch {
	case p == always || p >= 0 && s.value[p] > 0:
		return true
	case p == never || s.value[p] < 0:
		s.clash = s.clash[:0]
		if p >= 0 {
			s.clash = append(s.clash, p)
		}
		s.premises(because, i, x, int32(len(s.trail)), &s.clash)
		return false
	case len(s.marks) == 0:
		s.assign(p, decided)
	default:
		n := &s.reads
		s.assign(p, noted-int32(len(n.notes)))
		n.notes = append(n.notes, because, i, x)
	}
	return true
}

// whyNoted appends the negations of what a literal follows from that has a note.
func (s *Solver) whyNoted(p lit, clause *[]lit) {
	v := p >> 1
	n := &s.reads
	note := n.notes[noted-s.reason[v]:]
	if note[0] != becauseLast {
		s.premises(note[0], note[1], note[2], s.place[v], clause)
		return
	}
	if g := lit(note[1]); g >= 0 {
		*clause = append(*clause, g.not())
	}
	n.evidence = n.evidence[:0]
	for k := range note[2] {
		n.evidence = append(n.evidence, edgeEnd{Node(note[3+2*k]), Node(note[4+2*k])})
	}
	s.proof(s.place[v], clause)
}

// premises appends the negations of what an edge follows from.
func (s *Solver) premises(because, i, x int32, place int32, clause *[]lit) {
	if because == becauseExcluded {
		s.whyExclude(i, x, place, clause)
		return
	}
	r := &s.reads.list[i]
	if r.key >= 0 {
		*clause = append(*clause, r.key.not())
	}
	switch w := &s.reads.writes[x]; because {
	case becauseBefore:
		s.path(w.node, r.node, place, clause)
	case becauseAfter:
		if saw := s.reads.writes[r.saw].node; saw >= 0 {
			s.path(saw, w.node, place, clause)
		}
	}
}

// repair adds clauses that the candidate violates, of reads and sections. It reports
// whether there are any.
func (s *Solver) repair() bool {
	u := &s.uses
	if u.first == nil {
		return false
	}
	n := &s.reads
	for len(u.last) < len(n.variables) {
		u.last = append(u.last, 0)
	}
	for len(u.open) < len(s.sections.locks) {
		u.open = append(u.open, nil)
	}
	for i := range n.variables {
		u.last[i] = n.variables[i].initial
	}
	for i := range u.open {
		u.open[i] = append(u.open[i][:0], s.sections.locks[i].outset...)
	}
	broken := u.broken[:0]
	for _, x := range s.lin.order {
		if x == s.rows.sink {
			break
		}
		for k := u.first[x]; k >= 0; k = u.list[k].next {
			y := &u.list[k]
			switch y.kind {
			case useRead:
				w := &n.wants[n.list[y.index].want]
				if last := u.last[w.variable]; !w.accepts(n.writes[last].value) {
					broken = append(broken, violation{useRead, y.index, last, n.list[y.index].saw, n.list[y.index].key})
				}
			case useStart:
				me := &s.sections.list[y.index]
				for _, j := range u.open[me.lock] {
					if me.excludes(&s.sections.list[j]) {
						broken = append(broken, violation{useStart, y.index, j, 0, 0})
					}
				}
				u.open[me.lock] = append(u.open[me.lock], y.index)
			}
		}
		for k := u.first[x]; k >= 0; k = u.list[k].next {
			y := &u.list[k]
			switch y.kind {
			case useWrite:
				u.last[y.further] = y.index
			case useEnd:
				list := &u.open[s.sections.list[y.index].lock]
				for at, j := range *list {
					if j == y.index {
						*list = append((*list)[:at], (*list)[at+1:]...)
						break
					}
				}
			}
		}
	}
	u.broken = broken
	for i := range broken {
		s.mend(&broken[i])
		if s.false0 {
			break
		}
	}
	return len(broken) > 0
}

// mend adds the clause that a candidate violates.
func (s *Solver) mend(b *violation) {
	s.scaled = s.scaled[:0]
	if b.kind == useRead {
		if b.saw < 0 {
			s.activity.add(s.candidate(b.index))
			return
		}
		r := s.reads.list[b.index].node
		saw, rival := s.reads.writes[b.saw].node, s.reads.writes[b.by].node
		if b.key >= 0 {
			s.scale(b.key.not())
		}
		if saw >= 0 && rival >= 0 {
			s.scale(s.literal(Lit{rival, saw}))
		}
		if rival >= 0 {
			s.scale(s.literal(Lit{r, rival}))
		}
	} else {
		x, y := &s.sections.list[b.index], &s.sections.list[b.by]
		for _, p := range [2][2]*section{{x, y}, {y, x}} {
			if g := p[0].guard; g >= 0 {
				s.scale(g.not())
			}
			if p[0].End >= 0 && p[1].Start >= 0 {
				s.scale(s.literal(Lit{p[0].End, p[1].Start}))
			}
		}
	}
	s.insert()
}

// scale appends a literal to scaled, unless it is false for good, or makes the clause hold.
func (s *Solver) scale(p lit) {
	switch {
	case len(s.scaled) > 0 && s.scaled[0] == always:
	case p == always || p >= 0 && s.value[p] > 0 && s.level[p>>1] == 0:
		s.scaled = append(s.scaled[:0], always)
	case p == never || s.value[p] < 0 && s.level[p>>1] == 0:
	default:
		s.scaled = append(s.scaled, p)
	}
}

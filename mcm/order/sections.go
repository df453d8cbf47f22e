package order

import "fmt"

// CriticalSection is that a lock is held from one node to another.
type CriticalSection struct {
	Start, End Node // negative if it is held from the outset, or to the end
	Holder     int  // sections of one holder may overlap
	Shared     bool // and so may those that are shared
}

// sections holds the constraints of AddSections.
type sections struct {
	list  []section
	locks []lock
}

type section struct {
	CriticalSection
	lock  int32
	guard lit // that it starts before the sink, or always
}

// lock is what the sections of one AddSections have in common.
type lock struct {
	outset []int32   // those that have no start
	chains [][]int32 // the others by the chain where they start, in order
}

func (x *section) excludes(y *section) bool { return x.Holder != y.Holder && !(x.Shared && y.Shared) }

// AddLock adds the sections of a lock, which end after they start, or where: of each two, unless they may overlap, one
// ends before the other one starts. Of one that starts after the sink nothing is
// said. AddSections may be called between calls of Solve, like Add.
func (s *Solver) AddLock(list ...CriticalSection) error {
	if s.zero() {
		return ErrZero
	}
	for i, x := range list {
		for _, n := range [2]Node{x.Start, x.End} {
			if n >= 0 && (int(n) >= len(s.chainOf) || n == s.rows.goal) {
				return fmt.Errorf("order: section %d from node %d to node %d: %w", i, x.Start, x.End, ErrNode)
			}
		}
	}
	if s.false0 {
		return nil
	}
	for _, x := range list {
		if x.Start >= 0 && x.End >= 0 && x.Start != x.End && !s.Require(x.Start, x.End) {
			return nil
		}
	}
	n := &s.sections
	l := lock{chains: make([][]int32, s.width)}
	from := len(n.list)
	for _, x := range list {
		y := section{CriticalSection: x, lock: int32(len(n.locks)), guard: always}
		if x.Start >= 0 {
			y.guard = s.guard(x.Start)
		}
		if y.guard == never {
			continue
		}
		i := int32(len(n.list))
		n.list = append(n.list, y)
		if x.Start < 0 {
			l.outset = append(l.outset, i)
		} else {
			s.take(x.Start, use{kind: starting, index: i})
			in := append(l.chains[s.chainOf[x.Start]], i)
			l.chains[s.chainOf[x.Start]] = in
			for k := len(in) - 1; k > 0 && n.list[in[k-1]].Start > x.Start; k-- {
				in[k], in[k-1] = in[k-1], in[k]
			}
		}
		if x.End >= 0 {
			s.take(x.End, use{kind: ending, index: i})
		}
	}
	n.locks = append(n.locks, l)
	for i := from; i < len(n.list); i++ {
		if s.sure(n.list[i].guard) && !s.sectionArrived(int32(i)) {
			s.false0 = true
			return nil
		}
	}
	if !s.propagate() {
		s.false0 = true
	}
	return nil
}

// startsBefore reports whether section x starts before the end of y.
func (s *Solver) startsBefore(x, y *section) bool {
	return x.Start < 0 || y.End < 0 || s.before(x.Start, y.End)
}

// follows makes section j, unless it may overlap with i, start after the end of i if that
// starts before its end.
func (s *Solver) follows(i, j int32) bool {
	x, y := &s.sections.list[i], &s.sections.list[j]
	if i == j || !x.excludes(y) || !s.sure(x.guard) || !s.sure(y.guard) || !s.startsBefore(x, y) {
		return true
	}
	return s.derive(x.End, y.Start, because{rule: ruleSections, index: i, other: j})
}

// whyFollows appends to clause the negations of that from which it follows that section
// j starts after the end of i.
func (s *Solver) whyFollows(i, j int32, place int32, clause *[]lit) {
	x, y := &s.sections.list[i], &s.sections.list[j]
	for _, g := range [2]lit{x.guard, y.guard} {
		if g >= 0 {
			*clause = append(*clause, g.not())
		}
	}
	if x.Start >= 0 && y.End >= 0 {
		s.path(x.Start, y.End, place, clause)
	}
}

// sectionArrived is told that a section starts before the sink. Of each chain, those
// that start before its end, and those that end after its start, are pieces: it looks at
// the last one of the former and at the first one of the latter that exclude it. (If
// sections of a lock overlap in a chain it may overlook one, which repair does not.)
func (s *Solver) sectionArrived(i int32) bool {
	n := &s.sections
	me := &n.list[i]
	l := &n.locks[me.lock]
	for _, j := range l.outset {
		if !s.follows(j, i) || !s.follows(i, j) {
			return false
		}
	}
	for _, list := range l.chains {
		lo, hi := 0, len(list)
		for lo < hi {
			m := int(uint(lo+hi) >> 1)
			if y := &n.list[list[m]]; s.sure(y.guard) && s.startsBefore(y, me) {
				lo = m + 1
			} else {
				hi = m
			}
		}
		for k := lo - 1; k >= 0; k-- {
			if j := list[k]; n.list[j].excludes(me) {
				if !s.follows(j, i) {
					return false
				}
				break
			}
		}
		lo, hi = 0, len(list)
		for lo < hi {
			m := int(uint(lo+hi) >> 1)
			if y := &n.list[list[m]]; s.startsBefore(me, y) || s.past(y.Start) {
				hi = m
			} else {
				lo = m + 1
			}
		}
		for _, j := range list[lo:] {
			if n.list[j].excludes(me) {
				if !s.follows(i, j) {
					return false
				}
				break
			}
		}
	}
	return true
}

// endRaised is told that the nodes of a chain at positions from old to now-1 come before
// the end of a section: those sections that start there end before it starts.
func (s *Solver) endRaised(j, chain, old, now int32) bool {
	n := &s.sections
	me := &n.list[j]
	if !s.sure(me.guard) {
		return true
	}
	list := n.locks[me.lock].chains[chain]
	lo, hi := 0, len(list)
	for lo < hi {
		if m := int(uint(lo+hi) >> 1); s.posOf[n.list[list[m]].Start] < now {
			lo = m + 1
		} else {
			hi = m
		}
	}
	for k := lo - 1; k >= 0 && s.posOf[n.list[list[k]].Start] >= old; k-- {
		if !s.follows(list[k], j) {
			return false
		}
	}
	return true
}

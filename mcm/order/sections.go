package order

import "fmt"

// Section is that something is held from one node to another by one holder.
type Section struct {
	Start, End Node // negative if it is held from the outset, or to the end
	Holder     int  // sections of one holder do not exclude each other
	Shared     bool // nor do two shared ones
}

// sections holds the constraints of AddSections.
type sections struct {
	list  []section
	locks []lock
}

type section struct {
	Section
	lock  int32
	guard lit // that it starts before the sink, or always
}

// lock is what the sections of one AddSections have in common.
type lock struct {
	chains [][]int32 // sections, by the chain and position where they start
	outset []int32   // those that have no start
}

func (a *section) excludes(b *section) bool { return a.Holder != b.Holder && !(a.Shared && b.Shared) }

// AddSections adds sections of one lock. Of two that exclude each other, one ends before
// the other starts, unless one starts after the sink. It is for between calls of Solve,
// as Add is. Its consequences are drawn without clauses.
func (s *Solver) AddSections(list ...Section) error {
	for i, x := range list {
		for _, n := range [2]Node{x.Start, x.End} {
			if n >= 0 && (int(n) >= len(s.chainOf) || n == s.rows.sink) {
				return fmt.Errorf("order: section %d from node %d to %d: %w", i, x.Start, x.End, ErrNode)
			}
		}
	}
	if s.false0 {
		return nil
	}
	s.uses.init(s)
	n := &s.sections
	l := lock{chains: make([][]int32, s.width)}
	var held []int32
	for _, x := range list {
		y := section{Section: x, lock: int32(len(n.locks)), guard: always}
		if x.Start >= 0 {
			y.guard = s.guardOf(x.Start)
		}
		if y.guard == never {
			continue
		}
		i := int32(len(n.list))
		n.list = append(n.list, y)
		if x.Start < 0 {
			l.outset = append(l.outset, i)
		} else {
			s.uses.add(x.Start, useStart, i, 0)
			c := s.chainOf[x.Start]
			at := len(l.chains[c])
			for at > 0 && n.list[l.chains[c][at-1]].Start > x.Start {
				at--
			}
			l.chains[c] = append(l.chains[c], 0)
			copy(l.chains[c][at+1:], l.chains[c][at:])
			l.chains[c][at] = i
		}
		if x.End >= 0 {
			s.uses.add(x.End, useEnd, i, 0)
		}
		held = append(held, i)
	}
	n.locks = append(n.locks, l)
	for _, i := range held {
		if s.isTrue(n.list[i].guard) && !s.arriveSection(i) {
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

// follow makes section y start after x, which excludes it and starts before its end, if
// both are before the sink.
func (s *Solver) follow(i, j int32) bool {
	x, y := &s.sections.list[i], &s.sections.list[j]
	if i == j || !s.isTrue(x.guard) || !s.isTrue(y.guard) || !s.startsBefore(x, y) {
		return true
	}
	if x.End < 0 || y.Start < 0 {
		s.clash = s.clash[:0]
		s.whyExclude(i, j, int32(len(s.trail)), &s.clash)
		return false
	}
	return s.derive(x.End, y.Start, becauseExcluded, i, j)
}

// whyExclude appends why section j starts after the end of i.
func (s *Solver) whyExclude(i, j int32, place int32, clause *[]lit) {
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

// arriveSection is told that a section starts before the sink.
func (s *Solver) arriveSection(i int32) bool {
	n := &s.sections
	me := &n.list[i]
	l := &n.locks[me.lock]
	for _, j := range l.outset {
		if me.excludes(&n.list[j]) && !(s.follow(j, i) && s.follow(i, j)) {
			return false
		}
	}
	for _, list := range l.chains {
		if len(list) == 0 {
			continue
		}
		// The last one that starts before this one's end.
		lo, hi := 0, len(list)
		for lo < hi {
			if m := (lo + hi) / 2; s.startsBefore(&n.list[list[m]], me) && s.isTrue(n.list[list[m]].guard) {
				lo = m + 1
			} else {
				hi = m
			}
		}
		for k := lo - 1; k >= 0; k-- {
			if me.excludes(&n.list[list[k]]) {
				if !s.follow(list[k], i) {
					return false
				}
				break
			}
		}
		// The first one that ends after this one's start.
		lo, hi = 0, len(list)
		for lo < hi {
			if m := (lo + hi) / 2; !s.startsBefore(me, &n.list[list[m]]) {
				lo = m + 1
			} else {
				hi = m
			}
		}
		for k := lo; k < len(list) && s.isTrue(n.list[list[k]].guard); k++ {
			if me.excludes(&n.list[list[k]]) {
				if !s.follow(i, list[k]) {
					return false
				}
				break
			}
		}
	}
	return true
}

// endRaised is told that the nodes of a chain from old to now have come to be before the
// end of a section: it starts after those that start there have ended.
func (s *Solver) endRaised(j int32, chain, old, now int32) bool {
	n := &s.sections
	me := &n.list[j]
	if !s.isTrue(me.guard) {
		return true
	}
	list := n.locks[me.lock].chains[chain]
	lo, hi := 0, len(list)
	for lo < hi {
		if m := (lo + hi) / 2; s.posOf[n.list[list[m]].Start] < now {
			lo = m + 1
		} else {
			hi = m
		}
	}
	for k := lo - 1; k >= 0 && s.posOf[n.list[list[k]].Start] >= old; k-- {
		if n.list[list[k]].excludes(me) && !s.follow(list[k], j) {
			return false
		}
	}
	return true
}

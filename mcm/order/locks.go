package order

import (
	"fmt"

	"github.com/heisen-go/heisen"
)

// CriticalSection is the interval from one node to another in which a lock is held.
type CriticalSection struct {
	Start, End Node // negative: held from the beginning, or to the end
	Holder     int  // sections of the same holder do not exclude each other
	Shared     bool // nor do two shared ones
}

// sections holds the constraints of AddLock.
type sections struct {
	list  []section
	locks []lock
}

type section struct {
	CriticalSection
	lock  int32
	guard lit // its start comes before the goal, or always
}

// lock has the critical sections of one AddLock.
type lock struct {
	outset []int32   // those that are held from the beginning
	chains [][]int32 // the others by the chain of their start, in order
}

func (x *section) excludes(y *section) bool { return x.Holder != y.Holder && !(x.Shared && y.Shared) }

// AddLock adds the critical sections of a lock. Each one ends after it starts. Of each two that
// exclude each other, one ends before the other one starts. If the solver has a goal, a section
// applies only if its start comes before the goal. AddLock may be called between calls of Solve,
// but not from a check. The error wraps ErrNode.
func (s *Solver) AddLock(list ...CriticalSection) error {
	if s.zero() {
		return heisen.ErrZero
	}
	for i, x := range list {
		for _, n := range [2]Node{x.Start, x.End} {
			if n >= 0 && (int(n) >= len(s.chainOf) || n == s.rows.goal) {
				return fmt.Errorf("section %d from node %d to node %d: %w", i, x.Start, x.End, ErrNode)
			}
		}
	}
	if s.unsat {
		return nil
	}
	for _, x := range list {
		if x.Start >= 0 && x.End >= 0 && x.Start != x.End && !s.require(x.Start, x.End) {
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
			s.addRole(x.Start, role{kind: roleStart, index: i})
			in := append(l.chains[s.chainOf[x.Start]], i)
			l.chains[s.chainOf[x.Start]] = in
			for k := len(in) - 1; k > 0 && n.list[in[k-1]].Start > x.Start; k-- {
				in[k], in[k-1] = in[k-1], in[k]
			}
		}
		if x.End >= 0 {
			s.addRole(x.End, role{kind: roleEnd, index: i})
		}
	}
	n.locks = append(n.locks, l)
	for i := from; i < len(n.list); i++ {
		if s.active(n.list[i].guard) && !s.sectionActivated(int32(i)) {
			s.unsat = true
			return nil
		}
	}
	if !s.propagate() {
		s.unsat = true
	}
	return nil
}

// startsBefore reports whether section x starts before the end of y.
func (s *Solver) startsBefore(x, y *section) bool {
	return x.Start < 0 || y.End < 0 || s.before(x.Start, y.End)
}

// orderSections makes section j start after the end of section i if i starts before the end of j
// and they exclude each other.
func (s *Solver) orderSections(i, j int32) bool {
	x, y := &s.sections.list[i], &s.sections.list[j]
	if i == j || !x.excludes(y) || !s.active(x.guard) || !s.active(y.guard) || !s.startsBefore(x, y) {
		return true
	}
	return s.derive(x.End, y.Start, ruleNote{rule: ruleSections, index: i, other: j})
}

// explainSections appends to clause the negations of the literals that imply that section j starts
// after the end of section i.
func (s *Solver) explainSections(i, j int32, place int32, clause *[]lit) {
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

// sectionActivated is called when the start of a section has come before the goal. In each chain,
// the sections that start before its end, and those that end after its start, form an interval. It
// considers the last one of the former and the first one of the latter that exclude it. If sections
// of a lock overlap in a chain it may miss one, which repair finds.
func (s *Solver) sectionActivated(i int32) bool {
	n := &s.sections
	me := &n.list[i]
	l := &n.locks[me.lock]
	for _, j := range l.outset {
		if !s.orderSections(j, i) || !s.orderSections(i, j) {
			return false
		}
	}
	for _, list := range l.chains {
		lo, hi := 0, len(list)
		for lo < hi {
			m := int(uint(lo+hi) >> 1)
			if y := &n.list[list[m]]; s.active(y.guard) && s.startsBefore(y, me) {
				lo = m + 1
			} else {
				hi = m
			}
		}
		for k := lo - 1; k >= 0; k-- {
			if j := list[k]; n.list[j].excludes(me) {
				if !s.orderSections(j, i) {
					return false
				}
				break
			}
		}
		lo, hi = 0, len(list)
		for lo < hi {
			m := int(uint(lo+hi) >> 1)
			if y := &n.list[list[m]]; s.startsBefore(me, y) || s.afterGoal(y.Start) {
				hi = m
			} else {
				lo = m + 1
			}
		}
		for _, j := range list[lo:] {
			if n.list[j].excludes(me) {
				if !s.orderSections(i, j) {
					return false
				}
				break
			}
		}
	}
	return true
}

// endRaised is called when the nodes of a chain at positions from old to now-1 come before the end
// of a section. The sections that start there end before it starts.
func (s *Solver) endRaised(j, chain, old, now int32) bool {
	n := &s.sections
	me := &n.list[j]
	if !s.active(me.guard) {
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
		if !s.orderSections(list[k], j) {
			return false
		}
	}
	return true
}

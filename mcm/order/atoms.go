package order

// lit is an internal literal: twice the variable, plus 1 for the negation. The positive literal of
// an atom means that the node with the lower number comes first.
type lit int32

const noLit lit = -1

func (l lit) not() lit { return l ^ 1 }

// Literals with a fixed value.
const (
	always lit = -2
	never  lit = -3
)

// pair is the two nodes of an atom, the lower number first.
type pair struct{ low, high Node }

var noPair = pair{-1, -1} // the pair of a boolean

// atoms numbers the pairs of nodes that occur in literals. It also finds the atoms that a raised
// row cell decides. Each cell of a row has a list of the atoms between the node of the row and the
// nodes of the chain of the cell, by position. Raising the cell decides exactly the atoms with
// positions between the old and the new value.
type atoms struct {
	pairs []pair  // by variable
	slots []int32 // hash table of variables + 1, linear probing, a power of two
	used  int
	list  []span      // by cell
	pool  []atCell    // memory of the lists
	spare [32][]int32 // by binary logarithm of the size: free offsets in pool
}

type span struct{ off, n, cap int32 }

// atCell is an atom in the list of a cell: the position of the other node in its chain, and the
// literal by which the other node comes before the node of the cell.
type atCell struct {
	pos    int32
	before lit
}

func (a *atoms) init(cells int) {
	a.list = make([]span, cells)
	a.slots = make([]int32, 64)
}

func (e pair) hash() uint64 {
	h := (uint64(uint32(e.low))<<32 | uint64(uint32(e.high))) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}

// find returns the variable of a pair, or -1.
func (a *atoms) find(e pair) int32 {
	mask := uint64(len(a.slots) - 1)
	for i := e.hash() & mask; ; i = (i + 1) & mask {
		v := a.slots[i] - 1
		if v < 0 || a.pairs[v] == e {
			return v
		}
	}
}

func (a *atoms) insert(e pair, v int32) {
	if a.used++; 2*a.used > len(a.slots) {
		old := a.slots
		a.slots = make([]int32, 2*len(old))
		for _, w := range old {
			if w > 0 {
				a.put(a.pairs[w-1], w)
			}
		}
	}
	a.put(e, v+1)
}

func (a *atoms) put(e pair, slot int32) {
	mask := uint64(len(a.slots) - 1)
	i := e.hash() & mask
	for a.slots[i] != 0 {
		i = (i + 1) & mask
	}
	a.slots[i] = slot
}

// watch adds an atom to the list of a cell.
func (a *atoms) watch(cell int, x atCell) {
	sp := &a.list[cell]
	if sp.n == sp.cap {
		a.grow(sp)
	}
	i := sp.n
	if i > 0 && a.pool[sp.off+i-1].pos > x.pos {
		i -= int32(len(a.in(cell, x.pos+1)))
	}
	sp.n++
	l := a.pool[sp.off : sp.off+sp.n]
	copy(l[i+1:], l[i:])
	l[i] = x
}

// grow doubles the capacity of a list. Its old memory becomes available to other lists.
func (a *atoms) grow(sp *span) {
	size, class := int32(2), 1
	for size <= sp.cap {
		size, class = 2*size, class+1
	}
	var off int32
	if free := a.spare[class]; len(free) > 0 {
		off = free[len(free)-1]
		a.spare[class] = free[:len(free)-1]
	} else {
		off = int32(len(a.pool))
		for range size {
			a.pool = append(a.pool, atCell{})
		}
	}
	copy(a.pool[off:], a.pool[sp.off:sp.off+sp.n])
	if sp.cap > 0 {
		a.spare[class-1] = append(a.spare[class-1], sp.off)
	}
	sp.off, sp.cap = off, size
}

// in returns the atoms of a cell from a position on.
func (a *atoms) in(cell int, from int32) []atCell {
	sp := a.list[cell]
	l := a.pool[sp.off : sp.off+sp.n]
	lo, hi := 0, len(l)
	for lo < hi {
		if m := int(uint(lo+hi) >> 1); l[m].pos < from {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return l[lo:]
}

// implyBefore assigns the atoms that a raised cell decides: these nodes come before the node of the
// cell.
func (s *Solver) implyBefore(cell int, old, now int32) bool {
	for _, x := range s.atoms.in(cell, old) {
		if x.pos >= now {
			break
		}
		if !s.imply(x.before) {
			return false
		}
	}
	return true
}

// implyAfter assigns the atoms between the goal and nodes that now come after it.
func (s *Solver) implyAfter(cell int, now, old int32) bool {
	for _, x := range s.atoms.in(cell, now) {
		if x.pos >= old {
			break
		}
		if !s.imply(x.before.not()) {
			return false
		}
	}
	return true
}

// imply assigns a literal that the rows imply.
func (s *Solver) imply(l lit) bool {
	switch s.value[l] {
	case 0:
		s.assign(l, reasonRows)
	case -1:
		s.conflict = append(s.conflict[:0], l)
		s.explainRows(l, int32(len(s.trail)), &s.conflict)
		return false
	}
	return true
}

// newVariable makes the variable of an atom, a boolean or a choice.
func (s *Solver) newVariable(e pair) int32 {
	v := int32(len(s.atoms.pairs))
	s.atoms.pairs = append(s.atoms.pairs, e)
	s.value = append(s.value, 0, 0)
	s.level = append(s.level, 0)
	s.reason = append(s.reason, reasonDecision)
	s.trailPos = append(s.trailPos, 0)
	s.phase = append(s.phase, 0)
	k := s.rows.goal
	s.presumed = append(s.presumed, k >= 0 && e.low == k, k >= 0 && e.high == k || e.low < 0)
	if e.low < 0 {
		s.phase[v] = -1
	}
	s.clauses.newVariable()
	s.activity.newVariable()
	s.learn.newVariable()
	return v
}

// literal returns the internal literal of l, which must be valid. It returns always or never if
// both nodes are in one chain or if l is decided at level 0. A new atom that the rows decide is
// assigned at once, at the current level, although it may follow from an earlier level. After
// backtracking it may be unassigned while the rows still decide it; s.late has such atoms until
// that can no longer happen.
func (s *Solver) literal(l Lit) lit {
	if l.Before < 0 {
		k := -1 - max(l.Before, l.After)
		p := lit(2 * s.bools[k/2])
		if l.Before < l.After {
			p = p.not()
		}
		return p
	}
	ca, cb := s.chainOf[l.Before], s.chainOf[l.After]
	if ca == cb {
		if l.Before < l.After {
			return always
		}
		return never
	}
	e, sign := pair{l.Before, l.After}, lit(0)
	if l.Before > l.After {
		e, sign = pair{l.After, l.Before}, 1
	}
	v := s.atoms.find(e)
	if v >= 0 {
		s.assignLate(v)
		return lit(2*v) | sign
	}
	if len(s.levels) == 0 {
		if s.before(l.Before, l.After) {
			return always
		}
		if s.before(l.After, l.Before) {
			return never
		}
	}
	v = s.newVariable(e)
	s.atoms.insert(e, v)
	low := int(e.low)*s.width + int(s.chainOf[e.high])
	high := int(e.high)*s.width + int(s.chainOf[e.low])
	// The column of the goal is never raised, so it needs no list.
	if e.high != s.rows.goal {
		s.atoms.watch(low, atCell{s.posOf[e.high], lit(2*v + 1)})
	}
	if e.low != s.rows.goal {
		s.atoms.watch(high, atCell{s.posOf[e.low], lit(2 * v)})
	}
	if s.assignLate(v) && len(s.levels) > 0 {
		s.late = append(s.late, v)
	}
	return lit(2*v) | sign
}

// assignAllLate assigns the late atoms that backtracking has unassigned and the rows still decide.
// An atom that the rows do not decide is no longer late: a raised cell will decide it.
func (s *Solver) assignAllLate() {
	kept := s.late[:0]
	for _, v := range s.late {
		if s.value[2*v] == 0 && !s.assignLate(v) {
			continue
		}
		if s.level[v] > 0 {
			kept = append(kept, v)
		}
	}
	s.late = kept
}

// assignLate assigns an unassigned atom if the rows decide it.
func (s *Solver) assignLate(v int32) bool {
	e := s.atoms.pairs[v]
	switch {
	case s.value[2*v] != 0 || e.low < 0:
		return false
	case s.before(e.low, e.high):
		s.assign(lit(2*v), reasonRows)
	case s.before(e.high, e.low):
		s.assign(lit(2*v+1), reasonRows)
	default:
		return false
	}
	return true
}

// nodesOf returns the two nodes that a literal of an atom orders.
func (s *Solver) nodesOf(l lit) (before, after Node) {
	e := s.atoms.pairs[l>>1]
	if l&1 == 0 {
		return e.low, e.high
	}
	return e.high, e.low
}

// public returns the exported form of a literal.
func (s *Solver) public(l lit) Lit {
	if s.atoms.pairs[l>>1].low >= 0 {
		a, b := s.nodesOf(l)
		return Lit{a, b}
	}
	for k, v := range s.bools { // slow, but only tests get here
		if v == int32(l>>1) {
			p := Lit{Node(-1 - 2*k), Node(-2 - 2*k)}
			if l&1 == 1 {
				return p.Not()
			}
			return p
		}
	}
	return Lit{}
}

package order

// lit is a literal as the search uses it: twice a variable, and 1 more for the
// negation. Of an atom the positive literal says that the node with the lower
// number comes first.
type lit int32

const noLit lit = -1

func (l lit) not() lit { return l ^ 1 }

// What intern makes of literals that are no matter of search.
const (
	always lit = -2
	never  lit = -3
)

// ends are the nodes of an atom, the lower number first.
type ends struct{ low, high Node }

var noEnds = ends{-1, -1} // of a boolean

// atoms numbers the pairs of nodes that literals speak of, and finds those that
// a raised cell decides. Each cell of a node's row, that is each chain, has a
// list of the atoms of that node with nodes of that chain, by position: the ones
// between the cell's old and new value are decided, and no others.
type atoms struct {
	ends  []ends  // by variable
	slots []int32 // hash table of variables + 1, linear probing, a power of two
	used  int
	list  []span      // by cell
	pool  []atCell    // what the spans are of
	spare [32][]int32 // by binary logarithm of the capacity: places in pool that are free
}

type span struct{ off, n, cap int32 }

// atCell is an atom in the list of a cell: the position of the other node in its
// chain, and the literal that says that it comes before the cell's node.
type atCell struct {
	pos    int32
	before lit
}

func (a *atoms) init(cells int) {
	a.list = make([]span, cells)
	a.slots = make([]int32, 64)
}

func (e ends) hash() uint64 {
	h := (uint64(uint32(e.low))<<32 | uint64(uint32(e.high))) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}

// find returns the variable of a pair, or -1.
func (a *atoms) find(e ends) int32 {
	mask := uint64(len(a.slots) - 1)
	for i := e.hash() & mask; ; i = (i + 1) & mask {
		v := a.slots[i] - 1
		if v < 0 || a.ends[v] == e {
			return v
		}
	}
}

func (a *atoms) insert(e ends, v int32) {
	if a.used++; 2*a.used > len(a.slots) {
		old := a.slots
		a.slots = make([]int32, 2*len(old))
		for _, w := range old {
			if w > 0 {
				a.put(a.ends[w-1], w)
			}
		}
	}
	a.put(e, v+1)
}

func (a *atoms) put(e ends, slot int32) {
	mask := uint64(len(a.slots) - 1)
	i := e.hash() & mask
	for a.slots[i] != 0 {
		i = (i + 1) & mask
	}
	a.slots[i] = slot
}

// watch puts an atom into the list of a cell.
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

// grow doubles the room of a list; the old room is for another one.
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

// in returns the list of a cell from the first position that is at least from.
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

// implyBefore assigns the atoms of a cell that was raised: what is now known to
// be before its node.
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

// implyAfter assigns the atoms of the sink with the nodes of a chain that are now
// known to be after it.
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

// imply assigns a literal that follows from the rows.
func (s *Solver) imply(l lit) bool {
	switch s.value[l] {
	case 0:
		s.assign(l, implied)
	case -1:
		s.clash = append(s.clash[:0], l)
		s.why(l, int32(len(s.trail)), &s.clash)
		return false
	}
	return true
}

// newVariable makes a variable, of an atom or of a boolean.
func (s *Solver) newVariable(e ends) int32 {
	v := int32(len(s.atoms.ends))
	s.atoms.ends = append(s.atoms.ends, e)
	s.value = append(s.value, 0, 0)
	s.level = append(s.level, 0)
	s.reason = append(s.reason, decided)
	s.place = append(s.place, 0)
	s.phase = append(s.phase, 0)
	k := s.rows.goal
	s.lax = append(s.lax, k >= 0 && e.low == k, k >= 0 && e.high == k || e.low < 0)
	if e.low < 0 {
		s.phase[v] = -1
	}
	s.clauses.newVariable()
	s.activity.newVariable()
	s.learn.newVariable()
	return v
}

// literal returns l, which is valid, as the search uses it: always or never if it
// is about one chain or was decided for good. An atom that is new is assigned at
// once if the rows decide it, at the present level although it may follow from
// less: after backtracking it may be open again while the rows still decide it.
// Until it is open and the rows do not, it is one of those that propagate looks at.
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
	e, sign := ends{l.Before, l.After}, lit(0)
	if l.Before > l.After {
		e, sign = ends{l.After, l.Before}, 1
	}
	v := s.atoms.find(e)
	if v >= 0 {
		s.catchUp(v)
		return lit(2*v) | sign
	}
	if len(s.marks) == 0 {
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
	// The column of the sink is never raised, so no list is needed there.
	if e.high != s.rows.goal {
		s.atoms.watch(low, atCell{s.posOf[e.high], lit(2*v + 1)})
	}
	if e.low != s.rows.goal {
		s.atoms.watch(high, atCell{s.posOf[e.low], lit(2 * v)})
	}
	if s.catchUp(v) && len(s.marks) > 0 {
		s.late = append(s.late, v)
	}
	return lit(2*v) | sign
}

// catchUpAll assigns late atoms that the rows decide and backtracking has opened.
// Of those that are open and not decided nothing is special any more, for a cell
// that rises decides them.
func (s *Solver) catchUpAll() {
	kept := s.late[:0]
	for _, v := range s.late {
		if s.value[2*v] == 0 && !s.catchUp(v) {
			continue
		}
		if s.level[v] > 0 {
			kept = append(kept, v)
		}
	}
	s.late = kept
}

// catchUp assigns an open atom that the rows decide.
func (s *Solver) catchUp(v int32) bool {
	e := s.atoms.ends[v]
	switch {
	case s.value[2*v] != 0 || e.low < 0:
		return false
	case s.before(e.low, e.high):
		s.assign(lit(2*v), implied)
	case s.before(e.high, e.low):
		s.assign(lit(2*v+1), implied)
	default:
		return false
	}
	return true
}

// nodesOf returns the nodes that a literal orders; it is not for booleans and choices.
func (s *Solver) nodesOf(l lit) (before, after Node) {
	e := s.atoms.ends[l>>1]
	if l&1 == 0 {
		return e.low, e.high
	}
	return e.high, e.low
}

// public returns a literal as callers know it.
func (s *Solver) public(l lit) Lit {
	if s.atoms.ends[l>>1].low >= 0 {
		a, b := s.nodesOf(l)
		return Lit{a, b}
	}
	for k, v := range s.bools { // only where clauses are logged
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

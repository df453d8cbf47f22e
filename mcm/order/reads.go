package order

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// Variable is something that nodes write and read, see NewVariable.
type Variable int32

// Write is that a node writes a value.
type Write struct {
	Node  Node
	Value int32
}

// reads holds the constraints of AddRead and what the search knows of them.
type reads struct {
	variables []variable
	writes    []write // of each variable: its initial value, then its writes by node
	wants     []want
	list      []read
	seers     []int32   // the reads that see a write, in the order in which they came to
	dirty     []int32   // reads of which what they may see has to be looked at
	moved     []bool    // by read: it is among these
	asked     []int32   // scratch: by chain, how much of it is covered
	by        []int32   // and by which write
	notes     []int32   // reasons of literals that follow from reads and sections
	evidence  []edgeEnd // scratch: why sources are out
}

type edgeEnd struct{ a, b Node }

// variable is a Variable: where its writes are.
type variable struct {
	initial int32   // the entry of its initial value
	at      []int32 // by chain its first write, and one more
}

// write is a Write, or the initial value of a variable, whose node is negative.
type write struct {
	node   Node
	pos    int32
	value  int32
	unlike int32 // the last write before it, in its chain, of another value, or before its first
	other  int32 // the first one after it, or past the last
	seer   int32 // the read that came to see it last, -1 if none
}

// want is what some reads of a variable may see.
type want struct {
	variable int32
	values   []int32
	initial  bool
	sources  []int32 // the writes of these values
	at       []int32 // of these, by chain the first one, and one more
}

// read is a constraint of AddRead.
type read struct {
	node  Node
	want  int32
	guard lit   // that it comes before the sink, or always
	only  int32 // the write that it sees if it comes before the sink at all, -1 if there are several
	saw   int32 // the write that it sees now, -1 if that is open
	key   lit   // why it sees that: the choice, or guard
	next  int32 // the read that came to see the same write before it
	made  []int32
}

func (w *want) accepts(value int32) bool {
	for _, v := range w.values {
		if v == value {
			return true
		}
	}
	return false
}

// NewVariable makes a variable with a value that it has before all writes, and the
// writes to it, at most one of each node. Values mean nothing but whether they are
// equal.
func (s *Solver) NewVariable(initial int32, writes ...Write) (Variable, error) {
	list := slices.Clone(writes)
	slices.SortFunc(list, func(a, b Write) int { return int(a.Node - b.Node) })
	for i, w := range list {
		if w.Node < 0 || int(w.Node) >= len(s.chainOf) || w.Node == s.rows.sink {
			return 0, fmt.Errorf("order: a variable that node %d writes: %w", w.Node, ErrNode)
		}
		if i > 0 && list[i-1].Node == w.Node {
			return 0, fmt.Errorf("order: node %d writes a variable: %w: twice", w.Node, ErrOption)
		}
	}
	n := &s.reads
	if len(list) >= math.MaxInt32-len(n.writes)-1 {
		return 0, fmt.Errorf("order: %w: %d writes", ErrSize, len(list))
	}
	v := variable{initial: int32(len(n.writes)), at: make([]int32, 0, s.width+1)}
	n.writes = append(n.writes, write{node: -1, pos: -1, value: initial, seer: -1})
	s.uses.init(s)
	k := 0
	for c := range s.width {
		from := int32(len(n.writes))
		v.at = append(v.at, from)
		for ; k < len(list) && int(s.chainOf[list[k].Node]) == c; k++ {
			i := int32(len(n.writes))
			w := write{node: list[k].Node, pos: s.posOf[list[k].Node], value: list[k].Value, unlike: i - 1, seer: -1}
			if i > from && n.writes[i-1].value == w.value {
				w.unlike = n.writes[i-1].unlike
			}
			n.writes = append(n.writes, w)
			s.uses.add(w.node, useWrite, i, int32(len(n.variables)))
		}
		for i := int32(len(n.writes)) - 1; i >= from; i-- {
			n.writes[i].other = i + 1
			if i+1 < int32(len(n.writes)) && n.writes[i+1].value == n.writes[i].value {
				n.writes[i].other = n.writes[i+1].other
			}
		}
	}
	v.at = append(v.at, int32(len(n.writes)))
	n.variables = append(n.variables, v)
	return Variable(len(n.variables) - 1), nil
}

// AddRead makes a node read a variable: unless it comes after the sink, the last
// write before it, not counting its own, has one of the values, or there is none and
// the initial value is one of them. It is for between calls of Solve, as Add is, and
// best called when all edges are known that are required. Its consequences are drawn
// without clauses; a read that has come before the sink costs as much as finding, by
// bisection, the writes next to it in each chain.
func (s *Solver) AddRead(v Variable, r Node, values ...int32) error {
	n := &s.reads
	switch {
	case v < 0 || int(v) >= len(n.variables):
		return fmt.Errorf("order: variable %d: %w", v, ErrNode)
	case r < 0 || int(r) >= len(s.chainOf) || r == s.rows.sink:
		return fmt.Errorf("order: a read by node %d: %w", r, ErrNode)
	case s.false0:
		return nil
	}
	rd := read{node: r, want: s.wantOf(int32(v), values), guard: s.guardOf(r), only: -1, saw: -1, key: always}
	if rd.guard == never {
		return nil // it comes after the sink in any case
	}
	i := int32(len(n.list))
	n.list = append(n.list, rd)
	n.moved = append(n.moved, false)
	s.uses.add(r, useRead, i, 0)
	if left, last := s.look(i); left == 1 {
		n.list[i].only = last
	}
	if s.isTrue(rd.guard) && !s.arriveRead(i) || !s.propagate() {
		s.false0 = true
	}
	return nil
}

// guardOf returns the literal that says that a node comes before the sink.
func (s *Solver) guardOf(n Node) lit {
	if s.rows.sink < 0 {
		return always
	}
	return s.literal(Lit{n, s.rows.sink})
}

func (s *Solver) isTrue(l lit) bool { return l == always || l >= 0 && s.value[l] > 0 }

// wantOf returns what reads of a variable want that may see some values.
func (s *Solver) wantOf(v int32, values []int32) int32 {
	n := &s.reads
	for i := len(n.wants) - 1; i >= 0 && n.wants[i].variable == v; i-- { // reads of one variable mostly come together
		if slices.Equal(n.wants[i].values, values) {
			return int32(i)
		}
	}
	w := want{variable: v, values: slices.Clone(values)}
	vr := &n.variables[v]
	w.initial = w.accepts(n.writes[vr.initial].value)
	w.at = make([]int32, 0, s.width+1)
	for c := range s.width {
		w.at = append(w.at, int32(len(w.sources)))
		for i := vr.at[c]; i < vr.at[c+1]; i++ {
			if w.accepts(n.writes[i].value) {
				w.sources = append(w.sources, i)
			}
		}
	}
	w.at = append(w.at, int32(len(w.sources)))
	n.wants = append(n.wants, w)
	return int32(len(n.wants) - 1)
}

// writesFrom returns the first write of a variable in a chain at a position that is at
// least from.
func (s *Solver) writesFrom(v *variable, chain int32, from int32) int32 {
	lo, hi := v.at[chain], v.at[chain+1]
	for lo < hi {
		if m := (lo + hi) / 2; s.reads.writes[m].pos < from {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// rivalBefore returns the last write in a chain before a position that is none of those
// wanted, -1 if there is none.
func (s *Solver) rivalBefore(w *want, chain int32, pos int32) int32 {
	n := &s.reads
	v := &n.variables[w.variable]
	i, first := s.writesFrom(v, chain, pos)-1, v.at[chain]
	for i >= first && w.accepts(n.writes[i].value) {
		i = n.writes[i].unlike
	}
	if i < first {
		return -1
	}
	return i
}

// rivalFrom returns the first write from i on that is none of those wanted, -1 if there
// is none in the chain.
func (s *Solver) rivalFrom(w *want, chain int32, i int32) int32 {
	n := &s.reads
	end := n.variables[w.variable].at[chain+1]
	for i < end && w.accepts(n.writes[i].value) {
		i = n.writes[i].other
	}
	if i >= end {
		return -1
	}
	return i
}

// sourceFrom returns the index in sources of the first one in a chain at a position
// that is at least from.
func (s *Solver) sourceFrom(w *want, chain int, from int32) int32 {
	lo, hi := w.at[chain], w.at[chain+1]
	for lo < hi {
		if m := (lo + hi) / 2; s.reads.writes[w.sources[m]].pos < from {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// sourceAfter returns the index in sources, from low on, of the first one in a chain
// that comes after a read, or after the sink, before which the read is.
func (s *Solver) sourceAfter(w *want, r Node, chain int, low int32) int32 {
	own, pos := s.chainOf[r], s.posOf[r]
	if int32(chain) == own {
		return max(low, s.sourceFrom(w, chain, pos))
	}
	c := &s.rows
	end := int32(math.MaxInt32)
	if c.sink >= 0 {
		end = c.cell[c.after+chain]
	}
	lo, hi := low, w.at[chain+1]
	for lo < hi {
		m := (lo + hi) / 2
		if x := &s.reads.writes[w.sources[m]]; x.pos >= end || c.cell[int(x.node)*s.width+int(own)] > pos {
			hi = m
		} else {
			lo = m + 1
		}
	}
	return lo
}

// cover finds what reads r cannot see because it is overwritten before them: by chain
// what comes before a rival that comes before r, and which rival. It reports whether
// there is such a rival.
func (s *Solver) cover(r *read, w *want) (covered bool) {
	n, cell, width := &s.reads, s.rows.cell, s.width
	if len(n.asked) < width {
		n.asked, n.by = make([]int32, width), make([]int32, width)
	}
	clear(n.asked)
	own := s.chainOf[r.node]
	v := &n.variables[w.variable]
	row := cell[int(r.node)*width : int(r.node)*width+width]
	for c, pos := range row {
		if v.at[c] == v.at[c+1] || pos == 0 {
			continue
		}
		if int32(c) == own {
			pos--
		}
		i := s.rivalBefore(w, int32(c), pos)
		if i < 0 {
			continue
		}
		covered = true
		at := int(n.writes[i].node) * width
		for k, p := range cell[at : at+width] {
			if p > n.asked[k] {
				n.asked[k], n.by[k] = p, i
			}
		}
	}
	return covered
}

// look counts what a read may see and returns one of it.
func (s *Solver) look(i int32) (left int, last int32) {
	n := &s.reads
	r := &n.list[i]
	w := &n.wants[r.want]
	covered := s.cover(r, w)
	last = -1
	take := func(wid int32) {
		if v := s.choiceVar(i, wid); v < 0 || s.value[2*v] >= 0 {
			left, last = left+1, wid
		}
	}
	if w.initial && !covered {
		take(n.variables[w.variable].initial)
	}
	for c := range s.width {
		if w.at[c] == w.at[c+1] {
			continue
		}
		lo := s.sourceFrom(w, c, n.asked[c])
		hi := s.sourceAfter(w, r.node, c, lo)
		if len(r.made) == 0 && hi > lo {
			left, last = left+int(hi-lo), w.sources[hi-1]
			continue
		}
		for k := lo; k < hi; k++ {
			take(w.sources[k])
		}
	}
	return left, last
}

// why it may see nothing but one write, or nothing: evidence gets, of each chain, why
// the sources in it are out, as pairs of nodes of which the first comes before the
// second, and literals that are false, as nodes of which the first is -1.
func (s *Solver) outs(i int32, but int32) {
	n := &s.reads
	r := &n.list[i]
	w := &n.wants[r.want]
	n.evidence = n.evidence[:0]
	note := func(a, b Node) { n.evidence = append(n.evidence, edgeEnd{a, b}) }
	covered := s.cover(r, w)
	out := func(wid int32) {
		if wid == but {
			return
		}
		note(-1, Node(2*s.choiceVar(i, wid)))
	}
	initial := w.initial
	if initial && !covered {
		out(n.variables[w.variable].initial)
		initial = false
	}
	for c := range s.width {
		if w.at[c] == w.at[c+1] {
			continue
		}
		lo := s.sourceFrom(w, c, n.asked[c])
		if lo > w.at[c] {
			rival := n.writes[n.by[c]].node
			note(n.writes[w.sources[lo-1]].node, rival)
			note(rival, r.node)
			initial = false
		}
		hi := s.sourceAfter(w, r.node, c, lo)
		for k := lo; k < hi; k++ {
			out(w.sources[k])
		}
		if hi < w.at[c+1] && int32(c) != s.chainOf[r.node] {
			if x := n.writes[w.sources[hi]].node; s.before(r.node, x) {
				note(r.node, x)
			} else {
				note(s.rows.sink, x)
			}
		}
	}
	if initial {
		for c, p := range n.asked {
			if p > 0 {
				note(n.writes[n.by[c]].node, r.node)
				break
			}
		}
	}
}

// choice returns the variable that says that a read sees a write, which it makes if
// there is none.
func (s *Solver) choice(i, wid int32) int32 {
	if v := s.choiceVar(i, wid); v >= 0 {
		return v
	}
	e := ends{-2 - Node(i), Node(wid)}
	v := s.newVariable(e)
	s.atoms.insert(e, v)
	s.reads.list[i].made = append(s.reads.list[i].made, v)
	return v
}

// choiceVar returns the variable that says that a read sees a write, -1 if there is
// none.
func (s *Solver) choiceVar(i, wid int32) int32 {
	if len(s.reads.list[i].made) == 0 {
		return -1
	}
	return s.atoms.find(ends{-2 - Node(i), Node(wid)})
}

// arriveRead is told that a read comes before the sink.
func (s *Solver) arriveRead(i int32) bool {
	r := &s.reads.list[i]
	if r.saw >= 0 {
		return true
	}
	if r.only >= 0 {
		return s.see(i, r.only, r.guard)
	}
	s.doubt(i)
	return true
}

// doubt has a read looked at whose choices may have become fewer.
func (s *Solver) doubt(i int32) {
	n := &s.reads
	if !n.moved[i] {
		n.moved[i] = true
		n.dirty = append(n.dirty, i)
	}
}

// lookAtDoubtful looks at reads whose choices may have become fewer.
func (s *Solver) lookAtDoubtful() bool {
	n := &s.reads
	for len(n.dirty) > 0 {
		i := n.dirty[len(n.dirty)-1]
		n.dirty = n.dirty[:len(n.dirty)-1]
		n.moved[i] = false
		r := &n.list[i]
		if r.saw >= 0 || !s.isTrue(r.guard) {
			continue
		}
		before := len(s.trail)
		left, ok := s.examine(i)
		if !ok {
			return false
		}
		if left > 1 {
			s.activity.add(s.candidate(i))
		}
		if len(s.trail) > before {
			return true
		}
	}
	return true
}

// candidate returns the variable that stands in the heap for a read that has to choose.
func (s *Solver) candidate(i int32) int32 {
	if made := s.reads.list[i].made; len(made) > 0 {
		return made[0]
	}
	return s.choice(i, s.preferred(i))
}

// examine assigns the choice of a read if one is left. It returns how many there are,
// and false, with the conflict in clash, if there is none.
func (s *Solver) examine(i int32) (left int, ok bool) {
	n := &s.reads
	left, last := s.look(i)
	if left > 1 {
		return left, true
	}
	s.outs(i, last)
	r := &n.list[i]
	if left == 0 {
		s.clash = s.clash[:0]
		if r.guard >= 0 {
			s.clash = append(s.clash, r.guard.not())
		}
		s.proof(int32(len(s.trail)), &s.clash)
		return 0, false
	}
	p := lit(2 * s.choice(i, last))
	if s.value[p] > 0 {
		return 1, true
	}
	if len(s.marks) == 0 {
		s.assign(p, decided)
		return 1, true
	}
	note := int32(len(n.notes))
	n.notes = append(n.notes, becauseLast, int32(r.guard), int32(len(n.evidence)))
	for _, e := range n.evidence {
		n.notes = append(n.notes, int32(e.a), int32(e.b))
	}
	s.assign(p, noted-note)
	return 1, true
}

// proof appends to clause why what is in evidence is so.
func (s *Solver) proof(place int32, clause *[]lit) {
	for _, e := range s.reads.evidence {
		if e.a == -1 {
			*clause = append(*clause, lit(e.b))
		} else {
			s.path(e.a, e.b, place, clause)
		}
	}
}

// preferred returns which write a read sees by the preferred order, of those that it
// may see.
func (s *Solver) preferred(i int32) int32 {
	n := &s.reads
	r := &n.list[i]
	w := &n.wants[r.want]
	covered := s.cover(r, w)
	rank := s.lin.rank
	here := rank[r.node]
	before, after := int32(-1), int32(-1)
	open := func(wid int32) bool {
		v := s.choiceVar(i, wid)
		return v < 0 || s.value[2*v] >= 0
	}
	for c := range s.width {
		if w.at[c] == w.at[c+1] {
			continue
		}
		lo := s.sourceFrom(w, c, n.asked[c])
		hi := s.sourceAfter(w, r.node, c, lo)
		list := w.sources[lo:hi]
		m := sort.Search(len(list), func(k int) bool { return rank[n.writes[list[k]].node] > here })
		for k := m - 1; k >= 0; k-- {
			if x := list[k]; open(x) {
				if before < 0 || rank[n.writes[x].node] > rank[n.writes[before].node] {
					before = x
				}
				break
			}
		}
		for k := m; k < len(list); k++ {
			if x := list[k]; open(x) {
				if after < 0 || rank[n.writes[x].node] < rank[n.writes[after].node] {
					after = x
				}
				break
			}
		}
	}
	if initial := n.variables[w.variable].initial; before < 0 && w.initial && !covered && open(initial) {
		before = initial
	}
	if before >= 0 {
		return before
	}
	return after
}

// see makes a read see a write for a reason, and draws the conclusions.
func (s *Solver) see(i, wid int32, key lit) bool {
	n := &s.reads
	r := &n.list[i]
	r.saw, r.key = wid, key
	r.next, n.writes[wid].seer = n.writes[wid].seer, i
	n.seers = append(n.seers, i)
	w := &n.wants[r.want]
	v := &n.variables[w.variable]
	x := &n.writes[wid]
	own := s.chainOf[r.node]
	if x.node >= 0 && !s.derive(x.node, r.node, becauseSees, i, wid) {
		return false
	}
	for c := int32(0); c < int32(s.width); c++ {
		if v.at[c] == v.at[c+1] {
			continue
		}
		if !s.keepBefore(i, c) {
			return false
		}
		if c == own {
			continue
		}
		// The first write after what it sees.
		lo, hi := v.at[c], v.at[c+1]
		if x.node >= 0 {
			k, pos := int(s.chainOf[x.node]), x.pos
			for lo < hi {
				m := (lo + hi) / 2
				if s.rows.cell[int(n.writes[m].node)*s.width+k] > pos {
					hi = m
				} else {
					lo = m + 1
				}
			}
		}
		if y := s.rivalFrom(w, c, lo); y >= 0 && !s.derive(r.node, n.writes[y].node, becauseAfter, i, y) {
			return false
		}
	}
	return true
}

// keepBefore puts the last rival in a chain that comes before a read before what the read
// sees.
func (s *Solver) keepBefore(i int32, chain int32) bool {
	n := &s.reads
	r := &n.list[i]
	pos := s.rows.cell[int(r.node)*s.width+int(chain)]
	if chain == s.chainOf[r.node] {
		pos--
	}
	y := s.rivalBefore(&n.wants[r.want], chain, pos)
	return y < 0 || s.derive(n.writes[y].node, n.writes[r.saw].node, becauseBefore, i, y)
}

// readRaised is told that more of a chain comes before a read.
func (s *Solver) readRaised(i int32, chain int32, old int32) bool {
	n := &s.reads
	r := &n.list[i]
	v := &n.variables[n.wants[r.want].variable]
	if v.at[chain] == v.at[chain+1] {
		return true
	}
	if r.saw < 0 {
		if s.isTrue(r.guard) {
			s.doubt(i)
		}
		return true
	}
	return s.keepBefore(i, chain)
}

// writeRaised is told that the nodes of a chain from old to now have come to be before
// a write: it comes after the reads of those of them that are overwritten by it.
func (s *Solver) writeRaised(y, variable, chain, old, now int32) bool {
	n := &s.reads
	v := &n.variables[variable]
	me := &n.writes[y]
	for x := s.writesFrom(v, chain, old); x < v.at[chain+1] && n.writes[x].pos < now; x++ {
		for i := n.writes[x].seer; i >= 0; i = n.list[i].next {
			r := &n.list[i]
			if r.node == me.node || n.wants[r.want].accepts(me.value) {
				continue
			}
			if !s.derive(r.node, me.node, becauseAfter, i, y) {
				return false
			}
		}
	}
	return true
}

// unsee takes back what reads see, down to so many of them.
func (s *Solver) unsee(seers int32) {
	n := &s.reads
	for k := len(n.seers) - 1; k >= int(seers); k-- {
		r := &n.list[n.seers[k]]
		n.writes[r.saw].seer = r.next
		r.saw = -1
	}
	n.seers = n.seers[:seers]
}

// pick returns the choice to decide for a read whose choice v has come up, noLit if it
// needs none. It reports true besides if there was something to conclude instead.
func (s *Solver) pick(v int32) (p lit, again bool) {
	n := &s.reads
	i := int32(-2 - s.atoms.ends[v].low)
	r := &n.list[i]
	if r.saw >= 0 || !s.isTrue(r.guard) {
		return noLit, false
	}
	left, ok := s.examine(i)
	if !ok {
		s.stuck = true
		return noLit, true
	}
	if left == 1 {
		return noLit, true
	}
	return lit(2 * s.choice(i, s.preferred(i))), false
}

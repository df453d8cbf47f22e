package order

import (
	"fmt"
	"math"
	"slices"

	"github.com/heisen-go/heisen"
)

// Variable is a variable that nodes write and read; see NewVariable.
type Variable int32

// Write is the write of a value to a variable by a node.
type Write struct {
	Node  Node
	Value int32
}

// reads holds the constraints of AddRead and their state in the search.
type reads struct {
	variables []variable
	writes    []write // per variable: its initial value, then its writes by node
	sets      []valueSet
	list      []read
	first     map[valueOf]int32 // the first write of a value
	known     map[valueOf]int32 // the want of one value
	pool      []int32           // memory of the slices of sets

	activity activity // the reads whose source may have to be decided

	bound   []int32 // reads that see a write, in the order in which they came to
	queue   []int32 // reads whose choices may have become fewer
	queued  []bool  // by read: it is one of these
	covered []int32 // see cover
	by      []int32
	proof   []fact // scratch: why choices are out
}

type valueOf struct {
	variable Variable
	value    int32
}

// variable has the indices of the writes of a Variable in reads.writes.
type variable struct {
	initial int32   // index of its initial value
	at      []int32 // by chain its first write; and one more
}

// write is a Write, or the initial value of a variable, which has a negative node.
type write struct {
	node   Node
	pos    int32
	value  int32
	before int32 // last earlier write of another value in the chain, or an index before its first write
	after  int32 // first later write of another value in the chain, or an index after its last write
	same   int32 // next write of the same value to the variable, or -1
	reader int32 // latest read whose source it became, or -1
}

// valueSet is a set of values that reads of a variable may read. The writes of these values are the
// sources of the reads, the other writes their rivals.
type valueSet struct {
	variable Variable
	values   []int32
	initial  bool    // the initial value is one of them
	sources  []int32 // the writes of these values
	at       []int32 // by chain its first source; and one more
}

// read is a constraint of AddRead.
type read struct {
	node       Node
	set        int32
	guard      lit     // it comes before the goal, or always
	only       int32   // its only possible source when it was added, -1 if there are several
	choices    []int32 // choice variables; see choice
	source     int32   // the write that it reads, -1 if undecided
	cause      lit     // the literal that implies the source: a choice, or the guard
	nextReader int32   // previous read of the same source
}

// NewVariable makes a variable with its initial value and all writes to it, at most one per node.
// Values are only compared for equality. The error wraps ErrNode or ErrSize.
func (s *Solver) NewVariable(initial int32, writes ...Write) (Variable, error) {
	if s.zero() {
		return 0, heisen.ErrZero
	}
	list := slices.Clone(writes)
	slices.SortFunc(list, func(a, b Write) int { return int(a.Node) - int(b.Node) })
	for i, w := range list {
		if w.Node < 0 || int(w.Node) >= len(s.chainOf) || w.Node == s.rows.goal {
			return 0, fmt.Errorf("a write by node %d: %w", w.Node, ErrNode)
		}
		if i > 0 && list[i-1].Node == w.Node {
			return 0, fmt.Errorf("a variable: %w: node %d writes it twice", ErrNode, w.Node)
		}
	}
	n := &s.reads
	if len(list) >= math.MaxInt32-len(n.writes)-1 {
		return 0, fmt.Errorf("%w: %d writes", ErrSize, len(n.writes)+len(list))
	}
	if n.first == nil {
		n.first, n.known = map[valueOf]int32{}, map[valueOf]int32{}
		n.activity.least = leastActivity
		n.covered, n.by = make([]int32, s.width), make([]int32, s.width)
	}
	v := variable{initial: int32(len(n.writes)), at: make([]int32, s.width+1)}
	n.writes = append(n.writes, write{node: -1, pos: -1, value: initial, same: -1, reader: -1})
	k := 0
	for c := range s.width {
		from := int32(len(n.writes))
		v.at[c] = from
		for ; k < len(list) && int(s.chainOf[list[k].Node]) == c; k++ {
			i := int32(len(n.writes))
			w := write{node: list[k].Node, pos: s.posOf[list[k].Node], value: list[k].Value, before: i - 1, reader: -1}
			if i > from && n.writes[i-1].value == w.value {
				w.before = n.writes[i-1].before
			}
			n.writes = append(n.writes, w)
			s.addRole(w.node, role{kind: roleWrite, index: i, variable: Variable(len(n.variables))})
		}
		for i := int32(len(n.writes)) - 1; i >= from; i-- {
			w := &n.writes[i]
			w.after = i + 1
			if int(i)+1 < len(n.writes) && n.writes[i+1].value == w.value {
				w.after = n.writes[i+1].after
			}
		}
	}
	v.at[s.width] = int32(len(n.writes))
	n.variables = append(n.variables, v)
	id := Variable(len(n.variables) - 1)
	for i := int32(len(n.writes)) - 1; i > v.initial; i-- {
		value := valueOf{id, n.writes[i].value}
		n.writes[i].same = -1
		if next, ok := n.first[value]; ok {
			n.writes[i].same = next
		}
		n.first[value] = i
	}
	return id, nil
}

// AddRead requires that a node reads one of the values from a variable: the last write to the
// variable before the node, other than the node's own, writes one of the values; if there is no
// such write, the initial value is one of them. If the solver has a goal, the constraint applies
// only if the node comes before it.
//
// AddRead may be called between calls of Solve, but not from a check. It is cheapest after all
// calls of Require. Memory is proportional to the number of writes of the variable for each
// distinct set of values; no clauses are made. The error wraps ErrNode.
func (s *Solver) AddRead(v Variable, node Node, values ...int32) error {
	if s.zero() {
		return heisen.ErrZero
	}
	n := &s.reads
	switch {
	case v < 0 || int(v) >= len(n.variables):
		return fmt.Errorf("a read of variable %d: %w", v, ErrNode)
	case node < 0 || int(node) >= len(s.chainOf) || node == s.rows.goal:
		return fmt.Errorf("a read by node %d: %w", node, ErrNode)
	case s.unsat:
		return nil
	}
	guard := s.guard(node)
	if guard == never {
		return nil
	}
	i := int32(len(n.list))
	n.list = append(n.list, read{node: node, set: s.valueSetOf(v, values), guard: guard, only: -1, source: -1})
	n.queued = append(n.queued, false)
	n.activity.newVariable()
	s.addRole(node, role{kind: roleRead, index: i})
	if s.countChoices(i) == 1 {
		n.list[i].only = s.anyChoice(i)
	}
	if s.active(guard) && !s.readActivated(i) || !s.propagate() {
		s.unsat = true
	}
	return nil
}

// valueSetOf returns the value set of reads of a variable that may read some values.
func (s *Solver) valueSetOf(v Variable, values []int32) int32 {
	n := &s.reads
	id := int32(len(n.sets))
	if len(values) == 1 {
		if id, ok := n.known[valueOf{v, values[0]}]; ok {
			return id
		}
		n.known[valueOf{v, values[0]}] = id
	}
	w := valueSet{variable: v}
	w.values = slices.Clone(values)
	slices.Sort(w.values)
	w.values = slices.Compact(w.values)
	w.initial = w.accepts(n.writes[n.variables[v].initial].value)
	from := len(n.pool)
	for _, x := range w.values {
		if i, ok := n.first[valueOf{v, x}]; ok {
			for ; i >= 0; i = n.writes[i].same {
				n.pool = append(n.pool, i)
			}
		}
	}
	to := len(n.pool)
	w.sources = n.pool[from:to:to]
	slices.Sort(w.sources)
	k := 0
	for c := range s.width {
		for k < len(w.sources) && w.sources[k] < n.variables[v].at[c] {
			k++
		}
		n.pool = append(n.pool, int32(k))
	}
	n.pool = append(n.pool, int32(len(w.sources)))
	w.at = n.pool[to:len(n.pool):len(n.pool)]
	n.sets = append(n.sets, w)
	return id
}

func (w *valueSet) accepts(value int32) bool {
	for _, v := range w.values {
		if v == value {
			return true
		}
	}
	return false
}

// choice returns the choice variable of a read and a write. The literal means that the write comes
// before the read and no rival comes between them. That can hold for several writes. choice makes
// the variable if there is none.
func (s *Solver) choice(i, x int32) int32 {
	v := s.choiceOf(i, x)
	if v < 0 {
		e := pair{firstChoice - Node(i), Node(x)}
		v = s.newVariable(e)
		s.atoms.insert(e, v)
		s.reads.list[i].choices = append(s.reads.list[i].choices, v)
	}
	return v
}

// choiceOf returns the choice variable of a read and a write, or -1.
func (s *Solver) choiceOf(i, x int32) int32 {
	if len(s.reads.list[i].choices) == 0 {
		return -1
	}
	return s.atoms.find(pair{firstChoice - Node(i), Node(x)})
}

// chosen returns the read and the write of a choice variable. The read is negative if the variable
// is no choice.
func (e pair) chosen() (read, write int32) { return int32(firstChoice - e.low), int32(e.high) }

// firstChoice is the lower end of the choices of read 0; those of read i have firstChoice-i. The
// upper end is the write.
const firstChoice Node = -2

// writeFrom returns the first write to a variable in a chain at a position or after it.
func (s *Solver) writeFrom(v *variable, chain, from int32) int32 {
	lo, hi := v.at[chain], v.at[chain+1]
	for lo < hi {
		if m := int32(uint32(lo+hi) >> 1); s.reads.writes[m].pos < from {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// rivalBefore returns the last rival in a chain before a position, or -1.
func (s *Solver) rivalBefore(w *valueSet, chain, pos int32) int32 {
	n := &s.reads
	v := &n.variables[w.variable]
	i := s.writeFrom(v, chain, pos) - 1
	for i >= v.at[chain] && w.accepts(n.writes[i].value) {
		i = n.writes[i].before
	}
	if i < v.at[chain] {
		return -1
	}
	return i
}

// rivalAfter returns the first rival in a chain that comes after a write or after the goal, or -1.
func (s *Solver) rivalAfter(w *valueSet, chain, x int32) int32 {
	n := &s.reads
	v := &n.variables[w.variable]
	lo, end := v.at[chain], v.at[chain+1]
	if from := n.writes[x].node; from >= 0 {
		k, pos := int(s.chainOf[from]), n.writes[x].pos
		for hi := end; lo < hi; {
			m := int32(uint32(lo+hi) >> 1)
			if y := n.writes[m].node; s.rows.cell[int(y)*s.width+k] > pos || s.afterGoal(y) {
				hi = m
			} else {
				lo = m + 1
			}
		}
	}
	for lo < end && w.accepts(n.writes[lo].value) {
		lo = n.writes[lo].after
	}
	if lo >= end {
		return -1
	}
	return lo
}

// afterGoal reports whether a node comes after the goal.
func (s *Solver) afterGoal(n Node) bool {
	return s.rows.goal >= 0 && s.rows.cell[s.rows.after+int(s.chainOf[n])] <= s.posOf[n]
}

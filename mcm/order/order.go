package order

import (
	"errors"
	"fmt"
	"math"
)

// Node is an event. Nodes are numbered chain after chain: the first chain's
// nodes are 0, 1, 2 and so on in their order, then come the second chain's. A
// negative Node is an end of a boolean, see Solver.NewBool.
type Node int32

// Lit says that Before comes before After. The order is total, so the negation
// says that After comes before Before; a node is never compared with itself.
type Lit struct{ Before, After Node }

// Not returns the negation of l.
func (l Lit) Not() Lit { return Lit{l.After, l.Before} }

// Verdict is the answer of Solve.
type Verdict uint8

const (
	// Unknown says that the budget was spent before there was an answer.
	Unknown Verdict = iota
	// Yes says that there is an order; Solver.Order returns it.
	Yes
	// No says that there is none; Solver.Failed returns why.
	No
)

// String returns "unknown", "yes" or "no".
func (v Verdict) String() string {
	switch v {
	case Yes:
		return "yes"
	case No:
		return "no"
	}
	return "unknown"
}

// Errors that this package's functions wrap.
var (
	// ErrNode is wrapped when a node or boolean does not exist, or a literal
	// compares a node with itself.
	ErrNode = errors.New("no such node")
	// ErrSize is wrapped when a problem does not fit into 32-bit indices.
	ErrSize = errors.New("too large")
	// ErrCheck is wrapped when a check returns only clauses that hold.
	ErrCheck = errors.New("check returned no violated clause")
	// ErrOption is wrapped when an option's value makes no sense.
	ErrOption = errors.New("invalid option")
)

// Stats counts what a Solver has done since it was made.
type Stats struct {
	Solves       int64 // calls of Solve
	Decisions    int64
	Conflicts    int64
	Propagations int64 // literals propagated and row cells raised: what budgets count
	Raised       int64 // of these, row cells
	Restarts     int64
	Candidates   int64 // orders that were built and, if there was a check, shown to it
	Explained    int64 // paths searched for explanations
	Learned      int64 // clauses learned
	LearnedLits  int64 // literals in them, after minimisation
	Minimised    int64 // literals that minimisation removed
	Deleted      int64 // learned clauses deleted again

	Atoms   int // pairs of nodes, and booleans, that clauses and assumptions speak of
	Clauses int // permanent clauses that are kept, without those of one literal
	Kept    int // learned clauses that are there now
}

// Solver decides whether a strict total order exists that contains the chains,
// the required edges, satisfies all clauses and a query's assumptions. It is for
// one goroutine at a time; several Solvers share nothing.
type Solver struct {
	cfg   config
	stats Stats

	// The nodes.
	chains  []int32 // length of each chain
	first   []Node  // first node of each chain
	chainOf []int32 // of each node
	posOf   []int32 // of each node, in its chain
	width   int     // number of chains: cells of a row

	rows     rows
	atoms    atoms
	clauses  clauses
	reads    reads
	sections sections
	uses     uses
	notes    notes
	repairer repairer
	activity activity
	lin      lineariser
	explain  explainer
	learn    learner

	// The assignment. A literal's value is 1 if true, -1 if false, 0 if open.
	value  []int8  // by literal
	level  []int32 // by variable, as those that follow
	reason []int32 // a clause, or one of the constants below
	place  []int32 // where on the trail
	phase  []int8  // the value that Prefer wants of the positive literal, 0 for that of the preferred order
	lax    []bool  // by literal: it holds unless there is a reason against it
	trail  []lit   // what is assigned, in order
	marks  []mark  // where on the trail, and in the other logs, each level begins
	head   int     // of the trail, this many literals were propagated through clauses
	edged  int     // and this many added to the rows
	clash  []lit   // false literals: the conflict found last
	idle   []int32 // variables that were taken from the heap
	late   []int32 // atoms that the rows may decide though they are open
	stuck  bool    // a conflict was found where there was nothing to propagate
	opened bool    // some of these may be open since the last propagation
	scaled []lit   // scratch: literals of a clause that is being added
	asked  []lit   // the assumptions
	askedL []Lit   // the same as they were given
	failed []Lit   // the assumptions that contradict each other
	found  []Node  // the order of the last Yes
	truth  []bool  // what the booleans are in the candidate or in found
	where  []int32 // places of nodes in the candidate or in found
	false0 bool    // contradictory without assumptions
	budget struct{ conflicts, propagations int64 }
	bools  []int32 // variable of each boolean
	err    error
	logged func(clause []lit) // tests see learned clauses
}

// mark is the state of the logs when a decision level began.
type mark struct{ trail, edges, cells, idle, seen, notes, facts int32 }

// Reasons other than clauses.
const (
	decided int32 = -1 // or assumed, or a fact
	implied int32 = -2 // by the rows
	noted   int32 = -3 // by a read or sections; less by the number of the note that says why
)

// New returns a Solver for nodes in chains of the given lengths; each node of a
// chain comes before the next. Memory is proportional to the number of nodes
// times the number of chains, so keep chains few.
func New(chains []int, opts ...Option) (*Solver, error) {
	s := &Solver{cfg: defaults}
	for _, o := range opts {
		if err := o(&s.cfg); err != nil {
			return nil, err
		}
	}
	nodes := 0
	for c, n := range chains {
		if n < 0 {
			return nil, fmt.Errorf("order: chain %d has length %d: %w", c, n, ErrOption)
		}
		if n >= math.MaxInt32/len(chains)-nodes {
			return nil, fmt.Errorf("order: %w: more than %d nodes in %d chains", ErrSize, nodes, len(chains))
		}
		nodes += n
	}
	nodes = 0
	for c, n := range chains {
		s.first = append(s.first, Node(nodes))
		s.chains = append(s.chains, int32(n))
		for i := range n {
			s.chainOf = append(s.chainOf, int32(c))
			s.posOf = append(s.posOf, int32(i))
		}
		nodes += n
	}
	s.width = len(chains)
	if c := s.cfg.sink; c >= 0 && (c >= len(chains) || chains[c] != 1) {
		return nil, fmt.Errorf("order: chain %d as the sink: %w: it must have one node", c, ErrOption)
	}
	s.rows.init(s)
	s.atoms.init(nodes * s.width)
	s.explain.init(s.width)
	s.lin.init(nodes, s.width)
	s.where = make([]int32, nodes)
	s.budget.conflicts, s.budget.propagations = s.cfg.conflicts, s.cfg.propagations
	s.learn.limit = s.cfg.reduceAt
	return s, nil
}

// Nodes returns the number of nodes.
func (s *Solver) Nodes() int { return len(s.chainOf) }

// At returns the node at a position, from 0, of a chain, which must exist.
func (s *Solver) At(chain, position int) Node { return s.first[chain] + Node(position) }

// Stats returns what was counted so far.
func (s *Solver) Stats() Stats {
	st := s.stats
	st.Atoms = len(s.atoms.ends)
	st.Clauses = len(s.clauses.given)
	st.Kept = len(s.clauses.learned)
	return st
}

// NewBool returns the positive literal of a new boolean. Think of two nodes that
// take part in nothing else, whose order is its value; but it costs no row.
func (s *Solver) NewBool() Lit {
	k := Node(len(s.bools))
	s.bools = append(s.bools, s.newVariable(noEnds))
	return Lit{-1 - 2*k, -2 - 2*k}
}

// Require makes a come before b from now on. It reports whether that agrees with
// all that was required and added before, as far as propagation tells; if not,
// every later Solve answers No. A node does not come before itself, nor before
// one that does not exist. It costs time proportional to what is new in the rows
// of the nodes past b.
func (s *Solver) Require(a, b Node) bool {
	switch {
	case s.valid(Lit{a, b}) != nil || a < 0:
		s.false0 = true
	case s.false0 || s.before(a, b):
	case s.before(b, a) || s.throughSink(a, b) || !s.addEdge(a, b, noLit, -1) || !s.propagate():
		s.false0 = true
	}
	return !s.false0
}

// Add adds a permanent clause: at least one of the literals holds. The empty
// clause makes every later Solve answer No. Add may be called between calls of
// Solve, not from a check, which returns its clauses.
func (s *Solver) Add(clause ...Lit) error {
	if err := s.intern(clause); err != nil {
		return err
	}
	s.insert()
	if !s.false0 && !s.propagate() {
		s.false0 = true
	}
	return nil
}

// Phase sets the preferred order: each node's place in it decides which way a
// pair is tried first, and candidates stay as close to it as they can. Nodes that
// it does not name come last, by number. It must name no node twice.
func (s *Solver) Phase(hint []Node) error {
	s.lin.reset()
	for i, n := range hint {
		if n < 0 || int(n) >= len(s.chainOf) {
			return fmt.Errorf("order: place %d of a preferred order: node %d: %w", i, n, ErrNode)
		}
		if !s.lin.name(n) {
			return fmt.Errorf("order: place %d of a preferred order: node %d: %w: twice", i, n, ErrOption)
		}
	}
	s.lin.nameRest()
	return nil
}

// Prefer makes l the way that its pair or boolean is tried first. Without it,
// pairs follow Phase. A boolean is false as long as all clauses that want it true
// hold without it, whatever is preferred; to prefer it makes it the first choice
// of such a clause.
func (s *Solver) Prefer(l Lit) error {
	if err := s.valid(l); err != nil {
		return err
	}
	if p := s.literal(l); p >= 0 {
		s.phase[p>>1] = 1 - 2*int8(p&1)
	}
	return nil
}

// Budget sets how many conflicts and how many propagations each Solve may spend,
// below 1 for no bound. Both are counts, never seconds: the same calls give the
// same answers.
func (s *Solver) Budget(conflicts, propagations int64) {
	s.budget.conflicts, s.budget.propagations = conflicts, propagations
}

// valid reports whether l names two different nodes, or a boolean.
func (s *Solver) valid(l Lit) error {
	a, b := l.Before, l.After
	if a > b {
		a, b = b, a
	}
	switch {
	case a == b, int(b) >= len(s.chainOf):
	case a >= 0:
		return nil
	case b < 0 && b == a+1 && a&1 == 0 && int(-b-1)/2 < len(s.bools):
		return nil
	}
	return fmt.Errorf("order: literal %d<%d: %w", l.Before, l.After, ErrNode)
}

// Order returns the order that the last Solve found, if its verdict was Yes. The
// slice is the caller's.
func (s *Solver) Order() []Node { return append([]Node(nil), s.found...) }

// Failed returns, if the last verdict was No, assumptions of which not all can
// hold: a subset of those given, empty if none was needed.
func (s *Solver) Failed() []Lit { return append([]Lit(nil), s.failed...) }

// Err returns why the last verdict was Unknown if not for the budget: an
// assumption, or a clause of the check, named what does not exist, or the check
// returned clauses that its candidate satisfies.
func (s *Solver) Err() error { return s.err }

// Holds reports whether l holds in the candidate, in a check, or after Yes in the
// order found. A literal that is not valid does not hold.
func (s *Solver) Holds(l Lit) bool {
	switch {
	case s.valid(l) != nil:
		return false
	case l.Before >= 0:
		return s.where[l.Before] < s.where[l.After]
	}
	k := int(-1-max(l.Before, l.After)) / 2
	return (k < len(s.truth) && s.truth[k]) == (l.Before > l.After)
}

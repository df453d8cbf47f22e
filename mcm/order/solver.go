package order

import (
	"errors"
	"fmt"
	"math"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/option"
)

// Node is an element of the order. Nodes are numbered chain by chain: the nodes of the first chain
// are 0, 1, 2 and so on in their order, then come those of the second chain. A negative Node is an
// end of a boolean; see Solver.NewBool.
type Node int32

// Lit is a literal: Before comes before After. The order is total, so the negation says that After
// comes before Before. The two nodes differ.
type Lit struct{ Before, After Node }

// Not returns the negation of l.
func (l Lit) Not() Lit { return Lit{l.After, l.Before} }

// String returns the literal as "3<5": node 3 comes before node 5. The nodes of a boolean, which are
// negative, make it "b0" or, negated, "!b0".
func (l Lit) String() string {
	positive := max(l.Before, l.After)
	k := int(-1-positive) / 2
	switch {
	case positive < 0 && l == Bool(k):
		return fmt.Sprintf("b%d", k)
	case positive < 0 && l == Bool(k).Not():
		return fmt.Sprintf("!b%d", k)
	}
	return fmt.Sprintf("%d<%d", l.Before, l.After)
}

// Result is the result of Solve.
type Result uint8

const (
	// Unknown means that the budget was spent, or that Solve returned an error.
	Unknown Result = iota
	// Sat means that an order exists. Solver.Order returns it.
	Sat
	// Unsat means that no order exists. Solver.Failed returns the assumptions that took part.
	Unsat
)

// String returns "unknown", "sat" or "unsat".
func (r Result) String() string {
	switch r {
	case Sat:
		return "sat"
	case Unsat:
		return "unsat"
	}
	return "unknown"
}

// Errors that the errors of this package wrap, besides heisen.ErrOption and heisen.ErrZero.
var (
	// ErrNode means that a node, boolean or variable does not exist, that a literal compares a
	// node with itself, or that a list names a node twice.
	ErrNode = errors.New("no such node")
	// ErrSize means that a problem does not fit into 32-bit indices.
	ErrSize = errors.New("too large")
	// ErrCheck means that a check returned only clauses that its candidate satisfies.
	ErrCheck = errors.New("check returned no violated clause")
)

// Stats counts what a Solver has done since it was made.
type Stats struct {
	Solves         int64 // calls of Solve
	Decisions      int64
	Conflicts      int64
	Propagations   int64 // literals propagated and row cells raised; the budget counts these
	RowCells       int64 // row cells raised, a part of Propagations
	Restarts       int64
	Candidates     int64 // candidates built
	Explanations   int64 // paths searched to explain literals
	LearnedClauses int64 // clauses learned
	LearnedLits    int64 // their literals, after minimization
	Minimized      int64 // literals removed by minimization
	DeletedClauses int64 // learned clauses deleted

	Atoms       int // variables: pairs of nodes, booleans and choices of reads
	Clauses     int // permanent clauses of at least two literals
	KeptClauses int // learned clauses not deleted
}

// Solver decides whether a strict total order exists that satisfies the constraints added so far
// and the assumptions of a query. A Solver is for one goroutine at a time. Solvers share nothing.
type Solver struct {
	cfg   config
	stats Stats

	// The nodes.
	chains  []int32 // length of each chain
	first   []Node  // first node of each chain
	chainOf []int32 // of each node
	posOf   []int32 // of each node: position in its chain
	width   int     // number of chains, which is the number of cells of a row

	rows     rows
	atoms    atoms
	clauses  clauses
	reads    reads
	sections sections
	roles    roles
	notes    notes
	repairer repairer
	activity activity
	lin      linearizer
	explain  explainer
	learn    learner

	// The assignment. The value of a literal is 1 for true, -1 for false, 0 for unassigned.
	value    []int8  // by literal
	level    []int32 // by variable
	reason   []int32 // by variable: a clause, or one of the constants below
	trailPos []int32 // by variable: position on the trail
	phase    []int8  // by variable: value that the positive literal prefers, 0 for the preferred order
	presumed []bool  // by literal: counts as true while it is unassigned

	trail           []lit        // assigned literals, in order
	levels          []levelStart // by level
	clauseHead      int          // number of trail literals that were propagated through clauses
	edgeHead        int          // number of trail literals that were propagated through the rows
	conflict        []lit        // the last conflict: literals that are all false
	pendingConflict bool         // the conflict was found outside of propagate
	backtracked     bool         // late atoms may be unassigned since the last propagate
	idle            []int32      // variables that were removed from the heap
	late            []int32      // atoms that the rows may decide although they are unassigned
	clause          []lit        // the clause that is being added
	unsat           bool         // contradictory without assumptions

	// The current query and its result.
	assumptions      []lit
	givenAssumptions []Lit // the same as the caller passed them
	failed           []Lit
	found            []Node  // the order, after Sat
	truth            []bool  // values of the booleans in the candidate or the order found
	position         []int32 // by node: position in the candidate or the order found
	budget           struct{ conflicts, propagations int64 }

	bools  []int32            // variable of each boolean
	logged func(clause []lit) // called with each learned clause, by tests
}

// levelStart has the lengths of the logs when a decision level began.
type levelStart struct{ trail, edges, cells, idle, seen, notes, facts int32 }

// Reasons other than clauses, which are not negative.
const (
	reasonDecision int32 = -1 // a decision, an assumption, or a fact of level 0
	reasonRows     int32 = -2 // implied by the rows
	reasonRule     int32 = -3 // minus the index of a note: implied by a rule of reads or critical sections
)

// NewSolver returns a Solver for nodes in chains of the given lengths. Each node of a chain comes
// before the next node of the chain. Memory is proportional to the number of nodes times the number
// of chains.
//
// The error wraps heisen.ErrOption or ErrSize.
func NewSolver(chains []int, opts ...Option) (*Solver, error) {
	s := &Solver{cfg: defaults}
	if err := option.Apply("order.NewSolver", &s.cfg, opts); err != nil {
		return nil, err
	}
	nodes, err := countNodes(chains)
	if err != nil {
		return nil, fmt.Errorf("order.NewSolver: %w", err)
	}
	for c, n := range chains {
		s.first = append(s.first, Node(len(s.chainOf)))
		s.chains = append(s.chains, int32(n))
		for i := range n {
			s.chainOf = append(s.chainOf, int32(c))
			s.posOf = append(s.posOf, int32(i))
		}
	}
	s.width = len(chains)
	if c := s.cfg.goal; c >= len(chains) || c >= 0 && chains[c] != 1 {
		return nil, fmt.Errorf("order.NewSolver: %w", option.Errorf("WithGoalChain: chain %d does not exist or has not 1 node", c))
	}
	s.rows.init(s)
	s.atoms.init(nodes * s.width)
	s.explain.init(s.width)
	s.lin.init(nodes, s.width)
	s.position = make([]int32, nodes)
	s.budget.conflicts, s.budget.propagations = s.cfg.conflicts, s.cfg.propagations
	s.learn.limit = s.cfg.reduceAt
	return s, nil
}

// countNodes returns the number of nodes in chains, unless they are too many for a Solver.
func countNodes(chains []int) (nodes int, err error) {
	for c, n := range chains {
		if n < 0 {
			return 0, option.Errorf("chain %d has length %d, want at least 0", c, n)
		}
		if bound := math.MaxInt32/len(chains) - 1; n > bound-nodes {
			return 0, fmt.Errorf("%w: chain %d of length %d makes more than %d nodes, the most of %d chains",
				ErrSize, c, n, bound, len(chains))
		}
		nodes += n
	}
	return nodes, nil
}

// zero reports whether s was not made by NewSolver.
func (s *Solver) zero() bool { return s.atoms.slots == nil }

// Nodes returns the number of nodes.
func (s *Solver) Nodes() int {
	return len(s.chainOf)
}

// Node returns the node at a position of a chain, both from 0. It returns -1, which no literal
// accepts, if there is no such node.
func (s *Solver) Node(chain, position int) Node {
	if chain < 0 || chain >= len(s.chains) || position < 0 || position >= int(s.chains[chain]) {
		return -1
	}
	return s.first[chain] + Node(position)
}

// Stats returns the statistics of all calls so far.
func (s *Solver) Stats() Stats {
	st := s.stats
	st.Atoms = len(s.atoms.pairs)
	st.Clauses = len(s.clauses.given)
	st.KeptClauses = len(s.clauses.learned)
	return st
}

// NewBool returns the positive literal of a new boolean. It stands for the order of two extra nodes
// that occur nowhere else. It needs no row.
func (s *Solver) NewBool() Lit {
	if s.zero() {
		return Lit{}
	}
	k := len(s.bools)
	s.bools = append(s.bools, s.newVariable(noPair))
	return Bool(k)
}

// Require makes a come before b from now on. If that contradicts what was required and added before,
// every later Solve returns Unsat. The cost is proportional to the row cells that change; see the
// package documentation. The error wraps ErrNode, also if a is b; nothing is required then.
func (s *Solver) Require(a, b Node) error {
	if s.zero() {
		return heisen.ErrZero
	}
	if err := s.valid(Lit{a, b}); err != nil {
		return err
	}
	if a < 0 { // a boolean
		return fmt.Errorf("node %d: %w", a, ErrNode)
	}
	s.require(a, b)
	return nil
}

// require is Require of valid nodes. It reports whether propagation finds no contradiction.
func (s *Solver) require(a, b Node) bool {
	switch {
	case s.unsat || s.before(a, b):
	case s.before(b, a) || s.throughGoal(a, b) || !s.addEdge(a, b, noLit, -1) || !s.propagate():
		s.unsat = true
	}
	return !s.unsat
}

// Add adds a permanent clause: at least one of the literals holds. After the empty clause every
// Solve returns Unsat. Add may be called between calls of Solve. It must not be called from a
// check, which returns its clauses instead. The error wraps ErrNode.
func (s *Solver) Add(clause ...Lit) error {
	if s.zero() {
		return heisen.ErrZero
	}
	if err := s.intern(clause); err != nil {
		return err
	}
	s.insert()
	if !s.unsat && !s.propagate() {
		s.unsat = true
	}
	return nil
}

// PreferOrder sets the preferred order. The search first tries each pair in this order, and
// candidates stay close to it. Nodes that the list does not name come last, by number. The error
// wraps ErrNode, also for a node that is named twice, or ErrZero; the preferred order is as before
// then.
func (s *Solver) PreferOrder(nodes []Node) error {
	if s.zero() {
		return heisen.ErrZero
	}
	named := make([]bool, len(s.chainOf))
	for i, n := range nodes {
		if n < 0 || int(n) >= len(named) {
			return fmt.Errorf("preferred order, position %d: node %d: %w", i, n, ErrNode)
		}
		if named[n] {
			return fmt.Errorf("preferred order, position %d: %w: node %d occurs twice", i, ErrNode, n)
		}
		named[n] = true
	}
	s.lin.prefer(nodes)
	return nil
}

// Prefer makes the search try l before its negation. The default for a
// pair is the preferred order. A boolean stays false while every clause with its positive literal
// holds otherwise; if a clause does not, a preferred positive literal is tried before the other
// literals of the clause. The error wraps ErrNode.
func (s *Solver) Prefer(l Lit) error {
	if s.zero() {
		return heisen.ErrZero
	}
	if err := s.valid(l); err != nil {
		return err
	}
	if p := s.literal(l); p >= 0 {
		s.phase[p>>1] = 1 - 2*int8(p&1)
	}
	return nil
}

// SetBudget bounds the conflicts and the propagations of each later Solve. Values below 1 mean no
// bound.
func (s *Solver) SetBudget(conflicts, propagations int64) {
	s.budget.conflicts, s.budget.propagations = conflicts, propagations
}

// valid reports whether l names two different nodes, or a boolean.
func (s *Solver) valid(l Lit) error { return l.check(len(s.chainOf), len(s.bools)) }

// check returns an error unless l names two different nodes, or a boolean, of a problem with so many.
func (l Lit) check(nodes, bools int) error {
	a, b := l.Before, l.After
	if a > b {
		a, b = b, a
	}
	switch {
	case a == b, int(b) >= nodes:
	case a >= 0:
		return nil
	case b < 0 && b == a+1 && a&1 == 0 && int(-b-1)/2 < bools:
		return nil
	}
	return fmt.Errorf("literal %v: %w", l, ErrNode)
}

// Order returns a copy of the order that the last Solve found. It is empty unless that returned
// Sat.
func (s *Solver) Order() []Node {
	return append([]Node(nil), s.found...)
}

// Failed returns a copy of the failed assumptions: a subset of the last assumptions that cannot all
// hold. It is empty if the last Solve did not return Unsat, or if that needed no assumption.
func (s *Solver) Failed() []Lit {
	return append([]Lit(nil), s.failed...)
}

// Holds reports whether l holds: during a check, in the candidate; after Solve returned Sat, in the
// order found. An invalid literal does not hold.
func (s *Solver) Holds(l Lit) bool {
	switch {
	case s.zero() || s.valid(l) != nil:
		return false
	case l.Before >= 0:
		return s.position[l.Before] < s.position[l.After]
	}
	k := int(-1-max(l.Before, l.After)) / 2
	return (k < len(s.truth) && s.truth[k]) == (l.Before > l.After)
}

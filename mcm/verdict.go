package mcm

// Verdict is the answer to a query.
type Verdict uint8

const (
	// Unknown means that the query's budget was spent.
	Unknown Verdict = iota
	// Possible means that there is a witness.
	Possible
	// Impossible means that no feasible reordering of the window shows the bug.
	Impossible
)

// String returns the verdict in lower case.
func (v Verdict) String() string {
	switch v {
	case Possible:
		return "possible"
	case Impossible:
		return "impossible"
	}
	return "unknown"
}

// Stats counts queries by the stage that answered them.
type Stats struct {
	Queries    int // all queries
	Edges      int // impossible because of edges that every feasible reordering has
	Preserving int // possible in the observed order: sync-preserving
	Closure    int // impossible by the closure of must-happen-before edges
	Greedy     int // possible by a greedy schedule
	Explored   int // possible by a search among states
	Exhausted  int // impossible by a search among all states
	Solved     int // possible by the solver
	Refuted    int // impossible by the solver
	Unknown    int // not answered within the budget
}

// Add adds the counts of o.
func (s *Stats) Add(o Stats) {
	s.Queries += o.Queries
	s.Edges += o.Edges
	s.Preserving += o.Preserving
	s.Closure += o.Closure
	s.Greedy += o.Greedy
	s.Explored += o.Explored
	s.Exhausted += o.Exhausted
	s.Solved += o.Solved
	s.Refuted += o.Refuted
	s.Unknown += o.Unknown
}

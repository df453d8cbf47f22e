package mcm

// Verdict is the answer to a question.
type Verdict uint8

const (
	// Unknown: the budget was spent.
	Unknown Verdict = iota
	// Possible: there is a witness.
	Possible
	// Impossible: no order of the window's events has it.
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

// Stats says how many questions were answered by which stage.
type Stats struct {
	Questions  int // all of them
	Edges      int // impossible by what comes before what in any case
	Preserving int // possible in the observed order
	Closure    int // impossible by what follows from locks and reads
	Greedy     int // possible by a greedy schedule
	Explored   int // possible by a search among schedules
	Exhausted  int // impossible by a search among all of them
	Solved     int // by the solver: possible
	Refuted    int // by the solver: impossible
	Unknown    int // the budget was spent
}

// Add adds the counts of o.
func (s *Stats) Add(o Stats) {
	s.Questions += o.Questions
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

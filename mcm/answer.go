package mcm

import (
	"math"

	"github.com/heisen-go/heisen/mcm/order"
)

// solving is what answering questions takes.
type solving struct {
	m       *Model
	closure *closure
	sim     *simulation
	explore *explorer   // made when it is needed
	lazy    *simulation // for the solver
	solver  *order.Solver
	usual   account // of questions to the solver, and of those that it may spend more on
	special account
	many    bool                // reads have many choices
	grid    *grid               // made when it is needed, and gone through
	gridded bool                // it was, or cannot be
	ahead   *ahead              // made when it is needed
	vain    int                 // by how many more states it has looked at without an answer than with one
	sweep   *sweep              // made when it is needed
	swept   bool                // it was made, or cannot be
	backed  int                 // states that it has looked at with a thread held back
	reaches []*reach            // by thread, made when they are needed
	reached int                 // states that these have looked at
	walls   map[[2]int32][]wall // by threads: of who waits, and of who does not get past

	prefix     []int32
	nodes      []order.Node
	next, wait []int32
	waitFor    []int32
	last       []order.Node
	pending    []int32
	initial    []int32
	open       [][]int32
}

func newSolving(m *Model) *solving {
	width := len(m.base) - 1
	sets := newValueSets(m)
	return &solving{
		m: m, closure: newClosure(m, sets), sim: newSimulation(m, sets), lazy: newSimulation(m, sets),
		prefix: make([]int32, width), next: make([]int32, width), wait: make([]int32, width), waitFor: make([]int32, width),
		last: make([]order.Node, len(m.cells)), walls: map[[2]int32][]wall{}, initial: make([]int32, len(m.cells)), pending: make([]int32, m.goal),
		open: make([][]int32, len(m.locks)), many: m.searched || m.choices(),
	}
}

// answer answers a question. A witness is the nodes up to the goal, valid until the
// next call.
func (m *Model) answer(q *query) (verdict Verdict, nodes []order.Node, err error) {
	if m.solving == nil {
		m.solving = newSolving(m)
	}
	s := m.solving
	m.stats.Questions++
	defer func() {
		if verdict == Unknown {
			m.stats.Unknown++
		}
	}()
	if m.held > 0 {
		if verdict, nodes = s.heldBack(q, m.held); verdict != Unknown {
			return verdict, nodes, nil
		}
	}
	if m.gridded {
		if verdict, nodes = s.gridFor(q); verdict != Unknown {
			return verdict, nodes, nil
		}
	}
	if m.ahead > 0 {
		if verdict, nodes = s.aheadFor(q, m.ahead, math.MaxInt); verdict != Unknown {
			return verdict, nodes, nil
		}
	}
	if m.swept > 0 {
		if verdict, nodes = s.sweepFor(q, m.swept, true); verdict != Unknown {
			return verdict, nodes, nil
		}
	}
	if m.states > 0 {
		at := s.closure.mark()
		defer s.closure.undo(at)
		if !s.closure.ask(q) || m.closed && !s.closure.saturate() {
			return Impossible, nil, nil
		}
		if verdict, nodes := s.explorer().all(q, m.states); verdict == Impossible || verdict == Possible && len(s.sim.violated(nodes)) == 0 {
			return verdict, nodes, nil
		}
	} else if !m.slow {
		if verdict, nodes = s.known(q); verdict != Unknown {
			return verdict, nodes, nil
		}
		at := s.closure.mark()
		defer s.closure.undo(at)
		if !s.closure.ask(q) {
			m.stats.Edges++
			return Impossible, nil, nil
		}
		if nodes := s.preserving(q); nodes != nil && len(s.sim.violated(nodes)) == 0 {
			m.stats.Preserving++
			return Possible, nodes, nil
		}
		if !s.closure.saturate() {
			m.stats.Closure++
			return Impossible, nil, nil
		}
		if nodes := s.schedule(); nodes != nil {
			m.stats.Greedy++
			return Possible, nodes, nil
		}
		if m.soft {
			return s.alternate(q)
		}
	}
	return s.solve(q, 1)
}

// explorer returns the search among schedules.
func (s *solving) explorer() *explorer {
	if s.explore == nil {
		s.explore = newExplorer(s.m, s.closure)
	}
	return s.explore
}

// alternate asks those in turn who are good at different questions: the search among
// schedules is fast where reads have many choices, the solver where they have few and
// locks and edges leave little. First each may spend a part of a question's budget.
// What all questions may spend together is bounded; but a look near at hand, where
// most answers are, is what each question adds, unless a sweep has held its thread back; and a
// short course, along which accesses that are far apart meet. A long one is looked for if these
// are no help.
func (s *solving) alternate(q *query) (verdict Verdict, nodes []order.Node, err error) {
	m, x := s.m, s.explorer()
	states := statesPerConflict * m.conflicts
	if !s.many {
		if verdict, nodes, err = s.solve(q, 4); verdict != Unknown || err != nil {
			return verdict, nodes, err
		}
	}
	all := questionsPerWindow * states
	spent := x.looked + x.nearby + s.reached
	if s.ahead != nil {
		spent += s.ahead.looked
	}
	if spent > all/4 { // there are many questions, and not easy ones
		if verdict, nodes = s.gridFor(q); verdict != Unknown {
			return verdict, nodes, nil
		}
		if verdict, nodes = s.sweepFor(q, sweepPerQuestion*states, false); verdict != Unknown {
			return verdict, nodes, nil
		}
	}
	if verdict, nodes = s.aheadFor(q, 0, all+m.stats.Questions*states/20); verdict != Unknown {
		return verdict, nodes, nil
	}
	if verdict, nodes = s.nearFor(q, states/glancePart); verdict != Unknown {
		return verdict, nodes, nil
	}
	if s.reached < all+m.stats.Questions*states/20 {
		if verdict, nodes := s.heldBack(q, states/lookPart); verdict != Unknown {
			return verdict, nodes, nil
		}
	}
	if verdict, nodes = s.aheadFor(q, sweepPerQuestion*states, all+m.stats.Questions*states/20); verdict != Unknown {
		return verdict, nodes, nil
	}
	if s.many {
		s.forget()
		if verdict, nodes, err = s.solve(q, 1); verdict != Unknown || err != nil {
			return verdict, nodes, err
		}
	}
	if verdict, nodes = s.backFor(q, fewParts); verdict != Unknown {
		return verdict, nodes, nil
	}
	if verdict, nodes = s.nearFor(q, states/lookPart); verdict != Unknown {
		return verdict, nodes, nil
	}
	for _, part := range [...]int{4, 1} {
		if x.looked < all && !(x.exact && q.race() && x.looked > all/8) {
			switch verdict, nodes = x.all(q, states/(part*part*part)); {
			case verdict == Impossible:
				m.stats.Exhausted++
				return verdict, nil, nil
			case verdict == Possible && len(s.sim.violated(nodes)) == 0:
				m.stats.Explored++
				return verdict, nodes, nil
			}
		}
		if part == 1 || s.many {
			if verdict, nodes, err = s.solve(q, part); verdict != Unknown || err != nil {
				return verdict, nodes, err
			}
		}
	}
	return s.finally(q)
}

// By how much fewer states a look near at hand may look at than a question, at first and later.
const (
	glancePart = 128
	lookPart   = 8
)

// nearFor looks for an answer near at hand, unless so many states have been looked at there as may
// be for all questions.
func (s *solving) nearFor(q *query, states int) (Verdict, []order.Node) {
	m, x := s.m, s.explorer()
	each := statesPerConflict * m.conflicts
	if x.nearby >= questionsPerWindow*each+m.stats.Questions*each/20 || s.stalled(q) {
		return Unknown, nil
	}
	nodes := x.near(q, states)
	if nodes == nil || len(s.sim.violated(nodes)) > 0 {
		return Unknown, nil
	}
	m.stats.Explored++
	s.lead(nodes)
	return Possible, nodes
}

// finally looks for an answer that nothing else has found. It asks the solver, which may spend more
// than before; then it goes ways that cost more than a question may, for they serve all questions:
// in a grid, or with a sweep, of which it begins with all of the first round; then along
// other courses, farther; and last it asks the solver again.
func (s *solving) finally(q *query) (verdict Verdict, nodes []order.Node, err error) {
	if !q.race() {
		return Unknown, nil, nil
	}
	s.forget()
	if verdict, nodes, err = s.insist(q, 4); verdict != Unknown || err != nil {
		return verdict, nodes, err
	}
	if verdict, nodes = s.gridFor(q); verdict != Unknown {
		return verdict, nodes, nil
	}
	states := sweepPerQuestion * statesPerConflict * s.m.conflicts
	for range questionsPerWindow {
		if verdict, nodes = s.sweepFor(q, states, false); verdict != Unknown {
			return verdict, nodes, nil
		}
	}
	for _, parts := range [...]int{fewParts, mostParts} {
		if verdict, nodes = s.backFor(q, parts); verdict != Unknown {
			return verdict, nodes, nil
		}
	}
	if verdict, nodes = s.sweepFor(q, states, true); verdict != Unknown {
		return verdict, nodes, nil
	}
	if verdict, nodes = s.aheadFor(q, 2*states, questionsPerWindow*states); verdict != Unknown {
		return verdict, nodes, nil
	}
	return s.insist(q, 1)
}

// heldBack looks for an answer among so many states with the thread held back that was
// observed to come first, see reach.
func (s *solving) heldBack(q *query, states int) (Verdict, []order.Node) {
	m, x := s.m, s.explorer()
	if !x.exact || !q.race() || s.reachWords() > reachWords {
		return Unknown, nil
	}
	a, _ := s.inOrder(q)
	if s.reaches == nil {
		s.reaches = make([]*reach, x.threads)
	}
	r := &s.reaches[m.chain[a]]
	if *r == nil {
		*r = newReach(x.moves, int(m.chain[a]))
	}
	s.reached += (*r).explore(a, states)
	return s.known(q)
}

// gridFor looks for an answer in a grid, if the window has one that is not too large.
func (s *solving) gridFor(q *query) (Verdict, []order.Node) {
	if !q.race() {
		return Unknown, nil
	}
	if !s.gridded {
		s.gridded = true
		points := pointsPerState * questionsPerWindow * statesPerConflict * s.m.conflicts
		if g := newGrid(s.explorer().moves); g != nil && g.explore(points) {
			s.grid = g
		}
	}
	if s.grid == nil {
		return Unknown, nil
	}
	return s.known(q)
}

// sweepFor looks for an answer with a sweep, which looks at so many states more; in its
// second round, too, if all are wanted.
func (s *solving) sweepFor(q *query, states int, all bool) (Verdict, []order.Node) {
	if !q.race() {
		return Unknown, nil
	}
	if !s.swept {
		s.swept, s.sweep = true, newSweep(s.explorer().moves)
	}
	if s.sweep == nil {
		return Unknown, nil
	}
	s.sweep.explore(states, all)
	return s.known(q)
}

// backFor looks for an answer with a sweep that holds the thread back that was observed to
// come first, and tells so many contents of memory apart, once the first round is over.
func (s *solving) backFor(q *query, parts int) (Verdict, []order.Node) {
	most := 2 * questionsPerWindow * sweepPerQuestion * statesPerConflict * s.m.conflicts
	if !q.race() || s.sweep == nil || s.backed >= most {
		return Unknown, nil
	}
	first, _ := s.inOrder(q)
	n := s.sweep.back(first, parts, most/8)
	if s.backed += n; n == 0 {
		return Unknown, nil
	}
	return s.known(q)
}

// aheadFor looks for an answer in which the thread that was observed to come first waits
// for long, with beams of so many states at most, or, if none are given, not far from at hand,
// unless by as many more have been looked at in vain than not as may be for all questions.
func (s *solving) aheadFor(q *query, states, vain int) (Verdict, []order.Node) {
	if !q.race() {
		return Unknown, nil
	}
	if s.ahead == nil {
		s.ahead = newAhead(s.explorer().moves)
	}
	if s.vain > vain {
		return Unknown, nil
	}
	looked := s.ahead.looked
	a, b := s.inOrder(q)
	var nodes []order.Node
	if states > 0 {
		nodes = s.ahead.meeting(a, b, states)
	} else {
		nodes = s.ahead.nearby(a, b)
	}
	if nodes != nil && len(s.sim.violated(nodes)) == 0 {
		s.m.stats.Explored++
		s.vain = max(0, s.vain-(s.ahead.looked-looked))
		s.lead(nodes)
		return Possible, nodes
	}
	s.vain += s.ahead.looked - looked
	return Unknown, nil
}

// lead has the sweep go on from the states on the way to an answer that others have found: what
// is new there answers more questions.
func (s *solving) lead(nodes []order.Node) {
	if s.sweep != nil {
		s.sweep.lead(nodes)
	}
}

// stalled reports whether a sweep has held back the thread of a question.
func (s *solving) stalled(q *query) bool {
	if s.sweep == nil || !q.race() {
		return false
	}
	first, _ := s.inOrder(q)
	return s.sweep.stalls[stall{first, min(fewParts, s.sweep.most)}]
}

// inOrder returns the accesses that a question is about, as they were observed.
func (s *solving) inOrder(q *query) (first, second order.Node) {
	a, b := q.next[0], q.next[1]
	if s.m.event[b] < s.m.event[a] {
		return b, a
	}
	return a, b
}

// reachWords bounds the memory of the states with a thread held back, in words of 8
// bytes; what is kept besides takes about as much.
const reachWords = 1 << 23

// reachWords returns how much they take.
func (s *solving) reachWords() (n int) {
	for _, r := range s.reaches {
		if r != nil {
			n += len(r.words)
		}
	}
	return n
}

// known returns the answer if it is known from searches for others.
func (s *solving) known(q *query) (Verdict, []order.Node) {
	m := s.m
	if s.explore == nil || !q.race() {
		return Unknown, nil
	}
	if a, b := q.next[0], q.next[1]; s.walled(a, b) || s.walled(b, a) {
		m.stats.Refuted++
		return Impossible, nil
	}
	if nodes := s.explore.met(q); nodes != nil && len(s.sim.violated(nodes)) == 0 {
		m.stats.Explored++
		return Possible, nodes
	}
	if s.grid != nil {
		if s.grid.never(q.next[0], q.next[1]) {
			m.stats.Exhausted++
			return Impossible, nil
		}
		if nodes := s.grid.meeting(q.next[0], q.next[1]); nodes != nil && len(s.sim.violated(nodes)) == 0 {
			m.stats.Explored++
			return Possible, nodes
		}
	}
	if s.sweep != nil {
		if s.explore.exact && s.sweep.never(q.next[0], q.next[1]) {
			m.stats.Exhausted++
			return Impossible, nil
		}
		if nodes := s.sweep.meeting(q.next[0], q.next[1]); nodes != nil && len(s.sim.violated(nodes)) == 0 {
			m.stats.Explored++
			return Possible, nodes
		}
	}
	if s.reaches == nil {
		return Unknown, nil
	}
	for k := range q.next {
		a, b := q.next[k], q.next[1-k]
		r := s.reaches[m.chain[a]]
		if r == nil {
			continue
		}
		if r.never(a, b) {
			m.stats.Exhausted++
			return Impossible, nil
		}
		if nodes := r.meeting(a, b); nodes != nil && len(s.sim.violated(nodes)) == 0 {
			m.stats.Explored++
			return Possible, nodes
		}
	}
	return Unknown, nil
}

// manyChoices is how many writes the reads of a window with choices may see, in the
// mean, if the search among schedules is asked first.
const manyChoices = 8

// choices reports whether the reads that have choices have many.
func (m *Model) choices() bool {
	reads, writes := 0, 0
	for i := range m.reads {
		if n := len(m.reads[i].same); n > 0 {
			reads, writes = reads+1, writes+n
		}
	}
	return writes > manyChoices*reads
}

// schedule looks for an answer with greedy schedules: after the closure; then, if
// reads have choices, boldly, and as if they had none.
func (s *solving) schedule() []order.Node {
	try := func(bold bool) []order.Node {
		if nodes := s.greedy(bold); nodes != nil && len(s.sim.violated(nodes)) == 0 {
			return nodes
		}
		return nil
	}
	if nodes := try(false); nodes != nil || !s.m.soft {
		return nodes
	}
	if nodes := try(true); nodes != nil {
		return nodes
	}
	at := s.closure.mark()
	defer s.closure.undo(at)
	s.closure.observed = true
	possible := s.closure.saturate()
	s.closure.observed = false
	if !possible {
		return nil
	}
	return try(false)
}

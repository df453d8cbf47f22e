package mcm

import (
	"fmt"
	"iter"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/order"
)

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

// query is a question: whether there is an instant, the goal, at which some events
// are all next in their threads.
type query struct {
	next  []order.Node
	past  []order.Node // come before the goal
	order []edge       // besides
}

// edges returns what the question says.
func (q *query) edges(m *Model) (list []edge) {
	for _, n := range q.next {
		if p := m.prev(n); p != none {
			list = append(list, edge{p, m.goal})
		}
		for _, e := range m.into(n) {
			list = append(list, edge{e, m.goal})
		}
		list = append(list, edge{m.goal, n})
	}
	for _, n := range q.past {
		list = append(list, edge{n, m.goal})
	}
	return append(list, q.order...)
}

// race reports whether a question is about two nodes that are next, and nothing else.
func (q *query) race() bool { return len(q.next) == 2 && len(q.past)+len(q.order) == 0 }

// observed reports whether the order that the question adds is the observed one.
func (q *query) observed(m *Model) bool {
	for _, e := range q.order {
		if m.event[e.from] > m.event[e.to] {
			return false
		}
	}
	return true
}

// open reports whether none of what is to be next is in a prefix.
func (q *query) open(m *Model, prefix []int32) bool {
	for _, n := range q.next {
		if prefix[m.chain[n]] > m.pos(n) {
			return false
		}
	}
	return true
}

// into returns what has to come before n can be next, apart from its thread's
// steps.
func (m *Model) into(n order.Node) (list []order.Node) {
	for i := m.intoAt[n]; i < m.intoAt[n+1]; i++ {
		list = append(list, m.edges[i].from)
	}
	return list
}

// solving is what answering questions takes.
type solving struct {
	m       *Model
	closure *closure
	sim     *simulation
	explore *explorer   // made when it is needed
	lazy    *simulation // for the solver
	solver  *order.Solver
	many    bool     // reads have many choices
	sweep   *sweep   // made when it is needed
	swept   bool     // it was made, or cannot be
	reaches []*reach // by thread, made when they are needed
	reached int      // states that these have looked at

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
		last: make([]order.Node, len(m.cells)), initial: make([]int32, len(m.cells)), pending: make([]int32, m.goal),
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
	if m.swept > 0 {
		if verdict, nodes = s.sweepFor(q, m.swept); verdict != Unknown {
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
// most answers are, is what each question adds.
func (s *solving) alternate(q *query) (verdict Verdict, nodes []order.Node, err error) {
	m, x := s.m, s.explorer()
	states := statesPerConflict * m.conflicts
	if !s.many {
		if verdict, nodes, err = s.solve(q, 4); verdict != Unknown || err != nil {
			return verdict, nodes, err
		}
	}
	all := questionsPerWindow * states
	if x.looked+x.nearby+s.reached > all/2 { // there are many questions, and not easy ones
		if verdict, nodes = s.sweepFor(q, sweepPerQuestion*states); verdict != Unknown {
			return verdict, nodes, nil
		}
	}
	if x.nearby < all+m.stats.Questions*states/20 {
		if nodes := x.near(q, states/8); nodes != nil && len(s.sim.violated(nodes)) == 0 {
			m.stats.Explored++
			return Possible, nodes, nil
		}
	}
	if s.reached < all+m.stats.Questions*states/20 {
		if verdict, nodes := s.heldBack(q, states/8); verdict != Unknown {
			return verdict, nodes, nil
		}
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
	return Unknown, nil, nil
}

// heldBack looks for an answer among so many states with the thread held back that was
// observed to come first, see reach.
func (s *solving) heldBack(q *query, states int) (Verdict, []order.Node) {
	m, x := s.m, s.explorer()
	if !x.exact || !q.race() || s.reachWords() > reachWords {
		return Unknown, nil
	}
	a := q.next[0]
	if m.event[q.next[1]] < m.event[a] {
		a = q.next[1]
	}
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

// sweepFor looks for an answer with a sweep, which looks at so many states more.
func (s *solving) sweepFor(q *query, states int) (Verdict, []order.Node) {
	if !q.race() {
		return Unknown, nil
	}
	if !s.swept {
		s.swept, s.sweep = true, newSweep(s.explorer().moves)
	}
	if s.sweep == nil {
		return Unknown, nil
	}
	s.sweep.explore(states)
	return s.known(q)
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
	if nodes := s.explore.met(q); nodes != nil && len(s.sim.violated(nodes)) == 0 {
		m.stats.Explored++
		return Possible, nodes
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

// solve asks the solver, which may spend a part of the budget.
func (s *solving) solve(q *query, part int) (Verdict, []order.Node, error) {
	m := s.m
	if s.solver == nil || m.fresh {
		if err := s.start(); err != nil {
			return Unknown, nil, err
		}
	}
	if spent := s.solver.Stats(); spent.Conflicts > questionsPerWindow*int64(m.conflicts) ||
		spent.Propagations > questionsPerWindow*int64(m.propagations) {
		return Unknown, nil, nil
	}
	s.solver.Budget(int64(max(1, m.conflicts/part)), int64(max(1, m.propagations/part)))
	var assume []order.Lit
	for _, e := range q.edges(m) {
		assume = append(assume, order.Lit{Before: e.from, After: e.to})
	}
	for _, l := range s.lazy.prefer {
		if err := s.solver.Prefer(l); err != nil {
			return Unknown, nil, fmt.Errorf("mcm: %w", err)
		}
	}
	s.lazy.prefer = s.lazy.prefer[:0]
	check := s.lazy.violated
	if m.literal {
		check = func([]order.Node) [][]order.Lit { return nil }
	}
	switch s.solver.Solve(assume, check) {
	case order.Yes:
		nodes := s.nodes[:0]
		for _, n := range s.solver.Order() {
			if n == m.goal {
				break
			}
			nodes = append(nodes, n)
		}
		s.nodes = nodes
		m.stats.Solved++
		return Possible, nodes, nil
	case order.No:
		m.stats.Refuted++
		return Impossible, nil, nil
	}
	if err := s.solver.Err(); err != nil {
		return Unknown, nil, fmt.Errorf("mcm: %w", err)
	}
	return Unknown, nil, nil
}

// start makes the solver, with all edges and, if they are wanted from the start,
// all constraints that are single clauses.
func (s *solving) start() error {
	m := s.m
	chains := make([]int, len(m.base)-1)
	for c := range chains {
		chains[c] = int(m.base[c+1] - m.base[c])
	}
	solver, err := order.New(chains, order.Sink(len(chains)-1), order.Budget(int64(m.conflicts), int64(m.propagations)))
	if err != nil {
		return fmt.Errorf("mcm: %w", err)
	}
	for _, list := range [][]edge{m.edges, m.seen} {
		for _, e := range list {
			solver.Require(e.from, e.to)
		}
	}
	if err := solver.Phase(m.hint); err != nil {
		return fmt.Errorf("mcm: %w", err)
	}
	if m.eager || m.literal {
		for _, clause := range s.constraints() {
			if err := solver.Add(clause...); err != nil {
				return fmt.Errorf("mcm: %w", err)
			}
		}
	}
	s.solver, s.lazy.solver, s.lazy.choices = solver, solver, map[*read][]choice{}
	s.lazy.prefer = nil
	return nil
}

// constraints returns all constraints that are single clauses.
func (s *solving) constraints() (list [][]order.Lit) {
	m := s.m
	for i := range m.locks {
		ids := m.locks[i].sections
		for j, x := range ids {
			for _, y := range ids[:j] {
				if a, b := &m.sections[x], &m.sections[y]; a.conflicts(b) {
					list = append(list, m.exclusion(a, b))
				}
			}
		}
	}
	for i := range m.reads {
		r := &m.reads[i]
		if m.flow != nil || len(r.same) > 0 {
			continue
		}
		for _, w := range m.cells[r.cell].writes {
			if w == r.saw || w == r.node {
				continue
			}
			clause := []order.Lit{{Before: r.node, After: w}}
			if !m.literal {
				clause = append(clause, order.Lit{Before: m.goal, After: r.node})
			}
			if r.saw != none {
				clause = append(clause, order.Lit{Before: w, After: r.saw})
			}
			list = append(list, clause)
		}
	}
	for i := range m.messages {
		for _, n := range m.messages[i].receives {
			for _, e := range m.messages[i].sends[m.rank[n]:] {
				list = append(list, m.overtaken(n, e))
			}
		}
	}
	return list
}

// at returns the node of the i-th record, or an error.
func (m *Model) at(i int) (order.Node, error) {
	if i < 0 || i >= len(m.records) {
		return none, fmt.Errorf("%w: record %d of %d", ErrQuestion, i, len(m.records))
	}
	return m.node[i], nil
}

// Race asks whether the i-th and the j-th record, accesses by different threads
// that conflict, can be next to each other: whether there is an order of events
// before them, possible in every program that can show the window, after which both
// are next in their threads. If so it returns a witness.
func (m *Model) Race(i, j int) (Verdict, *Witness, error) {
	if err := m.conflicting(i, j); err != nil {
		return Unknown, nil, err
	}
	return m.ask(candidate{q: query{next: []order.Node{m.node[i], m.node[j]}}})
}

// conflicting checks that two records are accesses of different threads that
// conflict and meet.
func (m *Model) conflicting(i, j int) error {
	for _, k := range [2]int{i, j} {
		if _, err := m.at(k); err != nil {
			return err
		}
	}
	a, b := &m.records[i], &m.records[j]
	switch {
	case a.TID == b.TID:
		return fmt.Errorf("%w: records %d and %d are by one thread", ErrQuestion, i, j)
	case !a.Access().Conflicts(b.Access()):
		return fmt.Errorf("%w: %v and %v do not conflict", ErrQuestion, a.Code, b.Code)
	case !(heisen.Objects{extent(a)}).Meets(extent(b).Start, extent(b).Len):
		return fmt.Errorf("%w: records %d and %d touch different objects", ErrQuestion, i, j)
	case !m.window.oneLife(i, j):
		return fmt.Errorf("%w: records %d and %d touch different lives of an object", ErrQuestion, i, j)
	}
	return nil
}

// oneLife reports whether two records touch an object whose life neither starts nor
// ends between them.
func (w *Window) oneLife(i, j int) bool {
	i, j = min(i, j), max(i, j)
	a, b := extent(&w.Records[i]), extent(&w.Records[j])
	last := func(s heisen.Span) heisen.Object { return s.Start + heisen.Object(s.Len-1) }
	from, to := max(a.Start, b.Start), min(last(a), last(b))
	var ended []heisen.Span
	for k := i + 1; k < j; k++ {
		if r := &w.Records[k]; isLife(r.Code) {
			ended = append(ended, life(r))
		}
	}
	for o := from; ; o++ {
		if !heisen.NewObjects(slices.Clone(ended)...).Meets(o, 1) {
			return true
		}
		if o == to {
			return false
		}
	}
}

// Deadlock asks whether threads can wait for each other in a circle: whether the
// records, acquisitions by different threads each of which wants a lock that the
// next one's thread holds there, the last one's wanting one of the first one's, can
// all be next at the same time. If so it returns a witness.
func (m *Model) Deadlock(records ...int) (Verdict, *Witness, error) {
	q := &query{}
	if len(records) < 2 {
		return Unknown, nil, fmt.Errorf("%w: a deadlock of %d threads", ErrQuestion, len(records))
	}
	for k, i := range records {
		n, err := m.at(i)
		if err != nil {
			return Unknown, nil, err
		}
		for _, j := range records[:k] {
			if m.records[i].TID == m.records[j].TID {
				return Unknown, nil, fmt.Errorf("%w: records %d and %d are by one thread", ErrQuestion, i, j)
			}
		}
		if n == none || m.begins[n] < 0 {
			return Unknown, nil, fmt.Errorf("%w: record %d takes no lock that threads share", ErrQuestion, i)
		}
		q.next = append(q.next, n)
	}
	masks := m.masks()
	for k, n := range q.next {
		x := &m.sections[m.begins[n]]
		if x.lock >= 64 {
			continue // masks do not know it
		}
		bit := uint64(1) << x.lock
		holder := masks[q.next[(k+1)%len(q.next)]]
		if holder.exclusive&bit == 0 && (x.shared || holder.any&bit == 0) {
			return Unknown, nil, fmt.Errorf("%w: record %d does not wait for the next", ErrQuestion, records[k])
		}
	}
	return m.ask(candidate{q: *q, at: asInt32(records)})
}

// Between asks whether record j, of one thread, can come between the records i and
// k of another, i before k: whether there is an order in which k is next and i and
// j have come, in this order, or j is next as well. If so it returns a witness. All
// three access the same memory in a way that no serial order explains.
func (m *Model) Between(i, j, k int) (Verdict, *Witness, error) {
	for _, at := range [3]int{i, j, k} {
		if n, err := m.at(at); err != nil {
			return Unknown, nil, err
		} else if n == none {
			return Unknown, nil, fmt.Errorf("%w: what record %d accesses is not shared", ErrQuestion, at)
		}
	}
	a, r, b := &m.records[i], &m.records[j], &m.records[k]
	if i >= k || a.TID != b.TID || a.TID == r.TID || !torn(a.Access(), r.Access(), b.Access()) {
		return Unknown, nil, fmt.Errorf("%w: records %d, %d and %d", ErrQuestion, i, j, k)
	}
	return m.ask(candidate{
		q:  meanwhile(m.node[j], m.node[k]),
		or: between(m.node[i], m.node[j], m.node[k]),
		at: []int32{int32(i), int32(j), int32(k)},
	})
}

func asInt32(list []int) (out []int32) {
	for _, i := range list {
		out = append(out, int32(i))
	}
	return out
}

// extent returns what an access touches: of a lock in memory one byte.
func extent(r *heisen.Record) heisen.Span {
	if r.Code.IsAccess() {
		return heisen.Span{Start: r.Obj, Len: r.Size()}
	}
	return heisen.Span{Start: r.Obj, Len: 1}
}

// ask answers the question of a candidate and checks the witness.
func (m *Model) ask(c candidate) (Verdict, *Witness, error) {
	q := &c.q
	verdict, nodes, err := m.answer(q)
	if verdict != Possible && err == nil && c.or != nil {
		first := verdict
		q = c.or
		if verdict, nodes, err = m.answer(q); verdict == Impossible {
			verdict = first
		}
	}
	if verdict != Possible || err != nil {
		return verdict, nil, err
	}
	var last []int
	for _, n := range q.next {
		last = append(last, int(m.event[n]))
	}
	w := m.witness(nodes, last)
	if m.literal {
		return verdict, w, nil
	}
	if m.replayer == nil {
		m.replayer = newReplayer(&m.window, m.settings)
	}
	if err := m.replayer.replay(w); err != nil {
		return Unknown, nil, fmt.Errorf("mcm: a witness does not replay: %w", err)
	}
	return verdict, w, nil
}

// Pairs yields the pairs of records that Race is worth asking about, the earlier
// one first: accesses by different threads that meet and conflict, that no common
// lock excludes and that are not ordered in any case. All other pairs of accesses
// are Impossible.
func (m *Model) Pairs() iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		on := true
		m.racePairs(func(places) bool { return on }, func(c candidate) {
			on = on && yield(int(c.at[0]), int(c.at[1]))
		})
	}
}

// Stats returns how the questions so far were answered.
func (m *Model) Stats() Stats { return m.stats }

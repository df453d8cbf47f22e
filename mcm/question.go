package mcm

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/replay"
	"github.com/heisen-go/heisen/mcm/internal/smtlib"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/order"
)

// ErrQuestion is what the error of a question wraps that makes no sense: of records
// that do not exist, or are not what the question is about.
var ErrQuestion = errors.New("mcm: no such question")

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
	case a.Thread == b.Thread:
		return fmt.Errorf("%w: records %d and %d are by one thread", ErrQuestion, i, j)
	case !a.Access().Conflicts(b.Access()):
		return fmt.Errorf("%w: %v and %v do not conflict", ErrQuestion, a.Op, b.Op)
	case !(heisen.Objects{window.Extent(a)}).Meets(window.Extent(b).Start, window.Extent(b).Len):
		return fmt.Errorf("%w: records %d and %d touch different objects", ErrQuestion, i, j)
	case !m.window.SameAllocation(i, j):
		return fmt.Errorf("%w: records %d and %d touch different lives of an object", ErrQuestion, i, j)
	}
	return nil
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
			if m.records[i].Thread == m.records[j].Thread {
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
	if i >= k || a.Thread != b.Thread || a.Thread == r.Thread || !torn(a.Access(), r.Access(), b.Access()) {
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
	if m.Literal {
		return verdict, w, nil
	}
	if m.replayer == nil {
		m.replayer = replay.New(&m.window, m.Rules)
	}
	if err := m.replayer.Replay((*window.Witness)(w)); err != nil {
		return Unknown, nil, fmt.Errorf("mcm: a witness does not replay: %w", err)
	}
	return verdict, w, nil
}

// witness makes a witness of the nodes up to the goal and the records that come
// next, with the records between them that are no nodes.
func (m *Model) witness(nodes []order.Node, last []int) *Witness {
	if m.tracks == nil {
		m.tracks = window.NewThreads(m.records)
	}
	prefix := make([]int, len(nodes))
	for k, n := range nodes {
		prefix[k] = int(m.event[n])
	}
	return (*Witness)(m.tracks.Witness(prefix, last))
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

// WriteSMTLIB writes the question of Race as a problem of integer differences in
// SMT-LIB 2, for another solver to answer: sat is Possible. It is made from the
// window's records by the definitions, as TREE and RDIT, section 4.4.4, has them
// but for what makes them maximal, and shares nothing with what Race asks its own
// solver. O<i> is the place of record i in the order, R the instant at which both
// accesses are next. Its size is cubic in the accesses to one variable.
func (m *Model) WriteSMTLIB(w io.Writer, i, j int) error {
	if err := m.conflicting(i, j); err != nil {
		return err
	}
	return smtlib.Write(w, &m.window, m.Rules, i, j)
}

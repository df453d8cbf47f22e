package mcm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/candidate"
	"github.com/heisen-go/heisen/mcm/internal/cascade"
	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/replay"
	"github.com/heisen-go/heisen/mcm/internal/smtlib"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/order"
)

// ErrQuery is wrapped by the errors of invalid queries: a record does not exist, or it is not an
// event of the kind that the query is about.
var ErrQuery = errors.New("no such query")

// Model is the maximal causal model of a window: the feasible reorderings of the window, which the
// package documentation defines. The queries are Race, Deadlock and Between:
// each asks whether one of these reorderings leads to a bug. Results of one query make later ones cheaper.
// A Model belongs to one goroutine at a time.
type Model struct {
	causal   *model.Model
	cascade  *cascade.Cascade
	threads  *window.Threads  // to complete witnesses; made when it is needed
	replayer *replay.Replayer // made when it is needed
}

// NewModel returns the model of a window. It takes time in proportion to the events times the
// threads. The window's slices must not change afterwards. The error wraps heisen.ErrOption, for an
// option as for a window whose Index has not one position for each record, or whose Executions do not
// begin and end with accesses of one thread.
func NewModel(w Window, opts ...ModelOption) (*Model, error) {
	c := defaults()
	if err := applyOptions("mcm.NewModel", &c, opts); err != nil {
		return nil, err
	}
	m, err := newModel(w.internal(), &c)
	if err != nil {
		return nil, fmt.Errorf("mcm.NewModel: %w: the window has %w", heisen.ErrOption, err)
	}
	return m, nil
}

func newModel(w *window.Window, c *config) (*Model, error) {
	m, err := model.New(w, c.rules)
	if err != nil {
		return nil, err
	}
	return &Model{causal: m, cascade: cascade.New(m, c.cascade)}, nil
}

// Race asks whether the records i and j of the window, conflicting accesses by different threads, can
// race: whether a feasible reordering leads to a point at which each of them is the next event of its
// thread. i and j are indices of Window.Records, from 0, in any order. If the verdict is Possible,
// Race returns such an order, of which the two records are the tail (see Witness.Last); otherwise the
// witness is nil. If the context is nil, the error wraps heisen.ErrOption; it wraps ErrQuery if the records
// are not such accesses. Race stops when the context ends, with the context's error.
func (m *Model) Race(ctx context.Context, i, j int) (Verdict, *Witness, error) {
	if err := m.askable(ctx, "Race"); err != nil {
		return Unknown, nil, err
	}
	if err := m.conflicting(i, j); err != nil {
		return Unknown, nil, err
	}
	c := m.causal
	return m.ask(ctx, candidate.Candidate{Query: model.Query{Pending: []order.Node{c.Node[i], c.Node[j]}}})
}

// conflicting checks that two records are accesses of different threads that conflict and overlap.
func (m *Model) conflicting(i, j int) error {
	for _, k := range [2]int{i, j} {
		if _, err := m.at(k); err != nil {
			return err
		}
	}
	c := m.causal
	a, b := &c.Records[i], &c.Records[j]
	switch {
	case a.Thread == b.Thread:
		return fmt.Errorf("%w: records %d and %d are by one thread", ErrQuery, i, j)
	case !a.Access().Conflicts(b.Access()):
		return fmt.Errorf("%w: %v and %v do not conflict", ErrQuery, a.Op, b.Op)
	case !(heisen.Objects{window.Extent(a)}).Meets(window.Extent(b).Start, window.Extent(b).Len):
		return fmt.Errorf("%w: records %d and %d touch different objects", ErrQuery, i, j)
	case !c.Window.SameAllocation(i, j):
		return fmt.Errorf("%w: records %d and %d touch different allocations of an object", ErrQuery, i, j)
	}
	return nil
}

// Deadlock asks whether threads can wait for each other in a cycle: whether the records,
// acquisitions by different threads, can all be next at the same time. Each record acquires a lock
// that the thread of the following record holds there; the last record, a lock that the thread of the
// first one holds. If the verdict is Possible, Deadlock returns an order that leads there, of which the
// records are the tail; they wait for each other and never happen (see Witness.Last). The records are
// indices of Window.Records, from 0, at least two. The error wraps ErrQuery if they are not such
// acquisitions. Deadlock stops when the context ends, with the context's error.
func (m *Model) Deadlock(ctx context.Context, records ...int) (Verdict, *Witness, error) {
	if err := m.askable(ctx, "Deadlock"); err != nil {
		return Unknown, nil, err
	}
	q := model.Query{}
	if len(records) < 2 {
		return Unknown, nil, fmt.Errorf("%w: a deadlock of %d threads", ErrQuery, len(records))
	}
	at := make([]int32, len(records))
	for k, i := range records {
		n, err := m.at(i)
		if err != nil {
			return Unknown, nil, err
		}
		for _, j := range records[:k] {
			if m.causal.Records[i].Thread == m.causal.Records[j].Thread {
				return Unknown, nil, fmt.Errorf("%w: records %d and %d are by one thread", ErrQuery, i, j)
			}
		}
		if n == model.None || m.causal.Begins[n] < 0 {
			return Unknown, nil, fmt.Errorf("%w: record %d acquires no lock that several threads use", ErrQuery, i)
		}
		q.Pending = append(q.Pending, n)
		at[k] = int32(i)
	}
	masks := m.causal.HeldLocks()
	for k, n := range q.Pending {
		x := &m.causal.Sections[m.causal.Begins[n]]
		if x.Lock >= 64 {
			continue // beyond the masks
		}
		bit := uint64(1) << x.Lock
		holder := masks[q.Pending[(k+1)%len(q.Pending)]]
		if holder.Exclusive&bit == 0 && (x.Shared || holder.Any&bit == 0) {
			return Unknown, nil, fmt.Errorf("%w: the thread of the record after %d does not hold its lock", ErrQuery, records[k])
		}
	}
	return m.ask(ctx, candidate.Candidate{Query: q, Records: at})
}

// Between asks whether record j, of one thread, can come between the records i and k of another
// thread, i before k. That is so if a feasible reordering contains i and then j, and k is next; or
// if j and k can be next at the same time. If the verdict is Possible, Between returns such an order. The
// records that are next in it, k or both j and k, are its tail (see Witness.Last). i, j
// and k are indices of Window.Records, from 0. The error wraps ErrQuery unless all three records
// access the same memory and the interleaving is unserializable. Between stops when the context ends,
// with the context's error.
func (m *Model) Between(ctx context.Context, i, j, k int) (Verdict, *Witness, error) {
	if err := m.askable(ctx, "Between"); err != nil {
		return Unknown, nil, err
	}
	for _, at := range [3]int{i, j, k} {
		if n, err := m.at(at); err != nil {
			return Unknown, nil, err
		} else if n == model.None {
			return Unknown, nil, fmt.Errorf("%w: no other thread writes what record %d accesses", ErrQuery, at)
		}
	}
	c := m.causal
	a, r, b := &c.Records[i], &c.Records[j], &c.Records[k]
	if i >= k || a.Thread != b.Thread || a.Thread == r.Thread || !candidate.Unserializable(a.Access(), r.Access(), b.Access()) {
		return Unknown, nil, fmt.Errorf("%w: records %d, %d and %d", ErrQuery, i, j, k)
	}
	return m.ask(ctx, candidate.Candidate{
		Query:   candidate.Together(c.Node[j], c.Node[k]),
		Else:    candidate.Between(c.Node[i], c.Node[j], c.Node[k]),
		Records: []int32{int32(i), int32(j), int32(k)},
	})
}

// zero reports whether m was not made by NewModel.
func (m *Model) zero() bool { return m.causal == nil }

// askable returns the error of a query without a model or a context.
func (m *Model) askable(ctx context.Context, method string) error {
	switch {
	case m.zero():
		return heisen.ErrZero
	case ctx == nil:
		return fmt.Errorf("mcm.Model.%s: %w: the context is nil", method, heisen.ErrOption)
	}
	return nil
}

// at returns the node of the i-th record, or an error.
func (m *Model) at(i int) (order.Node, error) {
	if i < 0 || i >= len(m.causal.Records) {
		return model.None, fmt.Errorf("%w: record %d of %d", ErrQuery, i, len(m.causal.Records))
	}
	return m.causal.Node[i], nil
}

// ask answers the query of a candidate and checks the witness.
func (m *Model) ask(ctx context.Context, c candidate.Candidate) (Verdict, *Witness, error) {
	q := &c.Query
	verdict, nodes, err := m.cascade.Answer(ctx, q)
	if verdict != model.Possible && err == nil && c.Else != nil {
		first := verdict
		q = c.Else
		if verdict, nodes, err = m.cascade.Answer(ctx, q); verdict == model.Impossible {
			verdict = first
		}
	}
	if verdict != model.Possible || err != nil {
		return Verdict(verdict), nil, err
	}
	var last []int
	for _, n := range q.Pending {
		last = append(last, int(m.causal.Event[n]))
	}
	x := m.witness(nodes, last)
	if m.causal.Literal {
		return Possible, (*Witness)(x), nil
	}
	if m.replayer == nil {
		m.replayer = replay.New(m.causal.Window, m.causal.Rules)
	}
	if err := m.replayer.Replay(x); err != nil {
		return Unknown, nil, fmt.Errorf("checking a witness: %w: %w", ErrReplay, err)
	}
	return Possible, (*Witness)(x), nil
}

// witness makes a witness of the nodes before the goal and the records that are next then.
func (m *Model) witness(nodes []order.Node, last []int) *window.Witness {
	if m.threads == nil {
		m.threads = window.NewThreads(m.causal.Records)
	}
	prefix := make([]int, len(nodes))
	for k, n := range nodes {
		prefix[k] = int(m.causal.Event[n])
	}
	return m.threads.Witness(prefix, last)
}

// Pairs yields the pairs of records for which Race may answer Possible, the earlier record first.
// They are conflicting accesses by different threads to common bytes. No common lock excludes
// them, and every edge common to all feasible reorderings leaves them unordered.
func (m *Model) Pairs() iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		if m.zero() {
			return
		}
		on := true
		candidate.Races(m.causal, func(candidate.Places) bool { return on }, func(c candidate.Candidate) {
			on = on && yield(int(c.Records[0]), int(c.Records[1]))
		})
	}
}

// Stats returns how the queries so far were answered.
func (m *Model) Stats() Stats {
	if m.zero() {
		return Stats{}
	}
	return Stats(m.cascade.Stats)
}

// WriteSMTLIB writes the query of Race as a problem of integer difference logic in SMT-LIB 2, for
// another solver: sat means Possible. It follows TREE and RDIT, section 4.4.4, made maximal, and
// is written from the window's records by the definitions. It shares nothing with the constraints
// that Race gives its own solver. O<i> is the place of record i in the order; R is the instant at
// which both accesses are next. The size of the text is cubic in the accesses to one variable. The
// error is that of w, or wraps ErrQuery as for Race, or heisen.ErrOption if w is nil.
func (m *Model) WriteSMTLIB(w io.Writer, i, j int) error {
	switch {
	case m.zero():
		return heisen.ErrZero
	case w == nil:
		return fmt.Errorf("mcm.Model.WriteSMTLIB: %w: the writer is nil", heisen.ErrOption)
	}
	if err := m.conflicting(i, j); err != nil {
		return err
	}
	return smtlib.Write(w, m.causal.Window, m.causal.Rules, i, j)
}

// Replay checks that a witness is a feasible reordering of the window; the package documentation has
// the rules. It executes one event after the other, and shares no code with the model's constraints
// or with any search. The error wraps ErrReplay and says which event breaks which rule.
//
// If x is nil, the error wraps heisen.ErrOption.
//
// Replay takes time proportional to the number of events. An allocation, a BarrierPair, or an object
// that is used in several ways costs time proportional to the events that moved across it.
func (w *Window) Replay(x *Witness, opts ...Option) error {
	c := defaults()
	if err := applyOptions("mcm.Window.Replay", &c, opts); err != nil {
		return err
	}
	if x == nil {
		return fmt.Errorf("mcm.Window.Replay: %w: the witness is nil", heisen.ErrOption)
	}
	if err := replay.New(w.internal(), c.rules).Replay((*window.Witness)(x)); err != nil {
		return fmt.Errorf("%w: %w", ErrReplay, err)
	}
	return nil
}

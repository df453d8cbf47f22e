package order_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/maximal"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/mcm/order"
)

func lit(a, b order.Node) order.Lit { return order.Lit{Before: a, After: b} }

// solve calls Solve without a deadline.
func solve(s *order.Solver, assume []order.Lit, check func([]order.Node) [][]order.Lit) (order.Result, error) {
	return s.Solve(context.Background(), assume, check)
}

// ask calls Solve, which must not fail.
func ask(s *order.Solver, assume []order.Lit, check func([]order.Node) [][]order.Lit) order.Result {
	r, err := solve(s, assume, check)
	if err != nil {
		panic(err)
	}
	return r
}

func mustNew(t *testing.T, chains []int, opts ...order.Option) *order.Solver {
	t.Helper()
	s, err := order.NewSolver(chains, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestMisuse(t *testing.T) {
	for _, test := range []struct {
		chains []int
		opt    order.Option
		want   error
	}{
		{[]int{-1}, order.WithRestarts(0), heisen.ErrOption},
		{[]int{1 << 30, 1 << 30}, order.WithRestarts(0), order.ErrSize},
		{[]int{2, 1}, order.WithGoalChain(0), heisen.ErrOption},
		{[]int{2, 1}, order.WithGoalChain(2), heisen.ErrOption},
		{[]int{2, 1}, order.WithGoalChain(-1), heisen.ErrOption},
		{[]int{1}, order.WithRestarts(-1), heisen.ErrOption},
		{[]int{1}, order.WithReduction(-1), heisen.ErrOption},
		{[]int{1}, order.Option(nil), heisen.ErrOption},
	} {
		if _, err := order.NewSolver(test.chains, test.opt); !errors.Is(err, test.want) {
			t.Errorf("%v: %v, want %v", test.chains, err, test.want)
		}
	}
	if _, err := order.NewSolver([]int{1, 1}, order.WithGoalChain(0), order.WithGoalChain(1)); !errors.Is(err, heisen.ErrOption) {
		t.Errorf("two goals: %v", err)
	}

	s := mustNew(t, []int{2, 2})
	b := s.NewBool()
	for _, l := range []order.Lit{lit(0, 0), lit(0, 4), lit(-1, 0), lit(-1, -3), lit(-2, -3), lit(-3, -4), lit(0, -1)} {
		if err := s.Add(b, l); !errors.Is(err, order.ErrNode) {
			t.Errorf("Add %v: %v", l, err)
		}
		if err := s.Prefer(l); !errors.Is(err, order.ErrNode) {
			t.Errorf("Prefer %v: %v", l, err)
		}
		if v, err := solve(s, []order.Lit{l}, nil); v != order.Unknown || !errors.Is(err, order.ErrNode) {
			t.Errorf("Solve %v: %v, %v", l, v, err)
		}
		if s.Holds(l) {
			t.Errorf("%v holds", l)
		}
	}
	if err := s.PreferOrder([]order.Node{4}); !errors.Is(err, order.ErrNode) {
		t.Errorf("Phase: %v", err)
	}
	if err := s.PreferOrder([]order.Node{1, 1}); !errors.Is(err, order.ErrNode) {
		t.Errorf("Phase: %v", err)
	}
	if v, err := solve(s, nil, nil); v != order.Sat || err != nil {
		t.Errorf("after errors: %v, %v", v, err)
	}
	if v, err := solve(s, nil, func([]order.Node) [][]order.Lit { return [][]order.Lit{{lit(0, 1)}} }); v != order.Unknown || !errors.Is(err, order.ErrCheck) {
		t.Errorf("a check that finds nothing: %v, %v", v, err)
	}
	if v, err := solve(s, nil, func([]order.Node) [][]order.Lit { return [][]order.Lit{{lit(7, 1)}} }); v != order.Unknown || !errors.Is(err, order.ErrNode) {
		t.Errorf("a check of what does not exist: %v, %v", v, err)
	}
	if v, err := solve(s, nil, nil); v != order.Sat || err != nil {
		t.Errorf("after errors: %v, %v", v, err)
	}
	for _, l := range []order.Lit{lit(0, 9), lit(9, 0), lit(1, 1), lit(s.Node(0, 5), 0), order.Bool(0)} {
		if err := s.Require(l.Before, l.After); !errors.Is(err, order.ErrNode) {
			t.Errorf("Require of %v: error %v", l, err)
		}
	}
	if v, err := solve(s, nil, nil); v != order.Sat || err != nil {
		t.Errorf("after edges that do not exist: %v, %v", v, err)
	}
}

func TestContradictions(t *testing.T) {
	s := mustNew(t, []int{2, 2})
	if err := errors.Join(s.Require(1, 2), s.Require(3, 0)); err != nil || ask(s, nil, nil) != order.Unsat || len(s.Failed()) != 0 {
		t.Errorf("a cycle of edges is not noticed, error %v", err)
	}
	s = mustNew(t, []int{2, 2})
	if err := s.Add(); err != nil || ask(s, []order.Lit{lit(0, 2)}, nil) != order.Unsat || len(s.Failed()) != 0 {
		t.Error("the empty clause holds")
	}
	s = mustNew(t, []int{2, 2})
	a := lit(0, 2)
	if ask(s, []order.Lit{a, lit(1, 3), a.Not()}, nil) != order.Unsat {
		t.Error("a literal and its negation hold")
	}
	if core := s.Failed(); len(core) != 2 || !slices.Contains(core, a) || !slices.Contains(core, a.Not()) {
		t.Errorf("core %v", core)
	}
	if ask(s, []order.Lit{lit(0, 1)}, nil) != order.Sat || ask(s, []order.Lit{lit(1, 0)}, nil) != order.Unsat {
		t.Error("a chain has no order")
	}
	empty := mustNew(t, nil)
	if ask(empty, nil, nil) != order.Sat || len(empty.Order()) != 0 {
		t.Error("nothing cannot be ordered")
	}
}

// TestPreferred checks that without constraints the result is the preferred order, and that an
// assumption moves only the nodes that it must.
func TestPreferred(t *testing.T) {
	s := mustNew(t, []int{3, 3})
	hint := []order.Node{0, 3, 1, 4, 2, 5}
	if err := s.PreferOrder(hint); err != nil {
		t.Fatal(err)
	}
	if ask(s, nil, nil); !slices.Equal(s.Order(), hint) {
		t.Errorf("%v, want %v", s.Order(), hint)
	}
	want := []order.Node{0, 3, 4, 1, 2, 5}
	if ask(s, []order.Lit{lit(4, 1)}, nil); !slices.Equal(s.Order(), want) {
		t.Errorf("%v, want %v", s.Order(), want)
	}
}

// TestPreferredAfterErrors checks that a wrong preferred order leaves the one before.
func TestPreferredAfterErrors(t *testing.T) {
	for _, before := range [][]order.Node{nil, {2, 0, 3, 1}} {
		for _, wrong := range [][]order.Node{{0, 0}, {3, 2, 99}, {3, -1}, {1, 0, 2, 3, 1}} {
			s := mustNew(t, []int{2, 2})
			if err := s.PreferOrder(before); err != nil {
				t.Fatal(err)
			}
			if err := s.PreferOrder(wrong); !errors.Is(err, order.ErrNode) {
				t.Errorf("%v: error %v", wrong, err)
			}
			want := before
			if before == nil {
				want = []order.Node{0, 1, 2, 3}
			}
			if ask(s, nil, nil) != order.Sat || !slices.Equal(s.Order(), want) {
				t.Errorf("order %v after %v, want %v", s.Order(), wrong, want)
			}
		}
	}
}

// TestBudget checks that a budget makes hard queries unknown and holds for each query, and that later
// queries without a budget have the right results.
func TestBudget(t *testing.T) {
	f := maximal.Encode(workload.Hot(workload.Params{Threads: 4, Events: 300, Seed: 3}))
	s, err := f.Solver(order.WithBudget(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	unknown := 0
	for _, p := range f.Pairs(20) {
		before := s.Stats().Conflicts
		v, err := solve(s, f.Race(p[0], p[1]), nil)
		if v == order.Unknown {
			unknown++
		}
		if err != nil {
			t.Errorf("a spent budget is an error: %v", err)
		}
		if n := s.Stats().Conflicts - before; n > 1 {
			t.Errorf("%d conflicts", n)
		}
	}
	if unknown == 0 {
		t.Fatal("no query needed more than one conflict")
	}
	s.SetBudget(0, 10)
	p := f.Pairs(1)[0]
	if v := ask(s, f.Race(p[0], p[1]), nil); v != order.Unknown {
		t.Errorf("%v with 10 propagations", v)
	}
	s.SetBudget(0, 0)
	fresh, err := f.Solver()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range f.Pairs(20) {
		if v, w := ask(s, f.Race(p[0], p[1]), nil), ask(fresh, f.Race(p[0], p[1]), nil); v != w || v == order.Unknown {
			t.Errorf("%v, from a new solver %v", v, w)
		}
	}
}

// TestContext checks that Solve stops when its context is done, also during a search, and that later
// calls continue.
func TestContext(t *testing.T) {
	s := mustNew(t, []int{2, 2})
	done, cancel := context.WithCancel(context.Background())
	cancel()
	if v, err := s.Solve(done, nil, nil); v != order.Unknown || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", v, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	candidates := 0
	v, err := s.Solve(ctx, nil, func([]order.Node) [][]order.Lit {
		if candidates++; candidates > 1 {
			t.Error("the search goes on after the context is done")
		}
		cancel()
		return [][]order.Lit{{lit(2, 0)}}
	})
	if v != order.Unknown || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", v, err)
	}
	if v, err := solve(s, []order.Lit{lit(0, 2)}, nil); v != order.Unsat || err != nil {
		t.Errorf("what the check returned is forgotten: %v, %v", v, err)
	}
}

// TestZero checks that methods of a Solver that NewSolver did not make fail without a panic.
func TestZero(t *testing.T) {
	s := new(order.Solver)
	if _, err := solve(s, nil, nil); !errors.Is(err, heisen.ErrZero) {
		t.Errorf("Solve: %v", err)
	}
	_, err := s.NewVariable(0)
	for i, err := range []error{err, s.Require(0, 1), s.Add(), s.Prefer(order.Bool(0)), s.PreferOrder(nil), s.AddRead(0, 0), s.AddLock()} {
		if !errors.Is(err, heisen.ErrZero) {
			t.Errorf("method %d: %v", i, err)
		}
	}
	if s.Holds(lit(0, 1)) || s.Nodes() != 0 || s.Node(0, 0) >= 0 {
		t.Error("nodes of no solver")
	}
	s.NewBool()
	s.SetBudget(1, 1)
	if s.Stats() != (order.Stats{}) || len(s.Order()) != 0 || len(s.Failed()) != 0 {
		t.Error("results of no solver")
	}
}

// TestDeterminism checks that the same calls have the same results and statistics, also while other
// solvers run.
func TestDeterminism(t *testing.T) {
	f := maximal.Encode(workload.Hot(workload.Params{Threads: 3, Events: 250, Seed: 5}))
	run := func() (string, error) {
		s, err := f.Solver()
		if err != nil {
			return "", err
		}
		var out strings.Builder
		for _, p := range f.Pairs(15) {
			v := ask(s, f.Race(p[0], p[1]), nil)
			fmt.Fprintln(&out, v, s.Order(), s.Failed())
		}
		fmt.Fprintln(&out, s.Stats())
		return out.String(), nil
	}
	want, err := run()
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if got, err := run(); err != nil || got != want {
				t.Errorf("%v\n%s\nwant\n%s", err, got, want)
			}
		})
	}
	group.Wait()
}

// TestSteadyState checks that repeated queries do not allocate.
func TestSteadyState(t *testing.T) {
	f := maximal.Encode(workload.Mixed(workload.Params{Threads: 4, Events: 400, Seed: 2}))
	s, err := f.Solver()
	if err != nil {
		t.Fatal(err)
	}
	var queries [][]order.Lit
	for _, p := range f.Pairs(10) {
		queries = append(queries, f.Race(p[0], p[1]))
	}
	all := func() {
		for _, q := range queries {
			ask(s, q, nil)
		}
	}
	for range 20 {
		all()
	}
	if n := testing.AllocsPerRun(10, all); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestSMTLIB checks the text of a problem with all kinds of constraints.
func TestSMTLIB(t *testing.T) {
	p := order.Problem{
		Chains: []int{2, 1}, Bools: 1, Require: []order.Lit{lit(0, 2)},
		Clauses: [][]order.Lit{{order.Bool(0), lit(2, 1)}, {order.Bool(0).Not()}, {}},
		Assume:  []order.Lit{lit(1, 2)},
	}
	var b strings.Builder
	if err := p.WriteSMTLIB(&b); err != nil {
		t.Fatal(err)
	}
	want := `(set-logic QF_IDL)
(declare-fun n0 () Int)
(declare-fun n1 () Int)
(assert (< n0 n1))
(declare-fun n2 () Int)
(declare-fun b0 () Bool)
(assert (< n0 n2))
(assert (or b0 (< n2 n1)))
(assert (not b0))
(assert false)
(assert (< n1 n2))
(check-sat)
`
	if b.String() != want {
		t.Errorf("%s", b.String())
	}
	p.Require = append(p.Require, lit(0, 5))
	if _, err := p.Solver(); !errors.Is(err, order.ErrNode) {
		t.Errorf("an edge to nowhere: %v", err)
	}
}

// FuzzSolve decodes small problems and queries and compares with enumeration.
func FuzzSolve(f *testing.F) {
	f.Add([]byte{3, 3, 2, 1, 1, 0, 4, 2, 0, 3, 1, 4, 2, 5, 2, 4, 0})
	f.Add([]byte{4, 1, 1, 1, 1, 2, 3, 3, 200, 1, 0, 2, 1, 201, 3, 2, 0, 1, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		next := func(n int) int {
			if len(data) == 0 {
				return 0
			}
			b := data[0]
			data = data[1:]
			return int(b) % n
		}
		var p order.Problem
		for range 2 + next(3) {
			p.Chains = append(p.Chains, 1+next(3))
		}
		if interleavings(p.Chains) > 3000 {
			t.Skip()
		}
		nodes := len(nodesOf(&p))
		p.Bools = next(3)
		literal := func() order.Lit {
			a := next(nodes + 2*p.Bools)
			if a >= nodes {
				l := order.Bool((a - nodes) / 2)
				if (a-nodes)%2 == 1 {
					l = l.Not()
				}
				return l
			}
			b := next(nodes - 1)
			if b >= a {
				b++
			}
			return lit(order.Node(a), order.Node(b))
		}
		for range 1 + next(8) {
			var c []order.Lit
			for range 1 + next(4) {
				c = append(c, literal())
			}
			p.Clauses = append(p.Clauses, c)
		}
		var queries [][]order.Lit
		for range 1 + next(3) {
			var q []order.Lit
			for range next(4) {
				q = append(q, literal())
			}
			queries = append(queries, q)
		}
		all := models(&p)
		for _, mode := range modes {
			rng := rand.New(rand.NewPCG(1, 4))
			if _, _, err := tryMode(rng, &p, slices.Index(p.Chains, 1), all, queries, mode.opts, mode.lazy, mode.fresh, mode.goal); err != nil {
				t.Fatalf("%s: %v\n%+v\n%v", mode.name, err, p, queries)
			}
		}
	})
}

// TestStats checks all counters with one query that needs all of them.
func TestStats(t *testing.T) {
	f := maximal.Encode(workload.Hot(workload.Params{Threads: 4, Events: 300, Seed: 3}))
	s, err := f.Solver(order.WithRestarts(1), order.WithReduction(10))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range f.Pairs(20) {
		ask(s, f.Race(p[0], p[1]), nil)
	}
	st := reflect.ValueOf(s.Stats())
	for i := range st.NumField() {
		if st.Field(i).Int() == 0 {
			t.Errorf("%s is 0", st.Type().Field(i).Name)
		}
	}
	if s.Stats().Solves != 20 || s.Stats().RowCells >= s.Stats().Propagations {
		t.Errorf("%+v", s.Stats())
	}
}

// TestNilArguments checks that a nil context and a nil writer are errors.
func TestNilArguments(t *testing.T) {
	s := mustNew(t, []int{1, 1})
	var ctx context.Context
	if res, err := s.Solve(ctx, nil, nil); res != order.Unknown || !errors.Is(err, heisen.ErrOption) {
		t.Errorf("Solve: %v, %v", res, err)
	}
	for name, p := range map[string]*order.Problem{
		"an unknown node":    {Chains: []int{2}, Clauses: [][]order.Lit{{lit(0, 7)}}},
		"an unknown boolean": {Chains: []int{2}, Bools: 1, Clauses: [][]order.Lit{{order.Bool(1)}}},
		"a negative length":  {Chains: []int{-1}},
		"negative booleans":  {Chains: []int{1}, Bools: -1},
		"a required boolean": {Chains: []int{2}, Bools: 1, Require: []order.Lit{order.Bool(0)}},
		"too many nodes":     {Chains: []int{math.MaxInt32}},
	} {
		var text bytes.Buffer
		_, want := p.Solver()
		err := p.WriteSMTLIB(&text)
		if want == nil || err == nil || text.Len() > 0 {
			t.Errorf("%s: %d bytes written, error %v; Solver: error %v", name, text.Len(), err, want)
		}
	}
	assumed := order.Problem{Chains: []int{2}, Assume: []order.Lit{lit(0, 7)}}
	if err := assumed.WriteSMTLIB(&bytes.Buffer{}); !errors.Is(err, order.ErrNode) {
		t.Errorf("WriteSMTLIB of an unknown node: %v", err)
	}
	if _, err := order.NewSolver([]int{math.MaxInt32}); err == nil || err.Error() !=
		"order.NewSolver: too large: chain 0 of length 2147483647 makes more than 2147483646 nodes, the most of 1 chains" {
		t.Errorf("NewSolver: %v", err)
	}
	if err := new(order.Problem).WriteSMTLIB(nil); !errors.Is(err, heisen.ErrOption) {
		t.Errorf("WriteSMTLIB: %v", err)
	}
}

func TestLitString(t *testing.T) {
	for l, want := range map[order.Lit]string{
		lit(3, 5): "3<5", order.Bool(0): "b0", order.Bool(2).Not(): "!b2", lit(-1, 0): "-1<0", lit(-1, -1): "-1<-1", lit(-2, -3): "-2<-3",
	} {
		if got := l.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

package order_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/heisen-go/heisen/bench/maximal"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/mcm/order"
)

func lit(a, b order.Node) order.Lit { return order.Lit{Before: a, After: b} }

func mustNew(t *testing.T, chains []int, opts ...order.Option) *order.Solver {
	t.Helper()
	s, err := order.New(chains, opts...)
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
		{[]int{-1}, nil, order.ErrOption},
		{[]int{1 << 30, 1 << 30}, nil, order.ErrSize},
		{[]int{2, 1}, order.Sink(0), order.ErrOption},
		{[]int{2, 1}, order.Sink(2), order.ErrOption},
		{[]int{2, 1}, order.Sink(-1), order.ErrOption},
		{[]int{1}, order.Restarts(-1), order.ErrOption},
		{[]int{1}, order.ReduceAt(-1), order.ErrOption},
	} {
		opts := []order.Option{test.opt}
		if test.opt == nil {
			opts = nil
		}
		if _, err := order.New(test.chains, opts...); !errors.Is(err, test.want) {
			t.Errorf("%v: %v, want %v", test.chains, err, test.want)
		}
	}
	if _, err := order.New([]int{1, 1}, order.Sink(0), order.Sink(1)); !errors.Is(err, order.ErrOption) {
		t.Errorf("two sinks: %v", err)
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
		if v := s.Solve([]order.Lit{l}, nil); v != order.Unknown || !errors.Is(s.Err(), order.ErrNode) {
			t.Errorf("Solve %v: %v, %v", l, v, s.Err())
		}
		if s.Holds(l) {
			t.Errorf("%v holds", l)
		}
	}
	if err := s.Phase([]order.Node{4}); !errors.Is(err, order.ErrNode) {
		t.Errorf("Phase: %v", err)
	}
	if err := s.Phase([]order.Node{1, 1}); !errors.Is(err, order.ErrOption) {
		t.Errorf("Phase: %v", err)
	}
	if v := s.Solve(nil, nil); v != order.Yes || s.Err() != nil {
		t.Errorf("after errors: %v, %v", v, s.Err())
	}
	if v := s.Solve(nil, func([]order.Node) [][]order.Lit { return [][]order.Lit{{lit(0, 1)}} }); v != order.Unknown || !errors.Is(s.Err(), order.ErrCheck) {
		t.Errorf("a check that finds nothing: %v, %v", v, s.Err())
	}
	if v := s.Solve(nil, func([]order.Node) [][]order.Lit { return [][]order.Lit{{lit(7, 1)}} }); v != order.Unknown || !errors.Is(s.Err(), order.ErrNode) {
		t.Errorf("a check of what does not exist: %v, %v", v, s.Err())
	}
	if v := s.Solve(nil, nil); v != order.Yes || s.Err() != nil {
		t.Errorf("after errors: %v, %v", v, s.Err())
	}
	if s.Require(0, 9) || s.Solve(nil, nil) != order.No || len(s.Failed()) != 0 {
		t.Error("an edge to nowhere can hold")
	}
}

func TestContradictions(t *testing.T) {
	s := mustNew(t, []int{2, 2})
	if !s.Require(1, 2) || s.Require(3, 0) || s.Solve(nil, nil) != order.No {
		t.Error("a cycle of edges is not noticed")
	}
	s = mustNew(t, []int{2, 2})
	if err := s.Add(); err != nil || s.Solve([]order.Lit{lit(0, 2)}, nil) != order.No || len(s.Failed()) != 0 {
		t.Error("the empty clause holds")
	}
	s = mustNew(t, []int{2, 2})
	a := lit(0, 2)
	if s.Solve([]order.Lit{a, lit(1, 3), a.Not()}, nil) != order.No {
		t.Error("a literal and its negation hold")
	}
	if core := s.Failed(); len(core) != 2 || !slices.Contains(core, a) || !slices.Contains(core, a.Not()) {
		t.Errorf("core %v", core)
	}
	if s.Solve([]order.Lit{lit(0, 1)}, nil) != order.Yes || s.Solve([]order.Lit{lit(1, 0)}, nil) != order.No {
		t.Error("a chain has no order")
	}
	empty := mustNew(t, nil)
	if empty.Solve(nil, nil) != order.Yes || len(empty.Order()) != 0 {
		t.Error("nothing cannot be ordered")
	}
}

// TestPreferred: without constraints the order found is the preferred one, and an
// assumption moves only what it must.
func TestPreferred(t *testing.T) {
	s := mustNew(t, []int{3, 3})
	hint := []order.Node{0, 3, 1, 4, 2, 5}
	if err := s.Phase(hint); err != nil {
		t.Fatal(err)
	}
	if s.Solve(nil, nil); !slices.Equal(s.Order(), hint) {
		t.Errorf("%v, want %v", s.Order(), hint)
	}
	want := []order.Node{0, 3, 4, 1, 2, 5}
	if s.Solve([]order.Lit{lit(4, 1)}, nil); !slices.Equal(s.Order(), want) {
		t.Errorf("%v, want %v", s.Order(), want)
	}
}

// TestBudget: a budget makes hard queries unknown, is per query, and a solver goes
// on where it was.
func TestBudget(t *testing.T) {
	f := maximal.Encode(workload.Hot(workload.Params{Threads: 4, Events: 300, Seed: 3}))
	s, err := f.Solver(order.Budget(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	unknown := 0
	for _, p := range f.Pairs(20) {
		before := s.Stats().Conflicts
		if s.Solve(f.Race(p[0], p[1]), nil) == order.Unknown {
			unknown++
			if s.Err() != nil {
				t.Errorf("a spent budget is an error: %v", s.Err())
			}
		}
		if n := s.Stats().Conflicts - before; n > 1 {
			t.Errorf("%d conflicts", n)
		}
	}
	if unknown == 0 {
		t.Fatal("no query needed more than one conflict")
	}
	s.Budget(0, 10)
	p := f.Pairs(1)[0]
	if v := s.Solve(f.Race(p[0], p[1]), nil); v != order.Unknown {
		t.Errorf("%v with 10 propagations", v)
	}
	s.Budget(0, 0)
	fresh, err := f.Solver()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range f.Pairs(20) {
		if v, w := s.Solve(f.Race(p[0], p[1]), nil), fresh.Solve(f.Race(p[0], p[1]), nil); v != w || v == order.Unknown {
			t.Errorf("%v, from a new solver %v", v, w)
		}
	}
}

// TestDeterminism: the same calls have the same results and the same statistics,
// also while other solvers run.
func TestDeterminism(t *testing.T) {
	f := maximal.Encode(workload.Hot(workload.Params{Threads: 3, Events: 250, Seed: 5}))
	run := func() (string, error) {
		s, err := f.Solver()
		if err != nil {
			return "", err
		}
		var out strings.Builder
		for _, p := range f.Pairs(15) {
			v := s.Solve(f.Race(p[0], p[1]), nil)
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

// TestSteadyState: once a solver has seen its queries, asking them again does not
// allocate.
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
	ask := func() {
		for _, q := range queries {
			s.Solve(q, nil)
		}
	}
	for range 20 {
		ask()
	}
	if n := testing.AllocsPerRun(10, ask); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestSMTLIB looks at the text of a problem with everything in it.
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
			if _, _, err := tryMode(rng, &p, slices.Index(p.Chains, 1), all, queries, mode.opts, mode.lazy, mode.fresh, mode.sink); err != nil {
				t.Fatalf("%s: %v\n%+v\n%v", mode.name, err, p, queries)
			}
		}
	})
}

// TestStats: the counters count what they say, for one query that needs all.
func TestStats(t *testing.T) {
	f := maximal.Encode(workload.Hot(workload.Params{Threads: 4, Events: 300, Seed: 3}))
	s, err := f.Solver(order.Restarts(1), order.ReduceAt(10))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range f.Pairs(20) {
		s.Solve(f.Race(p[0], p[1]), nil)
	}
	st := reflect.ValueOf(s.Stats())
	for i := range st.NumField() {
		if st.Field(i).Int() == 0 {
			t.Errorf("%s is 0", st.Type().Field(i).Name)
		}
	}
	if s.Stats().Solves != 20 || s.Stats().Raised >= s.Stats().Propagations {
		t.Errorf("%+v", s.Stats())
	}
}

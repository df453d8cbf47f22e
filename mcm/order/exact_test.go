package order_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen/internal/testaid/tier"
	"github.com/heisen-go/heisen/mcm/order"
)

// modes are ways to use a Solver. Their results must not differ.
var modes = []struct {
	name  string
	opts  []order.Option
	lazy  bool // clauses come from the check
	fresh bool // a Solver for each query
	goal  bool
}{
	{name: "eager"},
	{name: "lazy", lazy: true},
	{name: "goal", goal: true},
	{name: "lazy goal", lazy: true, goal: true},
	{name: "fresh", fresh: true, goal: true},
	{name: "fresh lazy", fresh: true, lazy: true},
	{name: "restarts", opts: []order.Option{order.WithRestarts(1)}, goal: true},
	{name: "no restarts, not minimized", opts: []order.Option{order.WithRestarts(0), order.WithMinimization(false)}, lazy: true},
	{name: "reducing", opts: []order.Option{order.WithReduction(1), order.WithRestarts(2)}, goal: true},
	{name: "stingy", opts: []order.Option{order.WithBudget(1, 0)}, lazy: true, goal: true},
	{name: "eager stingy", opts: []order.Option{order.WithBudget(0, 20)}, goal: true},
	{name: "lazy reducing", opts: []order.Option{order.WithReduction(1), order.WithMinimization(false)}, lazy: true, goal: true},
}

// TestExact compares results with enumeration on small random problems, in all modes, with queries
// in random order. It checks every order, core and learned clause.
func TestExact(t *testing.T) {
	problems := tier.Pick(1500, 1500, 6000)
	var yes, no, lost int
	for seed := range problems {
		rng := rand.New(rand.NewPCG(uint64(seed), 1))
		p, goal := smallProblem(rng)
		all := models(&p)
		queries := make([][]order.Lit, 1+rng.IntN(5))
		for i := range queries {
			for range rng.IntN(5) {
				queries[i] = append(queries[i], randomLit(rng, &p, true))
			}
		}
		for _, mode := range modes {
			y, n, err := tryMode(rng, &p, goal, all, queries, mode.opts, mode.lazy, mode.fresh, mode.goal)
			if err != nil {
				t.Fatalf("problem %d, %s: %v\n%+v\nsink %d\nqueries %v", seed, mode.name, err, p, goal, queries)
			}
			yes, no = yes+y, no+n
		}
		if len(all) == 0 {
			lost++
		}
	}
	t.Logf("%d yes, %d no; %d of %d problems contradictory", yes, no, lost, problems)
	if min(yes, no) < problems*5 || lost > problems/2 {
		t.Error("the problems are too one-sided to tell much")
	}
}

func tryMode(rng *rand.Rand, p *order.Problem, goal int, all []model, queries [][]order.Lit,
	opts []order.Option, lazy, fresh, useGoal bool) (yes, no int, err error) {
	if useGoal && goal >= 0 {
		opts = append(slices.Clip(opts), order.WithGoalChain(goal))
	}
	told := *p
	var later [][]order.Lit // clauses that are added between queries
	if lazy {
		told.Clauses = nil
	} else if !fresh {
		k := rng.IntN(len(p.Clauses) + 1)
		told.Clauses, later = p.Clauses[:k], p.Clauses[k:]
	}
	hint := rng.Perm(len(nodesOf(p)))
	var s *order.Solver
	begin := func() error {
		var err error
		if s, err = told.Solver(opts...); err != nil {
			return err
		}
		order.LogLearned(s, func(c []order.Learned) {
			for _, m := range all {
				if !m.confirms(c) {
					panic(fmt.Sprintf("learned %v, but there is a model %v", c, m))
				}
			}
		})
		if rng.IntN(2) == 0 {
			var ns []order.Node
			for _, n := range hint[:rng.IntN(len(hint)+1)] {
				ns = append(ns, order.Node(n))
			}
			return s.PreferOrder(ns)
		}
		return nil
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	if err := begin(); err != nil {
		return 0, 0, err
	}
	known := told
	seen := make([]bool, len(p.Clauses))
	for i := range queries {
		if i > 0 && fresh {
			clear(seen)
			if err := begin(); err != nil {
				return 0, 0, err
			}
		}
		if len(later) > 0 {
			k := rng.IntN(len(later) + 1)
			if i == len(queries)-1 {
				k = len(later)
			}
			for _, c := range later[:k] {
				if err := s.Add(c...); err != nil {
					return 0, 0, err
				}
			}
			known.Clauses = append(slices.Clip(known.Clauses), later[:k]...)
			later = later[k:]
		}
		q := queries[i]
		target := &known
		var check func([]order.Node) [][]order.Lit
		if lazy {
			target = p
			check = checkOf(rng, s, p, seen)
		}
		v, err := solve(s, q, check)
		for tries := 0; v == order.Unknown && err == nil; tries++ { // the budget was spent
			if tries == 3 {
				s.SetBudget(0, 0)
			}
			v, err = solve(s, q, check)
		}
		want := order.Unsat
		candidates := all
		if !lazy && len(known.Clauses) < len(p.Clauses) {
			candidates = models(&known)
		}
		for _, m := range candidates {
			if m.allHold(q) {
				want = order.Sat
				break
			}
		}
		if v != want {
			return 0, 0, fmt.Errorf("query %d: %v, want %v (%v)", i, v, want, err)
		}
		if v == order.Sat {
			yes++
			m, err := modelOf(s, target)
			if err != nil {
				return 0, 0, err
			}
			if !m.solves(target) || !m.allHold(q) {
				return 0, 0, fmt.Errorf("query %d: the order found violates something", i)
			}
			continue
		}
		no++
		core := s.Failed()
		for _, l := range core {
			if !slices.Contains(q, l) {
				return 0, 0, fmt.Errorf("query %d: core %v is not of the assumptions", i, core)
			}
		}
		for _, m := range candidates {
			if m.allHold(core) {
				return 0, 0, fmt.Errorf("query %d: core %v can hold", i, core)
			}
		}
	}
	return yes, no, nil
}

// checkOf returns a check that returns one or several clauses of p that the candidate violates, and
// sometimes others. told has, by clause, whether the solver has it.
func checkOf(rng *rand.Rand, s *order.Solver, p *order.Problem, told []bool) func([]order.Node) [][]order.Lit {
	return func([]order.Node) [][]order.Lit {
		m, err := modelOf(s, p)
		if err != nil {
			panic(err)
		}
		var out [][]order.Lit
		var which []int
		violated := 0
		for _, i := range rng.Perm(len(p.Clauses)) {
			c := p.Clauses[i]
			holds := m.satisfies(c)
			if !holds && told[i] {
				panic(fmt.Sprintf("the candidate violates %v, which is known", c))
			}
			if !holds {
				violated++
			}
			if !holds || rng.IntN(3) == 0 {
				out, which = append(out, c), append(which, i)
			}
			if violated > 0 && rng.IntN(4) == 0 {
				break
			}
		}
		if violated == 0 {
			return nil
		}
		for _, i := range which {
			told[i] = true
		}
		return out
	}
}

func nodesOf(p *order.Problem) (all []order.Node) {
	for _, c := range p.Chains {
		for range c {
			all = append(all, order.Node(len(all)))
		}
	}
	return all
}

// modelOf reads a model through Holds, and through Order if there is one, and
// checks that it is an order of all nodes that contains the chains.
func modelOf(s *order.Solver, p *order.Problem) (model, error) {
	all := nodesOf(p)
	m := model{where: make([]int, len(all)), bools: make([]bool, p.Bools)}
	for k := range p.Bools {
		if s.Holds(order.Bool(k)) == s.Holds(order.Bool(k).Not()) {
			return m, fmt.Errorf("boolean %d and its negation", k)
		}
		m.bools[k] = s.Holds(order.Bool(k))
	}
	for _, a := range all {
		for _, b := range all {
			if a != b && s.Holds(order.Lit{Before: b, After: a}) {
				m.where[a]++
			}
		}
	}
	seen := make([]bool, len(all))
	for _, w := range m.where {
		if seen[w] {
			return m, fmt.Errorf("not a total order: %v", m.where)
		}
		seen[w] = true
	}
	n := 0
	for _, c := range p.Chains {
		for i := range c {
			if i > 0 && m.where[n-1] > m.where[n] {
				return m, fmt.Errorf("%d after %d", n-1, n)
			}
			n++
		}
	}
	if o := s.Order(); len(o) > 0 {
		for i, x := range o {
			if m.where[x] != i {
				return m, fmt.Errorf("Order %v and Holds differ", o)
			}
		}
	}
	return m, nil
}

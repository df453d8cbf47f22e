package order_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/maximal"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/internal/testaid/tier"
	"github.com/heisen-go/heisen/mcm/order"
)

// memory is a problem with variables and locks.
type memory struct {
	order.Problem
	goal      int // its chain, or -1
	variables []writes
	reads     []readOf
	locks     [][]order.CriticalSection
}

type writes struct {
	initial int32
	list    []order.Write
}

type readOf struct {
	variable int
	node     order.Node
	values   []int32
}

// afterGoal reports whether a node comes after the goal.
func (p *memory) afterGoal(m model, n order.Node) bool {
	if p.goal < 0 {
		return false
	}
	k := 0
	for _, c := range p.Chains[:p.goal] {
		k += c
	}
	return m.where[n] > m.where[k]
}

// allows reports whether an order satisfies all reads and has no overlapping critical sections.
func (p *memory) allows(m model) bool {
	for _, r := range p.reads {
		value, at := p.variables[r.variable].initial, -1
		for _, w := range p.variables[r.variable].list {
			if place := m.where[w.Node]; place > at && place < m.where[r.node] {
				value, at = w.Value, place
			}
		}
		if !slices.Contains(r.values, value) && !p.afterGoal(m, r.node) {
			return false
		}
	}
	for _, list := range p.locks {
		for i, x := range list {
			if x.Start >= 0 && x.End >= 0 && m.where[x.Start] > m.where[x.End] {
				return false
			}
			for _, y := range list[:i] {
				if x.Holder == y.Holder || x.Shared && y.Shared ||
					x.Start >= 0 && p.afterGoal(m, x.Start) || y.Start >= 0 && p.afterGoal(m, y.Start) {
					continue
				}
				follows := func(a, b order.CriticalSection) bool {
					return a.End >= 0 && b.Start >= 0 && m.where[a.End] < m.where[b.Start]
				}
				if !follows(x, y) && !follows(y, x) {
					return false
				}
			}
		}
	}
	return true
}

// addTo adds the given variables and locks to a solver.
func (p *memory) addTo(s *order.Solver, variables, locks []int) error {
	for _, v := range variables {
		id, err := s.NewVariable(p.variables[v].initial, p.variables[v].list...)
		if err != nil {
			return err
		}
		for _, r := range p.reads {
			if r.variable != v {
				continue
			}
			if err := s.AddRead(id, r.node, r.values...); err != nil {
				return err
			}
		}
	}
	for _, l := range locks {
		if err := s.AddLock(p.locks[l]...); err != nil {
			return err
		}
	}
	return nil
}

// smallMemory returns a random memory with at most 9 nodes.
func smallMemory(rng *rand.Rand) *memory {
	p := &memory{}
	p.Problem, p.goal = smallProblem(rng)
	if rng.IntN(4) == 0 {
		p.goal = -1
	}
	// Few clauses, so that most choices are left to reads and critical sections.
	p.Clauses = p.Clauses[:min(len(p.Clauses), rng.IntN(4))]
	if rng.IntN(2) == 0 {
		p.Require = nil
	}
	var nodes []order.Node
	goalNode := order.Node(-1)
	chain := map[order.Node]int{}
	n := order.Node(0)
	for c, length := range p.Chains {
		for range length {
			if c == p.goal {
				goalNode = n
			} else {
				nodes = append(nodes, n)
			}
			chain[n] = c
			n++
		}
	}
	if len(nodes) == 0 {
		return smallMemory(rng)
	}
	values := 2 + rng.IntN(3)
	for v := range 1 + rng.IntN(2) {
		w := writes{initial: int32(rng.IntN(values))}
		for _, x := range nodes {
			if rng.IntN(5) < 2 {
				w.list = append(w.list, order.Write{Node: x, Value: int32(rng.IntN(values))})
			}
		}
		rng.Shuffle(len(w.list), func(i, j int) { w.list[i], w.list[j] = w.list[j], w.list[i] })
		p.variables = append(p.variables, w)
		for _, x := range nodes {
			if rng.IntN(5) < 2 {
				r := readOf{variable: v, node: x}
				for len(r.values) == 0 || rng.IntN(4) == 0 {
					r.values = append(r.values, int32(rng.IntN(values)))
				}
				p.reads = append(p.reads, r)
			}
		}
	}
	for range rng.IntN(3) {
		var list []order.CriticalSection
		for range rng.IntN(5) {
			x := order.CriticalSection{Start: nodes[rng.IntN(len(nodes))], Shared: rng.IntN(4) == 0}
			x.Holder = chain[x.Start]
			x.End = x.Start
			for x.End+1 < n && chain[x.End+1] == x.Holder && rng.IntN(2) == 0 {
				x.End++
			}
			switch rng.IntN(12) {
			case 0:
				x.Start = -1
			case 1:
				x.End = -1
			case 2: // another one ends it
				if y := nodes[rng.IntN(len(nodes))]; chain[y] != x.Holder {
					x.End = y
				}
			case 3:
				x.Holder = 100
			}
			list = append(list, x)
		}
		p.locks = append(p.locks, list)
	}
	if goalNode >= 0 {
		for i := range p.Require { // edges at the goal leave few choices
			if l := p.Require[i]; (l.Before == goalNode || l.After == goalNode) && rng.IntN(2) == 0 {
				p.Require = slices.Delete(p.Require, i, i+1)
				break
			}
		}
	}
	return p
}

// TestReadsAndSections compares results on small problems with enumeration: with queries in random
// order, with fresh and shared solvers, with all constraints at once and added one by one. It
// checks every order and core, and that learned clauses hold in every solution.
func TestReadsAndSections(t *testing.T) {
	problems := tier.Pick(3000, 3000, 7000)
	var yes, no, lost, learned int
	for seed := range problems {
		rng := rand.New(rand.NewPCG(uint64(seed), 11))
		p := smallMemory(rng)
		y, n, l, err := p.try(rng)
		if err != nil {
			t.Fatalf("problem %d: %v\n%+v", seed, err, *p)
		}
		yes, no, learned = yes+y, no+n, learned+l
		if y == 0 {
			lost++
		}
	}
	t.Logf("%d yes, %d no, %d learned clauses; nothing possible in %d of %d problems", yes, no, learned, lost, problems)
	if min(yes, no) < problems || lost > problems*2/3 || learned < problems/2 {
		t.Error("the problems are too one-sided to tell much")
	}
}

func (p *memory) try(rng *rand.Rand) (yes, no, learned int, err error) {
	queries := make([][]order.Lit, 2+rng.IntN(5))
	for i := range queries {
		for range rng.IntN(5) {
			queries[i] = append(queries[i], randomLit(rng, &p.Problem, true))
		}
	}
	all := slices.DeleteFunc(models(&p.Problem), func(m model) bool { return !p.allows(m) })
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	for _, mode := range modes {
		if mode.lazy || mode.goal != (p.goal >= 0) {
			continue
		}
		opts := mode.opts
		if p.goal >= 0 {
			opts = append(slices.Clip(opts), order.WithGoalChain(p.goal))
		}
		var s *order.Solver
		begin := func() error {
			var err error
			if s, err = p.Solver(opts...); err != nil {
				return err
			}
			order.LogLearned(s, func(c []order.Learned) {
				learned++
				for _, m := range all {
					if !m.confirms(c) {
						panic(fmt.Sprintf("learned %v, but there is a model %v", c, m))
					}
				}
			})
			if rng.IntN(2) == 0 {
				var hint []order.Node
				for _, n := range rng.Perm(len(nodesOf(&p.Problem))) {
					hint = append(hint, order.Node(n))
				}
				return s.PreferOrder(hint)
			}
			return nil
		}
		if err := begin(); err != nil {
			return 0, 0, 0, err
		}
		vs, ls := rng.Perm(len(p.variables)), rng.Perm(len(p.locks))
		known := all
		if !mode.fresh && rng.IntN(2) == 0 && len(vs) > 1 { // some of it is added between queries
			part := *p
			part.reads = slices.DeleteFunc(slices.Clone(p.reads), func(r readOf) bool { return r.variable != vs[0] })
			part.locks = nil
			order.LogLearned(s, func(c []order.Learned) {
				for _, m := range all {
					if !m.confirms(c) {
						panic(fmt.Sprintf("learned %v, but there is a model %v", c, m))
					}
				}
			})
			known = slices.DeleteFunc(models(&p.Problem), func(m model) bool { return !part.allows(m) })
			if err := p.addTo(s, vs[:1], nil); err != nil {
				return 0, 0, 0, err
			}
			vs = vs[1:]
		} else if err := p.addTo(s, vs, ls); err != nil {
			return 0, 0, 0, err
		} else {
			vs, ls = nil, nil
		}
		for k, i := range rng.Perm(len(queries)) {
			switch {
			case k > 0 && mode.fresh:
				if err := begin(); err != nil {
					return 0, 0, 0, err
				}
				if err := p.addTo(s, rng.Perm(len(p.variables)), rng.Perm(len(p.locks))); err != nil {
					return 0, 0, 0, err
				}
			case k == 1:
				if err := p.addTo(s, vs, ls); err != nil {
					return 0, 0, 0, err
				}
				known = all
			}
			q := queries[i]
			v, err := solve(s, q, nil)
			for tries := 0; v == order.Unknown && err == nil; tries++ { // the budget was spent
				if tries == 3 {
					s.SetBudget(0, 0)
				}
				v, err = solve(s, q, nil)
			}
			want := order.Unsat
			if slices.ContainsFunc(known, func(m model) bool { return m.allHold(q) }) {
				want = order.Sat
			}
			if v != want {
				return 0, 0, 0, fmt.Errorf("%s, query %v: %v, want %v (%v)", mode.name, q, v, want, err)
			}
			if v == order.Unsat {
				no++
				core := s.Failed()
				for _, m := range known {
					if m.allHold(core) {
						return 0, 0, 0, fmt.Errorf("%s, query %v: core %v can hold", mode.name, q, core)
					}
				}
				continue
			}
			yes++
			m, err := modelOf(s, &p.Problem)
			if err != nil {
				return 0, 0, 0, fmt.Errorf("%s, query %v: %w", mode.name, q, err)
			}
			if !m.allHold(q) || !slices.ContainsFunc(known, func(o model) bool {
				return slices.Equal(o.where, m.where) && slices.Equal(o.bools, m.bools)
			}) {
				return 0, 0, 0, fmt.Errorf("%s, query %v: the order found violates something: %v", mode.name, q, m)
			}
		}
	}
	return yes, no, learned, nil
}

// TestNativeWindows compares results about windows with those of the same formula in clauses. Each
// order found satisfies the clauses, and each learned clause holds in all orders found, also for
// other queries.
func TestNativeWindows(t *testing.T) {
	windows := tier.Pick(9, 9, 12)
	var yes, no, conflicts int
	for k := range windows {
		generate := []func(workload.Params) []heisen.Record{workload.Hot, workload.Mixed, workload.Locky}[k%3]
		params := workload.Params{Threads: 3 + k%4, Events: 200 + 16*(k%40), Seed: uint64(k)}
		if k%3 == 0 {
			params.Vars = 2 + k%5
		}
		f := maximal.Encode(generate(params))
		clauses, err := f.Solver()
		if err != nil {
			t.Fatal(err)
		}
		pairs := f.Pairs(12)
		want := make([]order.Result, len(pairs))
		for i, p := range pairs {
			want[i] = ask(clauses, f.Race(p[0], p[1]), nil)
		}
		for _, mode := range modes {
			if mode.lazy || !mode.goal {
				continue
			}
			var s *order.Solver
			var learned [][]order.Learned
			var found []model
			for at, i := range rand.New(rand.NewPCG(uint64(k), 12)).Perm(len(pairs)) {
				if at == 0 || mode.fresh {
					if s, err = f.Native(mode.opts...); err != nil {
						t.Fatal(err)
					}
					order.LogLearned(s, func(c []order.Learned) { learned = append(learned, c) })
				}
				q := f.Race(pairs[i][0], pairs[i][1])
				v, err := solve(s, q, nil)
				for tries := 0; v == order.Unknown && err == nil; tries++ { // the budget was spent
					if tries == 3 {
						s.SetBudget(0, 0)
					}
					v, err = solve(s, q, nil)
				}
				if v != want[i] {
					t.Fatalf("%+v, %s, records %v: %v, with clauses %v (%v)", params, mode.name, pairs[i], v, want[i], err)
				}
				if v == order.Unsat {
					no++
					if core := s.Failed(); ask(clauses, core, nil) != order.Unsat {
						t.Fatalf("%+v, %s, records %v: core %v can hold", params, mode.name, pairs[i], core)
					}
					continue
				}
				yes++
				nodes := s.Order()
				m := model{where: make([]int, len(nodes))}
				for k, n := range nodes {
					m.where[n] = k
					if k > 0 {
						q = append(q, order.Lit{Before: nodes[k-1], After: n})
					}
				}
				if ask(clauses, q, nil) != order.Sat {
					t.Fatalf("%+v, %s, records %v: the order found is none", params, mode.name, pairs[i])
				}
				found = append(found, m)
			}
			conflicts += len(learned)
			for _, m := range found {
				for _, c := range learned {
					if !m.confirms(c) {
						t.Fatalf("%+v, %s: learned %v, but there is an order without it", params, mode.name, c)
					}
				}
			}
		}
	}
	t.Logf("%d yes, %d no, %d conflicts", yes, no, conflicts)
	if min(yes, no) < windows*8 || conflicts < 50*windows {
		t.Error("the windows are too one-sided to tell much")
	}
}

// TestAfterGoal checks that results do not change because the rows of nodes after the goal are
// incomplete during a search, even if clauses about such nodes can close cycles among them.
func TestAfterGoal(t *testing.T) {
	problems := tier.Pick(100, 100, 1000)
	var yes, no int
	for seed := range problems {
		rng := rand.New(rand.NewPCG(uint64(seed), 13))
		var p order.Problem
		nodes := 0
		for range 6 + rng.IntN(4) {
			p.Chains = append(p.Chains, 1+rng.IntN(3))
			nodes += p.Chains[len(p.Chains)-1]
		}
		goal := order.Node(nodes)
		p.Chains = append(p.Chains, 1)
		for range nodes * (10 + rng.IntN(25)) / 10 {
			var clause []order.Lit
			for range 2 + rng.IntN(2) {
				clause = append(clause, randomLit(rng, &p, false))
			}
			if rng.IntN(3) == 0 {
				clause[0] = order.Lit{Before: goal, After: clause[0].After}
				if clause[0].After == goal {
					clause = clause[1:]
				}
			}
			p.Clauses = append(p.Clauses, clause)
		}
		with, err := p.Solver(order.WithGoalChain(len(p.Chains) - 1))
		if err != nil {
			t.Fatal(err)
		}
		without, err := p.Solver()
		if err != nil {
			t.Fatal(err)
		}
		flag, err := with.NewVariable(0) // rows are left behind where there are reads
		if err != nil {
			t.Fatal(err)
		}
		if err := with.AddRead(flag, 0, 0); err != nil {
			t.Fatal(err)
		}
		for range 6 {
			var q []order.Lit
			for range 1 + rng.IntN(4) { // after the goal
				q = append(q, order.Lit{Before: goal, After: order.Node(rng.IntN(nodes))})
			}
			for range rng.IntN(2) {
				q = append(q, randomLit(rng, &p, false))
			}
			v := ask(with, q, nil)
			if want := ask(without, q, nil); v != want {
				t.Fatalf("problem %d, query %v: %v, want %v", seed, q, v, want)
			}
			if v == order.Unsat {
				no++
				continue
			}
			yes++
			m, err := modelOf(with, &p)
			if err != nil {
				t.Fatal(err)
			}
			if !m.solves(&p) || !m.allHold(q) {
				t.Fatalf("problem %d, query %v: the order found violates something", seed, q)
			}
		}
	}
	t.Logf("%d yes, %d no", yes, no)
	if min(yes, no) < problems {
		t.Error("the problems are too one-sided to tell much")
	}
}

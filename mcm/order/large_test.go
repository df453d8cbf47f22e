package order_test

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/maximal"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/mcm/order"
)

var update = flag.Bool("update", false, "ask Z3 and write its verdicts to testdata")

// largeCase is a problem that is too large to enumerate, with several queries.
type largeCase struct {
	name    string
	problem order.Problem
	goal    int
	queries [][]order.Lit
}

// largeCases returns random problems with 20 to 140 nodes, and race queries about windows of 60 to 180
// events. Each call returns the same ones.
func largeCases() (cases []largeCase) {
	for seed := range 48 {
		rng := rand.New(rand.NewPCG(uint64(seed), 2))
		c := largeCase{name: fmt.Sprint("random", seed)}
		nodes := 0
		for range 3 + rng.IntN(4) {
			n := 6 + rng.IntN(18)
			c.problem.Chains = append(c.problem.Chains, n)
			nodes += n
		}
		c.goal = len(c.problem.Chains)
		c.problem.Chains = append(c.problem.Chains, 1)
		c.problem.Bools = rng.IntN(20)
		for range rng.IntN(8) {
			// Edges agree with one order, as in a trace.
			l := randomLit(rng, &c.problem, false)
			if int(l.Before)*7%nodes > int(l.After)*7%nodes {
				l = l.Not()
			}
			c.problem.Require = append(c.problem.Require, l)
		}
		for range nodes * (2 + rng.IntN(10)) / 10 {
			var clause []order.Lit
			for range 2 + min(rng.IntN(3), rng.IntN(3)) {
				clause = append(clause, randomLit(rng, &c.problem, true))
			}
			c.problem.Clauses = append(c.problem.Clauses, clause)
		}
		for range 4 {
			var q []order.Lit
			for range rng.IntN(4) {
				q = append(q, randomLit(rng, &c.problem, true))
			}
			c.queries = append(c.queries, q)
		}
		cases = append(cases, c)
	}
	for i, generate := range []func(workload.Params) []heisen.Record{workload.Mixed, workload.Hot, workload.Locky} {
		for seed := range 8 {
			rng := rand.New(rand.NewPCG(uint64(seed), uint64(i)))
			f := maximal.Encode(generate(workload.Params{
				Threads: 2 + rng.IntN(4), Events: 60 + rng.IntN(120)/(1+i%2*2), Seed: uint64(seed),
			}))
			c := largeCase{
				name: fmt.Sprintf("%s%d", []string{"mixed", "hot", "locky"}[i], seed), problem: f.Problem, goal: len(f.Chains) - 1,
			}
			for _, p := range f.Pairs(6) {
				c.queries = append(c.queries, f.Race(p[0], p[1]))
			}
			cases = append(cases, c)
		}
	}
	return cases
}

// TestLarge compares results on larger problems with the stored ones of Z3, in all modes. It checks
// orders, cores and learned clauses.
func TestLarge(t *testing.T) {
	stored := readVerdicts(t)
	var count [3]int
	for _, c := range largeCases() {
		want := stored[c.name]
		if len(want) != len(c.queries) {
			t.Fatalf("%s: %d verdicts are stored for %d queries; run the test with -update where Z3 is", c.name, len(want), len(c.queries))
		}
		for _, mode := range modes {
			rng := rand.New(rand.NewPCG(1, 3))
			for i, v := range runLarge(t, rng, &c, mode.name, mode.opts, mode.lazy, mode.fresh, mode.goal) {
				if v.String() != want[i] {
					t.Errorf("%s, %s, query %d: %v, Z3 says %v", c.name, mode.name, i, v, want[i])
				}
				count[v]++
			}
		}
	}
	t.Logf("%d yes, %d no", count[order.Sat], count[order.Unsat])
	if min(count[order.Sat], count[order.Unsat]) < 500 {
		t.Error("the problems are too one-sided to tell much")
	}
}

func runLarge(t *testing.T, rng *rand.Rand, c *largeCase, mode string,
	opts []order.Option, lazy, fresh, useGoal bool) []order.Result {
	t.Helper()
	told := c.problem
	if lazy {
		told.Clauses = nil
	}
	if useGoal {
		opts = append(slices.Clip(opts), order.WithGoalChain(c.goal))
	}
	var s *order.Solver
	var learned [][]order.Learned
	var found []model
	out := make([]order.Result, len(c.queries))
	seen := make([]bool, len(c.problem.Clauses))
	for at, i := range rng.Perm(len(c.queries)) {
		q := c.queries[i]
		if at == 0 || fresh {
			clear(seen)
			var err error
			if s, err = told.Solver(opts...); err != nil {
				t.Fatal(err)
			}
			order.LogLearned(s, func(l []order.Learned) { learned = append(learned, l) })
		}
		var check func([]order.Node) [][]order.Lit
		if lazy {
			check = checkOf(rng, s, &c.problem, seen)
		}
		var err error
		out[i], err = solve(s, q, check)
		for tries := 0; out[i] == order.Unknown && err == nil; tries++ { // the budget was spent
			if tries == 3 {
				s.SetBudget(0, 0)
			}
			out[i], err = solve(s, q, check)
		}
		switch out[i] {
		case order.Unknown:
			t.Fatalf("%s, %s, query %d: unknown: %v", c.name, mode, i, err)
		case order.Sat:
			m, err := modelOf(s, &c.problem)
			if err != nil {
				t.Fatalf("%s, %s, query %d: %v", c.name, mode, i, err)
			}
			if !m.solves(&c.problem) || !m.allHold(q) {
				t.Fatalf("%s, %s, query %d: the order found violates something", c.name, mode, i)
			}
			found = append(found, m)
		case order.Unsat:
			core := s.Failed()
			for _, l := range core {
				if !slices.Contains(q, l) {
					t.Fatalf("%s, %s, query %d: core %v is not of the assumptions", c.name, mode, i, core)
				}
			}
			again, err := c.problem.Solver()
			if err != nil {
				t.Fatal(err)
			}
			if v := ask(again, core, nil); v != order.Unsat {
				t.Fatalf("%s, %s, query %d: core %v: %v", c.name, mode, i, core, v)
			}
		}
	}
	// Learned clauses follow from the permanent constraints, so all models satisfy them, including
	// the models of other queries.
	for _, m := range found {
		for _, l := range learned {
			if !m.confirms(l) {
				t.Fatalf("%s, %s: learned %v, but there is a model without it", c.name, mode, l)
			}
		}
	}
	return out
}

// TestVerdictsOfZ3 compares the stored results with those of Z3. With -update it stores them.
func TestVerdictsOfZ3(t *testing.T) {
	z3, err := exec.LookPath("z3")
	if err != nil {
		t.Skip("Z3 is not installed; TestLarge compares with what it said elsewhere")
	}
	cases := largeCases()
	var script strings.Builder
	for _, c := range cases {
		for _, q := range c.queries {
			p := c.problem
			p.Assume = q
			if err := p.WriteSMTLIB(&script); err != nil {
				t.Fatal(err)
			}
			script.WriteString("(reset)\n")
		}
	}
	cmd := exec.Command(z3, "-in")
	cmd.Stdin = strings.NewReader(script.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	answers := strings.Fields(string(out))
	var text strings.Builder
	for _, c := range cases {
		text.WriteString(c.name)
		for range c.queries {
			v, ok := map[string]order.Result{"sat": order.Sat, "unsat": order.Unsat}[answers[0]]
			if !ok {
				t.Fatalf("%s: Z3 says %s", c.name, answers[0])
			}
			fmt.Fprint(&text, " ", v)
			answers = answers[1:]
		}
		text.WriteByte('\n')
	}
	if *update {
		if err := os.WriteFile(verdicts, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(verdicts)
	if err != nil {
		t.Fatal(err)
	}
	if text.String() != string(want) {
		t.Errorf("%s is not what Z3 says", verdicts)
	}
}

var verdicts = filepath.Join("testdata", "verdicts.txt")

// readVerdicts reads lines with the name of a case and the verdicts of Z3 on its queries.
func readVerdicts(t *testing.T) map[string][]string {
	t.Helper()
	f, err := os.Open(verdicts)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string][]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if w := strings.Fields(lines.Text()); len(w) > 0 {
			out[w[0]] = w[1:]
		}
	}
	return out
}

package solve

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/modeltest"
	"github.com/heisen-go/heisen/mcm/internal/windowtest"
	"github.com/heisen-go/heisen/mcm/order"
)

// TestWalls builds walls between all pairs of accesses that the solver lets be built between, and
// compares what is then said without a search, and what the solver says of all pairs once it leaves
// out what is behind walls, with what other searches say.
func TestWalls(t *testing.T) {
	walled, asked := 0, [3]int{}
	for seed := range uint64(windowtest.Count(t, 150)) {
		m, name := modeltest.FewThreads(t, 2+int(seed%4), 40+10*int(seed%5), seed)
		sets := model.NewValueSets(m)
		sim := NewSimulation(m, sets)
		s := New(m, sets, 200, 200_000, Style{}, func() bool { return true })
		want := map[[2]order.Node]model.Verdict{}
		var pairs [][2]order.Node
		for pair, verdict := range modeltest.Answers(t, m, otherSolver(m)) {
			nodes := [2]order.Node{m.Node[pair[0]], m.Node[pair[1]]}
			pairs, want[nodes] = append(pairs, nodes), verdict
		}
		var spent account
		for _, pair := range pairs {
			for k := range pair {
				if err := s.learnPrecedence(context.Background(), pair[k], pair[1-k], 1<<20, 1<<30, &spent); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, pair := range pairs {
			a, b, verdict := pair[0], pair[1], want[pair]
			if s.Precedes(a, b) || s.Precedes(b, a) {
				if walled++; verdict != model.Impossible {
					t.Fatalf("%s, seed %d: a wall is between %d and %d, which are %v", name, seed, a, b, verdict)
				}
			}
			s.Reset()
			q := model.Query{Pending: []order.Node{a, b}}
			if !slices.Equal(s.beyond(&q), s.beyond(&q)) {
				t.Fatalf("%s, seed %d: what is behind walls differs from time to time", name, seed)
			}
			answer, nodes, err := s.spend(context.Background(), &q, math.MaxInt32, math.MaxInt32, &spent)
			if asked[answer]++; err != nil || answer != verdict {
				t.Fatalf("%s, seed %d: with walls %d and %d are %v, without %v; %v", name, seed, a, b, answer, verdict, err)
			}
			if answer == model.Possible && len(sim.Violated(nodes)) > 0 {
				t.Fatalf("%s, seed %d: how %d and %d meet is no order of the window", name, seed, a, b)
			}
		}
	}
	if walled < 100 || asked[model.Possible] < 100 || asked[model.Impossible] < 100 {
		t.Errorf("walls were between %d pairs; of all %d are impossible, %d possible", walled, asked[model.Impossible], asked[model.Possible])
	}
	t.Logf("walls were between %d pairs; of all %d are impossible, %d possible", walled, asked[model.Impossible], asked[model.Possible])
}

// otherSolver returns a solver for the queries about a model.
func otherSolver(m *model.Model) func(*model.Query) (model.Verdict, []order.Node, error) {
	s := New(m, model.NewValueSets(m), 1<<20, 1<<30, Style{}, func() bool { return false })
	return func(q *model.Query) (model.Verdict, []order.Node, error) {
		return s.Solve(context.Background(), q, 1<<20, 1<<30, 1<<20, false)
	}
}

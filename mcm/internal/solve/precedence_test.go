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

// TestPrecedences learns precedences from all pairs of accesses. It then compares Precedes, and the
// answers of the order solver that assumes the precedences, with the answers of other searches.
func TestPrecedences(t *testing.T) {
	refuted, verdicts := 0, [3]int{}
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
		var total cost
		for _, pair := range pairs {
			for k := range pair {
				if err := s.learnPrecedence(context.Background(), pair[k], pair[1-k], 1<<20, 1<<30, &total); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, pair := range pairs {
			a, b, verdict := pair[0], pair[1], want[pair]
			if s.Precedes(a, b) || s.Precedes(b, a) {
				if refuted++; verdict != model.Impossible {
					t.Fatalf("%s, seed %d: precedences refute nodes %d and %d, which are %v", name, seed, a, b, verdict)
				}
			}
			s.Reset()
			q := model.Query{Pending: []order.Node{a, b}}
			if !slices.Equal(s.afterGoal(&q), s.afterGoal(&q)) {
				t.Fatalf("%s, seed %d: two calls of afterGoal differ", name, seed)
			}
			answer, nodes, err := s.ask(context.Background(), &q, math.MaxInt32, math.MaxInt32, &total)
			if verdicts[answer]++; err != nil || answer != verdict {
				t.Fatalf("%s, seed %d: with precedences, nodes %d and %d are %v, want %v; %v", name, seed, a, b, answer, verdict, err)
			}
			if answer == model.Possible && len(sim.Violated(nodes)) > 0 {
				t.Fatalf("%s, seed %d: the witness of nodes %d and %d violates a constraint", name, seed, a, b)
			}
		}
	}
	if refuted < 100 || verdicts[model.Possible] < 100 || verdicts[model.Impossible] < 100 {
		t.Error("want at least 100 of each")
	}
	t.Logf("%d pairs are impossible, %d of them by precedences; %d are possible", verdicts[model.Impossible], refuted, verdicts[model.Possible])
}

// otherSolver returns a solver that learns no precedences.
func otherSolver(m *model.Model) func(*model.Query) (model.Verdict, []order.Node, error) {
	s := New(m, model.NewValueSets(m), 1<<20, 1<<30, Style{}, func() bool { return false })
	return func(q *model.Query) (model.Verdict, []order.Node, error) {
		return s.Solve(context.Background(), q, 1<<20, 1<<30, 1<<20, false)
	}
}

package sweep

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/modeltest"
	"github.com/heisen-go/heisen/mcm/internal/moves"
	"github.com/heisen-go/heisen/mcm/internal/solve"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/internal/windowtest"
	"github.com/heisen-go/heisen/mcm/order"
)

// TestSweep compares the pairs that sweeps find with the answers of the solver, and replays all witnesses. Most pairs are found by
// the round without a thread held back.
func TestSweep(t *testing.T) {
	var yes, no, early, failed, led int
	rng := rand.New(rand.NewPCG(1, 2))
	for seed := range uint64(windowtest.Count(t, 12)) {
		w := window.Window{Records: workload.Hot(workload.Params{Threads: 2 + int(seed%4), Events: 60 + 30*int(seed%3), Seed: seed})}
		m := modeltest.ModelOf(t, &w)
		x := moves.New(m, modeltest.Never)
		if !x.Exact {
			t.Fatalf("seed %d: states are not exact", seed)
		}
		first, s := New(x), New(x)
		for first.layerAt < len(first.layers) {
			first.Explore(1)
		}
		for range 4 { // schedules of other searches, before and after the novelty round
			s.Follow(randomSchedule(s, rng))
			found := len(first.origins)
			first.Follow(randomSchedule(first, rng))
			first.Explore(1 << 22)
			led += min(1, len(first.origins)-found)
			if slices.ContainsFunc(first.layers, func(l layer) bool { return len(l.states) > 0 }) {
				t.Fatalf("seed %d: states along a schedule were not expanded", seed)
			}
		}
		s.Explore(1 << 22)
		for n := order.Node(seed % 7); n < m.Goal; n += 7 {
			if n%2 == 0 && s.HoldBack(n, 500) > 0 && (s.HoldBack(n, 500) > 0 || !s.HasHeldBack(n)) {
				t.Fatalf("seed %d: node %d is held back twice", seed, n)
			}
		}
		for pair, want := range modeltest.Answers(t, m, sweepSolver(m)) {
			i, j := pair[0], pair[1]
			a, b := m.Node[i], m.Node[j]
			nodes := s.Witness(a, b)
			if nodes != nil && modeltest.ReplayNodes(m, nodes, i, j) != nil {
				nodes = nil
			}
			switch {
			case want == model.Impossible && nodes != nil:
				t.Fatalf("seed %d: records %d and %d are %v, but meet after %v", seed, i, j, want, nodes)
			case want == model.Impossible:
				no++
			case nodes == nil:
				failed++
			default:
				yes++
				if _, ok := first.meetingState[[2]order.Node{min(a, b), max(a, b)}]; ok {
					early++
				}
			}
		}
	}
	if yes < 100 || no < 100 || early < yes/2 || failed > yes/10 || led == 0 {
		t.Errorf("%d pairs found, %d of them with no thread held back; %d do not meet; %d are missed; %d schedules led to new states", yes, early, no, failed, led)
	}
	t.Logf("%d pairs found, %d of them with no thread held back; %d do not meet; %d are missed; %d schedules led to new states", yes, early, no, failed, led)
}

// randomSchedule returns a random number of random enabled steps from the start of the window.
func randomSchedule(s *Sweep, rng *rand.Rand) []order.Node {
	s.Machine.HoldAt = model.None
	s.Reset()
	for range rng.IntN(int(s.Model.Goal)) {
		var can []order.Node
		for k := range s.Threads {
			if n := s.Machine.NextNode(k); n != model.None && s.Enabled(n) {
				can = append(can, n)
			}
		}
		if len(can) == 0 {
			break
		}
		s.Step(can[rng.IntN(len(can))])
	}
	return slices.Clone(s.Path)
}

// sweepSolver returns a solver for the queries about a model.
func sweepSolver(m *model.Model) func(*model.Query) (model.Verdict, []order.Node, error) {
	s := solve.New(m, model.NewValueSets(m), 1<<20, 1<<30, solve.Style{}, func() bool { return false })
	return func(q *model.Query) (model.Verdict, []order.Node, error) {
		return s.Solve(context.Background(), q, 1<<20, 1<<30, 1<<20, false)
	}
}

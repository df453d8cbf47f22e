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

// TestSweep compares the answers of complete sweeps with those of the solver, replays all
// witnesses, and checks that the novelty round alone finds most of them.
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
			first.Explore(1, NoveltyRound)
		}
		for range 4 { // schedules of other searches, before and after the novelty round
			s.Follow(randomSchedule(s, rng))
			found := len(first.origins)
			first.Follow(randomSchedule(first, rng))
			first.Explore(1<<22, NoveltyRound)
			led += min(1, len(first.origins)-found)
			if slices.ContainsFunc(first.layers, func(l layer) bool { return len(l.states) > 0 }) {
				t.Fatalf("seed %d: states along a schedule were not expanded", seed)
			}
		}
		s.Explore(1<<22, NoveltyRound)
		for n := order.Node(seed % 7); n < m.Goal; n += 7 { // also during the exhaustive round
			if s.HoldBack(n, FewBuckets, 500) > 0 {
				s.Explore(100, BothRounds)
			}
		}
		s.Explore(1<<22, BothRounds)
		if !s.complete {
			t.Fatalf("seed %d: states were left out", seed)
		}
		for pair, want := range modeltest.Answers(t, m, sweepSolver(m)) {
			i, j := pair[0], pair[1]
			a, b := m.Node[i], m.Node[j]
			nodes := s.Witness(a, b)
			if nodes != nil && modeltest.ReplayNodes(m, nodes, i, j) != nil {
				nodes = nil
			}
			switch {
			case want == model.Possible && s.Refutes(a, b), want == model.Impossible && nodes != nil:
				t.Fatalf("seed %d: records %d and %d are %v, but the sweep says that they meet: %v", seed, i, j, want, !s.Refutes(a, b))
			case s.Refutes(a, b):
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
		t.Errorf("%d pairs meet, %d of them in the novelty round; %d do not; %d have no witness; %d schedules led to new states", yes, early, no, failed, led)
	}
	t.Logf("%d pairs meet, %d of them in the novelty round; %d do not; %d have no witness; %d schedules led to new states", yes, early, no, failed, led)
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

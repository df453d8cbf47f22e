package mcm

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/order"
)

// TestSweep compares the answers of sweeps that have seen all states with those of other
// searches, has all witnesses replayed, and looks whether the first round alone has found
// most of them.
func TestSweep(t *testing.T) {
	var yes, no, early, failed, led int
	rng := rand.New(rand.NewPCG(1, 2))
	for seed := range uint64(count(t, 12)) {
		w := window.Window{Records: workload.Hot(workload.Params{Threads: 2 + int(seed%4), Events: 60 + 30*int(seed%3), Seed: seed})}
		m := modelOf(t, &w)
		x := newMoves(m, never)
		if !x.exact {
			t.Fatalf("seed %d: states do not say all that matters", seed)
		}
		first, s := newSweep(x), newSweep(x)
		for first.layer < len(first.layers) {
			first.explore(1, firstRound)
		}
		for range 4 { // where other searches have been before the first round and after it
			s.lead(randomLine(s, rng))
			found := len(first.from)
			first.lead(randomLine(first, rng))
			first.explore(1<<22, firstRound)
			led += min(1, len(first.from)-found)
			if slices.ContainsFunc(first.layers, func(l layer) bool { return len(l.ids) > 0 }) {
				t.Fatalf("seed %d: states along a line were not looked at", seed)
			}
		}
		s.explore(1<<22, firstRound)
		for n := order.Node(seed % 7); n < m.goal; n += 7 { // also in the midst of the second round
			if s.back(n, fewParts, 500) > 0 {
				s.explore(100, bothRounds)
			}
		}
		s.explore(1<<22, bothRounds)
		if !s.whole {
			t.Fatalf("seed %d: states were left out", seed)
		}
		for pair, want := range answers(t, m, sweepSolver(m)) {
			i, j := pair[0], pair[1]
			a, b := m.node[i], m.node[j]
			nodes := s.meeting(a, b)
			if nodes != nil && replayNodes(m, nodes, i, j) != nil {
				nodes = nil
			}
			switch {
			case want == possible && s.never(a, b), want == impossible && nodes != nil:
				t.Fatalf("seed %d: records %d and %d are %v, the sweep has them meet: %v", seed, i, j, want, !s.never(a, b))
			case s.never(a, b):
				no++
			case nodes == nil:
				failed++
			default:
				yes++
				if _, ok := first.met[[2]order.Node{min(a, b), max(a, b)}]; ok {
					early++
				}
			}
		}
	}
	if yes < 100 || no < 100 || early < yes/2 || failed > yes/10 || led == 0 {
		t.Errorf("%d pairs meet, %d of them in the first round; %d do not; of %d a meeting is no witness; %d lines led to something new", yes, early, no, failed, led)
	}
	t.Logf("%d pairs meet, %d of them in the first round; %d do not; of %d a meeting is no witness; %d lines led to something new", yes, early, no, failed, led)
}

// randomLine returns steps from the window's start until nobody can take one, or has had enough.
func randomLine(s *sweep, rng *rand.Rand) []order.Node {
	s.moves.hold = none
	s.reset()
	for range rng.IntN(int(s.m.goal)) {
		var can []order.Node
		for k := range s.threads {
			if n := s.moves.next(k); n != none && s.possible(n) {
				can = append(can, n)
			}
		}
		if len(can) == 0 {
			break
		}
		s.step(can[rng.IntN(len(can))])
	}
	return slices.Clone(s.path)
}

// sweepSolver returns a solver for the queries about a model.
func sweepSolver(m *causal) func(*query) (outcome, []order.Node, error) {
	s := newSolving(m, newValueSets(m), 1<<20, 1<<30, style{}, func() bool { return false })
	return func(q *query) (outcome, []order.Node, error) {
		return s.solve(context.Background(), q, 1<<20, 1<<30, 1<<20, false)
	}
}

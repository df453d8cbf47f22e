package beam

import (
	"context"
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

// TestDelays compares the witnesses with the answers of the solver: only possible pairs have one,
// and most of them do.
func TestDelays(t *testing.T) {
	var found, missed, no int
	for seed := range uint64(windowtest.Count(t, 24)) {
		m, name := modeltest.FewThreads(t, 2+int(seed/4%4), 60+30*int(seed%4), seed)
		s := New(moves.New(m, modeltest.Never))
		for pair, want := range modeltest.Answers(t, m, beamSolver(m)) {
			i, j := pair[0], pair[1]
			nodes := s.Witness(m.Node[i], m.Node[j], 1<<12)
			switch {
			case nodes == nil && want == model.Possible:
				missed++
			case nodes == nil:
				no++
			case want == model.Impossible:
				t.Fatalf("%s, seed %d: records %d and %d are %v, but meet after %v", name, seed, i, j, want, nodes)
			default:
				found++
				modeltest.CheckReplay(t, m, nodes, i, j)
			}
		}
	}
	if found < 100 || no < 100 || missed > found/20 {
		t.Errorf("%d pairs found, %d missed, %d do not meet", found, missed, no)
	}
	t.Logf("%d pairs found, %d missed, %d do not meet", found, missed, no)
}

// TestDelaysFar asks for pairs that are at least half a window apart, with delay points in all
// threads. Most of them have a witness, and a second search finds the same ones.
func TestDelaysFar(t *testing.T) {
	w := window.Window{Records: workload.Hot(workload.Params{Threads: 8, Events: 2000, Seed: 1})}
	m := modeltest.ModelOf(t, &w)
	var pairs [][2]int
	for _, p := range modeltest.CandidatePairs(m) {
		i, j := p[0], p[1]
		if j-i > len(w.Records)/2 {
			pairs = append(pairs, [2]int{i, j})
		}
	}
	n := windowtest.Count(t, 60)
	witnesses := func() (list [][]order.Node) {
		s := New(moves.New(m, modeltest.Never))
		for k := range n {
			p := pairs[(k*7919)%len(pairs)]
			list = append(list, s.Witness(m.Node[p[0]], m.Node[p[1]], 1<<16))
		}
		return list
	}
	first := witnesses()
	found := 0
	for k, nodes := range first {
		if nodes == nil {
			continue
		}
		found++
		p := pairs[(k*7919)%len(pairs)]
		modeltest.CheckReplay(t, m, nodes, p[0], p[1])
	}
	if found < n*9/10 {
		t.Errorf("%d of %d pairs found", found, n)
	}
	if !slices.EqualFunc(first, witnesses(), slices.Equal) {
		t.Error("the same queries have different witnesses")
	}
	t.Logf("%d of %d pairs found", found, n)
}

// TestDelayPoints checks that delay points are outside of critical sections, and at the access or
// before it.
func TestDelayPoints(t *testing.T) {
	w := window.Window{Records: workload.Hot(workload.Params{Threads: 3, Events: 1500, Seed: 2})}
	m := modeltest.ModelOf(t, &w)
	s := New(moves.New(m, modeltest.Never))
	masks := m.HeldLocks()
	exact := 0
	for a := range m.Goal {
		list := s.delayPoints(a)
		for _, point := range list {
			if point > a || m.Chain[point] != m.Chain[a] || masks[point].Any != 0 {
				t.Fatalf("node %d has delay point %d", a, point)
			}
		}
		if slices.Contains(list, a) {
			exact++
		}
	}
	if exact < int(m.Goal)/4 {
		t.Errorf("%d of %d nodes are their own delay points", exact, m.Goal)
	}
}

// beamSolver returns a solver for the queries about a model.
func beamSolver(m *model.Model) func(*model.Query) (model.Verdict, []order.Node, error) {
	s := solve.New(m, model.NewValueSets(m), 1<<20, 1<<30, solve.Style{}, func() bool { return false })
	return func(q *model.Query) (model.Verdict, []order.Node, error) {
		return s.Solve(context.Background(), q, 1<<20, 1<<30, 1<<20, false)
	}
}

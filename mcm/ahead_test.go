package mcm

import (
	"context"
	"slices"
	"testing"

	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/order"
)

// TestAhead compares what courses find with the answers of other searches: nothing that is
// not possible, and most of what is.
func TestAhead(t *testing.T) {
	var found, missed, no int
	for seed := range uint64(count(t, 24)) {
		m, name := fewThreads(t, 2+int(seed/4%4), 60+30*int(seed%4), seed)
		s := newAhead(newMoves(m, never))
		for pair, want := range answers(t, m, beamSolver(m)) {
			i, j := pair[0], pair[1]
			nodes := s.meeting(m.node[i], m.node[j], 1<<12)
			switch {
			case nodes == nil && want == possible:
				missed++
			case nodes == nil:
				no++
			case want == impossible:
				t.Fatalf("%s, seed %d: records %d and %d are %v, and meet after %v", name, seed, i, j, want, nodes)
			default:
				found++
				checkReplay(t, m, nodes, i, j)
			}
		}
	}
	if found < 100 || no < 100 || missed > found/20 {
		t.Errorf("%d pairs found, %d missed, %d do not meet", found, missed, no)
	}
	t.Logf("%d pairs found, %d missed, %d do not meet", found, missed, no)
}

// TestAheadFar asks for pairs that are half a window apart or more, most of which meet, with
// posts in all threads; whatever was asked before, and twice, courses lead there.
func TestAheadFar(t *testing.T) {
	w := window.Window{Records: workload.Hot(workload.Params{Threads: 8, Events: 2000, Seed: 1})}
	m := modelOf(t, &w)
	var pairs [][2]int
	for _, p := range pairsToAsk(m) {
		i, j := p[0], p[1]
		if j-i > len(w.Records)/2 {
			pairs = append(pairs, [2]int{i, j})
		}
	}
	n := count(t, 60)
	ways := func() (list [][]order.Node) {
		s := newAhead(newMoves(m, never))
		for k := range n {
			p := pairs[(k*7919)%len(pairs)]
			list = append(list, s.meeting(m.node[p[0]], m.node[p[1]], 1<<16))
		}
		return list
	}
	first := ways()
	found := 0
	for k, nodes := range first {
		if nodes == nil {
			continue
		}
		found++
		p := pairs[(k*7919)%len(pairs)]
		checkReplay(t, m, nodes, p[0], p[1])
	}
	if found < n*9/10 {
		t.Errorf("%d of %d pairs found", found, n)
	}
	if !slices.EqualFunc(first, ways(), slices.Equal) {
		t.Error("the same questions have other witnesses")
	}
	t.Logf("%d of %d pairs found", found, n)
}

// TestPosts: a thread waits outside of critical sections, where it has been at an access or
// before.
func TestPosts(t *testing.T) {
	w := window.Window{Records: workload.Hot(workload.Params{Threads: 3, Events: 1500, Seed: 2})}
	m := modelOf(t, &w)
	s := newAhead(newMoves(m, never))
	masks := m.masks()
	exact := 0
	for a := range m.goal {
		list := s.posts(a)
		for _, post := range list {
			if post > a || m.chain[post] != m.chain[a] || masks[post].any != 0 {
				t.Fatalf("node %d has post %d", a, post)
			}
		}
		if slices.Contains(list, a) {
			exact++
		}
	}
	if exact < int(m.goal)/4 {
		t.Errorf("%d of %d nodes are posts", exact, m.goal)
	}
}

// beamSolver returns a solver for the queries about a model.
func beamSolver(m *causal) func(*query) (outcome, []order.Node, error) {
	s := newSolving(m, newValueSets(m), 1<<20, 1<<30, style{}, func() bool { return false })
	return func(q *query) (outcome, []order.Node, error) {
		return s.solve(context.Background(), q, 1<<20, 1<<30, 1<<20, false)
	}
}

package mcm

import (
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
		w, m, name := fewThreads(t, 2+int(seed/4%4), 60+30*int(seed%4), seed)
		s := newAhead(newMoves(m.causal, never))
		for pair, want := range otherAnswers(t, w) {
			i, j := pair[0], pair[1]
			nodes := s.meeting(m.causal.node[i], m.causal.node[j], 1<<12)
			switch {
			case nodes == nil && want == Possible:
				missed++
			case nodes == nil:
				no++
			case want == Impossible:
				t.Fatalf("%s, seed %d: records %d and %d are %v, and meet after %v", name, seed, i, j, want, nodes)
			default:
				found++
				checkWitness(t, m, nodes, i, j)
			}
		}
	}
	if found < 100 || no < 100 || missed > found/20 {
		t.Errorf("%d pairs found, %d missed, %d do not meet", found, missed, no)
	}
	t.Logf("%d pairs found, %d missed, %d do not meet", found, missed, no)
}

// checkWitness has a model replay the nodes up to where two records are next.
func checkWitness(t *testing.T, m *Model, nodes []order.Node, i, j int) {
	t.Helper()
	if broken := m.cascade.sim.violated(nodes); len(broken) > 0 {
		t.Fatalf("records %d and %d meet after what breaks %v", i, j, broken)
	}
	if err := replayIn(m.causal.window, m.witness(nodes, []int{i, j})); err != nil {
		t.Fatal(err)
	}
}

// TestAheadFar asks for pairs that are half a window apart or more, most of which meet, with
// posts in all threads; whatever was asked before, and twice, courses lead there.
func TestAheadFar(t *testing.T) {
	w := window.Window{Records: workload.Hot(workload.Params{Threads: 8, Events: 2000, Seed: 1})}
	m, err := testModel(w)
	if err != nil {
		t.Fatal(err)
	}
	var pairs [][2]int
	for i, j := range m.Pairs() {
		if j-i > len(w.Records)/2 {
			pairs = append(pairs, [2]int{i, j})
		}
	}
	n := count(t, 60)
	ways := func() (list [][]order.Node) {
		s := newAhead(newMoves(m.causal, never))
		for k := range n {
			p := pairs[(k*7919)%len(pairs)]
			list = append(list, s.meeting(m.causal.node[p[0]], m.causal.node[p[1]], 1<<16))
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
		checkWitness(t, m, nodes, p[0], p[1])
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
	m, err := testModel(window.Window{Records: workload.Hot(workload.Params{Threads: 3, Events: 1500, Seed: 2})})
	if err != nil {
		t.Fatal(err)
	}
	s := newAhead(newMoves(m.causal, never))
	masks := m.causal.masks()
	exact := 0
	for a := range m.causal.goal {
		list := s.posts(a)
		for _, post := range list {
			if post > a || m.causal.chain[post] != m.causal.chain[a] || masks[post].any != 0 {
				t.Fatalf("node %d has post %d", a, post)
			}
		}
		if slices.Contains(list, a) {
			exact++
		}
	}
	if exact < int(m.causal.goal)/4 {
		t.Errorf("%d of %d nodes are posts", exact, m.causal.goal)
	}
}

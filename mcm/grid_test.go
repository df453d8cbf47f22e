package mcm

import (
	"testing"

	"github.com/heisen-go/heisen/bench/workload"
)

// TestGrid compares what grids say of all pairs of accesses with the answers of other
// searches, and has all witnesses replayed.
func TestGrid(t *testing.T) {
	var yes, no, dead, quiet int
	for seed := range uint64(count(t, 24)) {
		threads, events := 2+int(seed/4%3), 60+20*int(seed%5)
		if threads == 2 {
			events += 200 // places that do not fit into a word
		}
		w, m, name := fewThreads(t, threads, events, seed)
		g := newGrid(m.solving.explorer().moves)
		if g == nil && name != "hot" {
			continue // there is more that memory can hold
		}
		if g == nil || !g.explore(1<<24) {
			t.Fatalf("%s, seed %d: no grid", name, seed)
		}
		for pair, want := range otherAnswers(t, w) {
			i, j := pair[0], pair[1]
			a, b := m.node[i], m.node[j]
			nodes := g.meeting(a, b)
			if (want == Possible) != (nodes != nil) || g.never(a, b) != (nodes == nil) {
				t.Fatalf("%s, seed %d: records %d and %d are %v, the grid has them meet: %v", name, seed, i, j, want, nodes != nil)
			}
			if nodes == nil {
				no++
				continue
			}
			yes++
			if broken := m.solving.sim.violated(nodes); len(broken) > 0 {
				t.Fatalf("%s, seed %d: records %d and %d meet after what breaks %v", name, seed, i, j, broken)
			}
			if err := w.Replay(m.witness(nodes, []int{i, j})); err != nil {
				t.Fatalf("%s, seed %d: %v", name, seed, err)
			}
		}
		for _, l := range g.lasts {
			if l.axis == noWay {
				dead++ // memory cannot have held that
			}
		}
		for _, a := range g.axes {
			for i := range a.steps {
				if a.steps[i].quiet {
					quiet++
				}
			}
		}
	}
	if yes < 100 || no < 100 || dead < 50 || quiet < 100 {
		t.Errorf("%d pairs meet and %d do not; %d quiet steps, %d times back from a dead end", yes, no, quiet, dead)
	}
	t.Logf("%d pairs meet and %d do not; %d quiet steps, %d times back from a dead end", yes, no, quiet, dead)
}

// TestGridBounds: what a grid does not know is not for grids, and one that is too large gives
// no answer.
func TestGridBounds(t *testing.T) {
	for name, p := range map[string]workload.Params{
		"too many points":   {Threads: 8, Events: 1000, Seed: 1},
		"too many contents": {Threads: 3, Events: 300, Seed: 1, Vars: 20},
	} {
		m, err := NewModel(Window{Records: workload.Hot(p)})
		if err != nil {
			t.Fatal(err)
		}
		if newGrid(newMoves(m)) != nil {
			t.Errorf("%s: there is a grid", name)
		}
	}
	m, err := NewModel(Window{Records: workload.Hot(workload.Params{Threads: 3, Events: 100, Seed: 1})})
	if err != nil {
		t.Fatal(err)
	}
	if newGrid(newMoves(m)).explore(100) {
		t.Error("a hundred points are enough for a grid")
	}
}

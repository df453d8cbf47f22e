package grid

import (
	"context"
	"math/bits"
	"math/rand/v2"
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

// TestGrid compares the answers of grids for all pairs of accesses with those of the solver,
// and replays all witnesses.
func TestGrid(t *testing.T) {
	var yes, no, dead, invisible, unread int
	sizes := map[int]int{}
	for seed := range uint64(windowtest.Count(t, 48)) {
		threads, events := 2+int(seed/4%3), 60+20*int(seed%5)
		if threads == 2 {
			events += 200 // places that do not fit into a word
		}
		m, name := modeltest.FewThreads(t, threads, events, seed)
		if vars := int(seed / 12 % 4); vars > 0 { // the smallest and the largest numbers of contents
			name = "hot"
			w := window.Window{Records: workload.Hot(workload.Params{Threads: threads, Events: events, Seed: seed, Vars: []int{2, 5, 6}[vars-1]})}
			m = modeltest.ModelOf(t, &w)
		}
		g := New(moves.New(m, modeltest.Never))
		if g == nil && name != "hot" {
			continue // too many contents of memory
		}
		if g == nil || !g.Explore(1<<24) {
			t.Fatalf("%s, seed %d: no grid", name, seed)
		}
		sizes[g.layout.size]++
		for pair, want := range modeltest.Answers(t, m, gridSolver(m)) {
			i, j := pair[0], pair[1]
			a, b := m.Node[i], m.Node[j]
			nodes := g.Witness(a, b)
			if (want == model.Possible) != (nodes != nil) || g.Refutes(a, b) != (nodes == nil) {
				t.Fatalf("%s, seed %d: records %d and %d are %v, but the grid says that they meet: %v", name, seed, i, j, want, nodes != nil)
			}
			if nodes == nil {
				no++
				continue
			}
			yes++
			if err := modeltest.ReplayNodes(m, nodes, i, j); err != nil {
				t.Fatalf("%s, seed %d: %v", name, seed, err)
			}
		}
		for _, l := range g.lastSteps {
			if l.axis == noPath {
				dead++ // the hints allowed a point that was not reached
			}
		}
		for _, a := range g.axes {
			for i := range a.steps {
				if a.steps[i].invisible {
					invisible++
				}
				if a.steps[i].readsUnwritten != 0 {
					unread++
				}
			}
		}
	}
	if yes < 100 || no < 100 || dead < 50 || invisible < 100 || unread < 100 || len(sizes) < 4 {
		t.Errorf("%d pairs meet and %d do not; %d invisible steps, %d that read unwritten cells, %d dead ends of backward searches; windows by bits of a lane: %v", yes, no, invisible, unread, dead, sizes)
	}
	t.Logf("%d pairs meet and %d do not; %d invisible steps, %d that read unwritten cells, %d dead ends of backward searches; windows by bits of a lane: %v", yes, no, invisible, unread, dead, sizes)
}

// TestLayout compares operations on words with operations on single lanes.
func TestLayout(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, contents := range []int{1, 8, 9, 16, 24, 32, 36, 64} {
		l := newLayout(150, contents)
		if l.size < contents || l.words*l.each < 150 || (l.words-1)*l.each >= 150 {
			t.Fatalf("%d contents: %+v", contents, l)
		}
		for range 1000 {
			row := make([]uint64, l.words)
			list := make([]uint64, 3)
			for p := range 150 {
				if rng.IntN(2) == 0 {
					row[p/l.each] |= l.at(p, rng.Uint64()&rng.Uint64()&l.full)
				}
				list[p/64] |= rng.Uint64() & 1 << (p % 64)
			}
			full := l.rows([][]uint64{nil, list})[1]
			for w, word := range row {
				flags, hints, empty := l.flags(word), l.hints(word), l.each
				for lane := range l.each {
					p := w*l.each + lane
					v := l.of(row, p)
					if v != 0 {
						empty--
					}
					if flags>>lane&1 != 0 != (v != 0) {
						t.Fatalf("%d contents: lane %d of %x has the flag %t", contents, lane, word, v == 0)
					}
					hint := uint8(0)
					for c := range 64 {
						hint |= uint8(v>>c&1) << (c % 8)
					}
					if uint8(hints>>(8*lane)) != hint {
						t.Fatalf("%d contents: lane %d of %x has the hint %x, want %x", contents, lane, word, uint8(hints>>(8*lane)), hint)
					}
					if p < 150 && l.of(full, p) != l.full*(list[p/64]>>(p%64)&1) {
						t.Fatalf("%d contents: lane %d of %x", contents, p, list)
					}
				}
				if n := bits.OnesCount64(l.marks(word)); n != l.each-empty || flags>>l.each != 0 {
					t.Fatalf("%d contents: %d lanes of %x are marked", contents, n, word)
				}
			}
		}
	}
}

// TestGridBounds checks that windows which are too large have no grid, and that Explore stops at
// its budget.
func TestGridBounds(t *testing.T) {
	for name, p := range map[string]workload.Params{
		"too many points":   {Threads: 8, Events: 1000, Seed: 1},
		"too many contents": {Threads: 3, Events: 300, Seed: 1, Vars: 20},
	} {
		w := window.Window{Records: workload.Hot(p)}
		m := modeltest.ModelOf(t, &w)
		if New(moves.New(m, modeltest.Never)) != nil {
			t.Errorf("%s: there is a grid", name)
		}
	}
	w := window.Window{Records: workload.Hot(workload.Params{Threads: 3, Events: 100, Seed: 1})}
	m := modeltest.ModelOf(t, &w)
	if New(moves.New(m, modeltest.Never)).Explore(100) {
		t.Error("Explore ignores its budget")
	}
}

// gridSolver returns a solver for the queries about a model.
func gridSolver(m *model.Model) func(*model.Query) (model.Verdict, []order.Node, error) {
	s := solve.New(m, model.NewValueSets(m), 1<<20, 1<<30, solve.Style{}, func() bool { return false })
	return func(q *model.Query) (model.Verdict, []order.Node, error) {
		return s.Solve(context.Background(), q, 1<<20, 1<<30, 1<<20, false)
	}
}

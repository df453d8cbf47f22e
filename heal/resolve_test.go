package heal

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/testaid/tier"
)

// randomProgram is a random program of a few functions, two variables, and two locks that are always acquired in
// the same order.
func randomProgram(r *rand.Rand) []Function {
	functions := make([]Function, 2+r.IntN(2))
	for i := range functions {
		n := 4 + r.IntN(4)
		g, _ := NewGraph(n)
		for node := 1; node < n; node++ {
			g.AddEdge(node-1, node)
			if node > 1 && r.IntN(6) == 0 {
				g.AddEdge(node-2, node)
			}
		}
		f := Function{Graph: g, Variables: map[string]Variable{}}
		var open []string
		modes := map[string]Mode{}
		for node := range n {
			switch name := []string{"x", "y"}[r.IntN(2)]; r.IntN(12) {
			case 0, 1, 2, 3, 4, 5, 6:
				v := f.Variables[name]
				v.Accesses = append(v.Accesses, Access{node, r.IntN(2) == 0})
				if k := len(v.Accesses); k > 1 && r.IntN(5) > 0 {
					v.Pairs = append(v.Pairs, Pair{v.Accesses[k-2].Node, node, Mode(1 + 2*r.IntN(2))})
				}
				f.Variables[name] = v
			case 7, 8, 9:
				if lock := []string{"k", "l"}[len(open)%2]; len(open) == 0 || len(open) == 1 && r.IntN(2) == 0 {
					if r.IntN(3) == 0 && len(open) == 0 {
						lock = "l"
						open = append(open, "")
					}
					mode := Exclusive
					if r.IntN(3) == 0 {
						mode = Shared
					}
					modes[lock] = mode
					f.Locks = append(f.Locks, LockOp{Node: node, Lock: lock, Mode: mode})
					open = append(open, lock)
					continue
				}
				f.Locks = append(f.Locks, LockOp{Node: node, Lock: open[len(open)-1], Mode: modes[open[len(open)-1]], Release: true})
				open = open[:len(open)-1]
				if len(open) == 1 && open[0] == "" {
					open = nil
				}
			default:
				if i > 0 {
					f.Calls = append(f.Calls, FunctionCall{node, []int{r.IntN(i)}})
				}
			}
		}
		functions[i] = f
	}
	return functions
}

// TestResolveRandom runs random programs under all schedules, as they are and with inserted locks. If there is
// no deadlock without them, there is none with them; all pairs are atomic, and all accesses protected.
func TestResolveRandom(t *testing.T) {
	programs := tier.Pick(100, 100, 400)
	tried, hoists, dropped, whole, needed := 0, 0, 0, 0, 0
	for seed := range uint64(programs) {
		r := rand.New(rand.NewPCG(seed, 3))
		functions := randomProgram(r)
		starts := []int{len(functions) - 1, r.IntN(len(functions))}
		if r.IntN(4) == 0 {
			starts = append(starts, r.IntN(len(functions)))
		}
		plain := world{functions: functions, starts: starts, limit: 8000}
		if all := plain.explore(); !all || plain.wrong != "" {
			continue // it has a deadlock of its own, or may have one
		}
		res, err := Resolve(t.Context(), functions)
		if err != nil {
			t.Fatal(err)
		}
		tried++
		unresolved := world{functions: functions, starts: starts, limit: 8000}
		for _, f := range functions {
			placed := map[string]*Placement{}
			for name, v := range f.Variables {
				if placed[name], err = Place(f.Graph, v); err != nil {
					t.Fatal(err)
				}
			}
			unresolved.placements = append(unresolved.placements, placed)
		}
		unresolved.explore()
		if strings.HasPrefix(unresolved.wrong, "deadlock") {
			needed++
		}
		hoists += len(res.Hoists)
		dropped += len(res.Dropped)
		w := world{functions: functions, placements: res.Placements, dropped: res.Dropped, starts: starts, limit: 8000}
		if w.explore() {
			whole++
		}
		if w.wrong != "" {
			for i, f := range functions {
				t.Logf("function %d: %v\n%+v\n%+v\n%+v", i, f.Graph.succs, f.Locks, f.Calls, f.Variables)
				for name, p := range res.Placements[i] {
					t.Logf("%s: %+v", name, p)
				}
			}
			t.Fatalf("seed %d: %s\nhoists %s", seed, w.wrong, fmt.Sprintf("%+v", res.Hoists))
		}
	}
	if needed == 0 || hoists == 0 || dropped > 0 {
		t.Errorf("%d deadlocks before the resolution, %d hoists, %d variables dropped", needed, hoists, dropped)
	}
	t.Logf("%d programs, %d of them wholly, %d with deadlocks before the resolution; %d hoists, %d variables dropped", tried, whole, needed, hoists, dropped)
}

// TestDrop: a cycle that cannot be broken costs the variable in it, and nothing that was hoisted because of
// it remains.
func TestDrop(t *testing.T) {
	g := newGraph(t, 3, [2]int{0, 1}, [2]int{1, 2})
	r := newResolver([]Function{{Graph: g, Variables: map[string]Variable{
		"x": {Accesses: []Access{{0, true}, {2, true}}, Pairs: []Pair{{0, 2, Exclusive}}},
		"y": {Accesses: []Access{{1, false}}},
	}, Locks: []LockOp{{Node: 1, Lock: "k", Mode: Exclusive}}}})
	if err := r.place(); err != nil {
		t.Fatal(err)
	}
	r.reverse([]dependency{{held: inserted("x", Exclusive), wanted: inserted("y", Shared), since: 0, node: 1}})
	if len(r.hoists) != 1 || len(r.functions[0].Variables["y"].Holds) != 1 {
		t.Fatalf("hoists %+v", r.hoists)
	}
	r.reverse([]dependency{{held: inserted("x", Exclusive), wanted: ofProgram("k", Exclusive), since: 0, node: 1}})
	if err := r.place(); err != nil {
		t.Fatal(err)
	}
	res := r.result()
	if !slices.Equal(res.Dropped, []string{"x"}) || len(res.Hoists) != 0 || len(r.functions[0].Variables["y"].Holds) != 0 {
		t.Errorf("dropped %q, hoists %+v", res.Dropped, res.Hoists)
	}
	if p := res.Placements[0]; p["x"] != nil || p["y"] == nil {
		t.Errorf("placements %v", p)
	}
}

package moves

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/internal/windowtest"
)

// TestTakeMoversAfter compares the states after TakeMoversAfter and after TakeMovers.
func TestTakeMoversAfter(t *testing.T) {
	compared, helped := 0, 0
	for seed := range uint64(windowtest.Count(t, 60)) {
		name := []string{"hot", "mixed", "locky"}[seed%3]
		rng := rand.New(rand.NewPCG(seed, 1))
		w := window.Window{Records: windowtest.Profiles[name](workload.Params{Threads: 2 + int(seed%5), Events: 120, Vars: 3, Seed: seed})}
		m, err := model.New(&w, window.DefaultRules())
		if err != nil {
			t.Fatal(err)
		}
		x := New(m, func() bool { return false })
		x.SilentWrites = seed%2 > 0
		if seed%4 > 1 {
			x.UseStaticOrder()
		} else {
			x.findDependencies()
		}
		for range 40 {
			x.Reset()
			x.TakeMovers()
			for {
				var can []int
				for k := range x.Threads {
					if n := x.NextNode(k); n != model.None && x.Enabled(n) {
						can = append(can, k)
					}
				}
				if len(can) == 0 {
					break
				}
				x.Path = x.Path[:0]
				for range 1 + rng.IntN(2) {
					k := can[rng.IntN(len(can))]
					if n := x.NextNode(k); n != model.None && x.Enabled(n) {
						x.Step(n)
					}
				}
				size := len(x.Path)
				before := slices.Clone(x.State)
				x.TakeMoversAfter(0)
				got := slices.Clone(x.State)
				if len(x.Path) > size+1 {
					helped++
				}
				copy(x.State, before)
				x.Path = x.Path[:size]
				x.TakeMovers()
				if compared++; !slices.Equal(x.State, got) {
					t.Fatalf("%s, seed %d: TakeMovers leads from %v to %v, TakeMoversAfter to %v", name, seed, before, x.State, got)
				}
			}
		}
	}
	if helped < 1000 {
		t.Errorf("after %d steps, movers of other threads followed only %d times", compared, helped)
	}
	t.Logf("after %d steps, movers of other threads followed %d times", compared, helped)
}

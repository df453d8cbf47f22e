package mcm

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/mcm/internal/window"
)

// TestResettle compares what threads do at once after steps, where only those are looked at whom the
// steps can be of use to, with what they do if all are looked at.
func TestResettle(t *testing.T) {
	compared, helped := 0, 0
	for seed := range uint64(count(t, 60)) {
		name := []string{"hot", "mixed", "locky"}[seed%3]
		rng := rand.New(rand.NewPCG(seed, 1))
		w := window.Window{Records: profiles[name](workload.Params{Threads: 2 + int(seed%5), Events: 120, Vars: 3, Seed: seed})}
		m := modelOf(t, &w)
		x := newMoves(m, never)
		x.bold = seed%2 > 0
		if seed%4 > 1 {
			x.askers()
		} else {
			x.findUses()
		}
		for range 40 {
			x.reset()
			x.settle()
			for {
				var can []int
				for k := range x.threads {
					if n := x.next(k); n != none && x.possible(n) {
						can = append(can, k)
					}
				}
				if len(can) == 0 {
					break
				}
				x.path = x.path[:0]
				for range 1 + rng.IntN(2) {
					k := can[rng.IntN(len(can))]
					if n := x.next(k); n != none && x.possible(n) {
						x.step(n)
					}
				}
				size := len(x.path)
				before := slices.Clone(x.now)
				x.resettle(0)
				got := slices.Clone(x.now)
				if len(x.path) > size+1 {
					helped++
				}
				copy(x.now, before)
				x.path = x.path[:size]
				x.settle()
				if compared++; !slices.Equal(x.now, got) {
					t.Fatalf("%s, seed %d: from %v threads come to %v, if only some are looked at to %v", name, seed, before, x.now, got)
				}
			}
		}
	}
	if helped < 1000 {
		t.Errorf("of %d times only %d had others do something", compared, helped)
	}
	t.Logf("of %d times %d had others do something", compared, helped)
}

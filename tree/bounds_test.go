package tree_test

import (
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/tree"
)

// TestTinyBounds: with room for one or two of what a filter holds back, and hardly any memory, the racy
// pairs of locations behind it are those without it, and so those of the filter with its usual bounds.
func TestTinyBounds(t *testing.T) {
	bounds := []struct {
		readers, deferred int
		budget            uint64
	}{{1, 1, 0}, {1, 2, 0}, {2, 1, 0}, {0, 1024, 0}, {16, 0, 0}, {16, 1024, 4 << 10}, {1, 1, 1 << 10}}
	detectors := map[string]struct {
		make    func(heisen.Sink) heisen.Detector
		options []tree.FilterOption
	}{
		"reference": {reference, nil},
		"hybrid":    {hybrid, []tree.FilterOption{tree.WithMessageOrder()}},
	}
	races, dropped := 0, uint64(0)
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 3))
		s := workload.Small{
			Threads: 3 + rng.IntN(4), Events: 150, Vars: 1 + rng.IntN(3), Syncs: 1 + rng.IntN(4), Sites: 12,
			Ranges: rng.IntN(2) == 0, Lives: rng.IntN(3) == 0, LockWords: rng.IntN(2) == 0, Nested: rng.IntN(3) == 0,
		}
		trace := workload.Random(rng, s)
		if seed%2 == 0 {
			trace = workload.Loops(rng, s)
		}
		for name, d := range detectors {
			want := analyze(trace, d.make, nil)
			if want.err != nil {
				t.Fatal(want.err)
			}
			races += len(want.pairs)
			for _, b := range bounds {
				got := analyze(trace, d.make, func(d heisen.Detector, opts ...tree.FilterOption) (*tree.Filter, error) {
					f, err := tree.NewFilter(d, opts...)
					if err != nil {
						return nil, err
					}
					tree.SetLockBounds(f, b.readers, b.deferred)
					tree.SetBudget(f, b.budget)
					if b.budget > 0 && name == "hybrid" {
						tree.LimitContexts(f, 4)
					}
					return f, nil
				}, d.options...)
				dropped += got.stats.DroppedAccesses
				if got.err != nil || !maps.Equal(got.pairs, want.pairs) {
					t.Fatalf("seed %d, %s, bounds %+v: %d racy pairs of locations, want %d, error %v", seed, name, b, len(got.pairs), len(want.pairs), got.err)
				}
			}
		}
	}
	if races == 0 || dropped == 0 {
		t.Errorf("%d races, %d accesses dropped: nothing was tried", races, dropped)
	}
}

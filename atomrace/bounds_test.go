package atomrace_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomrace"
	"github.com/heisen-go/heisen/bench/workload"
)

// TestTinyBounds: a detector that remembers hardly any finding reports the same bugs, each perhaps more
// often, and one that follows a single thread of each variable reports some of them.
func TestTinyBounds(t *testing.T) {
	all, missed := 0, 0
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 6))
		var records []heisen.Record // accesses stay pending until the next event of their thread
		for _, r := range workload.Random(rng, workload.Small{
			Threads: 2 + rng.IntN(5), Events: 150, Vars: 1 + rng.IntN(3), Syncs: 1 + rng.IntN(3), Sites: 10, Ranges: rng.IntN(2) == 0, Lives: rng.IntN(3) == 0,
		}) {
			records = append(records, r)
			if r.Op.IsAccess() && rng.IntN(2) == 0 {
				records = append(records, heisen.Record{Op: heisen.Done, Thread: r.Thread})
			}
		}
		find := func(opts ...atomrace.DetectorOption) map[string]bool {
			found := map[string]bool{}
			d, err := atomrace.NewDetector(append(opts, atomrace.WithSink(func(f heisen.Finding) {
				var places []string
				for _, a := range f.Accesses {
					places = append(places, fmt.Sprint(a.Op, a.Site))
				}
				slices.Sort(places)
				found[fmt.Sprint(f.Kind, places)] = true
			}))...)
			if err != nil {
				t.Fatal(err)
			}
			d.HandleRecords(records)
			if err := d.Flush(); err != nil {
				t.Fatal(err)
			}
			return found
		}
		want := find(atomrace.WithDedup(1 << 20))
		all += len(want)
		for n := range 4 {
			if got := find(atomrace.WithDedup(n)); !maps.Equal(got, want) {
				t.Fatalf("seed %d, %d findings remembered: %v, want %v", seed, n, got, want)
			}
			some := find(atomrace.WithDedup(n), atomrace.WithSingleSlot())
			for f := range some {
				if !want[f] {
					t.Fatalf("seed %d, single slot: %s is found only with it\n%s", seed, f, workload.Show(records))
				}
			}
			if len(some) < len(want) {
				missed++
			}
		}
	}
	if all == 0 || missed == 0 {
		t.Errorf("%d findings, %d runs that miss some: nothing was tried", all, missed)
	}
}

package mcm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/mcm/internal/window"
)

// apart makes locks, messages and variables different objects. An object that is used in several ways in a
// window keeps the order of its events there, so a smaller window may allow more orders.
func apart(records []heisen.Record) {
	for i := range records {
		switch r := &records[i]; {
		case window.IsLockOp(r.Op):
			r.Object += 1 << 50
			r.Flags &^= heisen.LockWord
		case window.IsMessage(r.Op):
			r.Object += 1 << 51
		}
	}
}

// TestTinyWindows: with windows of a few events, and hardly any budget or queries, the detector finds
// nothing that it does not find in one window of the whole stream.
func TestTinyWindows(t *testing.T) {
	predict := func(records []heisen.Record, opts ...DetectorOption) (found map[string]bool, stats DetectorStats) {
		found = map[string]bool{}
		d, err := NewDetector(append(opts, WithSink(func(f heisen.Finding) {
			var places []string
			for _, a := range f.Accesses {
				places = append(places, fmt.Sprint(a.Op, a.Site))
			}
			slices.Sort(places) // either access of a race may be the later one
			found[fmt.Sprint(f.Kind, places)] = true
		}))...)
		if err != nil {
			t.Fatal(err)
		}
		d.HandleRecords(records)
		if err := d.Flush(); err != nil {
			t.Fatal(err)
		}
		return found, d.Stats()
	}
	found, missed := 0, 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 9))
		records := workload.Random(rng, workload.Small{
			Threads: 2 + rng.IntN(3), Events: 40, Vars: 1 + rng.IntN(3), Syncs: 1 + rng.IntN(3),
			Ranges: rng.IntN(3) == 0, Lives: rng.IntN(4) == 0, Nested: rng.IntN(4) == 0,
		})
		apart(records)
		all, stats := predict(records, WithWindows(1<<20, 0), WithBudget(1<<20, 1<<30), WithOccurrences(1<<20, 1<<20))
		if stats.Unknown > 0 {
			continue
		}
		for _, b := range []struct{ window, overlap, budget, same, all int }{
			{1, 0, 1, 1, 1}, {2, 1, 1, 1, 1}, {3, 0, 200, 8, 2000}, {3, 2, 200, 8, 2000}, {7, 3, 1, 8, 2000},
			{16, 15, 200, 1, 3}, {20, 10, 2, 2, 5}, {1 << 20, 0, 1, 8, 2000}, {1 << 20, 0, 200, 1, 2}, {1 << 20, 1<<20 - 1, 200, 1, 2000},
		} {
			got, _ := predict(records, WithWindows(b.window, b.overlap), WithBudget(b.budget, 1000*b.budget), WithOccurrences(b.same, b.all), WithParallel(1+rng.IntN(3)))
			found += len(got)
			if len(got) < len(all) {
				missed++
			}
			for f := range got {
				if !all[f] {
					t.Fatalf("seed %d, %+v: %s is not found in the window of all events\n%s", seed, b, f, workload.Show(records))
				}
			}
		}
	}
	if found == 0 || missed == 0 {
		t.Errorf("%d findings, and %d runs that miss some: nothing was tried", found, missed)
	}
}

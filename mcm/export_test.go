package mcm

import (
	"context"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/mcm/internal/windowtest"
	"github.com/heisen-go/heisen/trace"
	"github.com/heisen-go/heisen/vclock"
)

// TestWitnessAsTrace checks that the events before a window, followed by a witness, are a valid trace
// in which a happens-before detector reports the race.
func TestWitnessAsTrace(t *testing.T) {
	races, later := 0, 0
	for seed := range uint64(6) {
		name := []string{"mixed", "hot", "locky"}[seed%3]
		records := windowtest.Profiles[name](workload.Params{Threads: 4, Events: 1500, Seed: seed})
		var found []heisen.Finding
		d, err := NewDetector(WithSink(func(f heisen.Finding) { found = append(found, f) }), WithWindows(300, 150))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := heisen.Run(context.Background(), heisen.Slice(records), d); err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if f.Kind != heisen.Race {
				continue
			}
			races++
			if f.Before > 0 {
				later++
			}
			combined := slices.Concat(records[:f.Before], f.Witness)
			v, err := trace.NewValidator(nil)
			if err != nil {
				t.Fatal(err)
			}
			var seen bool
			last := uint64(len(combined))
			hb := must.Make(vclock.NewHappensBefore(vclock.WithSink(func(g heisen.Finding) {
				// The first access may be an earlier one of the same thread, if the thread has
				// published nothing since.
				seen = seen || g.Accesses[1].Index == last && g.Accesses[0].Thread == combined[last-2].Thread
			})))
			if _, err := heisen.Run(context.Background(), heisen.Slice(combined), v, hb); err != nil {
				t.Fatal(err)
			}
			if v.Errors() > 0 {
				t.Fatalf("%s, seed %d: %v", name, seed, v.Problems())
			}
			if !seen {
				t.Fatalf("%s, seed %d: happens-before does not report the race %+v", name, seed, f.Accesses)
			}
		}
	}
	if races < 20 || later == 0 {
		t.Error("too few races")
	}
	t.Logf("%d races, %d of them in windows after the first", races, later)
}

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

// TestWitnessAsTrace: what comes before a witness and the witness are a trace that an
// execution could have shown, in which a detector of what happened sees the race.
func TestWitnessAsTrace(t *testing.T) {
	races, late := 0, 0
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
				late++
			}
			example := slices.Concat(records[:f.Before], f.Witness)
			v, err := trace.NewValidator(nil)
			if err != nil {
				t.Fatal(err)
			}
			var seen bool
			last := uint64(len(example))
			hb := must.Make(vclock.NewHappensBefore(vclock.WithSink(func(g heisen.Finding) {
				// It may name an earlier access of the one thread, since when nobody has learnt
				// anything from it.
				seen = seen || g.Accesses[1].Index == last && g.Accesses[0].Thread == example[last-2].Thread
			})))
			if _, err := heisen.Run(context.Background(), heisen.Slice(example), v, hb); err != nil {
				t.Fatal(err)
			}
			if v.Errors() > 0 {
				t.Fatalf("%s, seed %d: %v", name, seed, v.Problems())
			}
			if !seen {
				t.Fatalf("%s, seed %d: the reference does not see that %+v race", name, seed, f.Accesses)
			}
		}
	}
	if races < 20 || late == 0 {
		t.Errorf("%d races, %d of them after a part of the stream", races, late)
	}
	t.Logf("%d races, %d of them after a part of the stream", races, late)
}

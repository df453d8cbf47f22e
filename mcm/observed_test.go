package mcm_test

import (
	"math/rand/v2"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/mcm"
)

// TestFirstObservedRace: of each stream the first race of the observed order is
// possible: nothing races before it, so that all that comes before one of its
// accesses can happen as it did. (Not so where memory changes hands: the order of lives
// is kept, which is more than happens-before.)
func TestFirstObservedRace(t *testing.T) {
	races := 0
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 9))
		records := workload.Random(rng, workload.Small{
			Threads: 2 + rng.IntN(4), Events: 10 + rng.IntN(60), Vars: 1 + rng.IntN(6), Syncs: 1 + rng.IntN(4),
			Ranges: rng.IntN(2) == 0, Nested: rng.IntN(3) == 0,
		})
		for k := range records { // what is used in several ways keeps its order, which is more than happens-before
			switch r := &records[k]; r.Code {
			case heisen.Send, heisen.Receive:
				r.Obj |= 1 << 50
			case heisen.Acquire, heisen.Release, heisen.AcquireShared, heisen.ReleaseShared:
				r.Obj |= 1 << 51
			case heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate: // that overlap have one address
				r.Len = 0
			}
		}
		f, ok := firstRace(t, records)
		if !ok {
			continue
		}
		races++
		m, err := mcm.NewModel(mcm.Window{Records: records})
		if err != nil {
			t.Fatal(err)
		}
		// The reference numbers the later access only; sites are unlike each other.
		i, j := int(f.Accesses[0].Site)-1, int(f.Accesses[1].Site)-1
		verdict, _, err := m.Race(i, j)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if verdict != mcm.Possible {
			t.Errorf("seed %d: records %d and %d race in the observed order, and it is %v", seed, i, j, verdict)
			for k, r := range records {
				t.Logf("%2d T%d %v(%d,%d) %d", k, r.TID, r.Code, r.Obj, r.Len, r.Val)
			}
			return
		}
	}
	if races < 1000 {
		t.Errorf("%d races", races)
	}
}

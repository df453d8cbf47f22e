package lockset_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/internal/testaid/randomtrials"
	"github.com/heisen-go/heisen/lockset"
)

// shortLived are random traces of many threads, most of which nobody waits for.
var shortLived = []struct {
	name string
	workload.Small
	alive int
}{
	{"words", workload.Small{Threads: 12, Events: 90, Vars: 3, Syncs: 3}, 4},
	{"many threads", workload.Small{Threads: 30, Events: 150, Vars: 4, Syncs: 3, Sites: 20}, 3},
	{"ranges", workload.Small{Threads: 12, Events: 90, Vars: 3, Syncs: 2, Ranges: true, LockWords: true}, 5},
	{"few sites", workload.Small{Threads: 20, Events: 120, Vars: 2, Syncs: 2, Sites: 5}, 4},
	{"lives", workload.Small{Threads: 14, Events: 110, Vars: 4, Syncs: 3, Ranges: true, Lives: true}, 4},
	{"nested", workload.Small{Threads: 10, Events: 100, Vars: 2, Syncs: 3, Sites: 40, Nested: true}, 4},
}

// compareCompacted compares the findings of a detector that compacts its order every few events with those
// of one that does not.
func compareCompacted(t *testing.T, detector func(heisen.Sink) (d heisen.Detector, compact func()), key func(heisen.Finding) string) {
	for _, kind := range shortLived {
		t.Run(kind.name, func(t *testing.T) {
			randomtrials.Each(t, 500, func(seed uint64) error {
				rng := rand.New(rand.NewPCG(seed, 29))
				trace := workload.ShortLived(rng, kind.Small, kind.alive, false)
				every := 1 + rng.IntN(9)
				run := func(compacts bool) (keys map[string]int, err error) {
					found, err := findingsOf(trace, func(s heisen.Sink) heisen.Detector {
						d, compact := detector(s)
						if !compacts {
							return d
						}
						return &compacting{Detector: d, compact: compact, every: every}
					})
					keys = map[string]int{}
					for _, f := range found {
						keys[key(f)]++
					}
					return keys, err
				}
				want, err := run(false)
				if err != nil {
					return err
				}
				got, err := run(true)
				if err != nil {
					return err
				}
				if !maps.Equal(got, want) {
					return fmt.Errorf("every %d events (-without +with compaction):\n%s\n%s", every, cmp.Diff(want, got), workload.Show(trace))
				}
				return nil
			})
		})
	}
}

// TestHybridCompactsItsOrder: the pairs are the same.
func TestHybridCompactsItsOrder(t *testing.T) {
	compareCompacted(t, func(s heisen.Sink) (heisen.Detector, func()) {
		d := must.Make(lockset.NewHybrid(lockset.WithSink(s), lockset.WithMaxAccesses(0)))
		return d, d.CompactOrderNow
	}, func(f heisen.Finding) string { return fmt.Sprint(spotsOfFinding(f)) })
	t.Run("atomic order", func(t *testing.T) {
		compareCompacted(t, func(s heisen.Sink) (heisen.Detector, func()) {
			d := must.Make(lockset.NewHybrid(lockset.WithSink(s), lockset.WithMaxAccesses(0), lockset.WithAtomicOrder()))
			return d, d.CompactOrderNow
		}, func(f heisen.Finding) string { return fmt.Sprint(spotsOfFinding(f)) })
	})
}

// TestLockOrderCompactsItsOrder: the cycles are the same.
func TestLockOrderCompactsItsOrder(t *testing.T) {
	compareCompacted(t, func(s heisen.Sink) (heisen.Detector, func()) {
		d := must.Make(lockset.NewLockOrder(lockset.WithSink(s)))
		return d, d.CompactOrderNow
	}, func(f heisen.Finding) string {
		var c cycle
		for _, a := range f.Accesses {
			c = append(c, a.Site)
		}
		return c.word()
	})
}

// TestEraserCompactsItsOrder: the violations are the same, whose variables messages hand over.
func TestEraserCompactsItsOrder(t *testing.T) {
	key := func(f heisen.Finding) string { return fmt.Sprint(f.Object, f.Accesses, f.Locks) }
	compareCompacted(t, func(s heisen.Sink) (heisen.Detector, func()) {
		d := must.Make(lockset.NewEraser(lockset.WithSink(s), lockset.WithHandOver()))
		return d, d.CompactOrderNow
	}, key)
	t.Run("objects", func(t *testing.T) {
		compareCompacted(t, func(s heisen.Sink) (heisen.Detector, func()) {
			d := must.Make(lockset.NewEraser(lockset.WithSink(s), lockset.WithHandOver(), lockset.WithObjectGranularity()))
			return d, d.CompactOrderNow
		}, key)
	})
}

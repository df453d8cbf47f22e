package atomicity

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
)

// boundedStream returns a random valid stream: threads that are forked, end and are joined, locks in both
// modes, nested transactions, memory that is allocated again.
func boundedStream(rng *rand.Rand, events int) (records []heisen.Record) {
	type held struct {
		lock   heisen.Object
		shared bool
	}
	live := []heisen.Thread{0}
	holds, depth := map[heisen.Thread][]held{}, map[heisen.Thread]int{}
	writer, readers := map[heisen.Object]bool{}, map[heisen.Object]int{}
	next := heisen.Thread(1)
	add := func(r heisen.Record) { records = append(records, r) }
	for len(records) < events {
		at := rng.IntN(len(live))
		t, site := live[at], heisen.Site(1+rng.IntN(12))
		switch k := rng.IntN(30); {
		case k == 0 && len(live) < 5:
			add(heisen.Record{Op: heisen.Fork, Thread: t, Object: heisen.Object(next), Site: site})
			add(heisen.Record{Op: heisen.Begin, Thread: next})
			live = append(live, next)
			next++
		case k == 1 && at > 0 && len(holds[t]) == 0 && depth[t] == 0:
			add(heisen.Record{Op: heisen.End, Thread: t})
			live = slices.Delete(live, at, at+1)
			add(heisen.Record{Op: heisen.Join, Thread: live[0], Object: heisen.Object(t), Site: site})
		case k < 6 && len(holds[t]) < 3:
			h := held{heisen.Object(0x1000 + 8*rng.IntN(5)), rng.IntN(3) == 0}
			if writer[h.lock] || readers[h.lock] > 0 && !h.shared || slices.Contains(holds[t], held{h.lock, true}) {
				continue
			}
			op := heisen.Acquire
			if h.shared {
				op = heisen.AcquireShared
				readers[h.lock]++
			} else {
				writer[h.lock] = true
			}
			holds[t] = append(holds[t], h)
			add(heisen.Record{Op: op, Thread: t, Object: h.lock, Site: site})
		case k < 11 && len(holds[t]) > 0:
			i := rng.IntN(len(holds[t]))
			h := holds[t][i]
			holds[t] = slices.Delete(holds[t], i, i+1)
			op := heisen.Release
			if h.shared {
				op = heisen.ReleaseShared
				readers[h.lock]--
			} else {
				delete(writer, h.lock)
			}
			add(heisen.Record{Op: op, Thread: t, Object: h.lock, Site: site})
		case k < 13 && depth[t] < 2:
			depth[t]++
			add(heisen.Record{Op: heisen.Enter, Thread: t, Object: heisen.Object(0x2000 + rng.IntN(3)), Site: site})
		case k < 15 && depth[t] > 0:
			depth[t]--
			add(heisen.Record{Op: heisen.Exit, Thread: t, Object: heisen.Object(0x2000), Site: site})
		case k == 15:
			add(heisen.Record{Op: heisen.Free, Thread: t, Object: heisen.Object(0x3000 + 8*rng.IntN(6)), Value: 8})
		default:
			op := []heisen.Op{heisen.Read, heisen.Write, heisen.AtomicUpdate}[rng.IntN(10)%3]
			add(heisen.Record{Op: op, Thread: t, Object: heisen.Object(0x3000 + 8*rng.IntN(6)), Len: 8, Site: site})
		}
	}
	return records
}

// placesOf returns what a finding is about, without the run that showed it.
func placesOf(f heisen.Finding) string {
	text := string(f.Kind)
	for _, a := range f.Accesses {
		text += fmt.Sprint(" ", a.Op, a.Site)
	}
	return text
}

// runWith returns the places of the findings, and the end's error.
func runWith(records []heisen.Record, d heisen.Detector, found map[string]bool) error {
	for i := range records {
		d.Handle(records[i].Event())
	}
	return d.Flush()
}

// TestTinyBounds: at bounds of a few blocks, variables and holds, Blocks does not panic, reports nothing
// that it does not report without bounds, and says that something is missing if something is.
func TestTinyBounds(t *testing.T) {
	unbounded := bounds{perVariable: 1 << 20, variables: 1 << 20, holds: 1 << 20, pairs: 1 << 30, one: 1 << 20, two: 1 << 20}
	blocksOf := func(records []heisen.Record, limits bounds, boundaries Boundaries) (map[string]bool, error) {
		found := map[string]bool{}
		d, err := NewBlocks(WithBoundaries(boundaries), WithSink(func(f heisen.Finding) { found[placesOf(f)] = true }))
		if err != nil {
			t.Fatal(err)
		}
		d.limits = limits
		d.blocks.bounds = limits
		return found, runWith(records, d, found)
	}
	missed, dropped := 0, 0
	for seed := range uint64(120) {
		rng := rand.New(rand.NewPCG(seed, 5))
		records := boundedStream(rng, 400)
		boundaries := []Boundaries{Marked, CriticalSections, Marked | CriticalSections}[seed%3]
		all, err := blocksOf(records, unbounded, boundaries)
		if err != nil {
			t.Fatal(err)
		}
		for _, limits := range []bounds{
			{1, 1, 1, 1 << 30, 1, 1}, {2, 3, 2, 1 << 30, 2, 2}, {1, 100, 100, 1 << 30, 100, 100}, {100, 1, 100, 1 << 30, 100, 100}, {100, 2, 100, 1 << 30, 100, 100}, {100, 100, 1, 1 << 30, 100, 100}, {100, 100, 2, 1 << 30, 100, 100}, {100, 100, 100, 1 << 30, 1, 1}, {100, 100, 100, 1 << 30, 3, 3},
			{100, 100, 100, 3, 100, 100}, {100, 100, 100, 1 << 30, 100, 1}, {100, 100, 100, 1 << 30, 1, 100},
		} {
			found, err := blocksOf(records, limits, boundaries)
			for f := range found {
				if !all[f] {
					t.Fatalf("seed %d, bounds %+v: %s is found only with bounds", seed, limits, f)
				}
			}
			if len(found) < len(all) {
				missed++
				if !errors.Is(err, ErrDropped) {
					t.Fatalf("seed %d, bounds %+v: %d of %d findings, and no error", seed, limits, len(found), len(all))
				}
			}
			if err != nil {
				dropped++
			}
		}
	}
	if missed == 0 || dropped == 0 {
		t.Errorf("the bounds are not reached: %d runs miss findings, %d drop something", missed, dropped)
	}
}

// TestTinyReduction: with room for a few entries of sequences, Reduction does not panic, reports no
// transaction that it does not report without bounds, perhaps for another of its accesses, and says that
// something is missing if something is.
func TestTinyReduction(t *testing.T) {
	run := func(records []heisen.Record, entries int, boundaries Boundaries) (map[string]bool, error) {
		found := map[string]bool{}
		d, err := NewReduction(WithBoundaries(boundaries), WithSink(func(f heisen.Finding) { found[fmt.Sprint(f.Kind, f.Accesses[0].Op, f.Accesses[0].Site)] = true }))
		if err != nil {
			t.Fatal(err)
		}
		d.maxEntries = entries
		return found, runWith(records, d, found)
	}
	missed, dropped := 0, 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 6))
		records := boundedStream(rng, 300)
		boundaries := []Boundaries{Marked, CriticalSections, Marked | CriticalSections}[seed%3]
		all, err := run(records, 1<<30, boundaries)
		if err != nil {
			t.Fatal(err)
		}
		for _, entries := range []int{0, 1, 2, 5, 20} {
			found, err := run(records, entries, boundaries)
			for f := range found {
				if !all[f] {
					t.Fatalf("seed %d, %d entries: %s is found only with the bound", seed, entries, f)
				}
			}
			if len(found) < len(all) {
				missed++
				if !errors.Is(err, ErrDropped) {
					t.Fatalf("seed %d, %d entries: %d of %d findings, error %v", seed, entries, len(found), len(all), err)
				}
			}
			if err != nil {
				dropped++
			}
		}
	}
	if missed == 0 || dropped == 0 {
		t.Errorf("the bound is not reached: %d runs miss findings, %d drop something", missed, dropped)
	}
}

package syncp_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/internal/testaid/tier"
	"github.com/heisen-go/heisen/mcm"
	"github.com/heisen-go/heisen/syncp"
)

// TestMaximal: on streams with every op, ranges of bytes, locks in memory, allocations, hidden code, and
// what no program does, the detector finds nothing that the maximal causal model does not have.
func TestMaximal(t *testing.T) {
	found, refused := 0, 0
	for seed := range uint64(tier.Pick(600, 2000, 10_000, 100_000)) {
		rng := rand.New(rand.NewPCG(seed, 12))
		s := workload.Small{
			Events: 12 + rng.IntN(40), Threads: 2 + rng.IntN(3), Vars: 3, Syncs: 3, Ranges: rng.IntN(2) == 0, LockWords: rng.IntN(3) == 0,
			Lives: rng.IntN(3) == 0, Nested: rng.IntN(4) == 0, Wild: rng.IntN(8) == 0,
		}
		if rng.IntN(5) == 0 {
			s.Hidden = workload.Sets(rng, s, 3, rng.IntN(2) == 0)
		}
		records := workload.Random(rng, s)
		d, err := syncp.NewDetector(syncp.WithSink(func(f heisen.Finding) {
			found++
			var at []int
			for _, a := range f.Accesses {
				at = append(at, int(a.Index)-1)
			}
			// An object that is used in a second way later keeps the order of its events in the model of all records.
			m, err := mcm.NewModel(mcm.Window{Records: records[:slices.Max(at)+1]}, mcm.WithSymbols(s.Hidden), mcm.WithBudget(10_000, 10_000_000))
			if err != nil {
				t.Fatal(err)
			}
			var verdict mcm.Verdict
			if f.Kind == heisen.Race {
				verdict, _, err = m.Race(t.Context(), at[0], at[1])
			} else {
				verdict, _, err = m.Deadlock(t.Context(), at...)
			}
			// The model does not distinguish the lives of an object that is used in two ways: it may have none of its sections.
			known := !s.Lives || err != nil && !errors.Is(err, mcm.ErrQuery)
			if known && (verdict != mcm.Possible || err != nil) {
				t.Errorf("seed %d: %v: %v, %v\n%s", seed, f, verdict, err, workload.Show(records))
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		for i := range records {
			d.Handle(records[i].Event())
		}
		if err := d.Flush(); err != nil {
			t.Fatal(err)
		}
		refused += d.Stats().Refused
	}
	t.Logf("%d findings, %d witnesses refused", found, refused)
	if found < 1000 || refused > found/50 {
		t.Errorf("%d findings, %d witnesses refused", found, refused)
	}
}

// TestUnseenCall: while hidden code may synchronize unseen, all threads keep the order of their events; after the call,
// and while the stream has the synchronization, they do not.
func TestUnseenCall(t *testing.T) {
	access := func(thread heisen.Thread, op heisen.Op) heisen.Record {
		return heisen.Record{Op: op, Thread: thread, Object: 16, Len: 8, Site: heisen.Site(thread)}
	}
	hide := heisen.Record{Op: heisen.Hide, Thread: 2, Object: 8}
	seen := hide
	seen.Value = uint64(heisen.Synchronized)
	reveal := heisen.Record{Op: heisen.Reveal, Thread: 2, Object: 8}
	write, read, end := access(1, heisen.Write), access(0, heisen.Read), heisen.Record{Op: heisen.End, Thread: 2}
	for _, c := range []struct {
		name    string
		records []heisen.Record
		races   int
	}{
		{"open", []heisen.Record{hide, write, read}, 0},
		{"between two of the thread", []heisen.Record{hide, write, hide, read}, 0},
		{"one of two is open", []heisen.Record{hide, hide, reveal, write, read}, 0},
		{"synchronized", []heisen.Record{seen, write, read}, 1},
		{"one of two is synchronized", []heisen.Record{hide, seen, reveal, write, read}, 0},
		{"returned", []heisen.Record{hide, reveal, write, read}, 1},
		{"the thread has ended", []heisen.Record{hide, hide, end, write, read}, 1},
		{"returned between", []heisen.Record{hide, write, reveal, read}, 0},
	} {
		races := 0
		d, err := syncp.NewDetector(syncp.WithSink(func(heisen.Finding) { races++ }))
		if err != nil {
			t.Fatal(err)
		}
		d.HandleRecords(c.records)
		if err := d.Flush(); err != nil || races != c.races {
			t.Errorf("%s: %d races, want %d; %v", c.name, races, c.races, err)
		}
	}
}

package syncp_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/internal/testaid/tier"
	"github.com/heisen-go/heisen/syncp"
)

// TestForget: whenever the beginning of a stream is forgotten, what is found is a part of what the enumeration of all
// reorderings finds, and what needs none of the forgotten events is found.
func TestForget(t *testing.T) {
	found, missed := 0, 0
	for k := range tier.Pick(1500, 4000, 20_000, 100_000) {
		rng := rand.New(rand.NewPCG(uint64(k), 8))
		records := randomTrace(rng, 6+rng.IntN(13), 4)
		uniqueSites(records)
		want := enumerate(records)
		races, deadlocks := map[string]bool{}, map[string]bool{}
		d, err := syncp.NewDetector(syncp.WithSink(func(f heisen.Finding) {
			var of []*heisen.Record
			for _, a := range f.Accesses {
				of = append(of, &heisen.Record{Op: a.Op, Site: a.Site})
			}
			if f.Kind == heisen.Race {
				races[placesOf(of...)] = true
			} else {
				deadlocks[placesOf(of...)] = true
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		forgets := 0
		for i := range records {
			if i > 0 && rng.IntN(6) == 0 {
				d.ForgetHalf()
				forgets++
			}
			d.HandleRecords(records[i : i+1])
		}
		if err := d.Flush(); errors.Is(err, syncp.ErrForgotten) != (forgets > 0) {
			t.Fatalf("forgotten %d times: %v", forgets, err)
		}
		for _, of := range [2][2]map[string]bool{{races, want.races}, {deadlocks, want.deadlocks}} {
			found += len(of[0])
			missed += len(of[1]) - len(of[0])
			for p := range of[0] {
				if !of[1][p] {
					t.Fatalf("trace %d: %s is not possible", k, p)
				}
			}
		}
		if s := d.Stats(); s.Refused > 0 {
			t.Fatalf("trace %d: %d witnesses refused", k, s.Refused)
		}
	}
	if found < 500 || missed < 100 {
		t.Errorf("%d findings, %d missed", found, missed)
	}
}

// TestMemory: a detector with little memory stays within it, finds what is near, and says from which event on.
func TestMemory(t *testing.T) {
	dir := t.TempDir()
	records := workload.SyncHeavy(workload.Params{Threads: 8, Vars: 64, Events: 100_000, Seed: 1})
	race := func(x heisen.Object, t heisen.Thread, site heisen.Site) heisen.Record {
		return heisen.Record{Op: heisen.Write, Thread: t, Object: x, Len: 8, Site: site}
	}
	var found []heisen.Finding
	d, err := syncp.NewDetector(syncp.WithMemory(1<<20), syncp.WithSpill(dir), syncp.WithSink(func(f heisen.Finding) { found = append(found, f) }))
	if err != nil {
		t.Fatal(err)
	}
	d.HandleRecords([]heisen.Record{race(8, 1001, 1001), race(16, 1002, 1002)})
	d.HandleRecords(records)
	d.HandleRecords([]heisen.Record{race(8, 1003, 1003), race(24, 1001, 1004), race(24, 1002, 1005)})
	if files, err := os.ReadDir(dir); len(files) != 1 || err != nil {
		t.Errorf("%d files, %v", len(files), err)
	}
	if err := d.Flush(); !errors.Is(err, syncp.ErrForgotten) {
		t.Errorf("error %v", err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 0 {
		t.Errorf("%d files are left", len(files))
	}
	if len(found) != 1 || found[0].Object != 24 {
		t.Errorf("findings %v", found)
	}
}

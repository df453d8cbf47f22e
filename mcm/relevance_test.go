package mcm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
)

// TestOwnWork: what a thread does alone takes no room in a window, however much it is, with its own locks and
// memory. What others do with it does.
func TestOwnWork(t *testing.T) {
	const x, mu = 8, 1 << 20
	section := func(t heisen.Thread) []heisen.Record {
		return []heisen.Record{{Op: heisen.Acquire, Thread: t, Object: mu, Site: 1}, {Op: heisen.Release, Thread: t, Object: mu, Site: 2}}
	}
	work := map[string]func(i int) []heisen.Record{
		"memory": func(i int) []heisen.Record {
			return []heisen.Record{{Op: heisen.Write, Thread: heisen.Thread(1 + i%2), Object: heisen.Object(1<<30*(1+i%2) + 8*(i%5000)), Len: 8, Site: 3}}
		},
		"ranges": func(i int) []heisen.Record {
			return []heisen.Record{{Op: heisen.Write, Thread: 1, Object: heisen.Object(1<<30 + 64*(i%500)), Len: 64, Site: 3}}
		},
		"a lock and an atomic": func(i int) []heisen.Record {
			return []heisen.Record{
				{Op: heisen.Acquire, Thread: 1, Object: 1 << 21, Site: 4}, {Op: heisen.Release, Thread: 1, Object: 1 << 21, Site: 5},
				{Op: heisen.AtomicUpdate, Thread: 1, Object: 1 << 22, Len: 8, Site: 6},
			}
		},
		"reads": func(i int) []heisen.Record {
			return []heisen.Record{{Op: heisen.Read, Thread: heisen.Thread(1 + i%3), Object: heisen.Object(1 << 30), Len: 8, Site: 7}}
		},
		"allocations": func(i int) []heisen.Record {
			o := heisen.Object(1<<30 + 64*i)
			return []heisen.Record{{Op: heisen.Alloc, Thread: 1, Object: o, Value: 64, Site: 8}, {Op: heisen.Write, Thread: 1, Object: o, Len: 8, Site: 9}}
		},
		"shared": func(i int) []heisen.Record {
			return append(section(heisen.Thread(3+i%2)), heisen.Record{Op: heisen.AtomicUpdate, Thread: heisen.Thread(3 + i%2), Object: 1 << 23, Len: 8, Site: 10})
		},
	}
	for name, some := range work {
		for _, n := range []int{3000, 60_000} {
			t.Run(fmt.Sprint(name, "/", n), func(t *testing.T) {
				records := append([]heisen.Record{{Op: heisen.Write, Thread: 1, Object: x, Len: 8, Site: 11}}, section(1)...)
				for i := 0; len(records) < n; i++ {
					records = append(records, some(i)...)
				}
				records = append(records, section(2)...)
				records = append(records, heisen.Record{Op: heisen.Write, Thread: 2, Object: x, Len: 8, Site: 12})
				var found []heisen.Finding
				d, err := NewDetector(WithSink(func(f heisen.Finding) { found = append(found, f) }))
				if err != nil {
					t.Fatal(err)
				}
				d.HandleRecords(records)
				if err := d.Flush(); err != nil {
					t.Fatal(err)
				}
				if far := slices.ContainsFunc(found, func(f heisen.Finding) bool { return f.Object == x }); far == (name == "shared") {
					t.Errorf("%d findings: %v", len(found), found)
				}
			})
		}
	}
}

// TestOthersMemory: memory that another thread allocates is used only afterwards, also if each word of it is used by one
// thread, and by locks in it.
func TestOthersMemory(t *testing.T) {
	const x, mu, memory = 8, 1 << 20, 1 << 30
	for name, use := range map[string]heisen.Record{
		"word": {Op: heisen.Write, Thread: 2, Object: memory + 16, Len: 1, Site: 5},
		"lock": {Op: heisen.Acquire, Thread: 2, Object: memory + 16, Site: 5},
	} {
		for _, size := range []uint64{64, 1 << 20} {
			records := []heisen.Record{
				{Op: heisen.Write, Thread: 1, Object: x, Len: 1, Site: 1},
				{Op: heisen.Acquire, Thread: 1, Object: mu, Site: 2}, {Op: heisen.Alloc, Thread: 1, Object: memory, Value: size, Site: 3},
				{Op: heisen.Write, Thread: 1, Object: memory + 8, Len: 1, Site: 3}, {Op: heisen.Release, Thread: 1, Object: mu, Site: 2},
				{Op: heisen.Acquire, Thread: 2, Object: mu, Site: 4}, use, {Op: heisen.Release, Thread: 2, Object: mu, Site: 4},
				{Op: heisen.Write, Thread: 2, Object: x, Len: 1, Site: 6},
			}
			var found []heisen.Finding
			d, err := NewDetector(WithSink(func(f heisen.Finding) { found = append(found, f) }))
			if err != nil {
				t.Fatal(err)
			}
			d.HandleRecords(records)
			if err := d.Flush(); err != nil || len(found) > 0 {
				t.Errorf("%s in %d bytes: %v, %v", name, size, found, err)
			}
		}
	}
}

// TestRelevance: a detector with one large window finds what the model of all records shows, so that nothing that
// was left out matters.
func TestRelevance(t *testing.T) {
	findings := 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 11))
		records := workload.Random(rng, workload.Small{
			Events: 40, Threads: 3, Vars: 4, Syncs: 3, Ranges: seed%2 == 0, LockWords: seed%3 == 0, Lives: seed%5 == 0, Nested: seed%7 == 0,
		})
		places := func(keep bool) (list []string) {
			d, err := NewDetector(WithWindows(1000, 500), WithOccurrences(1000, 100_000), WithBudget(100_000, 100_000_000), WithSink(func(f heisen.Finding) {
				text := fmt.Sprint(f.Kind)
				for _, a := range f.Accesses {
					text += fmt.Sprint(" ", a.Op, "@", a.Site, "#", a.Index)
				}
				list = append(list, text)
			}))
			if err != nil {
				t.Fatal(err)
			}
			d.relevance.hidden = keep
			d.HandleRecords(records)
			if err := d.Flush(); err != nil {
				t.Fatal(err)
			}
			slices.Sort(list)
			return list
		}
		all, some := places(true), places(false)
		findings += len(all)
		if !slices.Equal(all, some) {
			t.Fatalf("seed %d: with all records %v, with those that matter %v", seed, all, some)
		}
	}
	if findings < 500 {
		t.Errorf("%d findings", findings)
	}
}

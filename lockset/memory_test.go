package lockset_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/locksets"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/lockset"
)

// churn is a program that again and again allocates an object with a lock and a
// counter, which some goroutines then increment under the lock and another one
// that all have in common, and drops it. What the goroutines hold is a new set
// each time. It gives each batch to handle.
func churn(objects int, handle func([]heisen.Record)) {
	const common, size = 1 << 30, 64
	var batch []heisen.Record
	for i := range objects {
		o := heisen.Object(1<<20 + i%32*size)
		batch = append(batch[:0],
			heisen.Record{Thread: 1, Op: heisen.Alloc, Object: o, Value: size},
			heisen.Record{Thread: 1, Op: heisen.Write, Object: o + 8, Site: 1})
		for t := range heisen.Thread(3) {
			batch = append(batch,
				heisen.Record{Thread: t, Op: heisen.Acquire, Object: common},
				heisen.Record{Thread: t, Op: heisen.Acquire, Object: o},
				heisen.Record{Thread: t, Op: heisen.Write, Object: o + 8, Site: 2},
				heisen.Record{Thread: t, Op: heisen.Write, Object: common + 8, Site: 3}, // under ever new locks
				heisen.Record{Thread: t, Op: heisen.Release, Object: common},
				heisen.Record{Thread: t, Op: heisen.Release, Object: o})
		}
		handle(batch)
	}
}

// TestManyLocks: locks that are created and dropped leave nothing behind.
func TestManyLocks(t *testing.T) {
	const first, rest = 100_000, 200_000
	for name, detector := range map[string]interface {
		heisen.Detector
		heisen.RecordHandler
	}{
		"eraser":           must.Make(lockset.NewEraser(lockset.WithSink(fail(t)))),
		"eraser by object": must.Make(lockset.NewEraser(lockset.WithSink(fail(t)), lockset.WithObjectGranularity())),
		"hybrid": must.Make(lockset.NewHybrid(lockset.WithSink(func(f heisen.Finding) {
			// The object is handed over without a message, so its
			// initialisation may race for all that is known.
			if sitePairs([]heisen.Finding{f}) != "(1,2)" {
				t.Errorf("%+v", f)
			}
		}))),
	} {
		churn(first, detector.HandleRecords)
		before := heap()
		churn(rest, detector.HandleRecords)
		if grown := heap() - before; grown > 1<<20 {
			t.Errorf("%s: %d bytes more after %d more locks", name, grown, rest)
		}
		if err := detector.Flush(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func fail(t *testing.T) heisen.Sink {
	return func(f heisen.Finding) { t.Errorf("%+v", f) }
}

func heap() int {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

// TestManyAtOnce: a thread that takes ten thousand locks, one after the other,
// and releases them in either order.
func TestManyAtOnce(t *testing.T) {
	const n = 10_000
	table := locksets.NewTable()
	holds := locksets.NewTracker(table)
	at := func(i int) heisen.Object { return heisen.Object(64 * (i + 1)) }
	for round := range 2 {
		for i := range n {
			holds.Handle(&heisen.Record{Thread: 1, Op: heisen.Acquire, Object: at(i)})
			if got := table.Len(holds.HeldBy(1).Any); got != i+1 {
				t.Fatalf("%d locks held, want %d", got, i+1)
			}
		}
		for i := range n {
			j := i
			if round == 1 {
				j = n - 1 - i
			}
			holds.Handle(&heisen.Record{Thread: 1, Op: heisen.Release, Object: at(j)})
		}
		if held := holds.HeldBy(1); held != (locksets.Held{}) {
			t.Fatalf("%+v held in the end", held)
		}
	}
}

// TestEvicted accesses a variable from more unordered goroutines than the bound permits, and at too many
// sites.
func TestEvicted(t *testing.T) {
	const remember = 100
	feed := func(threads heisen.Thread) *lockset.Hybrid {
		d := must.Make(lockset.NewHybrid(lockset.WithMaxAccesses(remember)))
		for t := range threads {
			d.Handle((&heisen.Record{Thread: t, Op: heisen.Read, Object: x, Site: 1}).Event())
		}
		return d
	}
	if d := feed(remember); d.Evicted() != 0 || d.Flush() != nil {
		t.Errorf("%d evicted, error %v", d.Evicted(), d.Flush())
	}
	if d := feed(remember + 7); d.Evicted() != 7 || !errors.Is(d.Flush(), lockset.ErrEvicted) {
		t.Errorf("%d evicted, error %v", d.Evicted(), d.Flush())
	}
	for _, test := range []struct {
		sites  heisen.Site
		option int
		want   uint64
	}{{512, 1024, 0}, {513, 1024, 1}, {300, 0, 0}} {
		d := must.Make(lockset.NewHybrid(lockset.WithMaxAccesses(test.option)))
		for site := range test.sites {
			d.Handle((&heisen.Record{Thread: 1, Op: heisen.Read, Object: x, Site: site}).Event())
		}
		if d.Evicted() != test.want {
			t.Errorf("%d sites, WithMaxAccesses(%d): %d evicted, want %d", test.sites, test.option, d.Evicted(), test.want)
		}
	}
}

// TestMillionGoroutines: goroutines that are waited for leave nothing behind,
// though they all access the same variable without a lock.
func TestMillionGoroutines(t *testing.T) {
	const goroutines, width = 1_000_000, 50
	d := must.Make(lockset.NewHybrid())
	var batch []heisen.Record
	for first := heisen.Thread(1); first < goroutines; first += width {
		batch = batch[:0]
		for g := first; g < first+width; g++ {
			batch = append(batch,
				heisen.Record{Thread: 0, Op: heisen.Fork, Object: heisen.Object(g)},
				heisen.Record{Thread: g, Op: heisen.Read, Object: x, Site: 1},
				heisen.Record{Thread: g, Op: heisen.Send, Object: ch},
				heisen.Record{Thread: g, Op: heisen.End, Object: heisen.Object(g)})
		}
		batch = append(batch,
			heisen.Record{Thread: 0, Op: heisen.Receive, Object: ch},
			heisen.Record{Thread: 0, Op: heisen.Write, Object: x, Site: 2})
		d.HandleRecords(batch)
	}
	if err := d.Flush(); err != nil || d.Pairs() != 0 {
		t.Errorf("%d pairs, error %v", d.Pairs(), err)
	}
}

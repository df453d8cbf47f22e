package tree_test

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/tree"
)

// demanding are streams that need much memory, each in another way: n events at a time.
var demanding = map[string]func(r *rand.Rand, i int) heisen.Record{
	"many locks, of which most are never released, and many variables": func(r *rand.Rand, i int) heisen.Record {
		t := heisen.Thread(r.IntN(8))
		switch r.IntN(20) {
		case 0, 1:
			return do(t, heisen.Acquire, 0x10000000+heisen.Object(t)*1000000+heisen.Object(r.IntN(10000))*64)
		case 2:
			return do(t, heisen.Send, 0x20000000+heisen.Object(r.IntN(1000))*8)
		}
		return access(r, t, 1_000_000)
	},
	"many locks that are released": func(r *rand.Rand, i int) heisen.Record {
		t := heisen.Thread(i / 3 % 8)
		l := 0x10000000 + heisen.Object(i/3%50_000)*64
		switch i % 3 {
		case 0:
			return do(t, heisen.Acquire, l)
		case 1:
			return access(r, t, 100)
		}
		return do(t, heisen.Release, l)
	},
	"many readers": func(r *rand.Rand, i int) heisen.Record {
		t := heisen.Thread(i / 3 % 64)
		l := 0x10000000 + heisen.Object(i/3/64%1000)*64
		switch i % 3 {
		case 0:
			return do(t, heisen.AcquireShared, l)
		case 1:
			return access(r, t, 100)
		}
		return do(t, heisen.ReleaseShared, l)
	},
	"many threads": func(r *rand.Rand, i int) heisen.Record {
		t := heisen.Thread(1 + i/8%60_000)
		if i < 60_000 {
			return do(0, heisen.Fork, heisen.Object(1+i))
		}
		return access(r, t, 1000)
	},
	"many messages": func(r *rand.Rand, i int) heisen.Record {
		return do(heisen.Thread(r.IntN(8)), []heisen.Op{heisen.Send, heisen.Receive, heisen.AtomicUpdate}[r.IntN(3)], heisen.Object(r.IntN(1<<30)))
	},
	"variables far apart, and long ranges": func(r *rand.Rand, i int) heisen.Record {
		a := access(r, heisen.Thread(r.IntN(4)), 1<<20)
		a.Object *= 1 << 20
		a.Len = uint16(r.IntN(1 << 16))
		return a
	},
	"nested locks": func(r *rand.Rand, i int) heisen.Record {
		t := heisen.Thread(i / 4000 % 4)
		l := 0x10000000 + heisen.Object(t)<<20 + heisen.Object(i%2000)*64
		if i/2000%2 == 0 {
			return do(t, heisen.Acquire, l)
		}
		return do(t, heisen.Release, l)
	},
}

func access(r *rand.Rand, t heisen.Thread, variables int) heisen.Record {
	return heisen.Record{Op: heisen.Read + heisen.Op(r.IntN(2)), Thread: t, Object: 0x100000 + heisen.Object(r.IntN(variables))*8, Site: heisen.Site(r.IntN(200)), Len: uint16(r.IntN(3) * 4)}
}

// TestBudgetIsKept: at any time a filter takes no more than its budget, in its own account and in that of the runtime.
func TestBudgetIsKept(t *testing.T) {
	const events, batch = 60_000, 512
	for name, next := range demanding {
		for kind, options := range map[string][]tree.FilterOption{
			"default": {tree.WithoutBypass()}, "bypass": nil, "messages": {tree.WithMessageOrder(), tree.WithoutBypass()}, "thesis": {tree.WithThesisAlgorithm()},
		} {
			for _, budget := range []uint64{1 << 20, 8 << 20} {
				if kind == "thesis" && budget < 8<<20 {
					continue
				}
				before := liveHeap()
				f, err := tree.NewFilter(nothing{heisen.LocksAsSets}, append(options, tree.WithMemory(budget))...)
				if err != nil {
					t.Fatal(err)
				}
				r := rand.New(rand.NewPCG(1, 1))
				records := make([]heisen.Record, batch)
				for n := 0; n < events; n += batch {
					for i := range records {
						records[i] = next(r, n+i)
					}
					f.HandleRecords(records)
					if s := f.Stats(); s.Bytes > budget {
						t.Fatalf("%s, %s: %d bytes after %d events, the budget is %d", name, kind, s.Bytes, s.Events, budget)
					}
				}
				stats := f.Stats()
				if after := liveHeap(); after > before+int64(budget) {
					t.Errorf("%s, %s: the heap has grown by %d bytes, the budget is %d, and the filter says %d", name, kind, after-before, budget, stats.Bytes)
				}
				runtime.KeepAlive(f)
			}
		}
	}
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

package bench

import (
	"fmt"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/lockset"
)

// sink keeps results alive.
var sink int

// BenchmarkSets compares the two ways in which package lockset can keep a set,
// by what it does with one of n locks: taking one more, and intersecting with
// another set. Locks are those that were numbered one after another ("run"), as
// where a thread locks all of many shards, or every other one of them. B/set is
// what a set takes. To take one more is what happens most, and slices are faster
// at it up to about a thousand locks, and beyond but for runs. Of runs, bitmaps
// take next to no memory.
func BenchmarkSets(b *testing.B) {
	for _, spread := range []struct {
		name string
		step int
	}{{"run", 1}, {"every-other", 2}} {
		for _, n := range []int{4, 64, 256, 1024, 4096} {
			var slice, other []uint32
			for i := range n {
				slice = append(slice, uint32(i*spread.step))
				other = append(other, uint32((i+n/2)*spread.step))
			}
			bitmap, otherBitmap := roaring.BitmapOf(slice...), roaring.BitmapOf(other...)
			bitmap.RunOptimize()
			otherBitmap.RunOptimize()
			more := uint32(n*spread.step + 1)
			run := func(op, kind string, bytes uint64, once func()) {
				b.Run(fmt.Sprintf("%s/%d/%s/%s", spread.name, n, op, kind), func(b *testing.B) {
					for range b.N {
						once()
					}
					b.ReportMetric(float64(bytes), "B/set")
				})
			}
			var scratch []uint32
			sets := make([]uint32, 0, 1<<18) // a MiB of sets
			run("with", "slice", uint64(4*n), func() {
				scratch = append(append(scratch[:0], slice...), more)
				if len(sets)+len(scratch) > cap(sets) {
					sets = sets[:0]
				}
				sets = append(sets, scratch...)
			})
			run("with", "bitmap", bitmap.GetSizeInBytes(), func() {
				c := bitmap.Clone()
				c.Add(more)
				sink += int(c.Minimum())
			})
			run("intersect", "slice", uint64(4*n), func() {
				scratch = intersect(scratch[:0], slice, other)
				sink += len(scratch)
			})
			run("intersect", "bitmap", bitmap.GetSizeInBytes(), func() {
				sink += int(bitmap.AndCardinality(otherBitmap))
			})
		}
	}
}

func intersect(dst, a, b []uint32) []uint32 {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			dst = append(dst, a[i])
			i++
			j++
		}
	}
	return dst
}

// BenchmarkTable measures the operations of a lockset.Table on sets of 1 to 3
// locks: few that are asked for again and again, whose results are remembered,
// and many, whose results are not.
func BenchmarkTable(b *testing.B) {
	for _, sets := range []int{16, 4096} {
		table := lockset.NewTable()
		var ids []lockset.ID
		var locks []lockset.Lock
		for i := range sets {
			l := table.Lock(heisen.Object(64 * i))
			locks = append(locks, l)
			s := table.With(lockset.Empty, l)
			for j := range i % 3 {
				s = table.With(s, locks[i*(j+1)*7%len(locks)])
			}
			ids = append(ids, s)
		}
		for _, op := range []struct {
			name string
			do   func(i, j int)
		}{
			{"With", func(i, j int) { sink += int(table.With(ids[i], locks[j])) }},
			{"Without", func(i, j int) { sink += int(table.Without(ids[i], locks[j])) }},
			{"Intersect", func(i, j int) { sink += int(table.Intersect(ids[i], ids[j])) }},
			{"Disjoint", func(i, j int) { table.Disjoint(ids[i], ids[j]) }},
		} {
			b.Run(fmt.Sprintf("%d/%s", sets, op.name), func(b *testing.B) {
				b.ReportAllocs()
				for i := range b.N {
					op.do(i%sets, i*7%sets)
				}
			})
		}
	}
}

// BenchmarkAgain is the hot path of the detectors: threads that access variables
// again, at the same places under the same locks.
func BenchmarkAgain(b *testing.B) {
	w := workload.LockProtected(workload.Params{Threads: 4, Vars: 64, Events: 1 << 14, Seed: 1})
	var again []heisen.Record
	for _, r := range w {
		if r.Thread != 0 && r.Op != heisen.End {
			again = append(again, r)
		}
	}
	for _, d := range detectors {
		if d.name == "hb" {
			continue
		}
		b.Run(d.name, func(b *testing.B) {
			detector := d.make(nil).(heisen.RecordHandler)
			detector.HandleRecords(w)
			measure(b, len(again), func() error {
				detector.HandleRecords(again)
				return nil
			})
		})
	}
}

// BenchmarkObjects runs Eraser at both granularities over threads that allocate
// objects, fill them in and hand them on under a lock.
func BenchmarkObjects(b *testing.B) {
	trace := workload.SharedObjects(workload.Params{Threads: 16, Vars: 1 << 14, Events: benchEvents, Seed: 1})
	for _, d := range detectors {
		if d.name == "hb" {
			continue
		}
		b.Run(d.name, func(b *testing.B) {
			measure(b, len(trace), func() error { return run(d.make(func(heisen.Finding) {}), trace) })
		})
	}
}

package locksets_test

import (
	"fmt"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/locksets"
)

// sink keeps results from being optimized away.
var sink int

// BenchmarkSets compares the two representations of a set of n locks, sorted slices and compressed
// bitmaps, by what a Table does with sets: add a lock, and intersect with another set. The locks
// are numbered one after another (locks=run), as where a thread locks all of many shards, or every
// other one of them. B/set is the size of a set. Slices are faster to add to up to about a thousand
// locks, and beyond that except for runs. Bitmaps of runs take almost no memory. A B-tree would not
// be better: sets are immutable, and both representations already cost a copy per added lock.
func BenchmarkSets(b *testing.B) {
	for _, spread := range []struct {
		name string
		step int
	}{{"run", 1}, {"alternate", 2}} {
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
				b.Run(fmt.Sprintf("locks=%s/n=%d/op=%s/set=%s", spread.name, n, op, kind), func(b *testing.B) {
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

// BenchmarkTable measures the operations of a Table on sets of 1 to 3 locks: few sets, whose results
// are memoized, and many, whose results are not.
func BenchmarkTable(b *testing.B) {
	for _, sets := range []int{16, 4096} {
		table := locksets.NewTable()
		var ids []locksets.ID
		var locks []locksets.Lock
		for i := range sets {
			l := table.Lock(heisen.Object(64 * i))
			locks = append(locks, l)
			s := table.With(locksets.Empty, l)
			for j := range i % 3 {
				s = table.With(s, locks[i*(j+1)*7%len(locks)])
			}
			ids = append(ids, s)
		}
		for _, op := range []struct {
			name string
			do   func(i, j int)
		}{
			{"with", func(i, j int) { sink += int(table.With(ids[i], locks[j])) }},
			{"without", func(i, j int) { sink += int(table.Without(ids[i], locks[j])) }},
			{"intersect", func(i, j int) { sink += int(table.Intersect(ids[i], ids[j])) }},
			{"disjoint", func(i, j int) { table.Disjoint(ids[i], ids[j]) }},
		} {
			b.Run(fmt.Sprintf("sets=%d/op=%s", sets, op.name), func(b *testing.B) {
				b.ReportAllocs()
				for i := range b.N {
					op.do(i%sets, i*7%sets)
				}
			})
		}
	}
}

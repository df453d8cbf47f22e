package locksets_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/locksets"
)

// sink keeps results from being optimized away.
var sink int

// BenchmarkSets compares the two representations of a set of n locks, sorted slices and trees, by what a
// Table does with sets: add a lock, and intersect with another set. The locks are numbered one after
// another (locks=run), or are every other one of them. B/set is what one of n sets takes of which each has
// one lock more than the one before.
func BenchmarkSets(b *testing.B) {
	for _, spread := range []struct {
		name string
		step int
	}{{"run", 1}, {"alternate", 2}} {
		for _, n := range []int{4, 64, 256, 1024, 4096} {
			for _, kind := range []struct {
				name string
				most uint32
			}{{"slice", math.MaxUint32}, {"tree", 0}} {
				table := locksets.NewTable()
				table.SetMost(kind.most)
				for range 2*n*spread.step + 2 {
					table.NewLock(0)
				}
				chain := func(from int) (s locksets.ID) {
					for i := range n {
						s = table.With(s, locksets.Lock(1+(from+i)*spread.step))
					}
					return s
				}
				set := chain(0)
				bytes := table.Bytes() / uint64(n)
				other, more := chain(n/2), locksets.Lock(n*spread.step+1)
				run := func(op string, once func() locksets.ID) {
					b.Run(fmt.Sprintf("locks=%s/n=%d/op=%s/set=%s", spread.name, n, op, kind.name), func(b *testing.B) {
						for range b.N {
							sink += int(once())
						}
						b.ReportMetric(float64(bytes), "B/set")
					})
				}
				run("with", func() locksets.ID { return table.Add(set, more) })
				run("intersect", func() locksets.ID { return table.Common(set, other) })
			}
		}
	}
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

package bench

import (
	"context"
	"fmt"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/maximal"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/mcm/order"
)

var windows = []struct {
	name     string
	generate func(workload.Params) []heisen.Record
	events   int
	threads  int
}{
	{"mixed", workload.Mixed, 1000, 4},
	{"mixed", workload.Mixed, 1000, 8},
	{"hot", workload.Hot, 1000, 4},
	{"hot", workload.Hot, 1000, 8},
	{"locky", workload.Locky, 1000, 4},
	{"locky", workload.Locky, 1000, 8},
}

// BenchmarkRaceQuery answers race queries about synthetic windows, from the full
// formula of the window: with a new Solver for each query, without and with the
// time to tell it the formula, and with one Solver for all. What it measures is
// time per query.
func BenchmarkRaceQuery(b *testing.B) {
	ctx := context.Background()
	for _, w := range windows {
		f := maximal.Encode(w.generate(workload.Params{Threads: w.threads, Events: w.events, Seed: 1}))
		pairs := f.Pairs(40)
		name := fmt.Sprintf("%s%dx%d", w.name, w.events, w.threads)
		b.Run(name+"/fresh", func(b *testing.B) {
			b.ReportAllocs()
			var count [3]int
			for i := range b.N {
				b.StopTimer()
				s, err := f.Solver()
				if err != nil {
					b.Fatal(err)
				}
				p := pairs[i%len(pairs)]
				b.StartTimer()
				result, err := s.Solve(ctx, f.Race(p[0], p[1]), nil)
				if err != nil {
					b.Fatal(err)
				}
				count[result]++
			}
			b.ReportMetric(float64(count[order.Sat])/float64(b.N), "sat/op")
			b.ReportMetric(float64(count[order.Unknown])/float64(b.N), "unknown/op")
		})
		b.Run(name+"/told", func(b *testing.B) {
			b.ReportMetric(float64(len(f.Clauses)), "clauses")
			for i := range b.N {
				s, err := f.Solver()
				if err != nil {
					b.Fatal(err)
				}
				p := pairs[i%len(pairs)]
				if _, err := s.Solve(ctx, f.Race(p[0], p[1]), nil); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/shared", func(b *testing.B) {
			b.ReportAllocs()
			var s *order.Solver
			for i := range b.N {
				if i%len(pairs) == 0 {
					b.StopTimer()
					var err error
					if s, err = f.Solver(); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
				p := pairs[i%len(pairs)]
				if _, err := s.Solve(ctx, f.Race(p[0], p[1]), nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

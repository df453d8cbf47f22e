package order_test

import (
	"flag"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/maximal"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/mcm/order"
)

var heavy = flag.Bool("heavy", false, "benchmark the hot workload with 1000 events, which takes minutes")

// BenchmarkSolve answers race queries about windows of 1000 events (hot: 400, or 1000 with -heavy).
// It compares the encodings of a window (clauses, or AddRead and AddLock) and variants of the
// solver. A shared solver answers all queries and keeps what it learned; a fresh one answers one
// query, and its time includes adding the window. One operation answers 40 queries.
func BenchmarkSolve(b *testing.B) {
	for _, w := range []struct {
		name     string
		generate func(workload.Params) []heisen.Record
		events   int
	}{{"mixed", workload.Mixed, 1000}, {"hot", workload.Hot, 400}, {"locky", workload.Locky, 1000}} {
		if *heavy {
			w.events = 1000
		}
		f := maximal.Encode(w.generate(workload.Params{Threads: 4, Events: w.events, Seed: 1}))
		pairs := f.Pairs(40)
		for _, v := range []struct {
			encoding, solver string
			opts             []order.Option
		}{
			{"clauses", "shared", nil},
			{"clauses", "fresh", nil},
			{"native", "shared", nil},
			{"native", "fresh", nil},
			{"native", "no-restarts", []order.Option{order.WithRestarts(0)}},
			{"native", "no-minimization", []order.Option{order.WithMinimization(false)}},
			{"native", "no-reduction", []order.Option{order.WithReduction(0)}},
		} {
			b.Run("workload="+w.name+"/encoding="+v.encoding+"/solver="+v.solver, func(b *testing.B) {
				build := f.Solver
				if v.encoding == "native" {
					build = f.Native
				}
				var s *order.Solver
				var conflicts int64
				var results [3]int
				b.ReportAllocs()
				for b.Loop() {
					s = nil
					for _, p := range pairs {
						if s == nil || v.solver == "fresh" {
							var err error
							if s, err = build(v.opts...); err != nil {
								b.Fatal(err)
							}
						}
						before := s.Stats().Conflicts
						result, err := s.Solve(b.Context(), f.Race(p[0], p[1]), nil)
						if err != nil {
							b.Fatal(err)
						}
						results[result]++
						conflicts += s.Stats().Conflicts - before
					}
				}
				queries := float64(b.N * len(pairs))
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/queries, "ns/query")
				b.ReportMetric(float64(conflicts)/queries, "conflicts/query")
				b.ReportMetric(float64(results[order.Sat])/queries, "sat/query")
			})
		}
	}
}

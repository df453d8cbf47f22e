package mcm_test

import (
	"fmt"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/measure"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/mcm"
)

// predictable are the workloads of which the predictor has something to predict: mixed has some
// sloppy accesses, locky many locks, and hot many reads of few variables and values.
var predictable = []struct {
	name     string
	generate func(workload.Params) []heisen.Record
}{
	{"mixed", workload.Mixed}, {"locky", workload.Locky}, {"hot", workload.Hot},
}

// BenchmarkWindow measures one window. With queries=places a Detector makes the queries, a bounded
// number for each pair of places. With queries=all a Model is asked about every pair that locks and edges
// leave; the workload hot has too many of them, see bench/solvers. Besides time and memory per
// window, the results are the number of queries, of verdicts, and the percentage that each group of
// stages answered.
func BenchmarkWindow(b *testing.B) {
	for _, w := range predictable {
		for _, threads := range []int{4, 8} {
			window := mcm.Window{Records: w.generate(workload.Params{Threads: threads, Events: 1000, Seed: 1})}
			run := func(queries string, solve func(testing.TB, mcm.Window) mcm.Stats) {
				b.Run(fmt.Sprintf("workload=%s/threads=%d/queries=%s", w.name, threads, queries), func(b *testing.B) {
					b.ReportAllocs()
					var stats mcm.Stats
					for range b.N {
						stats = solve(b, window)
					}
					reportStages(b, stats)
				})
			}
			run("places", queryPlaces)
			if w.name != "hot" {
				run("all", queryAll)
			}
		}
	}
}

// queryPlaces runs a Detector whose only window is w.
func queryPlaces(tb testing.TB, w mcm.Window) mcm.Stats {
	d, err := mcm.NewDetector(mcm.WithWindows(len(w.Records), 0))
	if err != nil {
		tb.Fatal(err)
	}
	d.HandleRecords(w.Records)
	if err := d.Flush(); err != nil {
		tb.Fatal(err)
	}
	return d.Stats().Stats
}

// queryAll asks a Model about all pairs.
func queryAll(tb testing.TB, w mcm.Window) mcm.Stats {
	m, err := mcm.NewModel(w)
	if err != nil {
		tb.Fatal(err)
	}
	for i, j := range m.Pairs() {
		if _, _, err := m.Race(tb.Context(), i, j); err != nil {
			tb.Fatal(err)
		}
	}
	return m.Stats()
}

func reportStages(b *testing.B, s mcm.Stats) {
	b.ReportMetric(float64(s.Queries), "queries")
	b.ReportMetric(float64(s.Preserving+s.Greedy+s.Explored+s.Solved), "possible")
	b.ReportMetric(float64(s.Edges+s.Closure+s.Exhausted+s.Refuted), "impossible")
	b.ReportMetric(float64(s.Unknown), "unknown")
	share := func(n int) float64 { return 100 * float64(n) / float64(max(s.Queries, 1)) }
	b.ReportMetric(share(s.Edges), "%edges")
	b.ReportMetric(share(s.Preserving), "%preserving")
	b.ReportMetric(share(s.Closure), "%closure")
	b.ReportMetric(share(s.Greedy), "%greedy")
	b.ReportMetric(share(s.Explored+s.Exhausted), "%explored")
	b.ReportMetric(share(s.Solved+s.Refuted), "%solver")
}

// BenchmarkDetector measures the whole detector with its default windows, one at a time. The
// workloads with lock-protected variables are shared with the other detectors and have no races.
func BenchmarkDetector(b *testing.B) {
	run := func(name string, records []heisen.Record) {
		b.Run("workload="+name, func(b *testing.B) {
			measure.PerEvent(b, len(records), func() error {
				d, err := mcm.NewDetector()
				if err != nil {
					return err
				}
				return measure.Feed(d, records)
			})
		})
	}
	for _, w := range predictable {
		run(w.name, w.generate(workload.Params{Threads: 8, Events: 20_000, Seed: 1}))
	}
	for _, w := range workload.Shared() {
		run(w.Name, w.Events(20_000))
	}
}

package bench

import (
	"fmt"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/mcm"
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

// BenchmarkMaximalWindow asks about pairs of one window, whose places are unlike each
// other or, all, about each pair that locks and edges leave: time and memory per
// window, questions, how they were answered, in percent by which stage.
func BenchmarkMaximalWindow(b *testing.B) {
	type window = struct {
		name     string
		generate func(workload.Params) []heisen.Record
		events   int
		threads  int
	}
	for _, w := range append(windows[:len(windows):len(windows)],
		window{"mixed", workload.Mixed, 10000, 4}, window{"hot", workload.Hot, 10000, 8}) {
		window := mcm.Window{Records: w.generate(workload.Params{Threads: w.threads, Events: w.events, Seed: 1})}
		b.Run(fmt.Sprintf("%s%dx%d/places", w.name, w.events, w.threads), func(b *testing.B) {
			b.ReportAllocs()
			var stats mcm.Stats
			for range b.N {
				d, err := mcm.NewDetector(mcm.WithWindows(len(window.Records), 0))
				if err != nil {
					b.Fatal(err)
				}
				d.HandleRecords(window.Records)
				if err := d.Flush(); err != nil {
					b.Fatal(err)
				}
				stats = d.Stats().Stats
			}
			reportStages(b, stats)
		})
		if w.name == "hot" {
			continue // there are 15,000 pairs, or millions: see bench/solvers
		}
		b.Run(fmt.Sprintf("%s%dx%d/all", w.name, w.events, w.threads), func(b *testing.B) {
			b.ReportAllocs()
			var stats mcm.Stats
			for range b.N {
				m, err := mcm.NewModel(window)
				if err != nil {
					b.Fatal(err)
				}
				for i, j := range m.Pairs() {
					if _, _, err := m.Race(b.Context(), i, j); err != nil {
						b.Fatal(err)
					}
				}
				stats = m.Stats()
			}
			reportStages(b, stats)
		})
	}
}

func reportStages(b *testing.B, s mcm.Stats) {
	b.ReportMetric(float64(s.Questions), "questions")
	b.ReportMetric(float64(s.Preserving+s.Greedy+s.Explored+s.Solved), "yes")
	b.ReportMetric(float64(s.Edges+s.Closure+s.Exhausted+s.Refuted), "no")
	b.ReportMetric(float64(s.Unknown), "unknown")
	share := func(n int) float64 { return 100 * float64(n) / float64(max(s.Questions, 1)) }
	b.ReportMetric(share(s.Edges), "%edges")
	b.ReportMetric(share(s.Preserving), "%preserving")
	b.ReportMetric(share(s.Closure), "%closure")
	b.ReportMetric(share(s.Greedy), "%greedy")
	b.ReportMetric(share(s.Explored+s.Exhausted), "%explored")
	b.ReportMetric(share(s.Solved+s.Refuted), "%solver")
}

// BenchmarkMaximal is the whole detector, windows of 2000 events of which 1000 are in
// the next, one at a time.
func BenchmarkMaximal(b *testing.B) {
	for _, w := range []struct {
		name     string
		generate func(workload.Params) []heisen.Record
		vars     int
	}{
		{"mixed", workload.Mixed, 0}, {"locky", workload.Locky, 0}, {"hot", workload.Hot, 0}, {"protected", workload.LockProtected, 1000},
	} {
		b.Run(w.name, func(b *testing.B) {
			records := w.generate(workload.Params{Threads: 8, Events: 50000, Vars: w.vars, Seed: 1})
			measure(b, len(records), func() error {
				d, err := mcm.NewDetector()
				if err != nil {
					return err
				}
				d.HandleRecords(records)
				return d.Flush()
			})
		})
	}
}

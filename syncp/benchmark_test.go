package syncp_test

import (
	"testing"

	bm "github.com/heisen-go/heisen/bench/measure"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/syncp"
)

// BenchmarkDetector measures events, on the shared workloads, which have no races, and on those of package mcm, which have many. B/log is
// the size of the log for each event.
func BenchmarkDetector(b *testing.B) {
	const events = 1 << 17
	params := workload.Params{Threads: 8, Vars: 400}
	all := append(workload.Shared(),
		workload.Workload{Name: "mixed", Generate: workload.Mixed, Params: params},
		workload.Workload{Name: "locky", Generate: workload.Locky, Params: params},
		workload.Workload{Name: "hot", Generate: workload.Hot, Params: params})
	for _, w := range all {
		trace := w.Events(events)
		b.Run("workload="+w.Name, func(b *testing.B) {
			var stats syncp.Stats
			bm.PerEvent(b, len(trace), func() error {
				d, err := syncp.NewDetector()
				if err != nil {
					return err
				}
				defer func() { stats = d.Stats() }()
				return bm.Feed(d, trace)
			})
			b.ReportMetric(float64(stats.LogBytes)/float64(stats.Logged), "B/log")
			b.ReportMetric(float64(stats.Races+stats.Deadlocks), "findings")
			b.ReportMetric(float64(stats.Closures), "closures")
			b.ReportMetric(float64(stats.Replayed), "replayed")
		})
	}
}

package bench

import (
	"testing"

	"github.com/heisen-go/heisen"
	bm "github.com/heisen-go/heisen/bench/measure"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/tree"
)

// events is the number of events of a workload. Predictors get fewer, because they are slower.
const (
	events          = 1 << 17
	predictedEvents = 1 << 14
)

// BenchmarkDetectors runs every detector over every shared workload, alone and behind the TREE
// filter. Each run has a fresh detector, so B/event and allocs/event include the cost of building up
// its state.
func BenchmarkDetectors(b *testing.B) {
	for _, w := range workload.Shared() {
		traces := map[bool][]heisen.Record{false: w.Events(events), true: w.Events(predictedEvents)}
		for _, filter := range []string{"none", "tree"} {
			for _, d := range Detectors() {
				if filter == "tree" && d.Filter == nil {
					continue
				}
				b.Run("workload="+w.Name+"/filter="+filter+"/detector="+d.Name, func(b *testing.B) {
					findings, trace := 0, traces[d.Predicts]
					bm.PerEvent(b, len(trace), func() error {
						detector, err := d.New(func(heisen.Finding) { findings++ })
						if err == nil && filter == "tree" {
							detector, err = tree.NewFilter(detector, d.Filter...)
						}
						if err != nil {
							return err
						}
						return bm.Feed(detector, trace)
					})
					if d.Precise && findings != 0 {
						b.Fatalf("%d findings in a trace without races", findings)
					}
				})
			}
		}
	}
}

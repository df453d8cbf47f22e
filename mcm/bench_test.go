package mcm_test

import (
	"fmt"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/mcm"
)

func BenchmarkDetector(b *testing.B) {
	for name, profile := range map[string]func(workload.Params) []heisen.Record{
		"mixed": workload.Mixed, "hot": workload.Hot, "locky": workload.Locky, "protected": workload.LockProtected,
	} {
		b.Run(name, func(b *testing.B) {
			records := profile(workload.Params{Threads: 8, Events: 50000, Vars: 0, Seed: 1})
			if name == "protected" {
				records = profile(workload.Params{Threads: 8, Events: 50000, Vars: 1000, Seed: 1})
			}
			var s mcm.DetectorStats
			for b.Loop() {
				d, err := mcm.NewDetector(nil, nil)
				if err != nil {
					b.Fatal(err)
				}
				d.HandleRecords(records)
				if err := d.Flush(); err != nil {
					b.Fatal(err)
				}
				s = d.Stats()
			}
			b.ReportMetric(float64(len(records))*float64(b.N)/b.Elapsed().Seconds(), "events/s")
			fmt.Printf("%+v\n", s)
		})
	}
}

// Package measure is shared by the benchmarks of several packages. It feeds events to a detector
// and reports the cost in common units. The workloads are in package workload.
package measure

import (
	"runtime"
	"testing"

	"github.com/heisen-go/heisen"
)

// batchSize is the number of records that a detector gets at a time, as in heisen.Run.
const batchSize = 1024

// PerEvent runs once b.N times. Each run handles the given number of events. It reports the cost
// of one event: ns/event, events/s, and, with what a run allocates spread over its events, B/event
// and allocs/event. An error ends the benchmark.
func PerEvent(b *testing.B, events int, once func() error) {
	b.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b.ResetTimer()
	for range b.N {
		if err := once(); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	runtime.ReadMemStats(&after)
	total := float64(b.N) * float64(events)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/total, "ns/event")
	b.ReportMetric(total/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/total, "B/event")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/total, "allocs/event")
}

// Feed passes a trace to a detector in batches and flushes the detector.
func Feed(d heisen.Detector, trace []heisen.Record) error {
	h, batches := d.(heisen.RecordHandler)
	for len(trace) > 0 {
		n := min(batchSize, len(trace))
		if batches {
			h.HandleRecords(trace[:n])
		} else {
			for i := range trace[:n] {
				d.Handle(trace[i].Event())
			}
		}
		trace = trace[n:]
	}
	return d.Flush()
}

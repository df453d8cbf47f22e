package bench

import (
	"runtime"
	"testing"
)

// measure runs once b.N times. Each run handles the given number of events. It reports the cost of
// one event: ns/event and events/s, and, with what a run allocates spread over its events, B/event
// and allocs/event.
func measure(b *testing.B, events int, once func() error) {
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

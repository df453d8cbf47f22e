package atomrace_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomrace"
	"github.com/heisen-go/heisen/bench/measure"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/section"
)

// benchSites is the number of sites of the workloads, and of the sections on them.
const benchSites = 200

// benchSections returns benchSites sections on the lines from first on, each from a read to a
// write three lines on.
func benchSections(first int) atomrace.DetectorOption {
	var sections []section.Section
	for i := range benchSites {
		s := sectionAt(first+i, section.Reads, first+i+3, section.Writes)
		s.Ends[0].Allow = section.Reads | section.Writes
		sections = append(sections, s)
	}
	return atomrace.WithSections(sections, at)
}

// BenchmarkDetector compares the variants of the detector on streams. With sections=elsewhere no site
// belongs to a section; with sections=everywhere each does.
func BenchmarkDetector(b *testing.B) {
	for _, w := range workload.Shared() {
		trace := w.Events(1 << 17)
		for i := range trace {
			trace[i].Site = heisen.Site(1 + i%benchSites)
		}
		for _, variant := range []struct {
			name    string
			options []atomrace.DetectorOption
		}{
			{"slots=many/sections=none", nil},
			{"slots=many/sections=elsewhere", []atomrace.DetectorOption{benchSections(1000)}},
			{"slots=many/sections=everywhere", []atomrace.DetectorOption{benchSections(1)}},
			{"slots=single/sections=none", []atomrace.DetectorOption{atomrace.WithSingleSlot()}},
			{"slots=single/sections=everywhere", []atomrace.DetectorOption{atomrace.WithSingleSlot(), benchSections(1)}},
		} {
			b.Run("workload="+w.Name+"/"+variant.name, func(b *testing.B) {
				findings := 0
				measure.PerEvent(b, len(trace), func() error {
					return measure.Feed(newDetector(b, func(heisen.Finding) { findings++ }, variant.options...), trace)
				})
				if findings != 0 {
					b.Fatalf("%d findings in a trace without races and violations", findings)
				}
			})
		}
	}
}

// BenchmarkCalls measures BeforeAccess and AfterAccess, called from several goroutines at the same
// time. ns/event is the time of one pair of calls in its goroutine; events/s is what all goroutines
// do together. detector=none makes the accesses without the calls.
func BenchmarkCalls(b *testing.B) {
	const each = 1 << 17
	var mu sync.Mutex
	var guarded int
	for _, c := range []struct {
		name   string
		access func(d *atomrace.Detector, t heisen.Thread, i int)
	}{
		{"private", func(d *atomrace.Detector, t heisen.Thread, i int) {
			d.BeforeAccess(t, heisen.Object(uint64(t)<<20+uint64(i%512)*8), 1, heisen.Write)
			d.AfterAccess(t)
		}},
		{"shared-reads", func(d *atomrace.Detector, t heisen.Thread, i int) {
			d.BeforeAccess(t, heisen.Object(i%512*8), 1, heisen.Read)
			d.AfterAccess(t)
		}},
		{"one-variable-reads", func(d *atomrace.Detector, t heisen.Thread, i int) {
			d.BeforeAccess(t, 8, 1, heisen.Read)
			d.AfterAccess(t)
		}},
		{"mutex", func(d *atomrace.Detector, t heisen.Thread, i int) {
			mu.Lock()
			d.BeforeAccess(t, 8, 1, heisen.Write)
			guarded++
			d.AfterAccess(t)
			mu.Unlock()
		}},
	} {
		for _, variant := range []struct {
			name string
			make func(heisen.Sink) *atomrace.Detector
		}{
			{"none", func(heisen.Sink) *atomrace.Detector { return nil }},
			{"atomrace", func(s heisen.Sink) *atomrace.Detector { return newDetector(b, s) }},
			{"single-slot", func(s heisen.Sink) *atomrace.Detector { return newDetector(b, s, atomrace.WithSingleSlot()) }},
		} {
			for _, goroutines := range []int{1, 4} {
				b.Run(fmt.Sprintf("access=%s/detector=%s/goroutines=%d", c.name, variant.name, goroutines), func(b *testing.B) {
					findings := 0
					d := variant.make(func(heisen.Finding) { findings++ })
					measure.PerEvent(b, goroutines*each, func() error {
						var wg sync.WaitGroup
						for t := range heisen.Thread(goroutines) {
							wg.Go(func() {
								for i := range each {
									c.access(d, t, i)
								}
							})
						}
						wg.Wait()
						return nil
					})
					if findings != 0 {
						b.Fatalf("%d findings in accesses without races", findings)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/each, "ns/event")
					if m := d.Missed(); m.Unseen != 0 {
						b.ReportMetric(float64(m.Unseen)/float64(b.N)/float64(goroutines*each), "unseen/event")
					}
				})
			}
		}
	}
}

// BenchmarkNoise measures the decision of a noise that delays one point of twenty. It makes no delay.
func BenchmarkNoise(b *testing.B) {
	h, err := atomrace.NewRandomNoise(atomrace.WithStrength(50), atomrace.WithBudget(1<<63-1))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		h.Delay(atomrace.Point{Thread: 1})
	}
}

package bench

import (
	"fmt"
	"sync"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomrace"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/section"
)

func newAtomRace(sink heisen.Sink, options ...atomrace.Option) *atomrace.Detector {
	d, err := atomrace.NewDetector(sink, options...)
	if err != nil {
		panic(err)
	}
	return d
}

// atomSections are sections at the sites of workloads: the given number of them, each
// from a read to a write three sites on.
func atomSections(n int) atomrace.Option {
	at := func(line int, m section.Modes) section.Location {
		return section.Location{File: "f", Line: line, Mode: m}
	}
	var sections []section.Section
	for i := range n {
		sections = append(sections, section.Section{
			Entry: at(i+1, section.Reads), Ends: []section.End{{At: at(i+4, section.Writes), Allow: section.Reads | section.Writes}},
		})
	}
	return atomrace.WithSections(sections, section.Locator{
		Site: func(s heisen.Site) (string, int, string) { return "f", int(s), "" },
	})
}

// BenchmarkAtomRaceSections is what sections cost in streams: none, some that are
// elsewhere, and some at every place.
func BenchmarkAtomRaceSections(b *testing.B) {
	trace := workload.LockProtected(workload.Params{Threads: 16, Vars: 4096, Events: benchEvents, Seed: 1})
	for i := range trace {
		trace[i].Site = heisen.Site(1 + i%200)
	}
	elsewhere := make([]heisen.Record, len(trace))
	copy(elsewhere, trace)
	for i := range elsewhere {
		elsewhere[i].Site += 1000
	}
	for _, c := range []struct {
		name    string
		trace   []heisen.Record
		options []atomrace.Option
	}{
		{"none", trace, nil},
		{"elsewhere", elsewhere, []atomrace.Option{atomSections(200)}},
		{"everywhere", trace, []atomrace.Option{atomSections(200)}},
	} {
		b.Run(c.name, func(b *testing.B) {
			measure(b, len(c.trace), func() error { return run(newAtomRace(nil, c.options...), c.trace) })
		})
	}
}

// BenchmarkAtomRaceCalls is BeforeAccess and AfterAccess, which are one event here, from
// several goroutines at the same time: ns/event is the time that one of them takes per
// pair of calls, and events/s is what all do together. The last has no detector.
func BenchmarkAtomRaceCalls(b *testing.B) {
	const each = 1 << 18
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
		{"one-read", func(d *atomrace.Detector, t heisen.Thread, i int) {
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
		{"mutex-alone", func(_ *atomrace.Detector, _ heisen.Thread, i int) {
			mu.Lock()
			guarded++
			mu.Unlock()
		}},
	} {
		for goroutines := 1; goroutines <= 8; goroutines *= 2 {
			b.Run(fmt.Sprintf("%s/%d", c.name, goroutines), func(b *testing.B) {
				findings := 0
				d := newAtomRace(func(heisen.Finding) { findings++ })
				measure(b, goroutines*each, func() error {
					var wg sync.WaitGroup
					for t := range heisen.Thread(goroutines) {
						wg.Add(1)
						go func() {
							defer wg.Done()
							for i := range each {
								c.access(d, t, i)
							}
						}()
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

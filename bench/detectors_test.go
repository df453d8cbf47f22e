package bench

import (
	"fmt"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomrace"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/lockset"
	"github.com/heisen-go/heisen/vclock"
)

var workloads = []struct {
	name     string
	generate func(workload.Params) []heisen.Record
	params   workload.Params
}{
	{"lock-protected", workload.LockProtected, workload.Params{Threads: 16, Vars: 4096}},
	{"sync-heavy", workload.SyncHeavy, workload.Params{Threads: 64, Vars: 64}},
	{"thread-local", workload.ThreadLocal, workload.Params{Threads: 16, Vars: 4096}},
	{"read-shared", workload.ReadShared, workload.Params{Threads: 16, Vars: 4096}},
}

var detectors = []struct {
	name  string
	races bool // whether it reports nothing but races
	make  func(heisen.Sink) heisen.Detector
}{
	{"fasttrack", true, func(s heisen.Sink) heisen.Detector { return must.Make(vclock.NewFastTrack(vclock.WithSink(s))) }},
	{"hb", true, func(s heisen.Sink) heisen.Detector { return must.Make(vclock.NewHappensBefore(vclock.WithSink(s))) }},
	{"eraser", false, func(s heisen.Sink) heisen.Detector { return must.Make(lockset.NewEraser(lockset.WithSink(s))) }},
	{"eraser-by-object", false, func(s heisen.Sink) heisen.Detector {
		return must.Make(lockset.NewEraser(lockset.WithSink(s), lockset.WithObjectGranularity()))
	}},
	{"hybrid", false, func(s heisen.Sink) heisen.Detector { return must.Make(lockset.NewHybrid(lockset.WithSink(s))) }},
	{"atomrace", true, func(s heisen.Sink) heisen.Detector { return must.Make(atomrace.NewDetector(atomrace.WithSink(s))) }},
}

// BenchmarkDetectors runs each detector over each workload, whole, with a fresh
// detector each time. B/event and allocs/event are therefore what building up
// the state costs, spread over the events.
func BenchmarkDetectors(b *testing.B) {
	for _, w := range workloads {
		w.params.Events, w.params.Seed = benchEvents, 1
		trace := w.generate(w.params)
		for _, d := range detectors {
			b.Run(w.name+"/"+d.name, func(b *testing.B) {
				findings := 0
				measure(b, len(trace), func() error {
					return run(d.make(func(heisen.Finding) { findings++ }), trace)
				})
				if d.races && findings != 0 {
					b.Fatalf("%d findings in a trace without races", findings)
				}
			})
		}
	}
}

// run feeds a trace in batches of the size that heisen.Run uses.
func run(d heisen.Detector, trace []heisen.Record) error {
	h, ok := d.(heisen.RecordHandler)
	if !ok {
		return fmt.Errorf("%T takes no batches", d)
	}
	for len(trace) > 0 {
		n := min(1024, len(trace))
		h.HandleRecords(trace[:n])
		trace = trace[n:]
	}
	return d.Flush()
}

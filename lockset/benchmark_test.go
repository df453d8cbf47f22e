package lockset_test

import (
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/measure"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/lockset"
)

// benchEvents is the number of events per workload.
const benchEvents = 1 << 17

// benchDetectors are the detectors of the package, with constructors.
var benchDetectors = []struct {
	name string
	make func(heisen.Sink) heisen.Detector
}{
	{"eraser", func(s heisen.Sink) heisen.Detector { return must.Make(lockset.NewEraser(lockset.WithSink(s))) }},
	{"eraser-objects", func(s heisen.Sink) heisen.Detector {
		return must.Make(lockset.NewEraser(lockset.WithSink(s), lockset.WithObjectGranularity()))
	}},
	{"hybrid", func(s heisen.Sink) heisen.Detector { return must.Make(lockset.NewHybrid(lockset.WithSink(s))) }},
	{"lockorder", func(s heisen.Sink) heisen.Detector {
		return must.Make(lockset.NewLockOrder(lockset.WithSink(s)))
	}},
}

// BenchmarkDetector runs each detector over each shared workload, and over threads that allocate
// objects, initialize them and share them under a lock. Each run has a new detector: B/event and
// allocs/event are the cost of building up its state, spread over the events.
func BenchmarkDetector(b *testing.B) {
	workloads := append(workload.Shared(), workload.Workload{
		Name: "shared-objects", Generate: workload.SharedObjects, Params: workload.Params{Threads: 16, Vars: 1 << 14},
	})
	for _, w := range workloads {
		trace := w.Events(benchEvents)
		for _, d := range benchDetectors {
			b.Run("workload="+w.Name+"/detector="+d.name, func(b *testing.B) {
				measure.PerEvent(b, len(trace), func() error { return measure.Feed(d.make(nil), trace) })
			})
		}
	}
}

// BenchmarkRepeat measures the hot path of the detectors: threads access the same variables again,
// at the same sites, under the same locks.
func BenchmarkRepeat(b *testing.B) {
	trace := workload.LockProtected(workload.Params{Threads: 4, Vars: 64, Events: 1 << 14, Seed: 1})
	var repeat []heisen.Record
	for _, r := range trace {
		if r.Thread != 0 && r.Op != heisen.End {
			repeat = append(repeat, r)
		}
	}
	for _, d := range benchDetectors {
		b.Run("detector="+d.name, func(b *testing.B) {
			detector := d.make(nil)
			handleAll(detector, trace)
			measure.PerEvent(b, len(repeat), func() error {
				handleAll(detector, repeat)
				return nil
			})
		})
	}
}

// BenchmarkLockOrder runs the lock-order graph over 10,000 locks: a lock hierarchy, which is the
// common case, and two worst cases, in which nearly every acquisition is of a new pair of locks.
func BenchmarkLockOrder(b *testing.B) {
	for _, w := range []workload.Workload{
		{Name: "nested", Generate: workload.NestedLocks},
		{Name: "ordered-pairs", Generate: workload.OrderedPairs},
		{Name: "gated-pairs", Generate: workload.GatedPairs},
	} {
		w.Params = workload.Params{Threads: 16, Vars: 10000}
		trace := w.Events(benchEvents)
		b.Run("workload="+w.Name, func(b *testing.B) {
			measure.PerEvent(b, len(trace), func() error { return measure.Feed(newLockOrder(b), trace) })
		})
	}
}

// BenchmarkLockOrderRepeat measures the hot path of LockOrder: threads take a lock, and another
// one nested in it, again and again. An event is an acquisition or a release.
func BenchmarkLockOrderRepeat(b *testing.B) {
	var trace []heisen.Record
	for i := range 1024 {
		t := heisen.Thread(1 + i%4)
		outer, inner := 1<<40+64*heisen.Object(t), 1<<40+64*heisen.Object(8)
		trace = append(trace,
			heisen.Record{Thread: t, Op: heisen.Acquire, Object: outer, Site: 1},
			heisen.Record{Thread: t, Op: heisen.Acquire, Object: inner, Site: 2},
			heisen.Record{Thread: t, Op: heisen.Release, Object: inner, Site: 3},
			heisen.Record{Thread: t, Op: heisen.Release, Object: outer, Site: 4},
		)
	}
	d := newLockOrder(b)
	handleAll(d, trace)
	measure.PerEvent(b, len(trace), func() error {
		handleAll(d, trace)
		return nil
	})
}

func newLockOrder(b *testing.B) *lockset.LockOrder {
	return must.Make(lockset.NewLockOrder(lockset.WithSink(func(f heisen.Finding) {
		b.Errorf("a finding in a trace without deadlocks: %+v", f)
	})))
}

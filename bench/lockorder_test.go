package bench

import (
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/lockset"
)

func newLockOrder(b *testing.B) *lockset.LockOrder {
	return lockset.NewLockOrder(func(f heisen.Finding) { b.Errorf("a finding in a trace without deadlocks: %+v", f) })
}

// BenchmarkLockOrder runs the lock-order graph over 10,000 locks: those of a
// program whose locks are in a hierarchy, which is what is common, and two
// worst cases, in which nearly every acquisition is of a new pair of locks.
// Each run has a fresh detector.
func BenchmarkLockOrder(b *testing.B) {
	for _, w := range []struct {
		name     string
		generate func(workload.Params) []heisen.Record
	}{
		{"nested", workload.NestedLocks},
		{"ordered-pairs", workload.OrderedPairs},
		{"gated-pairs", workload.GatedPairs},
	} {
		trace := w.generate(workload.Params{Threads: 16, Vars: 10000, Events: 8 * benchEvents, Seed: 1})
		b.Run(w.name, func(b *testing.B) {
			measure(b, len(trace), func() error {
				d := newLockOrder(b)
				d.HandleRecords(trace)
				if err := d.Flush(); err != nil {
					b.Log(err) // the pairs are more than are remembered
				}
				return nil
			})
		})
	}
}

// BenchmarkLockOrderAgain is the hot path: threads take a lock, and another one
// in it, again and again. An event is an acquisition or a release.
func BenchmarkLockOrderAgain(b *testing.B) {
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
	d.HandleRecords(trace)
	measure(b, len(trace), func() error {
		d.HandleRecords(trace)
		return nil
	})
}

package vclock_test

import (
	"fmt"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/measure"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/vclock"
)

// benchEvents is the number of events per workload.
const benchEvents = 1 << 17

// BenchmarkDetector runs each detector over each shared workload with a new detector each time:
// B/event and allocs/event are the cost of building up its state, spread over the events. The
// workloads have no barrier pairs, so that pairs=true shows what every other event costs then.
func BenchmarkDetector(b *testing.B) {
	for _, w := range workload.Shared() {
		trace := w.Events(benchEvents)
		for _, detector := range []string{"fasttrack", "hb"} {
			for _, pairs := range []bool{false, true} {
				name := fmt.Sprintf("workload=%s/detector=%s/pairs=%t", w.Name, detector, pairs)
				b.Run(name, func(b *testing.B) { benchDetector(b, detector, pairs, trace) })
			}
		}
	}
}

func benchDetector(b *testing.B, name string, pairs bool, trace []heisen.Record) {
	opts := []vclock.DetectorOption{vclock.WithSink(func(f heisen.Finding) {
		b.Errorf("a finding in a trace without races: %+v", f)
	})}
	if pairs {
		opts = append(opts, vclock.WithBarrierPairs(nil))
	}
	measure.PerEvent(b, len(trace), func() error {
		var d heisen.Detector
		var err error
		if name == "fasttrack" {
			d, err = vclock.NewFastTrack(opts...)
		} else {
			d, err = vclock.NewHappensBefore(opts...)
		}
		if err != nil {
			return err
		}
		return measure.Feed(d, trace)
	})
}

// BenchmarkClock measures the operations of clocks with few and many slots. copy includes the
// next change, which copies a block. join-covered joins a clock that is already covered, and
// join-later one with later times.
func BenchmarkClock(b *testing.B) {
	for _, slots := range []uint32{8, 64, 1024} {
		var clock, later vclock.Clock
		for slot := range slots {
			clock.Raise(vclock.MakeEpoch(slot, 10))
			later.Raise(vclock.MakeEpoch(slot, 11+uint64(slot%2)))
		}
		run := func(op string, once func()) {
			b.Run(fmt.Sprintf("slots=%d/op=%s", slots, op), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					once()
				}
			})
		}
		run("time", func() { clock.Time(slots - 1) })
		run("covers", func() { clock.Covers(vclock.MakeEpoch(slots-1, 10)) })
		run("tick", func() { clock.Tick(0) })
		run("copy", func() {
			c := clock.Copy()
			c.Tick(slots - 1)
		})
		run("less-eq", func() { clock.LessEq(&later) })
		run("join-covered", func() { later.Join(&clock) })
		run("join-later", func() {
			c := clock.Copy()
			c.Join(&later)
		})
	}
}

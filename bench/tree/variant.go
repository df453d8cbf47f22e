package main

import (
	"runtime"
	"slices"
	"time"

	"github.com/heisen-go/heisen"
	bm "github.com/heisen-go/heisen/bench/measure"
	"github.com/heisen-go/heisen/tree"
	"github.com/heisen-go/heisen/vclock"
)

// variants are FastTrack alone and behind each filter.
var variants = []struct {
	name   string
	filter []tree.FilterOption // nil: no filter
}{
	{"FastTrack", nil},
	{"TREE", []tree.FilterOption{}},
	{"thesis", []tree.FilterOption{tree.WithThesisAlgorithm()}},
}

// An effect is what a variant does with a trace.
type effect struct {
	took    time.Duration // least of all runs
	heap    uint64        // bytes in use at the end
	skipped float64       // part of the events that the filter drops
	racy    map[heisen.Object]bool
}

// effects runs the variants over a trace, count times in turns, their filters with further options.
func effects(trace []heisen.Record, count int, options ...tree.FilterOption) ([]effect, error) {
	all := make([]effect, len(variants))
	for range count {
		for i := range variants {
			if err := all[i].run(trace, i, options); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// run runs a variant over a trace and updates its effect.
func (e *effect) run(trace []heisen.Record, variant int, further []tree.FilterOption) error {
	racy := map[heisen.Object]bool{}
	fastTrack, err := vclock.NewFastTrack(vclock.WithSink(func(f heisen.Finding) { racy[f.Object&^7] = true }))
	if err != nil {
		return err
	}
	var detector heisen.Detector = fastTrack
	var filter *tree.Filter
	before := heap()
	if options := variants[variant].filter; options != nil {
		if filter, err = tree.NewFilter(fastTrack, slices.Concat(options, further)...); err != nil {
			return err
		}
		detector = filter
	}
	start := bm.ProcessorTime()
	if err := bm.Feed(detector, trace); err != nil {
		return err
	}
	if took := bm.ProcessorTime() - start; e.took == 0 || took < e.took {
		e.took = took
	}
	if after := heap(); after > before {
		e.heap = after - before
	}
	runtime.KeepAlive(detector)
	if filter != nil {
		s := filter.Stats()
		e.skipped = float64(s.DroppedAccesses+s.DroppedLocks) / float64(len(trace))
	}
	e.racy = racy
	return nil
}

// heap returns the number of bytes that are in use on the heap.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// leastTimes returns the least processor time that a detector of the table takes for a trace, without its filter and with it.
func leastTimes(trace []heisen.Record, count, detector int) (without, with time.Duration, err error) {
	d := detectors[detector]
	least := [2]time.Duration{}
	for range count {
		for i := range least {
			one, err := d.make()
			if err != nil {
				return 0, 0, err
			}
			if i == 1 {
				if one, err = d.filter(one); err != nil {
					return 0, 0, err
				}
			}
			runtime.GC()
			start := bm.ProcessorTime()
			if err := bm.Feed(one, trace); err != nil {
				return 0, 0, err
			}
			if took := bm.ProcessorTime() - start; least[i] == 0 || took < least[i] {
				least[i] = took
			}
		}
	}
	return least[0], least[1], nil
}

// speedup returns by how many percent a variant is faster than FastTrack alone.
func speedup(alone, with effect) float64 {
	return 100 * (1 - with.took.Seconds()/alone.took.Seconds())
}

func mib(bytes uint64) float64 { return float64(bytes) / (1 << 20) }

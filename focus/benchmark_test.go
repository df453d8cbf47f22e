package focus_test

import (
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/measure"
	"github.com/heisen-go/heisen/focus"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/lockset"
)

// repeatable returns a run that can be handled again and again, and what is known of it.
func repeatable(events int) ([]heisen.Record, *focus.Plan, focus.Names) {
	w := plannedWorld(6)
	var records []heisen.Record
	for _, r := range w.run(events) {
		switch r.Op {
		case heisen.Alloc, heisen.Fork, heisen.Begin, heisen.End, heisen.Send, heisen.Receive:
		default:
			records = append(records, r)
		}
	}
	return records, w.plan, focus.Names{Variable: w.variable, Lock: w.lock, Symbols: w.symbols}
}

// plannedWorld returns a world in which few uses do not follow the owners, half of the fields are safe, and
// there are guarded ones of both kinds.
func plannedWorld(threads int) *world {
	for seed := uint64(2); ; seed += 3 {
		w := newWorld(seed, threads)
		safe := 0
		for v := range w.plan.Variables {
			if w.plan.Safe(v) {
				safe++
			}
		}
		if safe >= len(fields)/2 && w.plan.Safe(fields[0]) && !w.plan.Safe(fields[2]) {
			return w
		}
	}
}

// TestSteadyStateDoesNotAllocate repeats a run that the detector has seen.
func TestSteadyStateDoesNotAllocate(t *testing.T) {
	records, plan, names := repeatable(5000)
	for _, mode := range modes {
		f := must.Make(focus.NewFilter(plan, must.Make(lockset.NewEraser()), names, focus.WithMode(mode)))
		d := must.Make(focus.NewDiscoverer(names.Variable))
		for name, d := range map[string]heisen.RecordHandler{"filter": f, "discoverer": d} {
			for range 5 {
				d.HandleRecords(records)
			}
			if n := testing.AllocsPerRun(10, func() { d.HandleRecords(records) }); n != 0 {
				t.Errorf("%s, mode %d: %v allocations in %d events", name, mode, n, len(records))
			}
		}
	}
}

// BenchmarkFilter measures a filter with nothing behind it, and Eraser with and without the filter, on a run
// in which few accesses break a rule.
func BenchmarkFilter(b *testing.B) {
	records, plan, names := repeatable(20000)
	filter := func(mode focus.Mode, next heisen.Detector) heisen.Detector {
		return must.Make(focus.NewFilter(plan, next, names, focus.WithMode(mode)))
	}
	eraser := func() heisen.Detector { return must.Make(lockset.NewEraser()) }
	for _, c := range []struct {
		name string
		d    heisen.Detector
	}{
		{"plan=none/detector=eraser", eraser()},
		{"plan=field/detector=eraser", filter(focus.FieldBased, eraser())},
		{"plan=method/detector=eraser", filter(focus.MethodBased, eraser())},
		{"plan=combined/detector=eraser", filter(focus.Combined, eraser())},
		{"plan=combined/detector=none", filter(focus.Combined, heisen.Tee())},
	} {
		b.Run(c.name, func(b *testing.B) {
			h := c.d.(heisen.RecordHandler)
			h.HandleRecords(records)
			measure.PerEvent(b, len(records), func() error { h.HandleRecords(records); return nil })
		})
	}
}

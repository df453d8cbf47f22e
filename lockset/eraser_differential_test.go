package lockset_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/lockset"
)

func eraser(options ...lockset.EraserOption) func(heisen.Sink) heisen.Detector {
	return func(s heisen.Sink) heisen.Detector {
		return must.Make(lockset.NewEraser(append(slices.Clip(options), lockset.WithSink(s))...))
	}
}

// TestEraserIsNaive compares Eraser with a naive version, which stores every access and a state for
// every byte. Eraser compacts after every event.
func TestEraserIsNaive(t *testing.T) {
	forRandomTraces(t, 2500, func(trace []heisen.Record) error {
		return compareErasers(trace, false, false)
	})
}

// TestEraserByObjectIsNaive does the same for objects.
func TestEraserByObjectIsNaive(t *testing.T) {
	forRandomTraces(t, 1500, func(trace []heisen.Record) error {
		return compareErasers(trace, true, false)
	})
}

// TestEraserWithHandOverIsNaive does the same where messages hand over variables.
func TestEraserWithHandOverIsNaive(t *testing.T) {
	forRandomTraces(t, 2000, func(trace []heisen.Record) error {
		return errors.Join(compareErasers(trace, false, true), compareErasers(trace, true, true))
	})
}

func compareErasers(trace []heisen.Record, byObject, handOver bool) error {
	// What a finding says, but for the variable, and the variables of which it is
	// said: Eraser names one of them.
	type said struct {
		event   uint64
		locks   string
		earlier heisen.Access
	}
	want := map[said]map[heisen.Object]bool{}
	for _, w := range naiveEraser(trace, byObject, handOver) {
		key := said{w.event, w.locks, w.earlier}
		if key.earlier.Object == w.object {
			key.earlier.Object = 0
		}
		if want[key] == nil {
			want[key] = map[heisen.Object]bool{}
		}
		want[key][w.object] = true
	}
	var options []lockset.EraserOption
	if byObject {
		options = append(options, lockset.WithObjectGranularity())
	}
	if handOver {
		options = append(options, lockset.WithHandOver())
	}
	found, err := findingsOf(trace, func(s heisen.Sink) heisen.Detector {
		d := must.Make(lockset.NewEraser(append(slices.Clip(options), lockset.WithSink(s))...))
		return &compacting{Detector: d, compact: d.CompactNow}
	})
	if err != nil {
		return err
	}
	got := map[said]bool{}
	for _, f := range found {
		later := f.Accesses[1]
		if w := accessOf(&trace[later.Index-1], later.Index); later != w {
			return fmt.Errorf("access %+v, but the event is %+v", later, w)
		}
		slices.Sort(f.Locks)
		key := said{later.Index, fmtObjects(f.Locks), f.Accesses[0]}
		if key.earlier.Object == f.Object {
			key.earlier.Object = 0
		}
		if !want[key][f.Object] {
			return fmt.Errorf("no such violation: %+v", f)
		}
		got[key] = true
	}
	for key := range want {
		if !got[key] {
			return fmt.Errorf("not found: %+v of %v", key, want[key])
		}
	}
	return nil
}

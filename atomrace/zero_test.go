package atomrace_test

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomrace"
	"github.com/heisen-go/heisen/section"
)

// TestZero: zero values can be used.
func TestZero(t *testing.T) {
	ctx := context.Background()
	race := []heisen.Record{{Op: write, Thread: 1, Object: 8, Site: 1}, {Op: write, Thread: 2, Object: 8, Site: 2}}
	plain, err := atomrace.NewDetector()
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range map[string]*atomrace.Detector{"zero": {}, "without options": plain, "without sink": newDetector(t, nil)} {
		t.Run(name, func(t *testing.T) {
			d.BeforeAccess(1, 8, 1, write)
			d.BeforeAccess(2, 8, 2, write)
			d.AfterAccess(1)
			d.AtomExit(1, 8)
			d.EndThread(1)
			d.EndThread(2)
			d.Skip(1)
			d.Handle(race[0].Event())
			d.HandleRecords(race)
			if err := d.Flush(); err != nil || d.Missed() != (atomrace.Missed{}) {
				t.Errorf("error %v, missed %+v", err, d.Missed())
			}
			if _, err := heisen.Run(ctx, heisen.Slice(race), d); !errors.Is(err, heisen.ErrFlushed) {
				t.Error(err)
			}
		})
	}
	var h atomrace.Heuristic
	if d := h.Delay(atomrace.Point{}); d != (atomrace.Delay{}) || h.Remaining() != 0 {
		t.Errorf("delay %v, %v remaining", d, h.Remaining())
	}
	h.Spent(1)
	newDetector(t, nil, atomrace.WithNoise(&h)).BeforeAccess(1, 8, 1, write)
	_, err = atomrace.NewDetector(atomrace.WithSections(nil, section.LocateIn(nil, "")), nil)
	if !errors.Is(err, heisen.ErrOption) {
		t.Errorf("a nil option: error %v", err)
	}
}

// TestZeroDetectors: goroutines that use a zero Detector first, at the same time, share its table.
func TestZeroDetectors(t *testing.T) {
	for range 20 {
		var d atomrace.Detector
		var wg sync.WaitGroup
		for id := range heisen.Thread(4) {
			wg.Go(func() {
				d.BeforeAccess(id, 8, 1, write)
				d.AfterAccess(id)
			})
		}
		wg.Wait()
		if m := d.Missed(); cmp.Or(m.Partial, m.Excess, m.Sections) != 0 {
			t.Errorf("missed %+v", m)
		}
	}
}

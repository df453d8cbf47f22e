package mcm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/cascade"
)

// countdown is a context that ends when its error has been asked for so many times.
type countdown struct {
	context.Context
	left atomic.Int64
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// racing returns events of which nearly all pairs race, at places of their own.
func racing(n int) (records []heisen.Record) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		records = append(records, heisen.Record{
			Op: heisen.Write, Thread: heisen.Thread(rng.IntN(4)), Object: heisen.Object(8 + 8*rng.IntN(4)), Len: 8, Site: heisen.Site(1 + i),
		})
	}
	return records
}

// findAll runs a detector and returns what it reports, as text.
func findAll(t *testing.T, records []heisen.Record, opts ...DetectorOption) (found []string, d *Detector, err error) {
	t.Helper()
	opts = append(opts, WithWindows(40, 20), WithSink(func(f heisen.Finding) { found = append(found, fmt.Sprint(f)) }))
	d, err = NewDetector(opts...)
	if err != nil {
		t.Fatal(err)
	}
	d.HandleRecords(records)
	return found, d, d.Flush()
}

// TestContext: whenever the context ends, what was found before is reported, nothing else is, and the
// detector says that windows are missing.
func TestContext(t *testing.T) {
	records := racing(1500)
	all, _, err := findAll(t, records)
	if err != nil || len(all) < 500 {
		t.Fatalf("%d findings, %v", len(all), err)
	}
	known := map[string]bool{}
	for _, f := range all {
		known[f] = true
	}
	some := 0
	for _, calls := range []int64{0, 1, 10, 100, 1000, 3000, 10_000} {
		for _, parallel := range []int{1, 4} {
			ctx := &countdown{Context: context.Background()}
			ctx.left.Store(calls)
			found, d, err := findAll(t, records, WithContext(ctx), WithParallel(parallel))
			if ctx.left.Load() >= 0 {
				t.Fatalf("%d calls: the context did not end", calls)
			}
			if !errors.Is(err, context.Canceled) || d.Stats().Windows == 0 {
				t.Errorf("%d calls: %d windows, %v", calls, d.Stats().Windows, err)
			}
			for _, f := range found {
				if !known[f] {
					t.Fatalf("%d calls: %s is not found without the context", calls, f)
				}
			}
			if len(found) > 0 && len(found) < len(all) {
				some++
			}
		}
	}
	if some < 3 {
		t.Errorf("only %d runs have found a part", some)
	}
	var missing context.Context
	if _, err := NewDetector(WithContext(missing)); !errors.Is(err, heisen.ErrOption) {
		t.Errorf("a nil context: %v", err)
	}
}

// TestWorkerPanics: a panic while windows are solved in parallel is one of the caller, whichever goroutine
// has panicked.
func TestWorkerPanics(t *testing.T) {
	for _, parallel := range []int{1, 2, 8} {
		d, err := NewDetector(WithWindows(40, 20), WithParallel(parallel))
		if err != nil {
			t.Fatal(err)
		}
		d.config.rules.Reach = func(*heisen.Record) heisen.Objects { panic("out of reach") }
		func() {
			defer func() {
				if v := recover(); v != "out of reach" {
					t.Errorf("%d at a time: recovered %v", parallel, v)
				}
			}()
			records := racing(1500)
			for i := range records {
				if i%10 == 0 {
					records[i] = heisen.Record{Op: heisen.Hide, Thread: records[i].Thread, Object: 8}
				}
			}
			d.HandleRecords(records)
			_ = d.Flush()
		}()
	}
}

// TestAsFound: the findings of a window are reported before it is solved, or at the latest before the next one
// is, in the same order whether or not windows are solved in parallel.
func TestAsFound(t *testing.T) {
	records := racing(1500)
	var want []string
	for _, parallel := range []int{1, 3, 16} {
		var d *Detector
		var found []string
		windows := map[int]bool{}
		d, err := NewDetector(WithWindows(40, 20), WithParallel(parallel), WithSink(func(f heisen.Finding) {
			if from, next := uint64(20*d.Stats().Windows), uint64(20*(d.Stats().Windows+1)); f.Before < from || f.Before >= next {
				t.Fatalf("a finding in the window after event %d is reported when %d windows are", f.Before, d.Stats().Windows)
			}
			windows[d.Stats().Windows] = true
			found = append(found, f.String())
		}))
		if err != nil {
			t.Fatal(err)
		}
		d.HandleRecords(records)
		if err := d.Flush(); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = found
		}
		if !slices.Equal(found, want) || len(windows) < 30 {
			t.Errorf("%d at a time: %d findings in %d windows, want the %d of one at a time", parallel, len(found), len(windows), len(want))
		}
	}
}

// TestLargeWindow: the work on a window is bounded, however many events it has.
func TestLargeWindow(t *testing.T) {
	small, large := cascade.Budget{States: 1000, Total: 20_000}, cascade.Budget{States: 1000, Total: 20_000}
	small.Fit(2000)
	large.Fit(20_000)
	if small.States != 1000 || small.Total != 20_000 || large.States != 10 || large.Total != 200 {
		t.Errorf("budgets %v and %v", small, large)
	}
}

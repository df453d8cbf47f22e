package tree_test

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/internal/testaid/randomtrials"
	"github.com/heisen-go/heisen/tree"
	"github.com/heisen-go/heisen/vclock"
)

// everyLock is NewFilter with the options by which the filter drops only accesses, and bypasses
// nothing.
func everyLock(d heisen.Detector, options ...tree.FilterOption) (*tree.Filter, error) {
	f, err := tree.NewFilter(d, append(options, tree.WithoutBypass())...)
	if err == nil {
		tree.ForwardLocks(f)
	}
	return f, err
}

// bypassing makes filters that bypass ten events after every ten.
func bypassing(accessesOnly bool) func(heisen.Detector, ...tree.FilterOption) (*tree.Filter, error) {
	return func(d heisen.Detector, options ...tree.FilterOption) (*tree.Filter, error) {
		f, err := tree.NewFilter(d, options...)
		if err == nil {
			tree.SetBypass(f, 10, accessesOnly)
		}
		return f, err
	}
}

// findings returns the findings of a detector behind a filter, in order.
func findings(trace []heisen.Record, detector func(heisen.Sink) heisen.Detector, filter func(heisen.Detector, ...tree.FilterOption) (*tree.Filter, error), options ...tree.FilterOption) (found []heisen.Finding, stats tree.Stats, err error) {
	d := detector(func(f heisen.Finding) { found = append(found, f) })
	f, err := filter(d, options...)
	if err != nil {
		return nil, stats, err
	}
	for len(trace) > 0 {
		n := min(7, len(trace))
		f.HandleRecords(trace[:n])
		trace = trace[n:]
	}
	err = f.Flush()
	return found, f.Stats(), err
}

// TestDroppedLockOperations checks that a detector has the same findings with all lock operations and
// with only those that the filter forwards.
func TestDroppedLockOperations(t *testing.T) {
	for _, test := range []struct {
		name     string
		detector func(heisen.Sink) heisen.Detector
		options  []tree.FilterOption
	}{
		{"hb", reference, nil},
		{"fasttrack", fastTrack, nil},
		{"hybrid", hybrid, []tree.FilterOption{tree.WithMessageOrder()}},
		{"hybrid by default", hybrid, nil},
		{"hybrid, atomics order", hybridOrderingAtomics, []tree.FilterOption{tree.WithMessageOrder()}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var left, traces atomic.Int64
			forRandomTraces(t, perKind/8, func(trace []heisen.Record) (outcome, error) {
				want, stats, wrong := findings(trace, test.detector, everyLock, test.options...)
				got, fewer, err := findings(trace, test.detector, tree.NewFilter, test.options...)
				left.Add(int64(fewer.DroppedLocks))
				traces.Add(1)
				o := outcome{Stats: fewer, races: len(want), refused: errors.Is(wrong, tree.ErrLockMisuse)}
				if diff := cmp.Diff(want, got); diff != "" {
					return o, fmt.Errorf("findings (-all lock operations +those that say something):\n%s", diff)
				}
				if fmt.Sprint(wrong) != fmt.Sprint(err) || stats.DroppedAccesses != fewer.DroppedAccesses || stats.DroppedLocks != 0 {
					return o, fmt.Errorf("%v, %+v; with all lock operations %v, %+v", err, fewer, wrong, stats)
				}
				return o, nil
			})
			if left.Load() < traces.Load() {
				t.Errorf("only %d lock operations were left out of %d traces", left.Load(), traces.Load())
			}
		})
	}
}

// TestBypassLosesNothing checks the theorem for a filter that bypasses events now and then.
func TestBypassLosesNothing(t *testing.T) {
	for _, test := range []struct {
		name         string
		detector     func(heisen.Sink) heisen.Detector
		accessesOnly bool
		options      []tree.FilterOption
	}{
		{"hb, all events", reference, false, nil},
		{"hb, accesses", reference, true, nil},
		{"hybrid, accesses", hybrid, true, []tree.FilterOption{tree.WithMessageOrder()}},
		{"hybrid, accesses, default", hybrid, true, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			var bypassed atomic.Int64
			forRandomTraces(t, perKind/4, func(trace []heisen.Record) (outcome, error) {
				want := analyze(trace, test.detector, nil)
				got := analyze(trace, test.detector, bypassing(test.accessesOnly), test.options...)
				bypassed.Add(int64(got.stats.Bypassed))
				o := outcome{Stats: got.stats, races: len(want.pairs), refused: errors.Is(got.err, tree.ErrLockMisuse)}
				if diff := cmp.Diff(want.pairs, got.pairs, cmp.AllowUnexported(location{})); diff != "" && !o.refused {
					return o, errors.New(diff)
				}
				return o, nil
			})
			if bypassed.Load() < int64(10*randomtrials.Count(perKind/4)*20) {
				t.Errorf("only %d events were bypassed", bypassed.Load())
			}
		})
	}
}

// TestBypassesWhereItDoesNotPay checks that the filter examines the events of threads that repeat
// themselves, and bypasses events where another thread takes the lock each time.
func TestBypassesWhereItDoesNotPay(t *testing.T) {
	for _, test := range []struct {
		burst    int
		options  []tree.FilterOption
		bypasses bool
	}{
		{100, nil, false},
		{1, nil, true},
		{1, []tree.FilterOption{tree.WithoutBypass()}, false},
	} {
		trace := workload.SharedLocks(workload.Micro{Threads: 16, Iterations: 2000, Locks: 1, Burst: test.burst})
		f, err := tree.NewFilter(fastTrack(nil), test.options...)
		if err != nil {
			t.Fatal(err)
		}
		for batch := range slices.Chunk(trace, 1000) {
			f.HandleRecords(batch)
		}
		s := f.Stats()
		if bypasses := 4*s.Bypassed > 3*s.Events; bypasses != test.bypasses || !bypasses && s.Bypassed > 0 {
			t.Errorf("bursts of %d, %d options: %d of %d events were bypassed", test.burst, len(test.options), s.Bypassed, s.Events)
		}
	}
}

// TestBypassedAccessesArePublished checks that a release is forwarded if it is the first
// after accesses that the filter bypassed.
func TestBypassedAccessesArePublished(t *testing.T) {
	trace := slices.Concat(
		[]heisen.Record{do(0, heisen.Fork, 1)},
		under(A, 0), // from here on the filter bypasses accesses
		[]heisen.Record{at(1, 0, heisen.Write, x)},
		under(A, 0), // from here on it does not
		under(A, 1, at(2, 1, heisen.Write, x)),
	)
	for i := range 3 {
		races := 0
		f, err := tree.NewFilter(must.Make(vclock.NewHappensBefore(vclock.WithSink(func(heisen.Finding) { races++ }))))
		if err != nil {
			t.Fatal(err)
		}
		tree.SetBypass(f, uint64(1+i), true)
		for i := range trace {
			f.HandleRecords(trace[i : i+1])
		}
		if races != 0 {
			t.Errorf("bypass after %d events: %d races", 1+i, races)
		}
	}
}

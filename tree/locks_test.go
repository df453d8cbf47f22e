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

// slow is a detector that takes some time for an event.
type slow struct {
	nothing
	loops int
	sum   int
}

func (s *slow) HandleRecords(batch []heisen.Record) {
	for range batch {
		for i := range s.loops {
			s.sum += i
		}
	}
}

// TestBypassesWhereItDoesNotPay checks that the filter bypasses events where the detector is faster, whichever locks matter to it, and
// only there: where threads repeat themselves and the detector is slow, it does not.
func TestBypassesWhereItDoesNotPay(t *testing.T) {
	messages := []tree.FilterOption{tree.WithMessageOrder()}
	order, sets := nothing{heisen.LocksAsOrder}, nothing{heisen.LocksAsSets}
	for name, test := range map[string]struct {
		burst    int
		detector heisen.Detector
		options  []tree.FilterOption
		bypasses bool
	}{
		"slow, repeated":             {100, &slow{nothing: order, loops: 3000}, nil, false},
		"slow, repeated, sets":       {100, &slow{nothing: sets, loops: 3000}, messages, false},
		"slow, not repeated":         {1, &slow{nothing: order, loops: 20}, nil, true},
		"fast, repeated":             {100, &slow{nothing: order}, nil, true},
		"fast, repeated, sets":       {100, &slow{nothing: sets}, messages, true},
		"fast, not repeated, sets":   {1, &slow{nothing: sets}, messages, true},
		"fast, but without a bypass": {1, &slow{nothing: order}, []tree.FilterOption{tree.WithoutBypass()}, false},
	} {
		trace := workload.SharedLocks(workload.Micro{Threads: 16, Iterations: 4000, Locks: 1, Burst: test.burst})
		f, err := tree.NewFilter(test.detector, test.options...)
		if err != nil {
			t.Fatal(err)
		}
		for batch := range slices.Chunk(trace, 1000) {
			f.HandleRecords(batch)
		}
		s := f.Stats()
		if bypasses := 2*s.Bypassed > s.Events; bypasses != test.bypasses || !bypasses && 10*s.Bypassed > s.Events {
			t.Errorf("%s: %d of %d events were bypassed", name, s.Bypassed, s.Events)
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

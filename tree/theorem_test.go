package tree_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime/debug"
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

// kinds of random traces: few threads, objects and sites, so that accesses
// repeat and meet.
var kinds = []struct {
	name string
	workload.Small
	generate func(*rand.Rand, workload.Small) []heisen.Record
	apart    bool // locks are used as nothing else: no trace is refused
}{
	{"loops", workload.Small{Threads: 3, Events: 90, Vars: 2, Syncs: 3}, workload.Loops, true},
	{"loops, many threads", workload.Small{Threads: 8, Events: 160, Vars: 3, Syncs: 3}, workload.Loops, true},
	{"loops, ranges and lives", workload.Small{Threads: 4, Events: 90, Vars: 3, Syncs: 2, Ranges: true, Lives: true}, workload.Loops, true},
	{"loops, few sites", workload.Small{Threads: 4, Events: 90, Vars: 2, Syncs: 2, Lives: true, Sites: 2}, workload.Loops, true},
	{"loops, one variable", workload.Small{Threads: 6, Events: 140, Vars: 1, Syncs: 2}, workload.Loops, true},
	{"steps", workload.Small{Threads: 4, Events: 80, Vars: 1, Syncs: 2, Sites: 2}, workload.Random, false},
	{"steps, locks in memory", workload.Small{Threads: 4, Events: 80, Vars: 2, Syncs: 2, Sites: 2, LockWords: true, Nested: true}, workload.Random, false},
	{"steps, ranges and lives", workload.Small{Threads: 2, Events: 150, Vars: 1, Syncs: 2, Ranges: true, Lives: true, LockWords: true, Sites: 1}, workload.Random, false},
	{"steps, many threads", workload.Small{Threads: 12, Events: 120, Vars: 1, Syncs: 2, Sites: 2}, workload.Random, false},
	{"wild", workload.Small{Threads: 3, Events: 80, Vars: 1, Syncs: 2, Lives: true, Wild: true, Sites: 1, LockWords: true, Nested: true}, workload.Random, false},
}

// perKind is the number of traces of each kind per test. There are ten kinds. The tests together have
// 260,000 traces.
const perKind = 2000

// TestMain makes garbage collections rarer, because the tests make many short-lived detectors.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}

// outcome is the result of a check of a trace.
type outcome struct {
	tree.Stats
	races   int
	refused bool
}

// forRandomTraces calls check with n random traces of each kind, on all cores. It fails if too few
// accesses were dropped, or too few races found, for the test to mean much.
func forRandomTraces(t *testing.T, n int, check func([]heisen.Record) (outcome, error)) {
	made := randomtrials.Count(n)
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			var dropped, accesses, races, refused atomic.Int64
			randomtrials.Each(t, n, func(seed uint64) error {
				trace := kind.generate(rand.New(rand.NewPCG(seed, 11)), kind.Small)
				o, err := check(trace)
				if err != nil {
					return fmt.Errorf("%w\n%s", err, workload.Show(trace))
				}
				dropped.Add(int64(o.DroppedAccesses))
				accesses.Add(int64(o.Accesses))
				races.Add(int64(o.races))
				if o.refused {
					refused.Add(1)
				}
				return nil
			})
			t.Logf("%d traces: %d%% of %d accesses dropped, %d racy pairs of locations, %d traces refused",
				made, 100*dropped.Load()/max(1, accesses.Load()), accesses.Load(), races.Load(), refused.Load())
			if 30*dropped.Load() < accesses.Load() || 2*races.Load() < int64(made) {
				t.Error("too little is dropped, or races, for the test to mean much")
			}
			if kind.apart && refused.Load() > 0 || 2*refused.Load() > int64(made) {
				t.Errorf("%d traces refused", refused.Load())
			}
		})
	}
}

// location is one access of a racy pair: its op and site.
type location struct {
	op   heisen.Op
	site heisen.Site
}

// locations are an unordered pair.
type locations [2]location

func locationsOf(f heisen.Finding) locations {
	a, b := f.Accesses[0], f.Accesses[1]
	p := locations{{a.Op, a.Site}, {b.Op, b.Site}}
	if p[1].site < p[0].site || p[1].site == p[0].site && p[1].op < p[0].op {
		p[0], p[1] = p[1], p[0]
	}
	return p
}

// result is the findings of a detector in a trace.
type result struct {
	pairs map[locations]bool
	first map[heisen.Object]uint64 // event that first races with an earlier one, by byte
	stats tree.Stats
	err   error
}

// analyze runs a detector over a trace, behind a filter unless that is nil.
func analyze(t []heisen.Record, detector func(heisen.Sink) heisen.Detector, filter func(heisen.Detector, ...tree.FilterOption) (*tree.Filter, error), options ...tree.FilterOption) result {
	r := result{pairs: map[locations]bool{}, first: map[heisen.Object]uint64{}}
	event := uint64(0)
	d := detector(func(f heisen.Finding) {
		r.pairs[locationsOf(f)] = true
		a, b := f.Accesses[0], f.Accesses[1]
		from := max(a.Object, b.Object)
		to := min(a.Object+heisen.Object(a.Size), b.Object+heisen.Object(b.Size))
		for o := from; o < to; o++ {
			if r.first[o] == 0 {
				r.first[o] = event
			}
		}
	})
	var f *tree.Filter
	if filter != nil {
		var err error
		if f, err = filter(d, options...); err != nil {
			r.err = err
			return r
		}
		d = f
	}
	for i := range t {
		event = uint64(i + 1)
		feed(d, t[i:i+1], i)
	}
	r.err = d.Flush()
	if f != nil {
		r.stats = f.Stats()
	}
	return r
}

// feed hands a record to d, the i-th of a trace, by turns as an event and as a
// batch if d takes batches.
func feed(d heisen.Detector, record []heisen.Record, i int) {
	if h, ok := d.(heisen.RecordHandler); ok && i%3 > 0 {
		h.HandleRecords(record)
	} else {
		d.Handle(record[0].Event())
	}
}

func fastTrack(s heisen.Sink) heisen.Detector {
	return must.Make(vclock.NewFastTrack(vclock.WithSink(s)))
}
func reference(s heisen.Sink) heisen.Detector {
	return must.Make(vclock.NewHappensBefore(vclock.WithSink(s)))
}

// TestRacyLocationsAreUnchanged is the theorem for happens-before: behind the
// filter all pairs have the same locations, or the filter says that the stream
// does not keep to its locks.
func TestRacyLocationsAreUnchanged(t *testing.T) {
	forRandomTraces(t, 5*perKind, func(trace []heisen.Record) (outcome, error) {
		return sameLocations(trace, reference)
	})
}

func sameLocations(trace []heisen.Record, detector func(heisen.Sink) heisen.Detector, options ...tree.FilterOption) (outcome, error) {
	want := analyze(trace, detector, nil)
	got := analyze(trace, detector, tree.NewFilter, options...)
	o := outcome{Stats: got.stats, races: len(want.pairs), refused: errors.Is(got.err, tree.ErrLockMisuse)}
	switch {
	case want.err != nil:
		return o, want.err
	case o.refused:
		return o, nil
	case got.err != nil:
		return o, got.err
	case !maps.Equal(want.pairs, got.pairs):
		return o, fmt.Errorf("racy locations (-all +filtered):\n%s",
			cmp.Diff(want.pairs, got.pairs, cmp.AllowUnexported(location{})))
	}
	return o, nil
}

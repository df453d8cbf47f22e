package tree_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/internal/testaid/randomtrials"
	"github.com/heisen-go/heisen/tree"
)

// batches is a detector that counts the batches that reach it.
type batches struct {
	forwarded
	sizes []int
	first *heisen.Record
}

func (b *batches) HandleRecords(batch []heisen.Record) {
	if b.first == nil {
		b.first = &batch[0]
	}
	b.sizes = append(b.sizes, len(batch))
	b.records = append(b.records, batch...)
}

func TestRunsAreKeptTogether(t *testing.T) {
	trace := []heisen.Record{
		at(1, 0, heisen.Write, x),
		at(1, 0, heisen.Write, x), // dropped
		at(1, 0, heisen.Write, x), // dropped
		at(2, 0, heisen.Write, x),
		do(0, heisen.Send, m),
		at(1, 0, heisen.Write, x),
	}
	var b batches
	f, err := tree.NewFilter(&b)
	if err != nil {
		t.Fatal(err)
	}
	f.HandleRecords(trace)
	checkSame(t, "batches", b.sizes, []int{1, 3})
	if b.first != &trace[0] {
		t.Error("records were copied")
	}
	s := f.Stats()
	s.Bytes = 0
	checkSame(t, "statistics", s, tree.Stats{Events: 6, Accesses: 5, DroppedAccesses: 2, Entries: 2})
}

// TestHandleIsHandleRecords feeds events one by one, as foreign events too.
func TestHandleIsHandleRecords(t *testing.T) {
	type foreign struct{ heisen.Event }
	for _, options := range [][]tree.FilterOption{nil, {tree.WithMessageOrder()}, {tree.WithThesisAlgorithm()}} {
		for seed := range uint64(100) {
			trace := workload.Loops(rand.New(rand.NewPCG(seed, 3)), workload.Small{Threads: 4, Events: 90, Vars: 2, Syncs: 2})
			_, want := filter(t, trace, options...)
			for _, wrap := range []func(*heisen.Record) heisen.Event{
				func(r *heisen.Record) heisen.Event { return r.Event() },
				func(r *heisen.Record) heisen.Event { return foreign{r.Event()} },
			} {
				var k forwarded
				f, err := tree.NewFilter(&k, options...)
				if err != nil {
					t.Fatal(err)
				}
				for i := range trace {
					f.Handle(wrap(&trace[i]))
				}
				if diff := cmp.Diff(want, k.records); diff != "" {
					t.Fatalf("seed %d (-HandleRecords +Handle):\n%s", seed, diff)
				}
			}
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for name, build := range map[string]func() (*tree.Filter, error){
		"no detector":       func() (*tree.Filter, error) { return tree.NewFilter(nil) },
		"too little memory": func() (*tree.Filter, error) { return tree.NewFilter(&forwarded{}, tree.WithMemory(1)) },
		"literal, message": func() (*tree.Filter, error) {
			return tree.NewFilter(&forwarded{}, tree.WithThesisAlgorithm(), tree.WithMessageOrder())
		},
		"message, literal": func() (*tree.Filter, error) {
			return tree.NewFilter(&forwarded{}, tree.WithMessageOrder(), tree.WithThesisAlgorithm())
		},
		"nil option":            func() (*tree.Filter, error) { return tree.NewFilter(&forwarded{}, nil) },
		"span, no detector":     func() (*tree.Filter, error) { return tree.NewSpanFilter(nil) },
		"span, nil option":      func() (*tree.Filter, error) { return tree.NewSpanFilter(&forwarded{}, nil) },
		"span, too little room": func() (*tree.Filter, error) { return tree.NewSpanFilter(&forwarded{}, tree.WithMemory(1<<10)) },
	} {
		if f, err := build(); !errors.Is(err, heisen.ErrOption) || f != nil {
			t.Errorf("%s: error %v, want one that wraps ErrOption", name, err)
		}
	}
}

// TestZeroFilter checks that a Filter without a detector discards events and says so.
func TestZeroFilter(t *testing.T) {
	var f tree.Filter
	r := heisen.Record{Op: heisen.Write, Object: x}
	f.Handle(r.Event())
	f.HandleRecords([]heisen.Record{r})
	if s := f.Stats(); s != (tree.Stats{}) {
		t.Errorf("%+v", s)
	}
	if err := f.Flush(); !errors.Is(err, heisen.ErrZero) {
		t.Errorf("error %v", err)
	}
	if _, err := tree.NewFilter(nil); !errors.Is(err, heisen.ErrOption) {
		t.Errorf("error %v", err)
	}
}

// broken is a detector whose end is an error.
type broken struct{ forwarded }

var errBroken = errors.New("broken")

func (*broken) Flush() error { return errBroken }

func TestFlushPassesErrorsOn(t *testing.T) {
	f, err := tree.NewFilter(&broken{})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Flush(); !errors.Is(err, errBroken) {
		t.Errorf("error %v", err)
	}
}

// TestRepeatedSectionsAreDropped: a thread that takes the same locks again and
// again, in whatever order it releases them, repeats itself until another thread
// takes one of them.
func TestRepeatedSectionsAreDropped(t *testing.T) {
	section := func(id heisen.Thread, last heisen.Op, locks ...heisen.Object) (s []heisen.Record) {
		for _, l := range locks {
			s = append(s, do(id, heisen.Acquire, l))
		}
		s = append(s, at(1, id, heisen.Write, x))
		for _, l := range locks {
			s = append(s, do(id, last, l))
		}
		return s
	}
	locks := make([]heisen.Object, 100)
	for i := range locks {
		locks[i] = lock(i)
	}
	once := section(0, heisen.Release, locks...)
	other := []heisen.Record{do(1, heisen.Acquire, lock(7)), do(1, heisen.Release, lock(7))}
	backwards := slices.Concat(once[:101], func() []heisen.Record {
		r := slices.Clone(once[101:])
		slices.Reverse(r)
		return r
	}())
	shared := slices.Clone(once)
	for i := range shared {
		switch shared[i].Op {
		case heisen.Acquire:
			shared[i].Op = heisen.AcquireShared
		case heisen.Release:
			shared[i].Op = heisen.ReleaseShared
		}
	}
	reader := []heisen.Record{do(1, heisen.AcquireShared, lock(7)), do(1, heisen.ReleaseShared, lock(7))}
	for name, test := range map[string]struct {
		trace   []heisen.Record
		dropped uint64
	}{
		"first in, first out":        {slices.Concat(once, once, once), 2},
		"first in, last out":         {slices.Concat(backwards, backwards, once), 2},
		"a lock changes hands":       {slices.Concat(once, once, other, once, once), 2},
		"readers":                    {slices.Concat(shared, shared, reader, shared), 2},
		"a reader becomes a writer":  {slices.Concat(shared, once, once), 2},
		"a writer becomes a reader":  {slices.Concat(once, shared, shared), 1},
		"a writer between readers":   {slices.Concat(shared, other, shared), 0},
		"a lock that is not freed":   {slices.Concat([]heisen.Record{do(0, heisen.Acquire, A)}, once, once), 1},
		"a lock that was used once":  {slices.Concat(under(A, 0), once, once, once), 2},
		"a lock that is released":    {slices.Concat(once, under(A, 0), once), 0},
		"a message":                  {slices.Concat(once, []heisen.Record{do(0, heisen.Send, m)}, once), 0},
		"what another has published": {slices.Concat(once, []heisen.Record{do(1, heisen.Send, m), do(0, heisen.Receive, m)}, once), 1},
		"a new life":                 {slices.Concat(once, []heisen.Record{{Thread: 1, Op: heisen.Alloc, Object: x - 8, Value: 16}}, once), 0},
	} {
		f, _ := filter(t, test.trace)
		if got := f.Stats().DroppedAccesses; got != test.dropped {
			t.Errorf("%s: %d dropped, want %d", name, got, test.dropped)
		}
	}
}

// racy returns a trace of threads that access many variables, from many sites,
// now and then under a lock, and come back to the latest ones again and again.
func racy(events, variables int) (trace []heisen.Record) {
	rng := rand.New(rand.NewPCG(1, 2))
	for id := range heisen.Object(4) {
		trace = append(trace, do(0, heisen.Fork, id+1))
	}
	for len(trace) < events {
		id := heisen.Thread(1 + rng.IntN(4))
		if rng.IntN(4) == 0 {
			l := lock(rng.IntN(64))
			trace = append(trace, do(id, heisen.Acquire, l))
			defer func() { trace = append(trace, do(id, heisen.Release, l)) }()
		}
		base := rng.IntN(variables)
		for range 20 {
			v := base + rng.IntN(8)
			op := heisen.Read
			if v%16 == 0 {
				op = heisen.Write
			}
			trace = append(trace, at(heisen.Site(1+v%997), id, op, x+8*heisen.Object(v)))
		}
	}
	return trace
}

// TestMemoryIsBounded: with a budget the filter stays within it at all times, and
// still nothing is lost.
func TestMemoryIsBounded(t *testing.T) {
	const budget = 1 << 20
	trace := racy(150000, 60000)
	for name, options := range map[string][]tree.FilterOption{
		"default": {tree.WithoutBypass()}, "MessageOrder": {tree.WithMessageOrder(), tree.WithoutBypass()},
	} {
		d := hybrid
		if name == "default" {
			d = fastTrack
		}
		free := analyze(trace, d, tree.NewFilter, options...)
		if free.stats.Bytes <= budget {
			t.Fatalf("%s: only %d bytes are taken without a budget", name, free.stats.Bytes)
		}
		bound := analyze(trace, d, tree.NewFilter, append(options, tree.WithMemory(budget))...)
		if bound.stats.Bytes > budget || bound.stats.DroppedAccesses < free.stats.DroppedAccesses/2 {
			t.Errorf("%s: %+v with a budget, %+v without", name, bound.stats, free.stats)
		}
		want := analyze(trace, d, nil)
		if len(want.pairs) < 500 {
			t.Fatalf("%s: only %d racy pairs of locations", name, len(want.pairs))
		}
		if name == "default" { // FastTrack: see TestFirstRacesAreUnchanged
			if !maps.Equal(want.first, bound.first) {
				t.Errorf("%s: the first races of variables are not the same", name)
			}
		} else if !maps.Equal(want.pairs, bound.pairs) {
			t.Errorf("%s: %d racy pairs of locations, want %d", name, len(bound.pairs), len(want.pairs))
		}
	}

	// Not only in the end.
	f, err := tree.NewFilter(&forwarded{}, tree.WithMemory(budget))
	if err != nil {
		t.Fatal(err)
	}
	for len(trace) > 0 {
		n := min(100, len(trace))
		f.HandleRecords(trace[:n])
		trace = trace[n:]
		if s := f.Stats(); s.Bytes > budget {
			t.Fatalf("%d bytes after %d events, the budget is %d", s.Bytes, s.Events, budget)
		}
	}
}

// TestBudgetsLoseNothing is the theorem again, with a budget that is too small for
// the few variables of these traces, which are spread so that each is on a page
// of its own.
func TestBudgetsLoseNothing(t *testing.T) {
	var forgot atomic.Int64
	forRandomTraces(t, perKind/4, func(trace []heisen.Record) (outcome, error) {
		for i := range trace {
			if r := &trace[i]; r.Object < 1<<20 && !(r.Op == heisen.Fork || r.Op == heisen.Join || r.Op == heisen.End) {
				r.Object += r.Object >> 3 << 20
			}
		}
		var f *tree.Filter
		tight := func(d heisen.Detector, options ...tree.FilterOption) (_ *tree.Filter, err error) {
			f, err = tree.NewFilter(d)
			if err == nil {
				tree.SetBudget(f, 12<<10)
			}
			return f, err
		}
		want := analyze(trace, reference, nil)
		got := analyze(trace, reference, tight)
		if tree.Forgets(f) {
			forgot.Add(1)
		}
		o := outcome{Stats: got.stats, races: len(want.pairs), refused: errors.Is(got.err, tree.ErrLockMisuse)}
		if diff := cmp.Diff(want.pairs, got.pairs, cmp.AllowUnexported(location{})); diff != "" && !o.refused {
			return o, errors.New(diff)
		}
		return o, nil
	})
	if forgot.Load() < int64(randomtrials.Count(perKind/4)) {
		t.Errorf("something was forgotten in %d traces only", forgot.Load())
	}
}

// TestContextsAreBounded: messages never end, and no more do locks that are made
// anew, but contexts that are over do.
func TestContextsAreBounded(t *testing.T) {
	const limit = 1000
	for name, option := range map[string]tree.FilterOption{"Literal": tree.WithThesisAlgorithm(), "MessageOrder": tree.WithMessageOrder()} {
		f, err := tree.NewFilter(&forwarded{}, option)
		if err != nil {
			t.Fatal(err)
		}
		tree.LimitContexts(f, limit)
		f.Handle((&heisen.Record{Op: heisen.Acquire, Object: A}).Event())
		for i := range heisen.Object(20000) {
			id := heisen.Thread(i % 7)
			for _, r := range []heisen.Record{
				do(id, heisen.Send, m), do(id, heisen.Receive, m),
				do(id, heisen.Acquire, lock(int(i))),
				at(1, id, heisen.Write, x),
				do(id, heisen.Release, lock(int(i))),
				{Thread: id, Op: heisen.Free, Object: lock(int(i)), Value: 8},
			} {
				f.Handle(r.Event())
			}
			if i == 10 {
				f.Handle((&heisen.Record{Op: heisen.Release, Object: A}).Event())
			}
			if n := tree.Contexts(f); n > limit {
				t.Fatalf("%s: %d contexts after %d rounds, the limit is %d", name, n, i, limit)
			}
		}
	}
}

// TestContextsMayRunShort is the theorem with contexts that begin anew every few
// events.
func TestContextsMayRunShort(t *testing.T) {
	short := func(d heisen.Detector, options ...tree.FilterOption) (*tree.Filter, error) {
		f, err := tree.NewFilter(d, tree.WithMessageOrder())
		if err == nil {
			tree.LimitContexts(f, 8)
		}
		return f, err
	}
	forRandomTraces(t, perKind/4, func(trace []heisen.Record) (outcome, error) {
		want := analyze(trace, hybrid, nil)
		got := analyze(trace, hybrid, short)
		o := outcome{Stats: got.stats, races: len(want.pairs)}
		if diff := cmp.Diff(want.pairs, got.pairs, cmp.AllowUnexported(location{})); diff != "" {
			return o, errors.New(diff)
		}
		return o, got.err
	})
}

// TestSteadyStateDoesNotAllocate repeats traces that a filter has seen.
func TestSteadyStateDoesNotAllocate(t *testing.T) {
	params := workload.Params{Threads: 20, Vars: 200, Events: 20000, Seed: 1}
	loops := workload.Loops(rand.New(rand.NewPCG(5, 6)), workload.Small{Threads: 6, Events: 2000, Vars: 20, Syncs: 4, Ranges: true, Lives: true})
	for name, trace := range map[string][]heisen.Record{
		"lock-protected": workload.LockProtected(params),
		"sync-heavy":     workload.SyncHeavy(params),
		"thread-local":   workload.ThreadLocal(params),
		"read-shared":    workload.ReadShared(params),
		"private-locks":  workload.PrivateLocks(workload.Micro{Threads: 4, Iterations: 100, Locks: 20, Burst: 3}),
		"loops":          loops,
	} {
		trace = slices.DeleteFunc(trace, func(r heisen.Record) bool {
			return r.Op == heisen.Fork || r.Op == heisen.End || r.Op == heisen.Join
		})
		for kind, options := range map[string][]tree.FilterOption{"default": nil, "MessageOrder": {tree.WithMessageOrder()}} {
			for _, d := range []nothing{{heisen.LocksAsEvents}, {heisen.LocksAsOrder}, {heisen.LocksAsSets}} {
				for _, bypasses := range []bool{false, true} {
					f, err := tree.NewFilter(d, append(options, tree.WithoutBypass())...)
					if err != nil {
						t.Fatal(err)
					}
					if bypasses {
						tree.SetBypass(f, 1000, false)
					}
					for range 20 {
						f.HandleRecords(trace)
					}
					if n := testing.AllocsPerRun(5, func() { f.HandleRecords(trace) }); n != 0 {
						t.Errorf("%s, %s, %v, bypasses %v: %v allocations in %d events", name, kind, d, bypasses, n, len(trace))
					}
				}
			}
		}
	}
}

// nothing is a detector that ignores its events.
type nothing struct{ use heisen.LockUse }

func (nothing) Handle(heisen.Event)           {}
func (nothing) HandleRecords([]heisen.Record) {}
func (nothing) Flush() error                  { return nil }
func (n nothing) LockUse() heisen.LockUse     { return n.use }

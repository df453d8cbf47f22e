package vclock_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/internal/testaid/randomtrials"
	"github.com/heisen-go/heisen/vclock"
)

// kinds of random traces: few threads and objects, so that everything meets.
var kinds = []struct {
	name string
	workload.Small
}{
	{"words", workload.Small{Threads: 4, Events: 40, Vars: 3, Syncs: 3, LockWords: true}},
	{"ranges", workload.Small{Threads: 4, Events: 40, Vars: 3, Syncs: 3, Ranges: true, LockWords: true}},
	{"lives", workload.Small{Threads: 4, Events: 50, Vars: 3, Syncs: 3, Ranges: true, Lives: true, LockWords: true}},
	{"same sites", workload.Small{Threads: 3, Events: 50, Vars: 2, Syncs: 2, Lives: true, Sites: 3}},
	{"many threads", workload.Small{Threads: 12, Events: 60, Vars: 2, Syncs: 2}},
	{"wild", workload.Small{Threads: 5, Events: 50, Vars: 3, Syncs: 2, Ranges: true, Lives: true, Wild: true, LockWords: true}},
}

// forRandomTraces calls check with n random traces of each kind, on all cores.
func forRandomTraces(t *testing.T, n int, check func(trace []heisen.Record) error) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			forSeeds(t, n, func(rng *rand.Rand) ([]heisen.Record, error) {
				trace := workload.Random(rng, kind.Small)
				return trace, check(trace)
			})
		})
	}
}

// forSeeds calls check with n generators of random numbers, on all cores.
func forSeeds(t *testing.T, n int, check func(*rand.Rand) ([]heisen.Record, error)) {
	t.Helper()
	randomtrials.Each(t, n, func(seed uint64) error {
		trace, err := check(rand.New(rand.NewPCG(seed, 7)))
		if err != nil {
			return fmt.Errorf("%w\n%s", err, workload.Show(trace))
		}
		return nil
	})
}

// findingsOf runs a detector over a trace.
func findingsOf(trace []heisen.Record, detector func(heisen.Sink) heisen.Detector) ([]heisen.Finding, error) {
	var all []heisen.Finding
	d := detector(func(f heisen.Finding) { all = append(all, f) })
	_, err := heisen.Run(context.Background(), heisen.Slice(trace), d)
	return all, err
}

// TestMain makes garbage collections rarer, because the tests make many short-lived detectors.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}

func fastTrack(s heisen.Sink) heisen.Detector {
	return must.Make(vclock.NewFastTrack(vclock.WithSink(s)))
}
func reference(s heisen.Sink) heisen.Detector {
	return must.Make(vclock.NewHappensBefore(vclock.WithSink(s)))
}

// TestHappensBeforeIsReachability compares HappensBefore with the definition of happens-before, pair
// by pair.
func TestHappensBeforeIsReachability(t *testing.T) {
	forRandomTraces(t, 4000, func(trace []heisen.Record) error {
		return reachable(trace, judge(trace, nil), reference)
	})
}

// reachable compares the findings of HappensBefore with reachability.
func reachable(trace []heisen.Record, want verdict, reference func(heisen.Sink) heisen.Detector) error {
	found, err := findingsOf(trace, reference)
	if err != nil {
		return err
	}
	got := map[pair]bool{}
	for _, f := range found {
		got[pairOf(f)] = true
		if err := consistent(trace, f, want); err != nil {
			return err
		}
	}
	if !maps.Equal(want.pairs, got) {
		return fmt.Errorf("pairs (-reachability +reference):\n%s",
			cmp.Diff(want.pairs, got, cmp.AllowUnexported(pair{})))
	}
	return nil
}

// consistent checks a finding of HappensBefore against the trace.
func consistent(trace []heisen.Record, f heisen.Finding, v verdict) error {
	for _, a := range f.Accesses {
		if a.Index < 1 || a.Index > uint64(len(trace)) {
			return fmt.Errorf("index %d in %+v", a.Index, f)
		}
		if want := accessOf(&trace[a.Index-1], a.Index); a != want {
			return fmt.Errorf("access %+v, but the event is %+v", a, want)
		}
	}
	if at := [2]uint64{f.Accesses[0].Index, f.Accesses[1].Index}; len(v.meet[at]) == 0 {
		return fmt.Errorf("events %v do not race, but were reported", at)
	}
	return nil
}

// accessOf is what a finding says of an event.
func accessOf(r *heisen.Record, index uint64) heisen.Access {
	a := heisen.AccessOf(r, index)
	if r.Flags&heisen.LockWord != 0 {
		a.Op = heisen.AtomicUpdate
	}
	return a
}

// TestFastTrackPromise checks what FastTrack promises against the reference:
// nothing but pairs that the reference has, and the first race of every byte.
func TestFastTrackPromise(t *testing.T) {
	forRandomTraces(t, 17000, func(trace []heisen.Record) error {
		return promise(trace, fastTrack, reference)
	})
}

// promise checks a FastTrack against a reference.
func promise(trace []heisen.Record, fastTrack, reference func(heisen.Sink) heisen.Detector) error {
	hb, err := findingsOf(trace, reference)
	if err != nil {
		return err
	}
	ft, err := findingsOf(trace, fastTrack)
	if err != nil {
		return err
	}
	// What the reference found, by what FastTrack says of a pair, and the
	// bytes where it meets.
	type half struct {
		op     heisen.Op
		thread heisen.Thread
		site   heisen.Site
		ctx    heisen.Context
		later  uint64
	}
	halfOf := func(f heisen.Finding) half {
		a := f.Accesses[0]
		return half{a.Op, a.Thread, a.Site, a.Context, f.Accesses[1].Index}
	}
	meet := map[half]bytes{}
	var first, got [64]uint64 // first later access of a race, by byte; 0 if there is none
	note := func(at *[64]uint64, where bytes, later uint64) {
		for b := range at {
			if where.has(heisen.Object(b)) && (at[b] == 0 || later < at[b]) {
				at[b] = later
			}
		}
	}
	for _, f := range hb {
		h := halfOf(f)
		meet[h] |= shared(trace, f)
		note(&first, meet[h], h.later)
	}
	for _, f := range ft {
		h := halfOf(f)
		if !meet[h].has(f.Object) || f.Accesses[0].Object != f.Object {
			return fmt.Errorf("not a race of the reference: %+v", f)
		}
		later := f.Accesses[1]
		if want := accessOf(&trace[later.Index-1], later.Index); later != want {
			return fmt.Errorf("access %+v, but the event is %+v", later, want)
		}
		note(&got, meet[h], h.later)
	}
	if first != got {
		return fmt.Errorf("first race by byte (-hb +fasttrack):\n%s", cmp.Diff(first, got))
	}
	return nil
}

// bytes is a set of addresses below 64, where all variables of these traces are.
type bytes uint64

func (s bytes) has(o heisen.Object) bool { return s>>o&1 != 0 }

// span returns the set of n bytes from o.
func span(o heisen.Object, n uint64) bytes {
	if n >= 64 {
		n = 64
	}
	return bytes(1<<n-1) << o
}

// shared returns the bytes that both accesses of a finding touch in the same allocation epoch.
func shared(trace []heisen.Record, f heisen.Finding) bytes {
	a, b := f.Accesses[0], f.Accesses[1]
	both := span(a.Object, a.Size) & span(b.Object, b.Size)
	for _, r := range trace[a.Index:b.Index] {
		if r.Op == heisen.Alloc || r.Op == heisen.Free {
			both &^= span(r.Object, r.Value)
		}
	}
	return both
}

// TestHandleIsHandleRecords feeds events one by one, as foreign Events too.
func TestHandleIsHandleRecords(t *testing.T) {
	type foreign struct{ heisen.Event }
	for seed := range uint64(200) {
		trace := workload.Random(rand.New(rand.NewPCG(seed, 3)),
			workload.Small{Threads: 4, Events: 60, Vars: 3, Syncs: 3})
		for i := range trace {
			trace[i].Context = 0 // which a foreign event does not have
		}
		for _, detector := range []func(heisen.Sink) heisen.Detector{fastTrack, reference} {
			want, _ := findingsOf(trace, detector)
			for _, wrap := range []func(*heisen.Record) heisen.Event{
				func(r *heisen.Record) heisen.Event { return r.Event() },
				func(r *heisen.Record) heisen.Event { return foreign{r.Event()} },
			} {
				var got []heisen.Finding
				d := detector(func(f heisen.Finding) { got = append(got, f) })
				for i := range trace {
					d.Handle(wrap(&trace[i]))
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("seed %d (-HandleRecords +Handle):\n%s", seed, diff)
				}
			}
		}
	}
}

package mcm_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/mcm"
	"github.com/heisen-go/heisen/section"
)

// TestParallel checks that the findings and their order do not depend on the number of windows that are
// solved at the same time, nor on how the stream is delivered.
func TestParallel(t *testing.T) {
	records := workload.Mixed(workload.Params{Threads: 5, Events: 14000, Seed: 3})
	var want []heisen.Finding
	for i, n := range []int{1, 2, 7, 1} {
		var found []heisen.Finding
		d, err := mcm.NewDetector(mcm.WithSink(func(f heisen.Finding) { found = append(found, f) }),
			mcm.WithWindows(300, 100), mcm.WithParallel(n))
		if err != nil {
			t.Fatal(err)
		}
		if i == 3 {
			for k := range records {
				d.Handle(records[k].Event())
			}
		} else {
			for batch := range slices.Chunk(records, 1000+n) {
				d.HandleRecords(batch)
			}
		}
		if err := d.Flush(); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = found
			if s := d.Stats(); s.Races != len(found) || s.Races == 0 || s.Windows < 50 || s.Events != uint64(len(records)) {
				t.Errorf("%d findings, %+v", len(found), s)
			}
		}
		if !reflect.DeepEqual(found, want) {
			t.Errorf("%d windows at a time: the findings differ", n)
		}
	}
}

// TestWindows checks that each race that a detector finds in a window is possible in the whole stream,
// and that its witness ends with the accesses of the race.
func TestWindows(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 8))
		records := workload.Locky(workload.Params{Threads: 2 + rng.IntN(3), Events: 120, Seed: seed})
		type pair [2]uint64
		truth := map[pair]bool{}
		m, err := mcm.NewModel(mcm.Window{Records: records})
		if err != nil {
			t.Fatal(err)
		}
		size := 10 + rng.IntN(60)
		found := predict(t, nil, records, mcm.WithWindows(size, rng.IntN(size)))
		for _, f := range found {
			if f.Kind != heisen.Race {
				continue
			}
			p := pair{f.Accesses[0].Index, f.Accesses[1].Index}
			verdict, _, err := m.Race(context.Background(), int(p[0]-1), int(p[1]-1))
			if err != nil {
				t.Fatal(err)
			}
			truth[p] = verdict == mcm.Possible
			if !truth[p] {
				t.Errorf("seed %d: %v is possible in a window, and %v in the whole stream", seed, p, verdict)
			}
			last := f.Witness[len(f.Witness)-2:]
			if last[0].Site != f.Accesses[0].Site || last[1].Site != f.Accesses[1].Site {
				t.Errorf("seed %d: the witness ends with %+v", seed, last)
			}
		}
	}
}

// TestSections checks that an access that can come into a section is reported once for each set of
// places, in windows of any size, and is not reported if the section allows it.
func TestSections(t *testing.T) {
	const round = `T1|acq(l)|f.go:1 T1|r(x)|f.go:2 T1|rel(l)|f.go:3 T1|acq(l)|f.go:4 T1|w(x)|f.go:5 T1|rel(l)|f.go:6
		T2|acq(l)|f.go:11 T2|w(x)|f.go:12 T2|rel(l)|f.go:13 T2|acq(l)|f.go:14 T2|r(x)|f.go:15 T2|rel(l)|f.go:16`
	records, symbols := parse(t, strings.Repeat(round+" ", 30))
	sale := func(allow section.Modes) []section.Section {
		return []section.Section{{
			Entry: section.Location{File: "f.go", Line: 2, Mode: section.Reads},
			Ends:  []section.End{{At: section.Location{File: "f.go", Line: 5, Mode: section.Writes}, Allow: allow}},
		}}
	}
	for _, test := range []struct {
		window, overlap int
		allow           section.Modes
		want            []string
	}{
		{2000, 1000, 0, []string{"f.go:2 f.go:12 f.go:5", "f.go:2 f.go:15 f.go:5"}},
		{40, 20, 0, []string{"f.go:2 f.go:12 f.go:5", "f.go:2 f.go:15 f.go:5"}},
		{40, 20, section.Reads, []string{"f.go:2 f.go:12 f.go:5"}},
		{4, 0, 0, nil}, // the section does not fit
	} {
		for _, parallel := range []int{1, 3} {
			var got []string
			d, err := mcm.NewDetector(mcm.WithSymbols(symbols), mcm.WithSink(func(f heisen.Finding) {
				if f.Kind == heisen.Atomicity {
					var at []string
					for _, a := range f.Accesses {
						at = append(at, symbols.Site(a.Site).Text)
					}
					got = append(got, strings.Join(at, " "))
				}
			}), mcm.WithWindows(test.window, test.overlap), mcm.WithParallel(parallel), mcm.WithSections(sale(test.allow), section.LocateIn(symbols, "")))
			if err != nil {
				t.Fatal(err)
			}
			d.HandleRecords(records)
			if err := d.Flush(); err != nil {
				t.Fatal(err)
			}
			slices.Sort(got)
			if !slices.Equal(got, test.want) || d.Stats().Violations != len(got) {
				t.Errorf("%+v: %q", test, got)
			}
		}
	}
	if _, err := mcm.NewDetector(mcm.WithSections(sale(0), section.Locator{})); err == nil {
		t.Error("no error without a locator")
	}
	if _, err := mcm.NewModel(mcm.Window{Records: records, Executions: []mcm.Execution{{Entry: 1, End: 7}}}); err == nil {
		t.Error("no error for an execution by two threads")
	}
}

// TestOptions checks that invalid options are errors.
func TestOptions(t *testing.T) {
	for _, option := range []mcm.DetectorOption{
		mcm.WithWindows(0, 0), mcm.WithWindows(10, 10), mcm.WithWindows(10, -1), mcm.WithWindows(1<<30, 0),
		mcm.WithParallel(0), mcm.WithBudget(0, 1), mcm.WithBudget(1, 0), mcm.WithOccurrences(0, 1), mcm.WithOccurrences(1, 0), nil,
	} {
		if _, err := mcm.NewDetector(option); !errors.Is(err, heisen.ErrOption) {
			t.Errorf("error %v", err)
		}
	}
	for _, option := range []mcm.ModelOption{mcm.WithBudget(0, 1), mcm.WithBudget(1, 0), nil} {
		if _, err := mcm.NewModel(mcm.Window{}, option); !errors.Is(err, heisen.ErrOption) {
			t.Errorf("error %v", err)
		}
	}
}

// TestZero checks that methods of zero values return errors instead of panicking.
func TestZero(t *testing.T) {
	ctx := context.Background()
	var m mcm.Model
	if _, _, err := m.Race(ctx, 0, 1); !errors.Is(err, heisen.ErrZero) {
		t.Errorf("Race: %v", err)
	}
	if _, _, err := m.Deadlock(ctx, 0, 1); !errors.Is(err, heisen.ErrZero) {
		t.Errorf("Deadlock: %v", err)
	}
	if _, _, err := m.Between(ctx, 0, 1, 2); !errors.Is(err, heisen.ErrZero) {
		t.Errorf("Between: %v", err)
	}
	if err := m.WriteSMTLIB(io.Discard, 0, 1); !errors.Is(err, heisen.ErrZero) {
		t.Errorf("WriteSMTLIB: %v", err)
	}
	for range m.Pairs() {
		t.Error("a pair")
	}
	if s := m.Stats(); s != (mcm.Stats{}) {
		t.Errorf("%+v", s)
	}
	var d mcm.Detector
	d.HandleRecords([]heisen.Record{{Op: heisen.Write}})
	d.Skip(1)
	if err := d.Flush(); !errors.Is(err, heisen.ErrZero) {
		t.Errorf("Flush: %v", err)
	}
	if s := d.Stats(); s != (mcm.DetectorStats{}) {
		t.Errorf("%+v", s)
	}
	w := mcm.Window{Records: []heisen.Record{{Op: heisen.Write}}}
	if err := w.Replay(nil); !errors.Is(err, heisen.ErrOption) {
		t.Errorf("Replay: %v", err)
	}
	for _, x := range []*mcm.Witness{{Order: []int{1}}, {Order: []int{0, -1}}} {
		if records := x.Records(&w); records != nil {
			t.Errorf("witness %v has the records %v", x, records)
		}
	}
	x := mcm.Witness{Order: []int{0}}
	if x.Records(nil) != nil || len(x.Records(&w)) != 1 {
		t.Errorf("witness %v has the records %v", x, x.Records(&w))
	}
	for _, w := range []mcm.Window{
		{Records: make([]heisen.Record, 3), Index: []uint64{1}},
		{Records: make([]heisen.Record, 3), Executions: []mcm.Execution{{Entry: 1, End: 3}}},
	} {
		if _, err := mcm.NewModel(w); !errors.Is(err, heisen.ErrOption) {
			t.Errorf("NewModel: %v", err)
		}
	}
	if _, err := mcm.NewDetector(mcm.WithSections(make([]section.Section, 1), section.Locator{})); !errors.Is(err, heisen.ErrOption) || !errors.Is(err, section.ErrInvalid) {
		t.Errorf("WithSections: %v", err)
	}
	if d, err := mcm.NewDetector(mcm.WithSink(nil), mcm.WithSymbols(nil)); err != nil {
		t.Error(err)
	} else if d.HandleRecords([]heisen.Record{{Op: heisen.Write}}); d.Flush() != nil {
		t.Error("no detector without a sink")
	}
}

// TestHeldLock checks that a lock that is held at the start of a window excludes what it guards, and
// that a witness against it is refused.
func TestHeldLock(t *testing.T) {
	const lock, x = heisen.Object(8), heisen.Object(16)
	w := mcm.Window{
		Records: []heisen.Record{
			{Op: heisen.Write, Thread: 1, Object: x},
			{Op: heisen.Release, Thread: 1, Object: lock},
			{Op: heisen.Acquire, Thread: 0, Object: lock},
			{Op: heisen.Write, Thread: 0, Object: x},
			{Op: heisen.Release, Thread: 0, Object: lock},
		},
		Held: []mcm.HeldLock{{Lock: lock, Thread: 1, Shared: false}},
	}
	m, err := mcm.NewModel(w)
	if err != nil {
		t.Fatal(err)
	}
	if verdict, _, err := m.Race(context.Background(), 0, 3); verdict != mcm.Impossible || err != nil {
		t.Errorf("race: %v, error %v", verdict, err)
	}
	early := &mcm.Witness{Order: []int{2, 3, 0}, Last: 2}
	err = w.Replay(early)
	if want := "witness does not replay: record 2 acquires lock 8, which is held"; !errors.Is(err, mcm.ErrReplay) || err.Error() != want {
		t.Errorf("Replay: %v, want %s", err, want)
	}
	if err := w.Replay(&mcm.Witness{Order: []int{0, 1, 2, 3}}); err != nil {
		t.Errorf("Replay of what was observed: %v", err)
	}
}

// TestContext checks that a query ends with its context, and can be repeated.
func TestContext(t *testing.T) {
	records := workload.Hot(workload.Params{Threads: 8, Events: 2000, Seed: 1})
	m, err := mcm.NewModel(mcm.Window{Records: records}, mcm.WithBudget(1<<20, 1<<30))
	if err != nil {
		t.Fatal(err)
	}
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	for i, j := range m.Pairs() {
		if verdict, x, err := m.Race(canceled, i, j); verdict != mcm.Unknown || x != nil || !errors.Is(err, context.Canceled) {
			t.Fatalf("%v, %v, %v", verdict, x, err)
		}
		if verdict, _, err := m.Race(context.Background(), i, j); verdict == mcm.Unknown || err != nil {
			t.Fatalf("again: %v, %v", verdict, err)
		}
		break
	}
	asked, late := 0, 0
	for i, j := range m.Pairs() {
		if j-i < len(records)*3/4 { // far apart, and so expensive
			continue
		}
		if asked++; asked > 20 {
			break
		}
		short, cancel := context.WithTimeout(context.Background(), 2*time.Millisecond)
		start := time.Now()
		verdict, _, err := m.Race(short, i, j)
		cancel()
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("records %d and %d: after %v", i, j, took)
		}
		if err != nil {
			if late++; !errors.Is(err, context.DeadlineExceeded) || verdict != mcm.Unknown {
				t.Errorf("records %d and %d: %v, %v", i, j, verdict, err)
			}
		}
	}
	t.Logf("%d of %d queries were ended", late, asked-1)
}

// TestInvalidQueries checks that invalid queries are errors, and do not impair later queries.
func TestInvalidQueries(t *testing.T) {
	records, _ := parse(t, `T1|w(x) T1|r(x) T2|r(x) T2|w(y) T2|acq(l) T2|rel(l) T1|acq(l) T1|rel(l)`)
	m, err := mcm.NewModel(mcm.Window{Records: records})
	if err != nil {
		t.Fatal(err)
	}
	for i, ask := range []func() (mcm.Verdict, *mcm.Witness, error){
		func() (mcm.Verdict, *mcm.Witness, error) { return m.Race(context.Background(), 0, 1) },
		func() (mcm.Verdict, *mcm.Witness, error) { return m.Race(context.Background(), 1, 2) },
		func() (mcm.Verdict, *mcm.Witness, error) { return m.Race(context.Background(), 0, 3) },
		func() (mcm.Verdict, *mcm.Witness, error) { return m.Race(context.Background(), -1, 2) },
		func() (mcm.Verdict, *mcm.Witness, error) { return m.Race(context.Background(), 0, 8) },
		func() (mcm.Verdict, *mcm.Witness, error) { return m.Deadlock(context.Background(), 4) },
		func() (mcm.Verdict, *mcm.Witness, error) { return m.Deadlock(context.Background(), 4, 6) },
		func() (mcm.Verdict, *mcm.Witness, error) { return m.Deadlock(context.Background(), 4, 99) },
		func() (mcm.Verdict, *mcm.Witness, error) { return m.Between(context.Background(), 0, 2, 1) },
		func() (mcm.Verdict, *mcm.Witness, error) { return m.Between(context.Background(), 0, 3, 1) },
	} {
		if verdict, w, err := ask(); !errors.Is(err, mcm.ErrQuery) || verdict != mcm.Unknown || w != nil {
			t.Errorf("query %d: %v, %v, %v", i, verdict, w, err)
		}
	}
	if verdict, w, err := m.Race(context.Background(), 0, 2); err != nil || verdict != mcm.Possible || fmt.Sprint(w.Order) != "[0 2]" {
		t.Errorf("%v, %v, %v", verdict, w, err)
	}
	if _, err := mcm.NewModel(mcm.Window{Records: records, Index: []uint64{1}}); err == nil {
		t.Error("no error for an index of the wrong length")
	}
}

// TestBudget checks that queries over their budget are unknown, and are counted.
func TestBudget(t *testing.T) {
	records := workload.Hot(workload.Params{Threads: 4, Events: 400, Seed: 1})
	var unknown, found int
	for _, conflicts := range []int{1, 1 << 20} {
		d, err := mcm.NewDetector(mcm.WithBudget(conflicts, 2000*conflicts), mcm.WithOccurrences(3, 300))
		if err != nil {
			t.Fatal(err)
		}
		d.HandleRecords(records)
		if err := d.Flush(); err != nil {
			t.Fatal(err)
		}
		if s := d.Stats(); conflicts == 1 {
			unknown, found = s.Unknown, s.Races
		} else if unknown == 0 || s.Unknown > 0 || s.Races < found {
			t.Errorf("%d unknown, %d races; then %+v", unknown, found, s)
		}
	}
}

// TestHandover checks that a release by another thread orders the accesses before and after it.
func TestHandover(t *testing.T) {
	records, symbols := parse(t, `T0|acq(l) T0|fork(T1) T1|w(a) T1|rel(l) T0|acq(l) T0|r(a)`)
	if found := predict(t, symbols, records); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}

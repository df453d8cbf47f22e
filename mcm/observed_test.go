package mcm_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/mcm"
	"github.com/heisen-go/heisen/vclock"
)

// TestFirstObservedRace checks that the first happens-before race of each stream is possible. No race
// comes before it, so all events before one of its accesses can happen as observed. The streams have
// no allocations: the model keeps the order of allocation epochs, and happens-before does not.
func TestFirstObservedRace(t *testing.T) {
	races := 0
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 9))
		records := workload.Random(rng, workload.Small{
			Threads: 2 + rng.IntN(4), Events: 10 + rng.IntN(60), Vars: 1 + rng.IntN(6), Syncs: 1 + rng.IntN(4),
			Ranges: rng.IntN(2) == 0, Nested: rng.IntN(3) == 0,
		})
		distinguish(records)
		f, ok := firstRace(t, records)
		if !ok {
			continue
		}
		races++
		m, err := mcm.NewModel(mcm.Window{Records: records})
		if err != nil {
			t.Fatal(err)
		}
		// Only the second access has an index in the stream, but each record has a site of its own.
		i, j := int(f.Accesses[0].Site)-1, int(f.Accesses[1].Site)-1
		mustBePossible(t, seed, m, records, i, j)
	}
	if races < 1000 {
		t.Errorf("%d races", races)
	}
}

// mustBePossible ends the test unless two records that race by happens-before race in the model.
func mustBePossible(t *testing.T, seed uint64, m *mcm.Model, records []heisen.Record, i, j int) {
	t.Helper()
	verdict, _, err := m.Race(context.Background(), i, j)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if verdict != mcm.Possible {
		for k, r := range records {
			t.Logf("%2d T%d %v(%d,%d) %d", k, r.Thread, r.Op, r.Object, r.Len, r.Value)
		}
		t.Fatalf("seed %d: records %d and %d race by happens-before, and the verdict is %v", seed, i, j, verdict)
	}
}

// TestObservedRaces checks that each happens-before race of a window is a race of the model, if the
// events that happen before its accesses include the observed writes of all reads among them. So a
// read of another write is the only reason why the model lacks a happens-before race. This holds with
// and without BarrierPairs.
func TestObservedRaces(t *testing.T) {
	races, missing, withPairs := 0, 0, 0
	for seed := range uint64(4000) {
		rng := rand.New(rand.NewPCG(seed, 11))
		shape := workload.Small{
			Threads: 2 + rng.IntN(4), Events: 10 + rng.IntN(50), Vars: 1 + rng.IntN(6), Syncs: 1 + rng.IntN(4),
			Nested: rng.IntN(3) == 0,
		}
		if seed%4 > 0 {
			shape.Hidden = distinct(workload.Sets(rng, shape, 1+rng.IntN(6), false))
		}
		records := workload.Random(rng, shape)
		distinguish(records)
		m, err := mcm.NewModel(mcm.Window{Records: records}, mcm.WithSymbols(shape.Hidden))
		if err != nil {
			t.Fatal(err)
		}
		before := happensBefore(records, shape.Hidden)
		for j := range records {
			for i := range j {
				a, b := &records[i], &records[j]
				if a.Thread == b.Thread || a.Object != b.Object || !a.Op.Conflicts(b.Op) || before[j][i] {
					continue
				}
				past := func(k int) bool { return before[i][k] || before[j][k] }
				if !showsReads(records[:j], past) {
					missing++
					continue
				}
				races++
				if shape.Hidden != nil {
					withPairs++
				}
				mustBePossible(t, seed, m, records, i, j)
			}
		}
	}
	t.Logf("%d races, of them %d with BarrierPairs; %d more have a read in the way", races, withPairs, missing)
	if withPairs < 1000 || races-withPairs < 1000 || missing < 1000 {
		t.Error("too few races")
	}
}

// reasons are the reasons why the model lacks a race that happens-before has in the same window. In the
// trace with, the reason applies; without is the same trace without it.
var reasons = []struct {
	name          string
	with, without string
	race          string // the race that is missing, as a pair of events
	others        string // a race that is not missing
}{
	{
		// T2 writes after it has read what T1 wrote. The first race on a variable is never missing.
		name:    "a read between",
		with:    "T1|hide(a)=o(x) T1|reveal(a) T1|w(v) T2|hide(b)=o(y) T2|reveal(b) T2|r(v) T2|w(v)",
		without: "T1|hide(a)=o(x) T1|reveal(a) T1|w(v) T2|hide(b)=o(y) T2|reveal(b) T2|r(u) T2|w(v)",
		race:    "3-7", others: "3-6",
	},
	{
		name:    "a state that a thread has observed, such as the elements of a channel",
		with:    "T1|w(v) T1|change(c) T1|hide(a)=o(x) T1|reveal(a) T2|observe(c) T2|w(v)",
		without: "T1|w(v) T1|change(c) T1|hide(a)=o(x) T1|reveal(a) T2|observe(d) T2|w(v)",
		race:    "1-6",
	},
	{
		name:    "an allocation",
		with:    "T1|w(v) T1|alloc(u,8) T1|hide(a)=o(x) T1|reveal(a) T2|w(u) T2|w(v)",
		without: "T1|w(v) T1|alloc(u,8) T1|hide(a)=o(x) T1|reveal(a) T2|w(y) T2|w(v)",
		race:    "1-6",
	},
	{
		name:    "an object that is used in two ways",
		with:    "T1|w(v) T1|recv(o) T1|hide(a)=o(x) T1|reveal(a) T2|ar(o) T2|w(v)",
		without: "T1|w(v) T1|recv(o) T1|hide(a)=o(x) T1|reveal(a) T2|ar(p) T2|w(v)",
		race:    "1-6",
	},
}

func TestReasons(t *testing.T) {
	for _, r := range reasons {
		t.Run(r.name, func(t *testing.T) {
			for text, lost := range map[string]bool{r.with: true, r.without: false} {
				records, symbols := parse(t, text)
				observed := sites(symbols, observe(t, symbols, records))
				if !slices.Contains(observed, r.race) {
					t.Errorf("%s: happens-before races %v, without %s", text, observed, r.race)
				}
				predicted := sites(symbols, predict(t, symbols, records))
				if slices.Contains(predicted, r.race) == lost {
					t.Errorf("%s: %v predicted", text, predicted)
				}
				if lost && r.others != "" && !slices.Contains(predicted, r.others) {
					t.Errorf("%s: %v predicted, without %s", text, predicted, r.others)
				}
			}
		})
	}

	// ControlFlow shows whether T2 also writes after it has read another value.
	for text, want := range map[string][]string{
		reasons[0].with: {"3-6", "3-7"},
		strings.Replace(reasons[0].with, "T2|w(v)", "T2|branch T2|w(v)", 1): {"3-6"},
	} {
		records, symbols := parse(t, text)
		if got := sites(symbols, predict(t, symbols, records, mcm.WithControlFlow())); !slices.Equal(got, want) {
			t.Errorf("%s, with control flow: %v predicted, want %v", text, got, want)
		}
	}

	// Happens-before has no windows.
	apart := "T1|w(v) T1|hide(a)=o(x) T1|reveal(a) T2|hide(b)=o(y) T2|reveal(b) T2|w(v)"
	records, symbols := parse(t, apart)
	if got := sites(symbols, observe(t, symbols, records)); !slices.Equal(got, []string{"1-6"}) {
		t.Errorf("%s: happens-before races %v", apart, got)
	}
	for window, want := range map[int][]string{5: nil, 6: {"1-6"}} {
		if got := sites(symbols, predict(t, symbols, records, mcm.WithWindows(window, window-1))); !slices.Equal(got, want) {
			t.Errorf("%s, windows of %d: %v predicted, want %v", apart, window, got, want)
		}
	}
}

// observe returns the happens-before races, with BarrierPairs.
func observe(t *testing.T, symbols *heisen.Symbols, records []heisen.Record) (found []heisen.Finding) {
	t.Helper()
	d := must.Make(vclock.NewHappensBefore(vclock.WithSink(func(f heisen.Finding) { found = append(found, f) }), vclock.WithBarrierPairs(symbols)))
	if _, err := heisen.Run(t.Context(), heisen.Slice(records), d); err != nil {
		t.Fatal(err)
	}
	return found
}

// distinguish gives messages and locks objects of their own. An object that is used in several ways
// keeps the order of its events in the model, and not in happens-before.
func distinguish(records []heisen.Record) {
	for k := range records {
		switch r := &records[k]; r.Op {
		case heisen.Send, heisen.Receive:
			r.Object |= 1 << 50
		case heisen.Acquire, heisen.Release, heisen.AcquireShared, heisen.ReleaseShared:
			r.Object |= 1 << 51
		case heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate: // atomic variables do not overlap in part
			r.Len = 0
		}
	}
}

// distinct adds the objects that distinguish makes to the reaches of hidden code.
func distinct(sets *heisen.Symbols) *heisen.Symbols {
	more := heisen.NewSymbols()
	for n := 1; n < sets.NumReaches(); n++ {
		var spans []heisen.Span
		for _, s := range sets.Reach(heisen.Reach(n)) {
			spans = append(spans, s)
			if _, ok := s.Start.AsThread(); !ok {
				spans = append(spans, heisen.Span{Start: s.Start | 1<<50, Len: s.Len}, heisen.Span{Start: s.Start | 1<<51, Len: s.Len})
			}
		}
		more.AddReach(heisen.NewObjects(spans...))
	}
	return more
}

// happensBefore returns, by record, which records happen before it.
func happensBefore(records []heisen.Record, hidden *heisen.Symbols) (before [][]bool) {
	var options []vclock.Option
	if hidden != nil {
		options = append(options, vclock.WithBarrierPairs(hidden))
	}
	o := must.Make(vclock.NewOrder(options...))
	var at []vclock.Epoch
	for i := range records {
		r := &records[i]
		o.Observe(r)
		list := make([]bool, len(records))
		for k, e := range at {
			list[k] = o.Before(e, r.Thread)
		}
		before = append(before, list)
		at = append(at, o.Access(r.Thread))
		o.Publish(r)
	}
	return before
}

// showsReads reports whether the reads among the records for which in returns true see the observed
// writes if only these records are executed.
func showsReads(records []heisen.Record, in func(int) bool) bool {
	last := map[heisen.Object]int{}
	for i := range records {
		r := &records[i]
		if !r.Op.IsAccess() {
			continue
		}
		if k, ok := last[r.Object]; ok && in(i) && r.Op != heisen.Write && r.Op != heisen.AtomicWrite && !in(k) {
			return false
		}
		if r.Op.IsWrite() {
			last[r.Object] = i
		}
	}
	return true
}

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

// TestFirstObservedRace: of each stream the first race of the observed order is
// possible: nothing races before it, so that all that comes before one of its
// accesses can happen as it did. (Not so where memory changes hands: the order of lives
// is kept, which is more than happens-before.)
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
		// The reference numbers the later access only; sites are unlike each other.
		i, j := int(f.Accesses[0].Site)-1, int(f.Accesses[1].Site)-1
		mustBePossible(t, seed, m, records, i, j)
	}
	if races < 1000 {
		t.Errorf("%d races", races)
	}
}

// mustBePossible ends the test if two records that race in the observed order don't race in
// its model.
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
		t.Fatalf("seed %d: records %d and %d race in the observed order, and it is %v", seed, i, j, verdict)
	}
}

// TestObservedRaces: two accesses that happens-before does not order, with BarrierPairs or
// without, are a race of the model, too, if what happens before them, and nothing else,
// shows their reads what they saw. There is no other reason why happens-before should have
// a race of a window that the model has not.
func TestObservedRaces(t *testing.T) {
	races, lost, paired := 0, 0, 0
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
					lost++
					continue
				}
				races++
				if shape.Hidden != nil {
					paired++
				}
				mustBePossible(t, seed, m, records, i, j)
			}
		}
	}
	t.Logf("%d races, of them %d with BarrierPairs; of %d more a read is in the way", races, paired, lost)
	if paired < 1000 || races-paired < 1000 || lost < 1000 {
		t.Error("that says little")
	}
}

// What happens-before has of a window with BarrierPairs and the model has not, reason by
// reason: with is where it is in the way, without the same without it.
var reasons = []struct {
	name          string
	with, without string
	race          string // that is lost, as pairs of events
	others        string // that is found all the same
}{
	{
		// T2 writes after it has read what T1 wrote. The first race of a variable is never lost.
		name:    "a read between",
		with:    "T1|hide(a)=o(x) T1|reveal(a) T1|w(v) T2|hide(b)=o(y) T2|reveal(b) T2|r(v) T2|w(v)",
		without: "T1|hide(a)=o(x) T1|reveal(a) T1|w(v) T2|hide(b)=o(y) T2|reveal(b) T2|r(u) T2|w(v)",
		race:    "3-7", others: "3-6",
	},
	{
		name:    "what a thread learns of a state, such as which elements a channel has",
		with:    "T1|w(v) T1|change(c) T1|hide(a)=o(x) T1|reveal(a) T2|observe(c) T2|w(v)",
		without: "T1|w(v) T1|change(c) T1|hide(a)=o(x) T1|reveal(a) T2|observe(d) T2|w(v)",
		race:    "1-6",
	},
	{
		name:    "the life of an object",
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
					t.Errorf("%s: happens-before has %v, not %s", text, observed, r.race)
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

	// With control flow it is known whether T2 would write after it had read something else.
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
		t.Errorf("%s: happens-before has %v", apart, got)
	}
	for window, want := range map[int][]string{5: nil, 6: {"1-6"}} {
		if got := sites(symbols, predict(t, symbols, records, mcm.WithWindows(window, window-1))); !slices.Equal(got, want) {
			t.Errorf("%s, windows of %d: %v predicted, want %v", apart, window, got, want)
		}
	}
}

// observe returns the races of happens-before with BarrierPairs.
func observe(t *testing.T, symbols *heisen.Symbols, records []heisen.Record) (found []heisen.Finding) {
	t.Helper()
	d := must.Make(vclock.NewHappensBefore(vclock.WithSink(func(f heisen.Finding) { found = append(found, f) }), vclock.WithBarrierPairs(symbols)))
	if _, err := heisen.Run(t.Context(), heisen.Slice(records), d); err != nil {
		t.Fatal(err)
	}
	return found
}

// distinguish gives messages and locks objects that nothing else has: what is used in
// several ways keeps its order, which is more than happens-before.
func distinguish(records []heisen.Record) {
	for k := range records {
		switch r := &records[k]; r.Op {
		case heisen.Send, heisen.Receive:
			r.Object |= 1 << 50
		case heisen.Acquire, heisen.Release, heisen.AcquireShared, heisen.ReleaseShared:
			r.Object |= 1 << 51
		case heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate: // that overlap have one address
			r.Len = 0
		}
	}
}

// distinct adds these objects to sets.
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

// happensBefore returns for each record which ones happen before it.
func happensBefore(records []heisen.Record, hidden *heisen.Symbols) (before [][]bool) {
	var options []vclock.OrderOption
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

// showsReads reports whether the reads among some of the records see the same writes
// without the others.
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

package atomicity_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomicity"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/internal/testaid/tier"
)

// reductionFindings returns what Reduction reports about a trace.
func reductionFindings(t testing.TB, records []heisen.Record, opts ...atomicity.Option) (violations, deadlocks []heisen.Finding) {
	t.Helper()
	sink := atomicity.WithSink(func(f heisen.Finding) {
		if f.Kind == heisen.Deadlock {
			deadlocks = append(deadlocks, f)
		} else {
			violations = append(violations, f)
		}
	})
	d := must.Make(atomicity.NewReduction(append(opts, sink)...))
	d.HandleRecords(records)
	if err := d.Flush(); err != nil {
		t.Fatal(err)
	}
	if int(d.Violations()) != len(violations) || int(d.Deadlocks()) != len(deadlocks) {
		t.Fatalf("%d and %d findings, counted %d and %d", len(violations), len(deadlocks), d.Violations(), d.Deadlocks())
	}
	return violations, deadlocks
}

// breaksPattern is the definition: it reports which transactions have a right-mover or non-mover after
// a left-mover or non-mover. An access is a non-mover if an access of another transaction conflicts with
// it and no lock excludes them.
func breaksPattern(transactions [][]heisen.Record) (broken []int) {
	type held map[heisen.Object]bool // true if for reading
	locksAt := func(txn []heisen.Record, at int) held {
		h := held{}
		for _, r := range txn[:at] {
			switch r.Op {
			case heisen.Acquire, heisen.AcquireShared:
				h[r.Object] = r.Op == heisen.AcquireShared
			case heisen.Release, heisen.ReleaseShared:
				delete(h, r.Object)
			}
		}
		return h
	}
	races := func(i, at int) bool {
		a := transactions[i][at]
		for j, txn := range transactions {
			for k, b := range txn {
				if j == i || !b.Op.IsAccess() || b.Object != a.Object || !a.Op.IsWrite() && !b.Op.IsWrite() {
					continue
				}
				excluded := false
				other := locksAt(txn, k)
				for lock, shared := range locksAt(transactions[i], at) {
					if alsoShared, both := other[lock]; both && !(shared && alsoShared) {
						excluded = true
					}
				}
				if !excluded {
					return true
				}
			}
		}
		return false
	}
	for i, txn := range transactions {
		committed := false
		for at, r := range txn {
			moves := map[heisen.Op]string{
				heisen.Acquire: "right", heisen.AcquireShared: "right", heisen.Release: "left", heisen.ReleaseShared: "left",
			}[r.Op]
			if r.Op.IsAccess() && races(i, at) {
				moves = "not"
			}
			if committed && (moves == "right" || moves == "not") {
				broken = append(broken, i)
				break
			}
			committed = committed || moves == "left" || moves == "not"
		}
	}
	return broken
}

// TestReductionRandom compares Reduction with the definition, and with all interleavings: if it reports
// nothing, all of them are serializable and none deadlocks.
func TestReductionRandom(t *testing.T) {
	trials := tier.Pick(1000, 6000)
	accepted, reported, needless := 0, 0, 0
	for seed := range trials {
		rnd := rand.New(rand.NewPCG(uint64(seed), 5))
		ordered := seed%3 != 0
		transactions := [][]heisen.Record{
			randomTransaction(rnd, 1, 1+rnd.IntN(5), ordered), randomTransaction(rnd, 2, 1+rnd.IntN(4), ordered),
		}
		if seed%2 == 0 {
			transactions[0] = randomTransaction(rnd, 1, 1+rnd.IntN(3), ordered)
			transactions[1] = randomTransaction(rnd, 2, 1+rnd.IntN(2), ordered)
			transactions = append(transactions, randomTransaction(rnd, 3, 1+rnd.IntN(2), ordered))
		}
		trace := serially(transactions)
		violations, deadlocks := reductionFindings(t, trace)
		var got []int
		for _, f := range violations {
			i := int(f.Accesses[len(f.Accesses)-1].Thread) - 1
			if last := f.Accesses[len(f.Accesses)-1]; last.Thread != f.Accesses[0].Thread {
				i = int(f.Accesses[0].Thread) - 1 // the last one is that of a potential race
			}
			got = append(got, i)
		}
		slices.Sort(got)
		got = slices.Compact(got)
		var want []int
		for _, i := range breaksPattern(transactions) {
			if len(transactions[i]) > 1 { // others are not marked
				want = append(want, i)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: transactions %v are reported, want %v\n%v\n%s", seed, got, want, violations, lines(trace))
		}
		unserializable, stuck := canBeUnserializable(transactions)
		switch {
		case len(violations)+len(deadlocks) == 0:
			accepted++
			if unserializable || stuck {
				t.Fatalf("seed %d: nothing is reported, but an interleaving is unserializable: %v, or deadlocks: %v\n%s",
					seed, unserializable, stuck, lines(trace))
			}
		default:
			reported++
			if !unserializable && !stuck {
				needless++
			}
		}
	}
	t.Logf("%d sets are accepted, %d reported, of which %d are atomic", accepted, reported, needless)
	if min(accepted, reported) < trials/10 {
		t.Errorf("%d sets are accepted and %d reported: too few of one sort", accepted, reported)
	}
}

// TestReductionLate: a potential race that is found after the transactions have ended counts for them.
func TestReductionLate(t *testing.T) {
	const x = 64
	trace := []heisen.Record{
		{Thread: 1, Op: heisen.Enter, Site: 1},
		{Thread: 1, Op: heisen.Read, Object: x, Site: 2},
		{Thread: 1, Op: heisen.Write, Object: x, Site: 3},
		{Thread: 1, Op: heisen.Exit, Site: 4},
	}
	if v, _ := reductionFindings(t, trace); len(v) > 0 {
		t.Fatalf("of one thread: %v", v)
	}
	trace = append(trace, heisen.Record{Thread: 2, Op: heisen.Write, Object: x, Site: 5})
	v, _ := reductionFindings(t, trace)
	if len(v) != 1 {
		t.Fatalf("%d violations: %v", len(v), v)
	}
	var sites []heisen.Site
	for _, a := range v[0].Accesses {
		sites = append(sites, a.Site)
	}
	if want := []heisen.Site{1, 2, 5, 3, 5}; !slices.Equal(sites, want) {
		t.Errorf("sites %v, want %v", sites, want)
	}
}

// TestReductionOthers: behind a non-mover stands an access of another thread, as it was in the stream.
func TestReductionOthers(t *testing.T) {
	const x, y = 64, 72
	enter, exit := heisen.Record{Op: heisen.Enter, Site: 1}, heisen.Record{Op: heisen.Exit, Site: 4}
	of := func(thread heisen.Thread, r heisen.Record) heisen.Record { r.Thread = thread; return r }
	read, write := heisen.Record{Op: heisen.Read, Object: x, Site: 2}, heisen.Record{Op: heisen.Write, Object: y, Site: 3}
	for name, test := range map[string]struct {
		trace []heisen.Record
		ops   []heisen.Op // of other threads, in the first finding
	}{
		"atomic, outside of transactions": {[]heisen.Record{
			of(1, enter), of(1, read), of(1, write), of(1, exit),
			{Thread: 2, Op: heisen.AtomicUpdate, Object: x, Site: 5}, {Thread: 2, Op: heisen.AtomicWrite, Object: y, Site: 6},
		}, []heisen.Op{heisen.AtomicUpdate, heisen.AtomicWrite}},
		"at the same place": {[]heisen.Record{
			{Thread: 1, Op: heisen.Write, Object: x, Site: 3},
			of(2, enter), {Thread: 2, Op: heisen.Write, Object: x, Site: 3}, {Thread: 2, Op: heisen.Write, Object: x, Site: 3}, of(2, exit),
		}, []heisen.Op{heisen.Write, heisen.Write}},
		"at the same place, in the thread that came first": {[]heisen.Record{
			of(1, enter), {Thread: 1, Op: heisen.Write, Object: x, Site: 3}, {Thread: 1, Op: heisen.Write, Object: x, Site: 3}, of(1, exit),
			{Thread: 2, Op: heisen.Write, Object: x, Site: 3},
		}, []heisen.Op{heisen.Write, heisen.Write}},
		"at two places, of which the thread has made both": {[]heisen.Record{
			{Thread: 1, Op: heisen.Write, Object: x, Site: 3}, {Thread: 2, Op: heisen.Write, Object: x, Site: 2},
			of(2, enter), {Thread: 2, Op: heisen.Write, Object: y, Site: 3}, {Thread: 2, Op: heisen.Write, Object: y, Site: 3}, of(2, exit),
		}, nil},
		"at two places, and a third one in another thread": {[]heisen.Record{
			{Thread: 1, Op: heisen.Write, Object: x, Site: 3}, {Thread: 2, Op: heisen.Write, Object: x, Site: 2},
			{Thread: 3, Op: heisen.Write, Object: x, Site: 5},
			of(2, enter), {Thread: 2, Op: heisen.Write, Object: y, Site: 3}, {Thread: 2, Op: heisen.Write, Object: y, Site: 3}, of(2, exit),
		}, []heisen.Op{heisen.Write, heisen.Write}},
	} {
		v, _ := reductionFindings(t, test.trace)
		if len(v) == 0 {
			t.Errorf("%s: nothing found", name)
			continue
		}
		var ops []heisen.Op
		for _, a := range v[0].Accesses {
			if a.Thread != v[0].Accesses[0].Thread {
				ops = append(ops, a.Op)
			}
		}
		if !slices.Equal(ops, test.ops) {
			t.Errorf("%s: other threads' accesses are %v, want %v: %+v", name, ops, test.ops, v[0].Accesses)
		}
	}
}

// TestReductionMessages: what comes before a Receive moves right, and what comes after a Send left.
func TestReductionMessages(t *testing.T) {
	const c, d, x = 64, 72, 128
	enter, exit := heisen.Record{Thread: 1, Op: heisen.Enter}, heisen.Record{Thread: 1, Op: heisen.Exit}
	rec := func(op heisen.Op, o heisen.Object, site heisen.Site) heisen.Record {
		return heisen.Record{Thread: 1, Op: op, Object: o, Site: site}
	}
	for name, test := range map[string]struct {
		inside []heisen.Record
		broken bool
	}{
		"receive, send":     {[]heisen.Record{rec(heisen.Receive, c, 1), rec(heisen.Write, x, 2), rec(heisen.Send, d, 3)}, false},
		"send, receive":     {[]heisen.Record{rec(heisen.Send, d, 1), rec(heisen.Receive, c, 2)}, true},
		"fork, join":        {[]heisen.Record{rec(heisen.Fork, 5, 1), rec(heisen.Join, 5, 2)}, true},
		"release, acquire":  {[]heisen.Record{rec(heisen.Acquire, c, 1), rec(heisen.Release, c, 2), rec(heisen.Acquire, c, 3), rec(heisen.Release, c, 4)}, true},
		"nested acquires":   {[]heisen.Record{rec(heisen.Acquire, c, 1), rec(heisen.Acquire, d, 2), rec(heisen.Release, d, 3), rec(heisen.Release, c, 4)}, false},
		"local accesses":    {[]heisen.Record{rec(heisen.Write, x, 1), rec(heisen.Read, x, 2), rec(heisen.Write, x, 1)}, false},
		"releases in turn":  {[]heisen.Record{rec(heisen.AcquireShared, c, 1), rec(heisen.ReleaseShared, c, 2), rec(heisen.AcquireShared, c, 1), rec(heisen.ReleaseShared, c, 2)}, true},
		"only left-movers":  {[]heisen.Record{rec(heisen.Send, c, 1), rec(heisen.Send, d, 2), rec(heisen.Send, c, 1)}, false},
		"only right-movers": {[]heisen.Record{rec(heisen.Receive, c, 1), rec(heisen.Receive, d, 2), rec(heisen.Receive, c, 1)}, false},
	} {
		trace := slices.Concat([]heisen.Record{enter}, test.inside, []heisen.Record{exit})
		if v, _ := reductionFindings(t, trace); (len(v) > 0) != test.broken {
			t.Errorf("%s: %d violations: %v", name, len(v), v)
		}
	}
}

// TestReductionSteady: repeated transactions take no memory, and are reported once.
func TestReductionSteady(t *testing.T) {
	const x, mu = 64, 1024
	var batch []heisen.Record
	for thread := heisen.Thread(1); thread < 3; thread++ {
		batch = append(batch,
			heisen.Record{Thread: thread, Op: heisen.Enter, Site: 1},
			heisen.Record{Thread: thread, Op: heisen.Acquire, Object: mu, Site: 2},
			heisen.Record{Thread: thread, Op: heisen.Read, Object: x, Site: 3},
			heisen.Record{Thread: thread, Op: heisen.Release, Object: mu, Site: 4},
			heisen.Record{Thread: thread, Op: heisen.Acquire, Object: mu, Site: 5},
			heisen.Record{Thread: thread, Op: heisen.Write, Object: x, Site: 6},
			heisen.Record{Thread: thread, Op: heisen.Release, Object: mu, Site: 7},
			heisen.Record{Thread: thread, Op: heisen.Exit, Site: 8})
	}
	batch = append(batch,
		heisen.Record{Thread: 1, Op: heisen.Acquire, Object: mu, Site: 9},
		heisen.Record{Thread: 1, Op: heisen.Read, Object: x, Site: 10},
		heisen.Record{Thread: 1, Op: heisen.Release, Object: mu, Site: 11})
	d := must.Make(atomicity.NewReduction())
	for range 100 {
		d.HandleRecords(batch)
	}
	if allocs := testing.AllocsPerRun(100, func() { d.HandleRecords(batch) }); allocs > 0 {
		t.Errorf("%v allocations for %d events", allocs, len(batch))
	}
	if err := d.Flush(); err != nil || d.Violations() != 1 {
		t.Errorf("%d violations, %v", d.Violations(), err)
	}
}

func TestReductionMisuse(t *testing.T) {
	var zero atomicity.Reduction
	zero.HandleRecords([]heisen.Record{{Op: heisen.Read, Object: 64}})
	if err := zero.Flush(); err != nil {
		t.Error(err)
	}
	if _, err := atomicity.NewReduction(nil); !errors.Is(err, heisen.ErrOption) {
		t.Error(err)
	}
}

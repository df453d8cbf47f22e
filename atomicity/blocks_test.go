package atomicity_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomicity"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/internal/testaid/tier"
)

// blockFindings returns the violations and potential deadlocks that Blocks reports about a trace.
func blockFindings(t testing.TB, records []heisen.Record, opts ...atomicity.Option) (violations, deadlocks []heisen.Finding) {
	t.Helper()
	sink := atomicity.WithSink(func(f heisen.Finding) {
		if f.Kind == heisen.Deadlock {
			deadlocks = append(deadlocks, f)
		} else {
			violations = append(violations, f)
		}
	})
	d := must.Make(atomicity.NewBlocks(append(opts, sink)...))
	d.HandleRecords(records)
	if err := d.Flush(); err != nil {
		t.Fatal(err)
	}
	if int(d.Violations()) != len(violations) || int(d.Deadlocks()) != len(deadlocks) {
		t.Fatalf("%d and %d findings, counted %d and %d", len(violations), len(deadlocks), d.Violations(), d.Deadlocks())
	}
	return violations, deadlocks
}

// view is what decides about view-equivalence: the write that each read sees, and the last write of
// each variable.
type view map[string]string

// interleavings calls visit with the view of every complete interleaving of the transactions that is
// consistent with the locks. stuck tells whether one deadlocks.
func allInterleavings(transactions [][]heisen.Record, visit func(view)) (stuck bool) {
	next := make([]int, len(transactions))
	var order [][2]int
	var step func()
	step = func() {
		moved, done := false, true
		for i, txn := range transactions {
			if next[i] == len(txn) {
				continue
			}
			done = false
			if !canAcquire(transactions, next, i, &txn[next[i]]) {
				continue
			}
			moved = true
			order = append(order, [2]int{i, next[i]})
			next[i]++
			step()
			next[i]--
			order = order[:len(order)-1]
		}
		switch {
		case done:
			visit(viewOf(transactions, order))
		case !moved:
			stuck = true
		}
	}
	step()
	return stuck
}

// canAcquire reports whether the others hold no lock that keeps transaction i from r.
func canAcquire(transactions [][]heisen.Record, next []int, i int, r *heisen.Record) bool {
	if r.Op != heisen.Acquire && r.Op != heisen.AcquireShared {
		return true
	}
	for j, txn := range transactions {
		writers, readers := 0, 0
		for k := range next[j] {
			if txn[k].Object == r.Object {
				switch txn[k].Op {
				case heisen.Acquire:
					writers++
				case heisen.Release:
					writers--
				case heisen.AcquireShared:
					readers++
				case heisen.ReleaseShared:
					readers--
				}
			}
		}
		if j != i && (writers > 0 || readers > 0 && r.Op == heisen.Acquire) {
			return false
		}
	}
	return true
}

func viewOf(transactions [][]heisen.Record, order [][2]int) view {
	v := view{}
	last := map[heisen.Object]string{}
	for _, at := range order {
		r := &transactions[at[0]][at[1]]
		if !r.Op.IsAccess() {
			continue
		}
		name := fmt.Sprint(at)
		if r.Op == heisen.Read || r.Op == heisen.AtomicUpdate {
			v[name] = last[r.Object]
		}
		if r.Op.IsWrite() {
			last[r.Object] = name
		}
	}
	for o, w := range last {
		v[fmt.Sprint("last of ", o)] = w
	}
	return v
}

// canBeUnserializable reports whether an interleaving is not view-equivalent to a serial one.
func canBeUnserializable(transactions [][]heisen.Record) (unserializable, stuck bool) {
	var serial []view
	permute(len(transactions), func(p []int) {
		var order [][2]int
		for _, i := range p {
			for k := range transactions[i] {
				order = append(order, [2]int{i, k})
			}
		}
		serial = append(serial, viewOf(transactions, order))
	})
	stuck = allInterleavings(transactions, func(v view) {
		unserializable = unserializable || !slices.ContainsFunc(serial, func(s view) bool { return maps.Equal(s, v) })
	})
	return unserializable, stuck
}

func permute(n int, visit func([]int)) {
	p := make([]int, 0, n)
	var step func()
	step = func() {
		if len(p) == n {
			visit(p)
			return
		}
		for i := range n {
			if !slices.Contains(p, i) {
				p = append(p, i)
				step()
				p = p[:len(p)-1]
			}
		}
	}
	step()
}

// randomTransaction returns up to n events: accesses to three variables in nested critical sections of
// three locks, which are taken in ascending order if ordered.
func randomTransaction(rnd *rand.Rand, t, n int, ordered bool) (txn []heisen.Record) {
	add := func(op heisen.Op, o heisen.Object) {
		txn = append(txn, heisen.Record{Thread: heisen.Thread(t), Op: op, Object: o, Site: heisen.Site(100*t + len(txn))})
	}
	var held []heisen.Record
	release := func() {
		h := held[len(held)-1]
		held = held[:len(held)-1]
		if h.Op == heisen.Acquire {
			add(heisen.Release, h.Object)
		} else {
			add(heisen.ReleaseShared, h.Object)
		}
	}
	for len(txn)+len(held) < n {
		k := rnd.IntN(12)
		if !ordered && rnd.IntN(2) == 0 {
			k = 9 // so that there are deadlocks
		}
		switch {
		case k < 5:
			add(heisen.Read, heisen.Object(64+8*rnd.IntN(3)))
		case k < 8:
			add(heisen.Write, heisen.Object(64+8*rnd.IntN(3)))
		case k < 9:
			add(heisen.AtomicUpdate, heisen.Object(64+8*rnd.IntN(3)))
		case k < 11 && len(txn)+len(held)+3 <= n:
			l := heisen.Object(1024 + 64*rnd.IntN(3))
			if slices.ContainsFunc(held, func(h heisen.Record) bool { return h.Object == l || ordered && h.Object > l }) {
				continue
			}
			op := heisen.Acquire
			if rnd.IntN(4) == 0 {
				op = heisen.AcquireShared
			}
			add(op, l)
			held = append(held, txn[len(txn)-1])
		case len(held) > 0:
			release()
		}
	}
	for len(held) > 0 {
		release()
	}
	return txn
}

// serially returns a trace in which the transactions come one after the other. A transaction of one
// event is not marked.
func serially(transactions [][]heisen.Record) (trace []heisen.Record) {
	for _, txn := range transactions {
		if len(txn) == 1 {
			trace = append(trace, txn[0])
			continue
		}
		trace = append(trace, heisen.Record{Thread: txn[0].Thread, Op: heisen.Enter})
		trace = append(trace, txn...)
		trace = append(trace, heisen.Record{Thread: txn[0].Thread, Op: heisen.Exit})
	}
	return trace
}

// TestBlocksOfTwo compares Blocks with all interleavings of two transactions: without potential
// deadlock, it reports a violation if and only if an interleaving is not serializable.
func TestBlocksOfTwo(t *testing.T) {
	trials := tier.Pick(800, 4000)
	count := map[bool]int{}
	for seed := range trials {
		rnd := rand.New(rand.NewPCG(uint64(seed), 2))
		transactions := [][]heisen.Record{
			randomTransaction(rnd, 1, 1+rnd.IntN(5), true), randomTransaction(rnd, 2, 1+rnd.IntN(5), true),
		}
		want, stuck := canBeUnserializable(transactions)
		violations, deadlocks := blockFindings(t, serially(transactions))
		if stuck || len(deadlocks) > 0 {
			t.Fatalf("seed %d: a deadlock although the locks are ordered", seed)
		}
		if got := len(violations) > 0; got != want {
			t.Fatalf("seed %d: %d violations, but an interleaving is unserializable: %v\n%v\n%s", seed, len(violations), want, violations, lines(serially(transactions)))
		}
		count[want]++
	}
	t.Log(count)
	if min(count[true], count[false]) < trials/10 {
		t.Errorf("%d sets with and %d without violations: too few of one sort", count[true], count[false])
	}
}

// TestBlocksOfThree compares Blocks with all interleavings of three transactions, of at most eight
// events: it reports the violations of pairs, and each of them is one of all three.
func TestBlocksOfThree(t *testing.T) {
	trials := tier.Pick(200, 1000)
	missed := 0
	for seed := range trials {
		rnd := rand.New(rand.NewPCG(uint64(seed), 3))
		transactions := [][]heisen.Record{
			randomTransaction(rnd, 1, 1+rnd.IntN(3), true), randomTransaction(rnd, 2, 1+rnd.IntN(3), true), randomTransaction(rnd, 3, 1+rnd.IntN(2), true),
		}
		want := false
		for i, u := range transactions {
			for _, v := range transactions[i+1:] {
				pair, _ := canBeUnserializable([][]heisen.Record{u, v})
				want = want || pair
			}
		}
		violations, _ := blockFindings(t, serially(transactions))
		if got := len(violations) > 0; got != want {
			t.Fatalf("seed %d: %d violations, but a pair is unserializable: %v\n%s", seed, len(violations), want, lines(serially(transactions)))
		}
		all, _ := canBeUnserializable(transactions)
		if want && !all {
			t.Fatalf("seed %d: a violation of two transactions and none of three\n%s", seed, lines(serially(transactions)))
		}
		if all && !want {
			missed++
		}
	}
	t.Logf("%d of %d sets have violations that take three transactions", missed, trials)
}

// TestBlocksWithDeadlocks: if locks are taken in any order, no unserializable interleaving and no
// deadlock is missed.
func TestBlocksWithDeadlocks(t *testing.T) {
	trials := tier.Pick(300, 800)
	count := 0
	for seed := range trials {
		rnd := rand.New(rand.NewPCG(uint64(seed), 4))
		transactions := [][]heisen.Record{
			randomTransaction(rnd, 1, 5+rnd.IntN(2), false), randomTransaction(rnd, 2, 5+rnd.IntN(2), false),
		}
		want, stuck := canBeUnserializable(transactions)
		violations, deadlocks := blockFindings(t, serially(transactions))
		if want && len(violations) == 0 {
			t.Fatalf("seed %d: no violation\n%s", seed, lines(serially(transactions)))
		}
		if stuck != (len(deadlocks) > 0) {
			t.Fatalf("seed %d: %d potential deadlocks, but an interleaving deadlocks: %v\n%s", seed, len(deadlocks), stuck, lines(serially(transactions)))
		}
		if !stuck && !want && len(violations) > 0 {
			t.Fatalf("seed %d: a violation, and no interleaving is unserializable: %v\n%s", seed, violations, lines(serially(transactions)))
		}
		if stuck {
			count++
		}
	}
	t.Logf("%d of %d sets can deadlock", count, trials)
	if count < trials/100 {
		t.Errorf("%d deadlocks in %d sets: too few", count, trials)
	}
}

package atomicity_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomicity"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/internal/testaid/tier"
	"github.com/heisen-go/heisen/vclock"
)

// protected returns the variables that do not race: nobody writes them, or one lock is held at all accesses,
// exclusively at writes.
func protected(transactions [][]heisen.Record) map[heisen.Object]bool {
	type use struct {
		written bool
		common  map[heisen.Object]bool
		threads map[heisen.Thread]bool
	}
	uses := map[heisen.Object]*use{}
	for _, txn := range transactions {
		held := map[heisen.Object]heisen.Op{}
		for _, r := range txn {
			switch r.Op {
			case heisen.Acquire, heisen.AcquireShared:
				held[r.Object] = r.Op
			case heisen.Release, heisen.ReleaseShared:
				delete(held, r.Object)
			default:
				u := uses[r.Object]
				if u == nil {
					u = &use{threads: map[heisen.Thread]bool{}, common: map[heisen.Object]bool{}}
					for l := range held {
						u.common[l] = true
					}
					uses[r.Object] = u
				}
				u.threads[r.Thread] = true
				u.written = u.written || r.Op.IsWrite()
				for l := range u.common {
					if op, ok := held[l]; !ok || r.Op.IsWrite() && op != heisen.Acquire {
						delete(u.common, l)
					}
				}
			}
		}
	}
	out := map[heisen.Object]bool{}
	for o, u := range uses {
		out[o] = !u.written || len(u.common) > 0 || len(u.threads) == 1
	}
	return out
}

// reducible reports whether a transaction matches Lipton's pattern: acquisitions, at most one access to a variable
// that races, releases; and accesses to others anywhere.
func reducible(txn []heisen.Record, safe map[heisen.Object]bool) bool {
	committed := false
	for _, r := range txn {
		switch r.Op {
		case heisen.Acquire, heisen.AcquireShared:
			if committed {
				return false
			}
		case heisen.Release, heisen.ReleaseShared:
			committed = true
		default:
			if safe[r.Object] {
				continue
			}
			if committed {
				return false
			}
			committed = true
		}
	}
	return true
}

// TestFocusedBlocks: on random transactions, of which those that match Lipton's pattern are verified, Blocks finds
// a violation with WithVerified if and only if it finds one without.
func TestFocusedBlocks(t *testing.T) {
	trials := tier.Pick(1200, 6000)
	found, clean, verifiedPairs := 0, 0, 0
	for seed := range trials {
		rnd := rand.New(rand.NewPCG(uint64(seed), 7))
		var transactions [][]heisen.Record
		for i := range 2 + rnd.IntN(2) {
			transactions = append(transactions, randomTransaction(rnd, i+1, 2+rnd.IntN(7), true))
		}
		safe := protected(transactions)
		verified := map[heisen.Thread]bool{}
		for _, txn := range transactions {
			verified[txn[0].Thread] = reducible(txn, safe)
			if verified[txn[0].Thread] && len(txn) > 2 {
				verifiedPairs++
			}
		}
		trace := serially(transactions)
		full, _ := blockFindings(t, trace)
		focused, _ := blockFindings(t, trace, atomicity.WithVerified(func(e heisen.Event) bool { return verified[e.Thread()] }))
		if (len(full) > 0) != (len(focused) > 0) {
			t.Fatalf("seed %d: %d violations, focused %d, verified %v\n%v\n%v\n%s", seed, len(full), len(focused), verified, full, focused, lines(trace))
		}
		if len(focused) > len(full) {
			t.Errorf("seed %d: %d violations, focused %d", seed, len(full), len(focused))
		}
		if len(full) > 0 {
			found++
		} else {
			clean++
		}
	}
	t.Logf("%d sets with violations, %d without, %d verified transactions", found, clean, verifiedPairs)
	if min(found, clean, verifiedPairs) < trials/10 {
		t.Errorf("%d sets with violations, %d without, %d verified transactions: too few of one sort", found, clean, verifiedPairs)
	}
}

// TestVerifiedStillInterrupts: a verified transaction can come between the accesses of another one.
func TestVerifiedStillInterrupts(t *testing.T) {
	const x, lock = 64, 1024
	var trace []heisen.Record
	add := func(thread heisen.Thread, ops ...heisen.Op) {
		for _, op := range ops {
			r := heisen.Record{Thread: thread, Op: op, Site: heisen.Site(len(trace) + 1), Object: x}
			switch op {
			case heisen.Acquire, heisen.Release:
				r.Object = lock
			case heisen.Enter, heisen.Exit:
				r.Object = 0
			}
			trace = append(trace, r)
		}
	}
	add(1, heisen.Enter, heisen.Acquire, heisen.Read, heisen.Release, heisen.Acquire, heisen.Write, heisen.Release, heisen.Exit)
	add(2, heisen.Enter, heisen.Acquire, heisen.Read, heisen.Read, heisen.Write, heisen.Write, heisen.Release, heisen.Exit)
	verified := func(e heisen.Event) bool { return e.Thread() == 2 }
	if got, _ := blockFindings(t, trace, atomicity.WithVerified(verified)); len(got) == 0 {
		t.Error("no violation of the first transaction")
	}
	if got, _ := blockFindings(t, trace, atomicity.WithVerified(func(heisen.Event) bool { return true })); len(got) != 0 {
		t.Errorf("violations although all transactions are verified: %v", got)
	}
}

func TestVerifiedIsNil(t *testing.T) {
	if _, err := atomicity.NewBlocks(atomicity.WithVerified(nil)); !errors.Is(err, heisen.ErrOption) {
		t.Errorf("error %v, want one that wraps ErrOption", err)
	}
}

// without returns the records that are no accesses to certain variables.
func without(records []heisen.Record, variable func(heisen.Object) bool) []heisen.Record {
	return slices.DeleteFunc(slices.Clone(records), func(r heisen.Record) bool { return r.Op.IsAccess() && variable(r.Object) })
}

// firstViolation returns the site of the event at which Serial counts the first violation, or 0.
func firstViolation(records []heisen.Record) heisen.Site {
	d := must.Make(atomicity.NewSerial())
	for i := range records {
		if d.Handle(records[i].Event()); d.Violations() > 0 {
			return records[i].Site
		}
	}
	return 0
}

// TestSerialUnderPlan: the first violation is the same without the accesses to variables that do not race, because what
// orders these is in the stream.
func TestSerialUnderPlan(t *testing.T) {
	trials := tier.Pick(2000, 2000, 20000)
	violations, left := 0, 0
	for seed := range trials {
		records := randomTrace(rand.New(rand.NewPCG(uint64(seed), 33)))
		racy := map[heisen.Object]bool{} // words
		hb := must.Make(vclock.NewHappensBefore(vclock.WithSink(func(f heisen.Finding) {
			for _, a := range f.Accesses {
				racy[a.Object/8], racy[(a.Object+7)/8] = true, true
			}
		})))
		for i := range records {
			if hb.Handle(records[i].Event()); records[i].Op == heisen.AtomicUpdate {
				racy[records[i].Object/8] = true // others may be atomic operations, which order nothing here
			}
		}
		if err := hb.Flush(); err != nil {
			t.Fatal(err)
		}
		reduced := without(records, func(o heisen.Object) bool { return !racy[o/8] && !racy[(o+7)/8] })
		left += len(records) - len(reduced)
		full, focused := firstViolation(records), firstViolation(reduced)
		if full != focused {
			t.Fatalf("seed %d: the first violation is at %d, without race-free accesses at %d\n%s", seed, full, focused, lines(records))
		}
		if full != 0 {
			violations++
		}
	}
	t.Logf("%d traces with violations, %d accesses left out", violations, left)
	if min(violations, left) < trials/10 {
		t.Errorf("%d traces with violations, %d accesses left out: too few", violations, left)
	}
}

// TestReductionUnderPlan: the same transactions are reported without the accesses to variables that cannot race.
func TestReductionUnderPlan(t *testing.T) {
	trials := tier.Pick(1200, 6000)
	reported, left := 0, 0
	for seed := range trials {
		rnd := rand.New(rand.NewPCG(uint64(seed), 35))
		var transactions [][]heisen.Record
		for i := range 2 + rnd.IntN(2) {
			transactions = append(transactions, randomTransaction(rnd, i+1, 2+rnd.IntN(7), true))
		}
		safe := protected(transactions)
		trace := serially(transactions)
		reduced := without(trace, func(o heisen.Object) bool { return safe[o] })
		left += len(trace) - len(reduced)
		var threads [2][]heisen.Thread
		for i, records := range [][]heisen.Record{trace, reduced} {
			violations, _ := reductionFindings(t, records)
			for _, f := range violations {
				threads[i] = append(threads[i], f.Accesses[0].Thread)
			}
			slices.Sort(threads[i])
			threads[i] = slices.Compact(threads[i])
		}
		if diff := cmp.Diff(threads[0], threads[1]); diff != "" {
			t.Fatalf("seed %d: transactions of threads, -full +focused\n%s\n%s", seed, diff, lines(trace))
		}
		reported += len(threads[0])
	}
	t.Logf("%d transactions reported, %d accesses left out", reported, left)
	if min(reported, left) < trials/10 {
		t.Errorf("%d transactions reported, %d accesses left out: too few", reported, left)
	}
}

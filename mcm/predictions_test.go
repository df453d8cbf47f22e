package mcm

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/candidate"
	"github.com/heisen-go/heisen/mcm/internal/replay"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/internal/windowtest"
	"github.com/heisen-go/heisen/section"
)

// TestDeadlocksExact compares predicted deadlocks with the enumeration of all
// orders.
func TestDeadlocksExact(t *testing.T) {
	possible, impossible := 0, 0
	for seed := range windowtest.Count(t, 4000) {
		rng := rand.New(rand.NewPCG(uint64(seed), 4))
		s := windowtest.Shape{Threads: 2 + rng.IntN(2), Events: 13, Vars: 1, Locks: 2 + rng.IntN(2), Nested: true, Shared: rng.IntN(3) == 0, Values: rng.IntN(2) == 0, Held: rng.IntN(4) == 0}
		w, _ := windowtest.RandomWindow(rng, s)
		m, err := testModel(*w)
		if err != nil {
			t.Fatal(err)
		}
		var truth *windowtest.Enumeration
		candidate.Deadlocks(m.causal, func(candidate.Places) bool { return true }, func(c candidate.Candidate) {
			if truth == nil {
				truth = enumerate(w)
			}
			var records []int
			for _, i := range c.Records {
				records = append(records, int(i))
			}
			verdict, _, err := m.Deadlock(context.Background(), records...)
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, show(w))
			}
			want := Impossible
			if truth.Together(nil, records...) {
				want = Possible
				possible++
			} else {
				impossible++
			}
			if verdict != want {
				t.Fatalf("seed %d: %v is %v, want %v\n%s", seed, records, verdict, want, show(w))
			}
		})
	}
	if possible == 0 {
		t.Fatalf("none of %d is possible", impossible)
	}
	t.Logf("%d possible, %d impossible", possible, impossible)
}

// TestDeadlockCandidates: every state in which threads wait for each other's locks in
// a circle of two is a candidate.
func TestDeadlockCandidates(t *testing.T) {
	found := 0
	for seed := range windowtest.Count(t, 3000) {
		rng := rand.New(rand.NewPCG(uint64(seed), 5))
		w, _ := windowtest.RandomWindow(rng, windowtest.Shape{Threads: 2, Events: 13, Vars: 1, Locks: 2, Nested: true})
		m, err := testModel(*w)
		if err != nil {
			t.Fatal(err)
		}
		any := false
		candidate.Deadlocks(m.causal, func(candidate.Places) bool { return true }, func(c candidate.Candidate) {
			verdict, _, err := m.ask(context.Background(), c)
			if err != nil {
				t.Fatal(err)
			}
			any = any || verdict == Possible
		})
		truth := enumerate(w)
		want := false
		for _, s := range truth.States {
			truth.Enter(s)
			want = want || stuck(truth.Replayer)
		}
		if any != want {
			t.Fatalf("seed %d: a deadlock: %v, want %v\n%s", seed, any, want, show(w))
		}
		if want {
			found++
		}
	}
	if found == 0 {
		t.Fatal("no deadlocks")
	}
}

// stuck reports whether each of the two threads is next to take a lock, other than
// one that it holds, that the other holds.
func stuck(p *replay.Replayer) bool {
	waits := 0
	for t, list := range p.Steps {
		if int(p.Next[t]) == len(list) {
			return false
		}
		i := int(list[p.Next[t]])
		r := &p.Window.Records[i]
		if r.Op != heisen.Acquire || p.Ready(i) != nil {
			return false
		}
		grips := p.Held[r.Object]
		if len(grips) == 1 && grips[0].Thread != r.Thread {
			waits++
		}
	}
	return waits == 2
}

// TestBetweenExact compares predicted violations with the enumeration of all orders
// in which the remote access does not come before the first.
func TestBetweenExact(t *testing.T) {
	possible, impossible := 0, 0
	for seed := range windowtest.Count(t, 3000) {
		rng := rand.New(rand.NewPCG(uint64(seed), 6))
		s := windowtest.Shape{Threads: 2 + rng.IntN(2), Events: 10, Vars: 1, Locks: 1, Values: rng.IntN(2) == 0, Atomics: rng.IntN(3) == 0}
		w, _ := windowtest.RandomWindow(rng, s)
		for _, t := range []heisen.Thread{0, 1} { // one transaction each
			w.Records = append([]heisen.Record{{Op: heisen.Enter, Thread: t}}, w.Records...)
		}
		m, err := testModel(*w)
		if err != nil {
			t.Fatal(err)
		}
		candidate.Violations(m.causal, func(candidate.Places) bool { return true }, func(c candidate.Candidate) {
			a, r, b := int(c.Records[0]), int(c.Records[1]), int(c.Records[2])
			verdict, _, err := m.Between(context.Background(), a, r, b)
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, show(w))
			}
			truth := enumerateWithout(w, func(done []bool, i int) bool { return i == r && !done[a] })
			want := Impossible
			if truth.Together(nil, r, b) || truth.Together(func() bool { return truth.Replayer.Done[r] }, b) {
				want = Possible
				possible++
			} else {
				impossible++
			}
			if verdict != want {
				t.Fatalf("seed %d: %v is %v, want %v\n%s", seed, c.Records, verdict, want, show(w))
			}
		})
	}
	if possible == 0 || impossible == 0 {
		t.Fatalf("%d possible, %d impossible", possible, impossible)
	}
	t.Logf("%d possible, %d impossible", possible, impossible)
}

// TestIntrusionsExact compares predicted violations of atomic sections with the
// enumeration of all orders in which the remote access does not come before the entry.
func TestIntrusionsExact(t *testing.T) {
	possible, impossible := 0, 0
	for seed := range windowtest.Count(t, 1000) {
		rng := rand.New(rand.NewPCG(uint64(seed), 8))
		s := windowtest.Shape{Threads: 2 + rng.IntN(2), Events: 10, Vars: 1, Locks: 1, Values: rng.IntN(2) == 0, Atomics: rng.IntN(3) == 0,
			Messages: rng.IntN(3) == 0, Ranges: rng.IntN(4) == 0, Allocations: rng.IntN(6) == 0}
		w, _ := windowtest.RandomWindow(rng, s)
		for i := range w.Records {
			for k := range w.Records {
				a, b := &w.Records[i], &w.Records[k]
				if i < k && a.Thread == b.Thread && a.Op.IsAccess() && b.Op.IsAccess() && a.Object == b.Object && w.SameAllocation(i, k) && rng.IntN(2) == 0 {
					w.Executions = append(w.Executions, window.Execution{Section: len(w.Executions), Entry: i, End: k, Allow: section.Modes(rng.IntN(3))})
				}
			}
		}
		m, err := testModel(*w)
		if err != nil {
			t.Fatal(err)
		}
		asked := map[[4]int]bool{}
		candidate.SectionViolations(m.causal, func(candidate.Places) bool { return true }, func(c candidate.Candidate) {
			i, j, k := int(c.Records[0]), int(c.Records[1]), int(c.Records[2])
			asked[[4]int{int(c.Places[3]) - 1, i, j, k}] = true
			verdict, x, err := m.ask(context.Background(), c)
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, show(w))
			}
			want := intrudes(w, i, j, k)
			if verdict != want {
				t.Fatalf("seed %d: %v is %v, want %v\n%s", seed, c.Records, verdict, want, show(w))
			}
			if verdict != Possible {
				impossible++
				return
			}
			possible++
			if err := replayIn(w, (*window.Witness)(x)); err != nil {
				t.Fatal(err)
			}
		})
		for _, p := range w.Executions { // what is not asked is not possible
			for j := range w.Records {
				r := &w.Records[j]
				if r.Op.IsAccess() && r.Thread != w.Records[p.Entry].Thread && !p.Allows(r.Op) && (r.Op.IsWrite() || written(w, p)) &&
					(heisen.Objects{window.Extent(r)}).Meets(window.Extent(&w.Records[p.Entry]).Start, 1) && w.SameAllocation(p.Entry, j) && w.SameAllocation(j, p.End) &&
					!asked[[4]int{p.Section, p.Entry, j, p.End}] && intrudes(w, p.Entry, j, p.End) == Possible {
					t.Fatalf("seed %d: %+v and %d are not asked about\n%s", seed, p, j, show(w))
				}
			}
		}
	}
	if possible == 0 || impossible == 0 {
		t.Fatalf("%d possible, %d impossible", possible, impossible)
	}
	t.Logf("%d possible, %d impossible", possible, impossible)
}

// written reports whether an access of a passage is a write.
func written(w *window.Window, p window.Execution) bool {
	return w.Records[p.Entry].Op.IsWrite() || w.Records[p.End].Op.IsWrite()
}

// intrudes looks for record j between i and k of another thread in all orders.
func intrudes(w *window.Window, i, j, k int) Verdict {
	truth := enumerateWithout(w, func(done []bool, at int) bool { return at == j && !done[i] })
	if truth.Together(nil, j, k) || truth.Together(func() bool { return truth.Replayer.Done[j] }, k) {
		return Possible
	}
	return Impossible
}

// TestLiteral shows a race that Algorithm 9 to the letter loses: it puts critical
// sections in order that come after the race and that no order allows.
func TestLiteral(t *testing.T) {
	op := func(thread heisen.Thread, code heisen.Op, o heisen.Object) heisen.Record {
		return heisen.Record{Thread: thread, Op: code, Object: o}
	}
	const x, a, b = 8, 100, 200
	// T1 reads x and then takes a and b; T2 takes b and a, and writes x in between. In
	// the observed order T1 is first. For the race T2 has to hold b and a when T1 has
	// taken nothing; what comes later does not matter.
	w := window.Window{Records: []heisen.Record{
		op(1, heisen.Acquire, a), op(1, heisen.Write, x), op(1, heisen.Acquire, b),
		op(1, heisen.Release, b), op(1, heisen.Release, a),
		op(2, heisen.Acquire, b), op(2, heisen.Write, x), op(2, heisen.Acquire, a),
		op(2, heisen.Release, a), op(2, heisen.Release, b),
	}}
	maximal, err := testModel(w)
	if err != nil {
		t.Fatal(err)
	}
	literal, err := testModel(w, literally())
	if err != nil {
		t.Fatal(err)
	}
	// Both are in their first critical section: whichever goes on cannot end.
	if verdict, witness, err := race(maximal, 1, 6); err != nil || verdict != Possible || len(witness.Order) != 4 {
		t.Errorf("the maximal form: %v, %v", verdict, err)
	}
	if verdict, _, err := race(literal, 1, 6); err != nil || verdict != Impossible {
		t.Errorf("Algorithm 9 to the letter: %v, %v", verdict, err)
	}
	lost, found := 0, 0
	for seed := range 300 {
		rng := rand.New(rand.NewPCG(uint64(seed), 7))
		w, _ := windowtest.RandomWindow(rng, windowtest.Shape{Threads: 2, Events: 14, Vars: 1, Locks: 2})
		maximal, err := testModel(*w)
		if err != nil {
			t.Fatal(err)
		}
		literal, err := testModel(*w, literally())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range windowtest.RacyPairs(w) {
			full, _, err := race(maximal, p[0], p[1])
			if err != nil {
				t.Fatal(err)
			}
			part, _, err := race(literal, p[0], p[1])
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case full == Possible && part == Possible:
				found++
			case full == Possible:
				lost++
			case part == Possible:
				t.Fatalf("seed %d, %v: only Algorithm 9 to the letter finds it\n%s", seed, p, show(w))
			}
		}
	}
	if lost == 0 || found == 0 {
		t.Errorf("lost %d, found %d", lost, found)
	}
	t.Logf("%d races found to the letter, %d lost", found, lost)
}

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

// TestDeadlocksExact compares the verdicts on deadlocks with the enumeration of all feasible
// reorderings.
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
		t.Fatalf("none of %d deadlocks is possible", impossible)
	}
	t.Logf("%d possible, %d impossible", possible, impossible)
}

// TestDeadlockCandidates checks that a deadlock of two threads is predicted if and only if the
// enumeration has a state in which the two threads wait for each other.
func TestDeadlockCandidates(t *testing.T) {
	found := 0
	for seed := range windowtest.Count(t, 3000) {
		rng := rand.New(rand.NewPCG(uint64(seed), 5))
		w, _ := windowtest.RandomWindow(rng, windowtest.Shape{Threads: 2, Events: 13, Vars: 1, Locks: 2, Nested: true})
		m, err := testModel(*w)
		if err != nil {
			t.Fatal(err)
		}
		predicted := false
		candidate.Deadlocks(m.causal, func(candidate.Places) bool { return true }, func(c candidate.Candidate) {
			verdict, _, err := m.ask(context.Background(), c)
			if err != nil {
				t.Fatal(err)
			}
			predicted = predicted || verdict == Possible
		})
		truth := enumerate(w)
		want := false
		for _, s := range truth.States {
			truth.Enter(s)
			want = want || stuck(truth.Replayer)
		}
		if predicted != want {
			t.Fatalf("seed %d: a deadlock: %v, want %v\n%s", seed, predicted, want, show(w))
		}
		if want {
			found++
		}
	}
	if found == 0 {
		t.Fatal("no deadlocks")
	}
}

// stuck reports whether the next event of each of two threads acquires a lock that the other one holds.
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
		holders := p.Held[r.Object]
		if len(holders) == 1 && holders[0].Thread != r.Thread {
			waits++
		}
	}
	return waits == 2
}

// TestBetweenExact compares the verdicts on violated transactions with the enumeration of the feasible
// reorderings in which the remote access does not come before the first access.
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

// TestSectionViolationsExact compares the verdicts on violated atomic sections with the enumeration of
// the feasible reorderings in which the remote access does not come before the entry.
func TestSectionViolationsExact(t *testing.T) {
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
			want := violates(w, i, j, k)
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
		for _, p := range w.Executions { // violations that are no candidates are impossible
			for j := range w.Records {
				r := &w.Records[j]
				if r.Op.IsAccess() && r.Thread != w.Records[p.Entry].Thread && !p.Allows(r.Op) && (r.Op.IsWrite() || written(w, p)) &&
					(heisen.Objects{window.Extent(r)}).Meets(window.Extent(&w.Records[p.Entry]).Start, 1) && w.SameAllocation(p.Entry, j) && w.SameAllocation(j, p.End) &&
					!asked[[4]int{p.Section, p.Entry, j, p.End}] && violates(w, p.Entry, j, p.End) == Possible {
					t.Fatalf("seed %d: %+v and %d are no candidate\n%s", seed, p, j, show(w))
				}
			}
		}
	}
	if possible == 0 || impossible == 0 {
		t.Fatalf("%d possible, %d impossible", possible, impossible)
	}
	t.Logf("%d possible, %d impossible", possible, impossible)
}

// written reports whether the entry or the end of an execution is a write.
func written(w *window.Window, p window.Execution) bool {
	return w.Records[p.Entry].Op.IsWrite() || w.Records[p.End].Op.IsWrite()
}

// violates returns whether record j can come between the records i and k of another thread, by
// enumeration.
func violates(w *window.Window, i, j, k int) Verdict {
	truth := enumerateWithout(w, func(done []bool, at int) bool { return at == j && !done[i] })
	if truth.Together(nil, j, k) || truth.Together(func() bool { return truth.Replayer.Done[j] }, k) {
		return Possible
	}
	return Impossible
}

// TestLiteral shows that Algorithm 9 to the letter loses races: it also orders critical sections that
// come after the race, even if no order of them exists.
func TestLiteral(t *testing.T) {
	op := func(thread heisen.Thread, code heisen.Op, o heisen.Object) heisen.Record {
		return heisen.Record{Thread: thread, Op: code, Object: o}
	}
	const x, a, b = 8, 100, 200
	// T1 acquires a, writes x and acquires b. T2 acquires b, writes x and acquires a. T1 was observed
	// first. In the race, T1 holds a and T2 holds b. Then neither can acquire its second lock, which
	// does not matter, because it comes after the race.
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
				t.Fatalf("seed %d, %v: only Algorithm 9 to the letter has the race\n%s", seed, p, show(w))
			}
		}
	}
	if lost == 0 || found == 0 {
		t.Errorf("lost %d, found %d", lost, found)
	}
	t.Logf("Algorithm 9 to the letter has %d races and loses %d", found, lost)
}

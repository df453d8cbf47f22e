package mcm

import (
	"math/rand/v2"
	"testing"

	"github.com/heisen-go/heisen"
	atomicsection "github.com/heisen-go/heisen/section"
)

// TestDeadlocksExact compares predicted deadlocks with the enumeration of all
// orders.
func TestDeadlocksExact(t *testing.T) {
	possible, impossible := 0, 0
	for seed := range count(t, 4000) {
		rng := rand.New(rand.NewPCG(uint64(seed), 4))
		s := shape{threads: 2 + rng.IntN(2), events: 13, vars: 1, locks: 2 + rng.IntN(2), nested: true, shared: rng.IntN(3) == 0, values: rng.IntN(2) == 0, held: rng.IntN(4) == 0}
		w, _ := randomWindow(rng, s)
		m, err := newModel(*w)
		if err != nil {
			t.Fatal(err)
		}
		var truth *brute
		m.deadlocks(func(places) bool { return true }, func(c candidate) {
			if truth == nil {
				truth = enumerate(w)
			}
			var records []int
			for _, i := range c.at {
				records = append(records, int(i))
			}
			verdict, _, err := m.Deadlock(records...)
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, show(w))
			}
			want := Impossible
			if truth.together(nil, records...) {
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
	for seed := range count(t, 3000) {
		rng := rand.New(rand.NewPCG(uint64(seed), 5))
		w, _ := randomWindow(rng, shape{threads: 2, events: 13, vars: 1, locks: 2, nested: true})
		m, err := newModel(*w)
		if err != nil {
			t.Fatal(err)
		}
		any := false
		m.deadlocks(func(places) bool { return true }, func(c candidate) {
			verdict, _, err := m.ask(c)
			if err != nil {
				t.Fatal(err)
			}
			any = any || verdict == Possible
		})
		truth := enumerate(w)
		want := false
		for _, s := range truth.states {
			truth.enter(s)
			want = want || stuck(truth.p)
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
func stuck(p *replayer) bool {
	waits := 0
	for t, list := range p.steps {
		if int(p.next[t]) == len(list) {
			return false
		}
		i := int(list[p.next[t]])
		r := &p.window.Records[i]
		if r.Op != heisen.Acquire || p.ready(i) != nil {
			return false
		}
		grips := p.held[r.Object]
		if len(grips) == 1 && grips[0].thread != r.Thread {
			waits++
		}
	}
	return waits == 2
}

// TestBetweenExact compares predicted violations with the enumeration of all orders
// in which the remote access does not come before the first.
func TestBetweenExact(t *testing.T) {
	possible, impossible := 0, 0
	for seed := range count(t, 3000) {
		rng := rand.New(rand.NewPCG(uint64(seed), 6))
		s := shape{threads: 2 + rng.IntN(2), events: 10, vars: 1, locks: 1, values: rng.IntN(2) == 0, atomics: rng.IntN(3) == 0}
		w, _ := randomWindow(rng, s)
		for _, t := range []heisen.Thread{0, 1} { // one transaction each
			w.Records = append([]heisen.Record{{Op: heisen.Enter, Thread: t}}, w.Records...)
		}
		m, err := newModel(*w)
		if err != nil {
			t.Fatal(err)
		}
		m.violations(func(places) bool { return true }, func(c candidate) {
			a, r, b := int(c.at[0]), int(c.at[1]), int(c.at[2])
			verdict, _, err := m.Between(a, r, b)
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, show(w))
			}
			truth := enumerateWithout(w, func(done []bool, i int) bool { return i == r && !done[a] })
			want := Impossible
			if truth.together(nil, r, b) || truth.together(func() bool { return truth.p.done[r] }, b) {
				want = Possible
				possible++
			} else {
				impossible++
			}
			if verdict != want {
				t.Fatalf("seed %d: %v is %v, want %v\n%s", seed, c.at, verdict, want, show(w))
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
	for seed := range count(t, 1000) {
		rng := rand.New(rand.NewPCG(uint64(seed), 8))
		s := shape{threads: 2 + rng.IntN(2), events: 10, vars: 1, locks: 1, values: rng.IntN(2) == 0, atomics: rng.IntN(3) == 0,
			messages: rng.IntN(3) == 0, ranges: rng.IntN(4) == 0, lives: rng.IntN(6) == 0}
		w, _ := randomWindow(rng, s)
		for i := range w.Records {
			for k := range w.Records {
				a, b := &w.Records[i], &w.Records[k]
				if i < k && a.Thread == b.Thread && a.Op.IsAccess() && b.Op.IsAccess() && a.Object == b.Object && w.oneLife(i, k) && rng.IntN(2) == 0 {
					w.Passages = append(w.Passages, Passage{Section: len(w.Passages), Entry: i, End: k, Allow: atomicsection.Modes(rng.IntN(3))})
				}
			}
		}
		m, err := newModel(*w)
		if err != nil {
			t.Fatal(err)
		}
		asked := map[[4]int]bool{}
		m.intrusions(func(places) bool { return true }, func(c candidate) {
			i, j, k := int(c.at[0]), int(c.at[1]), int(c.at[2])
			asked[[4]int{int(c.key[3]) - 1, i, j, k}] = true
			verdict, x, err := m.ask(c)
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, show(w))
			}
			want := intrudes(w, i, j, k)
			if verdict != want {
				t.Fatalf("seed %d: %v is %v, want %v\n%s", seed, c.at, verdict, want, show(w))
			}
			if verdict != Possible {
				impossible++
				return
			}
			possible++
			if err := w.Replay(x); err != nil {
				t.Fatal(err)
			}
		})
		for _, p := range w.Passages { // what is not asked is not possible
			for j := range w.Records {
				r := &w.Records[j]
				if r.Op.IsAccess() && r.Thread != w.Records[p.Entry].Thread && !p.allows(r.Op) && (r.Op.IsWrite() || written(w, p)) &&
					(heisen.Objects{extent(r)}).Meets(extent(&w.Records[p.Entry]).Start, 1) && w.oneLife(p.Entry, j) && w.oneLife(j, p.End) &&
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
func written(w *Window, p Passage) bool {
	return w.Records[p.Entry].Op.IsWrite() || w.Records[p.End].Op.IsWrite()
}

// intrudes looks for record j between i and k of another thread in all orders.
func intrudes(w *Window, i, j, k int) Verdict {
	truth := enumerateWithout(w, func(done []bool, at int) bool { return at == j && !done[i] })
	if truth.together(nil, j, k) || truth.together(func() bool { return truth.p.done[j] }, k) {
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
	w := Window{Records: []heisen.Record{
		op(1, heisen.Acquire, a), op(1, heisen.Write, x), op(1, heisen.Acquire, b),
		op(1, heisen.Release, b), op(1, heisen.Release, a),
		op(2, heisen.Acquire, b), op(2, heisen.Write, x), op(2, heisen.Acquire, a),
		op(2, heisen.Release, a), op(2, heisen.Release, b),
	}}
	maximal, err := newModel(w)
	if err != nil {
		t.Fatal(err)
	}
	literal, err := newModel(w, func(s *settings) error { s.literal, s.slow = true, true; return nil })
	if err != nil {
		t.Fatal(err)
	}
	// Both are in their first critical section: whichever goes on cannot end.
	if verdict, witness, err := maximal.Race(1, 6); err != nil || verdict != Possible || len(witness.Order) != 4 {
		t.Errorf("the maximal form: %v, %v", verdict, err)
	}
	if verdict, _, err := literal.Race(1, 6); err != nil || verdict != Impossible {
		t.Errorf("Algorithm 9 to the letter: %v, %v", verdict, err)
	}
	lost, found := 0, 0
	for seed := range 300 {
		rng := rand.New(rand.NewPCG(uint64(seed), 7))
		w, _ := randomWindow(rng, shape{threads: 2, events: 14, vars: 1, locks: 2})
		maximal, err := newModel(*w)
		if err != nil {
			t.Fatal(err)
		}
		literal, err := newModel(*w, func(s *settings) error { s.literal, s.slow = true, true; return nil })
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range racyPairs(w) {
			full, _, err := maximal.Race(p[0], p[1])
			if err != nil {
				t.Fatal(err)
			}
			part, _, err := literal.Race(p[0], p[1])
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

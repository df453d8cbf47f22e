package mcm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/internal/windowtest"
	"github.com/heisen-go/heisen/vclock"
)

// synchronizedShape returns the shape of windows with calls of hidden code whose synchronization is
// in the trace.
func synchronizedShape(rng *rand.Rand) windowtest.Shape {
	return windowtest.Shape{Threads: 2 + rng.IntN(2), Events: 8 + rng.IntN(7), Vars: 1 + rng.IntN(3), Locks: 1 + rng.IntN(2),
		Synchronized: true, Shared: rng.IntN(3) == 0, Messages: rng.IntN(3) == 0, Atomics: rng.IntN(3) == 0, Nested: rng.IntN(2) == 0}
}

// TestSynchronizedExact compares the verdicts of all modes on such windows with the enumeration.
func TestSynchronizedExact(t *testing.T) {
	possible, impossible := 0, 0
	for seed := range windowtest.Count(t, 600) {
		rng := rand.New(rand.NewPCG(uint64(seed), 51))
		s := synchronizedShape(rng)
		s.Values, s.Branches, s.Held = rng.IntN(4) == 0, rng.IntN(4) == 0, rng.IntN(4) == 0
		s.Decides = s.Branches && rng.IntN(2) == 0
		w, _ := windowtest.RandomWindow(rng, s)
		options := []DetectorOption{WithBudget(1<<20, 1<<30)}
		if s.Branches {
			options = append(options, WithControlFlow())
		}
		if n := rng.IntN(4); n < len(w.Records) && w.Records[n].Op == heisen.Hide { // the window begins inside of the call
			w.Hidden = append(w.Hidden, w.Records[n])
			w.Records = append(w.Records[:n:n], w.Records[n+1:]...)
		}
		truth := enumerate(w, options...)
		for _, mode := range modes {
			m, err := testModel(*w, append(options, mode.options...)...)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range windowtest.RacyPairs(w) {
				verdict, _ := askTruth(t, fmt.Sprintf("seed %d, %s", seed, mode.name), m, w, truth, p)
				if verdict == Possible {
					possible++
				} else {
					impossible++
				}
			}
		}
	}
	t.Logf("%d possible, %d impossible", possible, impossible)
	if possible == 0 || impossible == 0 {
		t.Error("the windows show too little")
	}
}

// TestSynchronizedSound removes the accesses of hidden code, which race with nothing, from random
// windows. Every race that is predicted without them is one with them.
func TestSynchronizedSound(t *testing.T) {
	hidden, kept, lost, unsound := 0, 0, 0, 0
	for seed := range windowtest.Count(t, 2000) {
		rng := rand.New(rand.NewPCG(uint64(seed), 52))
		full, _ := windowtest.RandomWindow(rng, synchronizedShape(rng))
		if seed%4 > 0 {
			full = containers(rng)
		}
		isHidden := hiddenAccesses(full, rng)
		if len(isHidden) == 0 {
			continue
		}
		hidden += len(isHidden)
		part, open := &window.Window{Held: full.Held}, &window.Window{Held: full.Held}
		for i, r := range full.Records {
			if r.Op != heisen.Hide && r.Op != heisen.Reveal {
				full.Records[i].Site = heisen.Site(len(open.Records) + 1)
				open.Records = append(open.Records, full.Records[i])
			}
			if !isHidden[i] {
				part.Records = append(part.Records, full.Records[i])
			}
		}
		truth, guess := enumerate(open), enumerate(part)
		unordered := enumerate(without(part, heisen.Hide, heisen.Reveal))
		at := func(i int) int { return int(part.Records[i].Site) - 1 } // in open
		for _, p := range windowtest.RacyPairs(part) {
			is := truth.Together(nil, at(p[0]), at(p[1]))
			switch found := guess.Together(nil, p[0], p[1]); {
			case found && !is:
				t.Fatalf("seed %d: %v is no race if the hidden accesses are known\n%s\n%s", seed, p, show(part), show(open))
			case found:
				kept++
			case is:
				lost++
			}
			if bare := without(part, heisen.Hide, heisen.Reveal); !is && unordered.Together(nil, indexOf(bare, part, p[0]), indexOf(bare, part, p[1])) {
				unsound++
			}
		}
	}
	t.Logf("%d hidden accesses; %d races are predicted, %d are lost; without BarrierPairs, %d would be false", hidden, kept, lost, unsound)
	if kept == 0 || unsound == 0 {
		t.Error("the windows show too little")
	}
}

// containers returns a window in which threads call hidden code that guards what it accesses by locks,
// and that calls back while it holds one or not. Some visible code uses the same locks.
func containers(rng *rand.Rand) *window.Window {
	var scripts [][]heisen.Record
	for t := range 2 + rng.IntN(2) {
		var script []heisen.Record
		add := func(op heisen.Op, o heisen.Object) {
			script = append(script, heisen.Record{Op: op, Object: o, Thread: heisen.Thread(t)})
		}
		access := func(o heisen.Object) { add([]heisen.Op{heisen.Read, heisen.Write}[rng.IntN(2)], o) }
		visible := func() { access(heisen.Object(16 + 8*rng.IntN(2))) }
		for range 2 + rng.IntN(2) {
			lock := heisen.Object(1<<12 + 8*rng.IntN(2))
			hidden := rng.IntN(3) > 0
			if rng.IntN(2) == 0 {
				visible()
			}
			if hidden {
				add(heisen.Hide, 100)
			}
			add(heisen.Acquire, lock)
			access(lock + 1<<12) // only under the lock
			if rng.IntN(3) == 0 {
				visible()
			}
			add(heisen.Release, lock)
			if hidden {
				add(heisen.Reveal, 100)
			}
		}
		scripts = append(scripts, script)
	}
	w, held := &window.Window{}, map[heisen.Object]bool{}
	for len(w.Records) < 16 {
		t := rng.IntN(len(scripts))
		if len(scripts[t]) == 0 {
			if rng.IntN(20) == 0 {
				break
			}
			continue
		}
		r := scripts[t][0]
		if r.Op == heisen.Acquire && held[r.Object] {
			continue
		}
		if window.IsLockOp(r.Op) {
			held[r.Object] = r.Op == heisen.Acquire
		}
		r.Site = heisen.Site(len(w.Records) + 1)
		w.Records, scripts[t] = append(w.Records, r), scripts[t][1:]
	}
	return w
}

// hiddenAccesses chooses plain accesses inside of calls that race with nothing.
func hiddenAccesses(w *window.Window, rng *rand.Rand) map[int]bool {
	chosen, depth := map[int]bool{}, map[heisen.Thread]int{}
	for i := range w.Records {
		switch r := &w.Records[i]; r.Op {
		case heisen.Hide:
			depth[r.Thread]++
		case heisen.Reveal:
			depth[r.Thread]--
		case heisen.Read, heisen.Write:
			if depth[r.Thread] > 0 && rng.IntN(3) > 0 {
				chosen[i] = true
			}
		}
	}
	d := must.Make(vclock.NewHappensBefore(vclock.WithSink(func(f heisen.Finding) {
		for _, a := range f.Accesses {
			delete(chosen, int(a.Site)-1)
		}
	})))
	for i := range w.Records {
		d.Handle(w.Records[i].Event())
	}
	return chosen
}

// without returns a window without the records with some ops.
func without(w *window.Window, ops ...heisen.Op) *window.Window {
	out := &window.Window{Held: w.Held}
	for _, r := range w.Records {
		if r.Op != ops[0] && r.Op != ops[1] {
			out.Records = append(out.Records, r)
		}
	}
	return out
}

// indexOf returns the index in a window of record i of another one.
func indexOf(w, other *window.Window, i int) int {
	for k := range w.Records {
		if w.Records[k].Site == other.Records[i].Site {
			return k
		}
	}
	return -1
}

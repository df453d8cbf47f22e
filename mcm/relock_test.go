package mcm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/replay"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/internal/windowtest"
)

// TestLastReleasedByAnother is about locks that a thread acquires twice and releases once, before
// another thread releases them. Such a lock is held until both releases have happened, in either
// order. The verdicts of all modes are compared with the enumeration.
func TestLastReleasedByAnother(t *testing.T) {
	twice := 0
	for seed := range uint64(windowtest.Count(t, 20_000)) {
		rng := rand.New(rand.NewPCG(seed, 5))
		s := windowtest.Shape{Threads: 3, Events: 8 + rng.IntN(5), Vars: 1 + rng.IntN(2), Locks: 1, Shared: rng.IntN(3) == 0,
			Held: rng.IntN(4) == 0, Reacquired: true}
		w, _ := windowtest.RandomWindow(rng, s)
		for i, mode := range modes {
			m, err := testModel(*w, append([]DetectorOption{WithBudget(1<<20, 1<<30)}, mode.options...)...)
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				if !holdsTwice(m) {
					break
				}
				twice++
			}
			truth := enumerate(w)
			for _, p := range windowtest.RacyPairs(w) {
				verdict, _, err := race(m, p[0], p[1])
				want := Impossible
				if truth.Together(nil, p[0], p[1]) {
					want = Possible
				}
				if err != nil || verdict != want {
					t.Fatalf("seed %d, %s, %v: %v, %v, want %v\n%s", seed, mode.name, p, verdict, err, want, show(w))
				}
			}
		}
	}
	if twice == 0 {
		t.Error("no window has such a lock")
	}
	t.Logf("%d windows have such a lock", twice)

	// A witness of this window once failed to replay.
	rng := rand.New(rand.NewPCG(294, 4))
	s := windowtest.RandomShape(rng, 60)
	s.Events, s.Threads = 40+rng.IntN(40), 3+rng.IntN(2)
	s.Values, s.Branches = true, false
	w, symbols := windowtest.RandomWindow(rng, s)
	for _, mode := range modes {
		m, err := testModel(*w, append([]DetectorOption{WithSymbols(symbols), WithBudget(200, 200_000)}, mode.options...)...)
		if err != nil {
			t.Fatal(err)
		}
		limit(m, 2000, allStatesName)
		for _, p := range windowtest.RacyPairs(w) {
			if _, _, err := race(m, p[0], p[1]); err != nil {
				t.Fatalf("%s, %v: %v\n%s", mode.name, p, err, show(w))
			}
		}
	}
}

// TestUnownedLocks is about locks that any thread may release, as a sync.Mutex. The verdicts of all
// modes are compared with the enumeration, and the enumeration with a machine that knows of each lock
// only how many readers and writers hold it.
func TestUnownedLocks(t *testing.T) {
	windows, more := 0, 0
	var stats Stats
	for seed := range uint64(windowtest.Count(t, 6000)) {
		rng := rand.New(rand.NewPCG(seed, 12))
		s := windowtest.Shape{Threads: 2 + rng.IntN(3), Events: 8 + rng.IntN(6), Vars: 1 + rng.IntN(2), Locks: 1 + rng.IntN(2),
			Shared: rng.IntN(3) == 0, Held: rng.IntN(4) == 0, Foreign: true, Values: rng.IntN(4) == 0, Ranges: rng.IntN(6) == 0,
			Messages: rng.IntN(6) == 0, Barriers: rng.IntN(8) == 0, Branches: rng.IntN(4) == 0}
		w, symbols := windowtest.RandomWindow(rng, s)
		options := []DetectorOption{WithSymbols(symbols), WithBudget(1<<20, 1<<30)}
		if s.Branches {
			options = append(options, WithControlFlow())
		}
		if !hasUnowned(t, w, options) {
			continue
		}
		windows++
		truth := enumerate(w, options...)
		for _, state := range truth.States {
			truth.Enter(state)
			checkUnowned(t, seed, w, truth.Replayer)
		}
		owned := enumerateWithout(w, func(done []bool, i int) bool { return !endsObservedHold(truth.Replayer, done, i) }, options...)
		for k, mode := range modes {
			m, err := testModel(*w, append(options, mode.options...)...)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range windowtest.RacyPairs(w) {
				verdict, _ := askTruth(t, fmt.Sprintf("seed %d, %s", seed, mode.name), m, w, truth, p)
				if k == 0 && verdict == Possible && !owned.Together(nil, p[0], p[1]) {
					more++
				}
			}
			if k == 0 {
				stats.Add(m.Stats())
			}
		}
	}
	t.Logf("%d windows, %+v; %d races exist only because releases may end other holds than observed", windows, stats, more)
	if windows < 500 || more == 0 {
		t.Error("too few windows or races")
	}
}

// hasUnowned reports whether a window has an unowned lock.
func hasUnowned(t *testing.T, w *window.Window, options []DetectorOption) bool {
	t.Helper()
	return len(replay.NewFacts(w, configOf(options).rules).Unowned) > 0
}

// checkUnowned compares the lock operations that a replayer allows next with the rules of Go's locks.
func checkUnowned(t *testing.T, seed uint64, w *window.Window, p *replay.Replayer) {
	t.Helper()
	for lock := range p.Unowned {
		writers, readers := 0, 0
		add := func(code heisen.Op) {
			switch code {
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
		for _, h := range w.Held {
			if h.Lock == lock && h.Shared {
				readers++
			} else if h.Lock == lock {
				writers++
			}
		}
		for i, done := range p.Done {
			if r := &w.Records[i]; done && r.Object == lock && window.IsLockOp(r.Op) {
				add(r.Op)
			}
		}
		if writers < 0 || readers < 0 || writers > 1 || writers > 0 && readers > 0 {
			t.Fatalf("seed %d: lock %d is held by %d writers and %d readers\n%s", seed, lock, writers, readers, show(w))
		}
		for i, done := range p.Done {
			r := &w.Records[i]
			if done || r.Object != lock || p.Ready(i) != nil {
				continue
			}
			switch can := p.Can(i) == nil; r.Op {
			case heisen.Acquire:
				if can != (writers == 0 && readers == 0) && len(p.EndedByOthers[i]) == 0 && len(p.LockWords[p.From[i]]) == 0 {
					t.Fatalf("seed %d: record %d: %v\n%s", seed, i, can, show(w))
				}
			case heisen.Release:
				if can != (writers == 1) && len(p.LockWords[p.From[i]]) == 0 {
					t.Fatalf("seed %d: record %d: %v\n%s", seed, i, can, show(w))
				}
			}
		}
	}
}

// endsObservedHold reports whether a step is no exclusive release of an unowned lock, or ends the hold
// of the thread whose hold it was observed to end.
func endsObservedHold(p *replay.Replayer, done []bool, i int) bool {
	r := &p.Window.Records[i]
	if r.Op != heisen.Release || !p.Unowned[r.Object] {
		return true
	}
	holder := heisen.Thread(0)
	held := map[heisen.Thread]int{}
	for _, h := range p.Window.Held {
		if h.Lock == r.Object && !h.Shared {
			held[h.Thread]++
		}
	}
	for k, d := range done {
		x := &p.Window.Records[k]
		switch {
		case !d || x.Object != r.Object:
		case x.Op == heisen.Acquire:
			held[x.Thread]++
		case x.Op == heisen.Release:
			held[p.Owner[k]]--
		}
	}
	for t, n := range held {
		if n > 0 {
			holder = t
		}
	}
	return holder == p.Owner[i]
}

// holdsTwice reports whether a thread has a critical section inside another one of the same lock, such
// that another thread ends the outer one and may do so before the inner one ends.
func holdsTwice(m *Model) bool {
	for _, l := range m.causal.Locks {
		for _, i := range l.Sections {
			for _, j := range l.Sections {
				x, y := &m.causal.Sections[i], &m.causal.Sections[j]
				if x.Chain == y.Chain && x.Acquire < y.Acquire && x.Release != model.None && m.causal.Chain[x.Release] != x.Chain &&
					y.Release != model.None && m.causal.Chain[y.Release] == y.Chain && !m.causal.Before(x.Release, y.Acquire) {
					return true
				}
			}
		}
	}
	return false
}

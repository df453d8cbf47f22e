package mcm

import (
	"math/rand/v2"
	"testing"
)

// TestLastReleasedByAnother: a lock that a thread holds twice and gives back once, and that
// another thread gives back the last time, is held until both have come, in either order.
// All ways to an answer are compared with the enumeration of all orders.
func TestLastReleasedByAnother(t *testing.T) {
	twice := 0
	for seed := range uint64(count(t, 20_000)) {
		rng := rand.New(rand.NewPCG(seed, 5))
		s := shape{threads: 3, events: 8 + rng.IntN(5), vars: 1 + rng.IntN(2), locks: 1, shared: rng.IntN(3) == 0,
			held: rng.IntN(4) == 0, again: true}
		w, _ := randomWindow(rng, s)
		for i, mode := range modes {
			m, err := NewModel(*w, append([]Option{Budget(1<<20, 1<<30)}, mode.options...)...)
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
			for _, p := range racyPairs(w) {
				verdict, _, err := m.Race(p[0], p[1])
				want := Impossible
				if truth.together(nil, p[0], p[1]) {
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

	// A witness of this one could not be replayed.
	rng := rand.New(rand.NewPCG(294, 4))
	s := randomShape(rng, 60)
	s.events, s.threads = 40+rng.IntN(40), 3+rng.IntN(2)
	s.values, s.branches = true, false
	w, symbols := randomWindow(rng, s)
	for _, mode := range modes {
		m, err := NewModel(*w, append([]Option{Reaches(symbols), Budget(200, 200_000)}, mode.options...)...)
		if err != nil {
			t.Fatal(err)
		}
		m.states = min(m.states, 2000)
		for _, p := range racyPairs(w) {
			if _, _, err := m.Race(p[0], p[1]); err != nil {
				t.Fatalf("%s, %v: %v\n%s", mode.name, p, err, show(w))
			}
		}
	}
}

// holdsTwice reports whether a thread has a section within another of the same lock, which
// another thread ends, perhaps before.
func holdsTwice(m *Model) bool {
	for _, l := range m.locks {
		for _, i := range l.sections {
			for _, j := range l.sections {
				x, y := &m.sections[i], &m.sections[j]
				if x.chain == y.chain && x.acquire < y.acquire && x.release != none && m.chain[x.release] != x.chain &&
					y.release != none && m.chain[y.release] == y.chain && !m.before(x.release, y.acquire) {
					return true
				}
			}
		}
	}
	return false
}

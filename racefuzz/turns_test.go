package racefuzz_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/testaid/tier"
	"github.com/heisen-go/heisen/mcm"
	"github.com/heisen-go/heisen/racefuzz"
)

// TestWitnesses follows the witness of each race that package mcm predicts from one execution of a
// random model. It leads to both accesses at the same time, without divergence. The models have no
// operation whose outcome is not an event, such as a receive that may fail or a counter that may
// become negative.
func TestWitnesses(t *testing.T) {
	models := tier.Pick(300, 300, 1500)
	rng := rand.New(rand.NewPCG(3, 4))
	replay := must(t)(racefuzz.Replay(nil))
	followed, distant, seeds := 0, 0, uint64(0)
	for n := 0; n < models; {
		m := randomModel(rng, false)
		if len(m.places("try", "any", "done", "wait")) > 0 {
			continue
		}
		n++
		seeds++
		strategy := replay
		if n%2 == 0 {
			strategy = racefuzz.RandomWalk()
		}
		r, events, _ := m.execute(t, strategy, seeds)
		w := mcm.Window{Records: events}
		model, err := mcm.NewModel(w)
		if err != nil {
			t.Fatal(err)
		}
		for i, j := range model.Pairs() {
			verdict, witness, err := model.Race(t.Context(), i, j)
			if err != nil || verdict == mcm.Unknown {
				t.Fatalf("%v, %d and %d: %v, %v", m, i, j, verdict, err)
			}
			if verdict != mcm.Possible {
				continue
			}
			turns, err := r.Turns(witness.Order, witness.Last)
			if err != nil {
				t.Fatal(err)
			}
			place := func(i int) string { return r.Symbols.Site(events[i].Site).String() }
			follow := must(t)(racefuzz.Follow(turns))
			q, _, _ := m.execute(t, follow, seeds, racefuzz.WithRoles(racefuzz.First|racefuzz.Second, place(i), place(j)))
			met := slices.ContainsFunc(q.Meetings, func(x racefuzz.Meeting) bool {
				a, b := q.Place(x.First.Place), q.Place(x.Second.Place)
				return a == place(i) && b == place(j) || a == place(j) && b == place(i)
			})
			if !met || q.Diverged > 0 {
				t.Fatalf("%v: %s and %s, met %v, %d turns were not followed: %v %v %v", m, place(i), place(j), met, q.Diverged, turns, q.Order, q.Outcome)
			}
			followed++
			if !slices.Equal(q.Order[:min(len(q.Order), 4)], r.Order[:min(len(r.Order), 4)]) {
				distant++
			}
		}
	}
	if followed < models/4 || distant == 0 {
		t.Errorf("%d witnesses were followed, %d of them another way from the start", followed, distant)
	}
	t.Logf("%d witnesses of %d models were followed, %d of them another way from the start", followed, models, distant)
}

// TestTurnsOfNewcomers: goroutines that are created in another order get other numbers; goroutines
// without a creation keep theirs.
func TestTurnsOfNewcomers(t *testing.T) {
	at := func(id uint32, at uint64) racefuzz.Position { return racefuzz.Position{ID: id, Seq: at} }
	starts := []racefuzz.Creation{
		{Position: at(0, 1), Child: 1}, {Position: at(0, 1), Child: 2}, {Position: at(1, 5), Child: 4},
		{Position: at(2, 6), Child: 5}, {Position: at(4, 1), Child: 6},
	}
	got := racefuzz.Turns([]racefuzz.Position{
		at(0, 1), at(2, 3), at(2, 6), // 2 starts its child before 1 does
		at(3, 1), at(5, 2), at(1, 4), at(1, 5), at(4, 1), at(5, 2),
	}, []racefuzz.Position{at(6, 1), at(2, 9)}, starts)
	if fmt.Sprint(got) != "[{0 2} {2 7} {3 2} {4 3} {1 6} {5 2} {6 1} {2 9} {6 2} {2 10}]" {
		t.Errorf("%v", got)
	}
}

// TestTurnsErrors has arguments that are not an order of the execution's events.
func TestTurnsErrors(t *testing.T) {
	m := model{{{do: "write", which: 0, place: "0.0"}, {do: "read", which: 0, place: "0.1"}}}
	r, events, _ := m.execute(t, racefuzz.RandomWalk(), 1)
	read := slices.IndexFunc(events, func(x heisen.Record) bool { return x.Op == heisen.Read })
	if _, err := r.Turns([]int{0}, 2); !errors.Is(err, racefuzz.ErrOrder) {
		t.Errorf("error %v", err)
	}
	for _, order := range [][]int{{-1}, {len(events)}, {read}, {0, 0}} {
		if _, err := r.Turns(order, 0); !errors.Is(err, racefuzz.ErrOrder) {
			t.Errorf("%v: error %v", order, err)
		}
	}
	if turns, err := r.Turns([]int{0}, 0); err != nil || len(turns) != 0 {
		t.Errorf("%v, %v", turns, err)
	}
}

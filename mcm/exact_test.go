package mcm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/internal/windowtest"
)

// askTruth returns a model's answer to the query whether two records of w race. It ends the test if
// the verdict differs from that of the enumeration.
func askTruth(t *testing.T, where string, m *Model, w *window.Window, truth *windowtest.Enumeration, p [2]int) (Verdict, *Witness) {
	t.Helper()
	verdict, x, err := race(m, p[0], p[1])
	if err != nil {
		t.Fatalf("%s, %v: %v\n%s", where, p, err, show(w))
	}
	want := Impossible
	if truth.Together(nil, p[0], p[1]) {
		want = Possible
	}
	if verdict != want {
		t.Fatalf("%s: %v is %v, want %v (%+v)\n%s", where, p, verdict, want, m.Stats(), show(w))
	}
	return verdict, x
}

// TestExact compares the verdicts of all modes with the enumeration of all feasible reorderings.
func TestExact(t *testing.T) {
	n := windowtest.Count(t, 3000)
	possible, impossible := 0, 0
	var stats, heldBack, gridded, delayed, swept Stats
	for seed := range n {
		rng := rand.New(rand.NewPCG(uint64(seed), 1))
		s := windowtest.RandomShape(rng, 14)
		w, symbols := windowtest.RandomWindow(rng, s)
		options := []DetectorOption{WithSymbols(symbols), WithBudget(1<<20, 1<<30)}
		if s.Branches {
			options = append(options, WithControlFlow())
		}
		truth := enumerate(w, options...)
		pairs := windowtest.RacyPairs(w)
		for k, mode := range modes {
			m, err := testModel(*w, append(options, mode.options...)...)
			if err != nil {
				t.Fatal(err)
			}
			order := rng.Perm(len(pairs))
			for _, at := range order {
				p := pairs[at]
				where := fmt.Sprintf("seed %d, %s", seed, mode.name)
				verdict, x := askTruth(t, where, m, w, truth, p)
				if m.cascade.Grid != nil {
					g, a, b := m.cascade.Grid, m.causal.Node[p[0]], m.causal.Node[p[1]]
					if a != model.None && b != model.None && g.Covers(a, b) &&
						(g.Refutes(a, b) != (verdict == Impossible) || (g.Witness(a, b) == nil) != (verdict == Impossible)) {
						t.Fatalf("%s: %v is %v, the grid refutes it: %v\n%s", where, p, verdict, g.Refutes(a, b), show(w))
					}
				}
				if verdict == Possible {
					if err := replayIn(w, (*window.Witness)(x), options...); err != nil {
						t.Fatalf("%s: %v", where, err)
					}
					possible++
				} else {
					impossible++
				}
			}
			if k == 0 {
				stats.Add(m.Stats())
			}
			switch mode.name {
			case "a thread held back, solver":
				heldBack.Add(m.Stats())
			case "a grid, solver":
				gridded.Add(m.Stats())
			case "delayed threads, solver":
				delayed.Add(m.Stats())
			case "a sweep, solver":
				swept.Add(m.Stats())
			}
		}
	}
	if n > 100 && (heldBack.Exhausted == 0 || heldBack.Explored == 0) {
		t.Errorf("with a thread held back: %+v", heldBack)
	}
	if n > 100 && (gridded.Exhausted == 0 || gridded.Explored == 0) {
		t.Errorf("with a grid: %+v", gridded)
	}
	if n > 100 && delayed.Explored < delayed.Solved {
		t.Errorf("with delayed threads: %+v", delayed)
	}
	if n > 100 && swept.Explored < swept.Solved {
		t.Errorf("with a sweep: %+v", swept)
	}
	t.Logf("%d windows, %d possible, %d impossible; %+v; with a thread held back %+v; with a grid %+v; with delayed threads %+v; with a sweep %+v",
		n, possible, impossible, stats, heldBack, gridded, delayed, swept)
}

// TestControlFlowExact compares the verdicts of all modes with ControlFlow with the enumeration. There
// must be more races than without ControlFlow, and more than if reads had to see the observed writes.
func TestControlFlowExact(t *testing.T) {
	more := map[string]int{}
	for seed := range windowtest.Count(t, 1500) {
		rng := rand.New(rand.NewPCG(uint64(seed), 9))
		s := windowtest.Shape{Threads: 2 + rng.IntN(2), Events: 6 + rng.IntN(8), Vars: 1 + rng.IntN(2+seed%2), Locks: 1, Values: true, Branches: true,
			Atomics: rng.IntN(3) == 0, Ranges: rng.IntN(4) == 0, Messages: rng.IntN(4) == 0, Decides: seed%2 == 1, Allocations: rng.IntN(6) == 0}
		w, _ := windowtest.RandomWindow(rng, s)
		unvalued := *w
		unvalued.Records = slices.Clone(w.Records)
		for i := range unvalued.Records {
			unvalued.Records[i].Flags &^= heisen.HasValue
		}
		verdict := func(w *window.Window, i, j int, options ...DetectorOption) Verdict {
			m, err := testModel(*w, options...)
			if err != nil {
				t.Fatal(err)
			}
			verdict, _, err := race(m, i, j)
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, show(w))
			}
			return verdict
		}
		truth := enumerate(w, WithControlFlow())
		for _, p := range windowtest.RacyPairs(w) {
			want := Impossible
			if truth.Together(nil, p[0], p[1]) {
				want = Possible
			}
			for _, mode := range modes {
				options := append([]DetectorOption{WithControlFlow(), WithBudget(1<<20, 1<<30)}, mode.options...)
				if got := verdict(w, p[0], p[1], options...); got != want {
					t.Fatalf("seed %d, %s: %v is %v, want %v\n%s", seed, mode.name, p, got, want, show(w))
				}
			}
			for what, got := range map[string]Verdict{
				"control flow":              verdict(w, p[0], p[1]),
				"other writes of the value": verdict(&unvalued, p[0], p[1], WithControlFlow()),
			} {
				switch {
				case got == Possible && want != Possible:
					t.Fatalf("seed %d: %v is possible without %s\n%s", seed, p, what, show(w))
				case got != Possible && want == Possible:
					more[what]++
				}
			}
		}
	}
	if len(more) < 2 {
		t.Errorf("no additional races: %v", more)
	}
	t.Logf("races that are missing without: %v", more)
}

// TestAgree compares the verdicts of all modes with each other, on windows that are too large for an
// enumeration.
func TestAgree(t *testing.T) {
	n := windowtest.Count(t, 60)
	verdicts := map[Verdict]int{}
	for seed := range n {
		rng := rand.New(rand.NewPCG(uint64(seed), 4))
		name := []string{"hot", "hot", "mixed", "locky"}[seed%4]
		w := &window.Window{Records: windowtest.Profiles[name](workload.Params{Threads: 2 + rng.IntN(4), Events: 60 + rng.IntN(150), Seed: uint64(seed)})}
		options := []DetectorOption{WithBudget(500, 500_000)}
		pairs := windowtest.RacyPairs(w)
		rng.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
		pairs = pairs[:min(len(pairs), 12)]
		first := map[[2]int]Verdict{}
		for _, mode := range modes {
			m, err := testModel(*w, append(options, mode.options...)...)
			if err != nil {
				t.Fatal(err)
			}
			limit(m, 20_000, allStatesName, heldBackName)
			for _, p := range pairs {
				verdict, _, err := race(m, p[0], p[1])
				if err != nil {
					t.Fatalf("seed %d, %s, %v: %v", seed, mode.name, p, err)
				}
				if verdicts[verdict]++; verdict == Unknown {
					continue
				}
				if known, ok := first[p]; ok && known != verdict {
					t.Fatalf("seed %d, %s: %v is %v, was %v\n%s", seed, mode.name, p, verdict, known, show(w))
				}
				first[p] = verdict
			}
		}
	}
	if n > 10 && (verdicts[Possible] == 0 || verdicts[Impossible] == 0) {
		t.Fatalf("not both verdicts occur: %v", verdicts)
	}
	t.Logf("%d windows: %v", n, verdicts)
}

// show returns a window as text.
func show(w *window.Window) string {
	var b strings.Builder
	for _, h := range w.Held {
		fmt.Fprintf(&b, "held %+v\n", h)
	}
	for i, r := range w.Records {
		fmt.Fprintf(&b, "%2d T%d %v(%d", i, r.Thread, r.Op, r.Object)
		if r.Len > 0 {
			fmt.Fprintf(&b, ",%d", r.Len)
		}
		b.WriteString(")")
		if r.Flags&heisen.HasValue != 0 || r.Value != 0 {
			fmt.Fprintf(&b, "=%d", r.Value)
		}
		b.WriteString("\n")
	}
	return b.String()
}

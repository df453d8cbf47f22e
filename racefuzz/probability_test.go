package racefuzz_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/heisen-go/heisen/racefuzz"
)

// atLeast fails the test if n of so many executions are too few for a probability of at least p: less
// than the expectation by more than five standard deviations.
func atLeast(t *testing.T, what string, n, of int, p float64) {
	t.Helper()
	want, deviation := p*float64(of), math.Sqrt(p*(1-p)*float64(of))
	t.Logf("%s: measured %.4f, bound %.4f", what, float64(n)/float64(of), p)
	if float64(n) < want-5*deviation {
		t.Errorf("%s: in %d of %d executions, want at least %.0f", what, n, of, want)
	}
}

// TestPCTBound has bugs of depths 1 to 4. PCT of that depth finds each with a probability of at least
// 1/(n*k^(depth-1)) among n goroutines in executions of k steps.
func TestPCTBound(t *testing.T) {
	const seeds, n = 20000, 3
	for depth := 1; depth <= 4; depth++ {
		// The bug is that b and a take turns, b first: as many constraints as the depth says.
		program := func(g *racefuzz.G) {
			turn := g.NewVar("turn")
			g.Go("a", func(g *racefuzz.G) {
				for range (depth + 1) / 2 {
					turn.Add(g, 1)
				}
			})
			g.Go("b", func(g *racefuzz.G) {
				turns := true
				for i := range (depth + 2) / 2 {
					turns = turn.Add(g, 1) == 2*i+1 && turns
				}
				g.Assert(!turns, "they take turns")
			})
		}
		k := uint64(2 + depth + 1) // main starts two, and the two make depth+1
		s := must(t)(racefuzz.PCT(depth, k))
		found := 0
		for seed := range uint64(seeds) {
			r := run(t, program, s, seed)
			if r.Steps > k {
				t.Fatalf("%d steps, want at most %d", r.Steps, k)
			}
			if r.Outcome == racefuzz.Failed {
				found++
			}
		}
		atLeast(t, fmt.Sprint("a bug of depth ", depth), found, seeds, 1/(n*math.Pow(float64(k), float64(depth-1))))
	}
}

// TestPOSBound: if others make k steps that do not concern b, b makes its only step after all of them with
// a probability of at least 1/(k+1), because one of k+1 priorities that are drawn alike is the lowest.
func TestPOSBound(t *testing.T) {
	const seeds = 10000
	for _, k := range []int{1, 3, 7, 15} {
		program := func(g *racefuzz.G) {
			x := g.NewVar("x")
			gate := g.NewMutex("gate")
			gate.Lock(g)
			// a begins when b is there.
			g.Go("a", func(g *racefuzz.G) {
				own := g.NewVar("own")
				gate.Lock(g)
				for range k - 1 {
					own.Store(g, 1)
				}
				gate.Unlock(g)
				g.Assert(x.Load(g) != 0, "b is last")
			})
			g.Go("b", func(g *racefuzz.G) { x.Store(g, 1) })
			gate.Unlock(g)
		}
		last := 0
		for seed := range uint64(seeds) {
			if run(t, program, racefuzz.POS(), seed).Outcome == racefuzz.Failed {
				last++
			}
		}
		// a and main make k+5 steps in the meantime at most: two starts, the unlock, the lock, k-1
		// stores, the unlock and the load.
		atLeast(t, fmt.Sprint("b after ", k, " steps"), last, seeds, 1/float64(k+6))
	}
}

// TestPOSCoversClasses: POS makes each class of executions of a model, as DPOR enumerates them, with a
// probability of at least 1/n!, where n is the number of steps of an execution.
func TestPOSCoversClasses(t *testing.T) {
	const seeds = 10000
	m := model{
		{{do: "write"}, {do: "load", which: 1}},
		{{do: "store", which: 1}, {do: "read"}},
	}
	d := racefuzz.NewDPOR()
	want := m.ends(t, d, d.More, 1<<20)
	n, hits := 0, map[string]int{}
	for seed := range uint64(seeds) {
		var o observations
		r := run(t, m.observed(&o), racefuzz.POS(), seed)
		n = len(r.Order)
		hits[class(r, &o)]++
	}
	factorial := 1.0
	for i := 2; i <= n; i++ {
		factorial *= float64(i)
	}
	for _, classes := range want {
		for c := range classes {
			if hits[c] == 0 {
				t.Errorf("class %s in none of %d executions", c, seeds)
			}
			atLeast(t, c, hits[c], seeds, 1/factorial)
		}
	}
	if len(hits) != want.classes() {
		t.Errorf("%d classes, want %d", len(hits), want.classes())
	}
}

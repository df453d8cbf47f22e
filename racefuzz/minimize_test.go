package racefuzz_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/racefuzz"
)

// transfer has a bug that needs three switches at certain places, among many other operations.
func transfer(g *racefuzz.G) {
	x, noise := g.NewVar("x"), g.NewVar("noise")
	l := g.NewMutex("L")
	g.Go("a", func(g *racefuzz.G) {
		for range 10 {
			noise.Load(g)
		}
		before := x.Read(g)
		for range 5 {
			l.Lock(g)
			l.Unlock(g)
		}
		g.Assert(x.Read(g) == before, "torn")
	})
	g.Go("b", func(g *racefuzz.G) {
		for range 10 {
			noise.Add(g, 1)
		}
		x.Write(g, 1)
		for range 10 {
			noise.Add(g, 1)
		}
	})
}

// fails reports whether a program fails in the same way with the choices.
func fails(t *testing.T, program racefuzz.Program, end *racefuzz.Result) func(context.Context, []racefuzz.Choice) (bool, error) {
	return func(_ context.Context, choices []racefuzz.Choice) (bool, error) {
		r := run(t, program, must(t)(racefuzz.Replay(choices)), 0)
		return r.Outcome == end.Outcome && r.Message == end.Message, nil
	}
}

func TestMinimize(t *testing.T) {
	shrunk, before := 0, 0
	for seed := range uint64(100) {
		r := run(t, transfer, racefuzz.RandomWalk(), seed)
		if r.Outcome != racefuzz.Failed {
			continue
		}
		same := fails(t, transfer, r)
		reports := 0
		least, err := racefuzz.Minimize(context.Background(), r.Choices, same,
			racefuzz.WithProgress(func(attempts, left int) {
				if reports++; attempts != reports {
					t.Fatal("an attempt without progress")
				}
			}))
		if err != nil || !least.Minimal || reports != least.Attempts {
			t.Fatalf("seed %d: %+v, %v", seed, least, err)
		}
		locallyMinimal(t, least.Choices, same)
		if len(least.Choices) > 3 {
			t.Errorf("seed %d: of %d choices remain %d", seed, len(r.Choices), len(least.Choices))
		}
		again, err := racefuzz.Minimize(context.Background(), r.Choices, same)
		if err != nil || !slices.Equal(again.Choices, least.Choices) || again.Attempts != least.Attempts {
			t.Fatalf("seed %d: another minimum: %+v, %v", seed, again, err)
		}
		shrunk, before = shrunk+1, before+len(r.Choices)
	}
	if shrunk < 10 {
		t.Errorf("%d executions that failed", shrunk)
	}
	t.Logf("%d executions, of %d choices on average", shrunk, before/max(shrunk, 1))
}

func locallyMinimal(t *testing.T, choices []racefuzz.Choice, same func(context.Context, []racefuzz.Choice) (bool, error)) {
	t.Helper()
	if ok, err := same(context.Background(), choices); !ok || err != nil {
		t.Fatalf("%v does not fail: %v", choices, err)
	}
	for i := range choices {
		if ok, err := same(context.Background(), slices.Delete(slices.Clone(choices), i, i+1)); ok || err != nil {
			t.Fatalf("%v fails without choice %d: %v", choices, i, err)
		}
	}
}

// TestMinimizeModels minimizes deadlocks of random models.
func TestMinimizeModels(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for n := 0; n < 100; {
		m := randomModel(rng, false)
		r := run(t, m.program, racefuzz.RandomWalk(), rng.Uint64())
		if r.Outcome == racefuzz.Finished || len(r.Choices) == 0 {
			continue
		}
		n++
		same := fails(t, m.program, r)
		least, err := racefuzz.Minimize(context.Background(), r.Choices, same)
		if err != nil || !least.Minimal {
			t.Fatalf("%v: %+v, %v", m, least, err)
		}
		locallyMinimal(t, least.Choices, same)
	}
}

// TestMinimizeSets has failures that need a certain set of choices.
func TestMinimizeSets(t *testing.T) {
	all := make([]racefuzz.Choice, 100)
	for i := range all {
		all[i] = racefuzz.Choice{Step: uint64(10 * i), ID: uint32(i)}
	}
	rng := rand.New(rand.NewPCG(11, 12))
	for range 100 {
		needed := map[uint32]bool{}
		for range rng.IntN(5) {
			needed[rng.Uint32N(100)] = true
		}
		var longest int
		same := func(_ context.Context, choices []racefuzz.Choice) (bool, error) {
			longest = max(longest, len(choices))
			n := 0
			for _, c := range choices {
				if needed[c.ID] {
					n++
				}
			}
			return n == len(needed), nil
		}
		least, err := racefuzz.Minimize(context.Background(), all, same)
		if err != nil || len(least.Choices) != len(needed) || !least.Minimal || longest != len(all) || least.Attempts > 200 {
			t.Fatalf("%v: %+v, %v", needed, least, err)
		}
	}
}

func TestMinimizeStops(t *testing.T) {
	all := make([]racefuzz.Choice, 64)
	for i := range all {
		all[i] = racefuzz.Choice{Step: uint64(i), ID: 1}
	}
	ctx, cancel := context.WithCancel(context.Background())
	odd := errors.New("odd")
	for _, c := range []struct {
		name     string
		attempts int
		same     func() (bool, error)
		want     error
		left     int
		minimal  bool
	}{
		{"too few attempts", 5, func() (bool, error) { return true, nil }, nil, 0, true},
		{"one attempt", 1, func() (bool, error) { return true, nil }, nil, 64, false},
		{"never", 9, func() (bool, error) { return false, nil }, racefuzz.ErrNotReproduced, 0, false},
		{"an error", 9, func() (bool, error) { return true, odd }, odd, 0, false},
	} {
		least, err := racefuzz.Minimize(ctx, all, func(context.Context, []racefuzz.Choice) (bool, error) { return c.same() },
			racefuzz.WithAttempts(c.attempts))
		if !errors.Is(err, c.want) || len(least.Choices) != c.left || least.Attempts > c.attempts || least.Minimal != c.minimal {
			t.Errorf("%s: %+v, %v", c.name, least, err)
		}
	}
	n := 0
	least, err := racefuzz.Minimize(ctx, all, func(_ context.Context, choices []racefuzz.Choice) (bool, error) {
		if n++; n == 3 {
			cancel()
		}
		return len(choices) >= 20, nil
	})
	if !errors.Is(err, context.Canceled) || len(least.Choices) != 32 {
		t.Errorf("canceled: %+v, %v", least, err)
	}
	never := func(context.Context, []racefuzz.Choice) (bool, error) { return false, nil }
	if _, err := racefuzz.Minimize(ctx, all, never, racefuzz.WithAttempts(0)); !errors.Is(err, heisen.ErrOption) {
		t.Error(err)
	}
	var none context.Context
	if _, err := racefuzz.Minimize(none, all, never); !errors.Is(err, heisen.ErrOption) {
		t.Error(err)
	}
	if _, err := racefuzz.Minimize(ctx, all, nil); !errors.Is(err, heisen.ErrOption) {
		t.Error(err)
	}
}

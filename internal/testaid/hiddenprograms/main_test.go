package main

import (
	"maps"
	"testing"

	"github.com/heisen-go/heisen/internal/testaid/heisencmd"
	"github.com/heisen-go/heisen/internal/testaid/tier"
)

func TestMain(m *testing.M) { heisencmd.Main(m) }

// TestNoFalseAlarm: for more programs use go run ./internal/testaid/hiddenprograms -n 20.
func TestNoFalseAlarm(t *testing.T) {
	tier.Need(t, tier.CI)
	r, err := settings{modules: 1, tests: 40, seed: 1, command: "HEISENTEST_COMMAND"}.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range r.wrong {
		t.Error(w)
	}
	t.Log(r)
	all, hidden := r.found[0]["mcm"], r.found[2]["mcm"]
	if all == 0 || 100*hidden < 76*all {
		t.Errorf("with the package hidden, mcm finds %d of %d racing variables", hidden, all)
	}
}

// TestReproducible: equal seeds give equal modules, and different seeds different ones.
func TestReproducible(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(50) {
		files := generate(seed, 5)
		if !maps.Equal(files, generate(seed, 5)) {
			t.Fatalf("seed %d gives different modules", seed)
		}
		seen[files["box/box.go"]] = true
	}
	if len(seen) < 50 {
		t.Errorf("50 seeds give %d packages", len(seen))
	}
}

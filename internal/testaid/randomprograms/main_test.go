package main

import (
	"context"
	"testing"
)

// TestOrdered: the detectors that run inside programs report no false alarm. For more programs use
// go run ./internal/testaid/randomprograms -n 50000.
func TestOrdered(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles and runs a thousand programs")
	}
	for _, detector := range []string{"atomrace", "fasttrack"} {
		r, err := settings{programs: 1000, seed: 1, detector: detector}.run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range r.wrong {
			t.Errorf("%s: false alarm: %s", detector, w)
		}
	}
}

// TestBroken compares atomrace with the happens-before detector on the same runs.
func TestBroken(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles and runs hundreds of programs")
	}
	r, err := settings{programs: 300, seed: 1, detector: "atomrace", broken: true}.run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range r.wrong {
		t.Errorf("not confirmed by hb: %s", w)
	}
	if r.racy < 30 {
		t.Errorf("races found in %d of %d programs with races", r.racy, r.programs)
	}
}

// TestReproducible: equal seeds give equal programs, and different seeds different ones.
func TestReproducible(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(200) {
		text := program(seed, "p", false)
		if text != program(seed, "p", false) {
			t.Fatalf("seed %d gives different programs", seed)
		}
		seen[text] = true
	}
	if len(seen) < 200 {
		t.Errorf("200 seeds give %d programs", len(seen))
	}
}

package main

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/heisen-go/heisen/heal"
	"github.com/heisen-go/heisen/internal/testaid/heisencmd"
)

func TestMain(m *testing.M) { heisencmd.Main(m) }

// TestPrograms: for more programs use go run ./internal/testaid/healedprograms -n 1000.
func TestPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("it explores instrumented programs")
	}
	r, err := settings{programs: 2 * batch, seed: 1, limit: 300 * time.Millisecond, parallel: 2}.run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range r.wrong {
		t.Error(w)
	}
	t.Log(r)
	if r.compared < r.programs/2 || r.promised < r.programs || r.held == 0 || r.objects == 0 || r.violated[original] < r.programs/4 {
		t.Error("these programs show little")
	}
}

// TestReproducible: equal seeds give equal programs and different seeds different ones. With plain accesses, a program has
// the same places.
func TestReproducible(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(200) {
		p := generate(seed, false)
		if p.text != generate(seed, false).text {
			t.Fatalf("seed %d gives different programs", seed)
		}
		if !slices.Equal(p.places, generate(seed, true).places) {
			t.Fatalf("seed %d has other places with plain accesses", seed)
		}
		seen[p.text] = true
	}
	if len(seen) < 200 {
		t.Errorf("200 seeds give %d programs", len(seen))
	}
}

// TestViolations judges executions by hand.
func TestViolations(t *testing.T) {
	places := []place{{1, "read", "x"}, {2, "write", "x"}, {3, "call", ""}, {4, "write", "x"}, {5, "read", "x"}, {6, "write", "y"}}
	inF := claim{"x", end{1, "read"}, end{2, "write"}}
	around := claim{"x", end{3, "call"}, end{4, "write"}}
	for _, test := range []struct {
		what   string
		output string
		mode   heal.Mode
		wrong  []claim
	}{
		{"nothing between", "note: 0 0 1 1 -1\nnote: 0 1 1 1 -1\nnote: 1 4 1 2 -1\n", heal.Exclusive, nil},
		{"a read between", "note: 0 0 1 1 -1\nnote: 1 4 1 2 -1\nnote: 0 1 1 1 -1\n", heal.Exclusive, []claim{inF}},
		{"a read that is permitted", "note: 0 0 1 1 -1\nnote: 1 4 1 2 -1\nnote: 0 1 1 1 -1\n", heal.Shared, nil},
		{"a write between", "note: 0 0 1 1 -1\nnote: 1 3 1 2 -1\nnote: 0 1 1 1 -1\n", heal.Shared, []claim{inF}},
		{"another object", "note: 0 0 1 1 -1\nnote: 1 3 2 2 -1\nnote: 0 1 1 1 -1\n", heal.Exclusive, nil},
		{"another variable", "note: 0 0 1 1 -1\nnote: 1 5 1 2 -1\nnote: 0 1 1 1 -1\n", heal.Exclusive, nil},
		{"another object of its own", "note: 0 0 1 1 -1\nnote: 0 3 2 1 -1\nnote: 1 3 1 2 -1\nnote: 0 1 1 1 -1\n", heal.Exclusive, []claim{inF}},
		{"a call and an access", "note: 0 0 1 1 -1 3 2\nnote: 1 3 1 2 -1\nnote: 0 3 1 1 -1\n", heal.Shared, []claim{around}},
		{"within a call", "note: 0 0 1 1 -1 3 2\nnote: 1 3 1 2 -1\nnote: 0 1 1 1 -1 3 2\n", heal.Shared, []claim{inF}},
		{"two calls", "note: 0 0 1 1 -1 3 2\nnote: 1 3 1 2 -1\nnote: 0 1 1 1 -1 4 2\n", heal.Shared, nil},
	} {
		events, err := eventsIn(test.output)
		if err != nil {
			t.Fatal(err)
		}
		wrong, _ := claims{inF: test.mode, around: test.mode}.violations(places, nil, events)
		if !slices.Equal(wrong, test.wrong) {
			t.Errorf("%s: %v, want %v", test.what, wrong, test.wrong)
		}
	}
	for _, output := range []string{"note: 1 2\n", "note: 1 2 3 4\n", "note: 1 2 3 x 5\n"} {
		if _, err := eventsIn(output); err == nil {
			t.Errorf("%q is taken for a note", output)
		}
	}
}

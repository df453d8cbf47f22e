package main

import (
	"context"
	"testing"
	"time"

	"github.com/heisen-go/heisen/internal/testaid/heisencmd"
	"github.com/heisen-go/heisen/internal/testaid/tier"
)

func TestMain(m *testing.M) { heisencmd.Main(m) }

// TestPrograms: for more programs use go run ./internal/testaid/patchedprograms -n 1000.
func TestPrograms(t *testing.T) {
	tier.Need(t, tier.CI)
	expectRight(t, settings{programs: 16, seed: 1, time: 300 * time.Millisecond, parallel: 2}, 5)
}

// TestEnforced: with the locks of -enforce, no program deadlocks, and those of which nothing is named lose no update.
func TestEnforced(t *testing.T) {
	tier.Need(t, tier.CI)
	expectRight(t, settings{programs: 10, seed: 1000, time: 300 * time.Millisecond, parallel: 2, enforced: true}, 5)
}

// expectRight expects that nothing is wrong, and that at least some programs are repaired as a whole.
func expectRight(t *testing.T, s settings, some int) {
	t.Helper()
	r, err := s.run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range r.wrong {
		t.Error(w)
	}
	t.Log(r)
	if r.patched < some {
		t.Error("these programs show little")
	}
}

// TestOriginals: without patches most programs fail in some schedule, so what TestPrograms explores can show something.
func TestOriginals(t *testing.T) {
	tier.Need(t, tier.CI)
	r, err := settings{programs: 8, seed: 1, time: 300 * time.Millisecond, parallel: 2, original: true}.run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.wrong) < 8 {
		t.Errorf("%d things wrong: %v", len(r.wrong), r.wrong)
	}
}

package racyprograms

import (
	"strings"
	"testing"
)

// TestGenerate: equal seeds give equal programs, and different ones mostly different ones. Each has a field that goroutines race on.
func TestGenerate(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(500) {
		p := Generate(seed)
		if again := Generate(seed); again.Source != p.Source || again.Tests != p.Tests {
			t.Fatalf("seed %d gives different programs", seed)
		}
		if len(p.Fields) == 0 {
			t.Errorf("seed %d: no field:\n%s", seed, p.Source)
		}
		_, rest, _ := strings.Cut(p.Source, "\n")
		seen[rest] = true
	}
	if len(seen) < 450 {
		t.Errorf("500 seeds give %d programs", len(seen))
	}
}

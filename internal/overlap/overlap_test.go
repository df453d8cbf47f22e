package overlap

import (
	"testing"

	"github.com/heisen-go/heisen"
)

// TestViolationOfLittle makes findings of too few accesses.
func TestViolationOfLittle(t *testing.T) {
	for n := range 3 {
		if f := Violation(make([]heisen.Access, n)); f.Kind != heisen.Atomicity || len(f.Accesses) != n || f.Message == "" {
			t.Errorf("of %d accesses: %+v", n, f)
		}
	}
}

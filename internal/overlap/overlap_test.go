package overlap

import (
	"testing"

	"github.com/heisen-go/heisen"
)

// TestViolationWithFewAccesses makes findings of fewer accesses than a violation has.
func TestViolationWithFewAccesses(t *testing.T) {
	for n := range 3 {
		if f := Violation(make([]heisen.Access, n)); f.Kind != heisen.Atomicity || len(f.Accesses) != n || f.Message == "" {
			t.Errorf("of %d accesses: %+v", n, f)
		}
	}
}

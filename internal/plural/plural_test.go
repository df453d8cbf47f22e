package plural_test

import (
	"testing"

	"github.com/heisen-go/heisen/internal/plural"
)

func TestOf(t *testing.T) {
	for want, got := range map[string]string{
		"0 tests":        plural.Of(0, "test"),
		"1 test":         plural.Of(1, "test"),
		"2 tests":        plural.Of(2, "test"),
		"1 query":        plural.Of(1, "query"),
		"2 queries":      plural.Of(2, "query"),
		"2 delays":       plural.Of(2, "delay"),
		"2 accesses":     plural.Of(2, "access"),
		"0 of 1 test":    plural.Part(0, 1, "test"),
		"1 of 3 tests":   plural.Part(1, 3, "test"),
		"1 is, 2 are":    "1 " + plural.Form(1, "is", "are") + ", 2 " + plural.Form(2, "is", "are"),
		"0 queries were": plural.Of(0, "query") + " " + plural.Form(0, "was", "were"),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

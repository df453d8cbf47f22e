package cli

import (
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/racefuzz"
)

// TestLikeness: an execution with the steps and choices of the schedule is its execution, even if both have left the
// order that they were to follow.
func TestLikeness(t *testing.T) {
	for _, test := range []struct {
		hash, diverged uint64
		steps          uint64
		want           string
	}{
		{5, 0, 9, "is that of the schedule"},
		{5, 1, 9, "is that of the schedule"},
		{5, 0, 8, "differs"},
		{6, 0, 9, "differs"},
		{6, 2, 9, "2 choices of the schedule could not be followed"},
		{0, 2, 9, "2 choices of the schedule could not be followed"},
		{0, 0, 9, ""},
	} {
		e := &controlled.Execution{}
		e.Hash, e.Steps, e.Diverged = 5, 9, test.diverged
		got := likeness(&racefuzz.Schedule{Hash: test.hash, Steps: test.steps}, e)
		if !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%+v: %q", test, got)
		}
	}
}

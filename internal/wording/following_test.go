package wording

import (
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/report"
)

// TestFollowing: the sentence about a race says how many others belong to it.
func TestFollowing(t *testing.T) {
	access := report.Access{Op: "read", Goroutine: "goroutine 1", Site: "a.go:1"}
	for n, want := range []string{"", "One more race belongs to it", "2 more races belong to it"} {
		f := report.Finding{Kind: heisen.Race, Accesses: []report.Access{access, access}, Following: make([]report.Following, n)}
		if got := Sentence(&f); !strings.Contains(got, want) || n == 0 && strings.Contains(got, "belong") {
			t.Errorf("%d: %s", n, got)
		}
	}
}

// TestSubject: what has no name leaves no gap.
func TestSubject(t *testing.T) {
	for want, f := range map[string]report.Finding{
		"Misuse":       {Kind: heisen.Misuse, Message: "m"},
		"Data race: x": {Kind: heisen.Race, Variable: "x"},
	} {
		if got := Subject(&f); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

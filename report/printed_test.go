package report_test

import (
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/report"
)

// TestPrintedIsHarmless: what a program has printed controls no terminal.
func TestPrintedIsHarmless(t *testing.T) {
	var b strings.Builder
	f := report.Finding{Kind: heisen.Failure, Message: "exit: status 1", Printed: []string{"a\x1b]0;title\x07b"}}
	if err := report.WriteText(&b, &f); err != nil {
		t.Fatal(err)
	}
	if out := b.String(); strings.ContainsAny(out, "\x1b\x07") || !strings.Contains(out, "The program printed:\n  a") {
		t.Errorf("%q", out)
	}
}

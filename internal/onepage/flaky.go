package onepage

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/internal/printable"
	"github.com/heisen-go/heisen/report"
)

// Flaky is a row of the table of flaky tests: a test that failed in some executions and passed in others, with one of the causes.
type Flaky struct {
	report.FlakyTest
	Finding *report.Finding // that decides it; nil if none does
	Cause   string          // what is known of the cause besides, in words; may be empty
}

// FlakyLines returns the table, at most some rows, each with the command that repeats it, if there is one.
func FlakyLines(rows []Flaky, most int) (lines []string) {
	for i := range rows {
		if i == most {
			lines = append(lines, "and "+plural.Of(len(rows)-i, "more row"))
			break
		}
		r := &rows[i]
		line := fmt.Sprintf("%v: %s", r.FlakyTest, r.cause())
		if r.Finding != nil && r.Finding.Replay != "" {
			line += ": " + r.Finding.Replay
		}
		lines = append(lines, printable.Text(line))
	}
	return lines
}

// cause says why the test failed.
func (r *Flaky) cause() string {
	f := r.Finding
	switch {
	case f == nil:
		return cmp.Or(r.Cause, "the cause is not known")
	case r.Cause != "":
		return fmt.Sprintf("%s [%s]", r.Cause, f.Fingerprint)
	case f.Kind == heisen.Failure && f.Identity == "" && f.Trials != nil && len(f.Trials.Outside) > 0:
		return fmt.Sprintf("no race decides it, but more than the schedule: %s [%s]", strings.Join(f.Trials.Outside, ", "), f.Fingerprint)
	case f.Kind == heisen.Failure && f.Identity == "":
		return fmt.Sprintf("the schedule decides it, and no race [%s]", f.Fingerprint)
	}
	return fmt.Sprintf("%s [%s]", Subject(f), f.Fingerprint)
}

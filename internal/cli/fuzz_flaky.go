package cli

import (
	"fmt"
	"slices"

	"github.com/heisen-go/heisen/internal/confirm"
	"github.com/heisen-go/heisen/internal/onepage"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/report"
)

// noteFlaky notes the flaky tests of a campaign, and in the findings that decide them.
func (f *fuzzRun) noteFlaky(tests []confirm.Flaky) {
	for _, t := range tests {
		f.found.addFlaky(t.Finding, t.FlakyTest)
	}
	all, _ := f.found.all()
	for _, t := range tests {
		row := onepage.Flaky{FlakyTest: t.FlakyTest, Cause: t.Cause}
		if i := slices.IndexFunc(all, func(one report.Finding) bool { return one.Fingerprint == t.Finding }); i >= 0 {
			row.Finding = &all[i]
		} else if t.Finding != "" {
			row.Cause = fmt.Sprintf("a finding that is not shown [%s]", t.Finding)
		}
		f.flaky = append(f.flaky, row)
	}
}

// maxFlaky bounds the rows of a table of flaky tests in text.
const maxFlaky = 50

// flakySummary prints the table of flaky tests.
func (f *fuzzRun) flakySummary() {
	if len(f.flaky) == 0 {
		return
	}
	names := map[string]bool{}
	for _, row := range f.flaky {
		names[row.Package+"."+row.Test] = true
	}
	fmt.Fprintf(f.Err, "Found %s, which failed in some executions and passed in others\n", plural.Of(len(names), "flaky test"))
	for _, line := range onepage.FlakyLines(f.flaky, maxFlaky) {
		fmt.Fprintf(f.Err, "  %s\n", line)
	}
}

package cli

import (
	"errors"
	"fmt"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm"
	"github.com/heisen-go/heisen/report"
)

// merge is heisen fuzz -merge. It combines files that -json has written.
func (f *fuzzRun) merge() (int, error) {
	if len(f.args) == 0 {
		return Misused, misuse("-merge needs files that -json has written")
	}
	var all []report.Finding
	for _, name := range f.args {
		found, err := findingsIn(name)
		if err != nil {
			return Failed, err
		}
		all = append(all, found...)
	}
	print := textTo(f.Err)
	if f.json {
		print = jsonTo(f.Out)
	}
	var failed error
	suspects, confirmed, harmful, executions, failures := 0, 0, 0, 0, 0
	for _, one := range confirm.Merge(all) {
		t := one.Trials
		if t == nil {
			continue
		}
		_, hidden := f.known.hides(&one)
		if one.Kind == heisen.Failure {
			failures++
		} else {
			suspects++
			executions += t.Executions
			if t.Confirmed > 0 {
				confirmed++
				if t.Harmful {
					harmful++
				}
			}
		}
		if !hidden && (t.Confirmed > 0 || f.json || f.verbose) {
			failed = errors.Join(failed, print(&one))
		}
	}
	fmt.Fprintf(f.Err, "%s: %d of %d suspects confirmed in %d executions, %d of them harmful\n", f.tool.Name, confirmed, suspects, executions, harmful)
	switch {
	case failed != nil:
		return Failed, failed
	case confirmed+failures > 0:
		return Findings, nil
	}
	return Clean, nil
}

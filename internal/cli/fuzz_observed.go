package cli

import (
	"context"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm"
	"github.com/heisen-go/heisen/report"
)

// Bugs that executions have shown by themselves, whatever suspect they tried.

// isObserved reports whether a finding is no suspect that was tried.
func isObserved(f *report.Finding) bool {
	return f.Kind == heisen.Failure || confirm.IsObserved(f)
}

// confirmedBug is a suspect that was confirmed.
type confirmedBug struct {
	program *confirm.Program
	finding report.Finding
}

// reportObserved reports what was observed, unless a confirmed suspect is the same bug.
func (f *fuzzRun) reportObserved(ctx context.Context) {
	f.mu.Lock()
	results := f.observed.Results(func(p *confirm.Program, seen *report.Finding) bool {
		for i := range f.bugs {
			if f.bugs[i].program == p && confirm.SameBug(&f.bugs[i].finding, seen) {
				return false
			}
		}
		return true
	})
	f.mu.Unlock()
	for _, v := range results {
		if v.Timing && !f.timing { // the failure is mentioned
			continue
		}
		finding := v.Report(f.usual[v.Suspect.Program])
		f.reproduce(ctx, v, &finding)
		f.found.add(finding)
		f.failures++
	}
}

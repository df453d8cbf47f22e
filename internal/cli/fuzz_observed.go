package cli

import (
	"context"
	"fmt"

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
		f.reportBug(ctx, v)
	}
}

// reportBug reports a bug that was observed.
func (f *fuzzRun) reportBug(ctx context.Context, v *confirm.Result) {
	usual, late := v.Suspect.Usual(f.usual[v.Suspect.Program]), confirm.IsLateUse(&v.Finding)
	if late { // panics because of it are harm in any case, and need no report of their own
		usual, f.lateUse[v.Suspect.Program] = nil, true
	}
	if v.Timing && !f.timing { // the failure is mentioned
		if late {
			f.assumed.add(v.Suspect.Program.Package, "timing", "the test may end before the call", fmt.Sprintf("%s, at %s", v.Finding.Message, v.Finding.Accesses[0].Site))
		}
		return
	}
	finding := v.Report(usual...)
	f.explained[v.Suspect.Program] = append(f.explained[v.Suspect.Program], v.Explains...)
	if f.follows(ctx, v, &finding, f.shown(v.Suspect.Program, &finding)) {
		return
	}
	if mistake := atCalls(&finding, f.standard); mistake != "" {
		if f.mistakes[mistake] {
			return
		}
		f.mistakes[mistake] = true
	}
	if repro := f.reproduce(ctx, v, &finding); repro != nil && repro.Chance && !f.unconfirmed {
		f.mentionChance(v, fmt.Sprintf("%s (%s)", finding.Message, finding.Accesses[0].Site), repro)
		return
	}
	atCalls(&finding, f.standard) // its accesses are those of the repetition
	f.found.add(finding)
	f.failures++
}

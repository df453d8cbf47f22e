package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm"
	"github.com/heisen-go/heisen/internal/private"
	"github.com/heisen-go/heisen/report"
)

// printText returns a function that prints findings as text while programs run, or nil.
func (f *fuzzRun) printText() func(*report.Finding) error {
	if !f.reports.shows(asText) {
		return nil
	}
	print := printTo(f.Err, f.raw.Err)
	return func(finding *report.Finding) error {
		if f.isQuiet(finding) {
			return nil
		}
		return print(finding)
	}
}

// reportUnexplained reports the failures of programs that no confirmed bug explains, each once. Those
// that may only show an assumption about time come last, and are mentioned unless -timing asks for more.
func (f *fuzzRun) reportUnexplained(ctx context.Context) {
	slices.SortStableFunc(f.unexplained, func(a, b *confirm.Result) int {
		switch {
		case a.Timing == b.Timing:
			return 0
		case a.Timing:
			return 1
		}
		return -1
	})
	var packages []string
	assumptions := map[string][]string{}
	for _, v := range f.unexplained {
		p, outcome := v.Suspect.Program, v.Endings[0].Outcome
		explained := slices.ContainsFunc(f.explained[p], func(o confirm.Outcome) bool { return o.Same(outcome) })
		if explained {
			continue
		}
		f.explained[p] = append(f.explained[p], outcome)
		if v.Timing && !f.timing {
			if assumptions[p.Package] == nil {
				packages = append(packages, p.Package)
			}
			assumptions[p.Package] = append(assumptions[p.Package], outcome.String())
			continue
		}
		finding := v.Report(confirm.Outcome{Class: confirm.Passed})
		if repro := f.reproduce(ctx, v, &finding); repro != nil && repro.Chance && !f.unconfirmed {
			fmt.Fprintf(f.Err, "%s: %s: an execution failed (%s), but not when its schedule was repeated: it depends on %s; -unconfirmed reports it\n",
				f.tool.Name, p.Package, outcome, strings.Join(repro.Outside(), ", "))
			continue
		}
		f.found.add(finding)
		f.failures++
	}
	for _, name := range packages {
		f.mentionTiming(name, assumptions[name])
	}
}

// maxMentioned bounds the timing assumptions of a package that are mentioned with their outcomes.
const maxMentioned = 3

// mentionTiming prints a line about failures of a package that may be timing assumptions.
func (f *fuzzRun) mentionTiming(name string, outcomes []string) {
	what := "a timing assumption"
	if n := len(outcomes); n > 1 {
		what = fmt.Sprintf("%d timing assumptions", n)
	}
	if over := len(outcomes) - maxMentioned; over > 0 {
		outcomes = append(outcomes[:maxMentioned:maxMentioned], fmt.Sprintf("%d more", over))
	}
	fmt.Fprintf(f.Err, "%s: %s: %s (%s): it fails if a goroutine goes on only after a timer has fired; -timing reports it\n",
		f.tool.Name, name, what, strings.Join(outcomes, "; "))
}

// reproduce adds to the finding of a confirmed suspect how to repeat it, and writes the schedule. It returns nil if it could
// not be repeated.
func (f *fuzzRun) reproduce(ctx context.Context, v *confirm.Result, finding *report.Finding) *confirm.Reproduction {
	repro, err := f.confirmer.Reproduce(ctx, v, f.minimize)
	if repro == nil && ctx.Err() != nil { // a schedule that was not shrunk is better than none
		last, stop := f.lastMoment(ctx)
		repro, err = f.confirmer.Reproduce(last, v, 0)
		stop()
	}
	if err != nil && (repro == nil || ctx.Err() == nil) {
		fmt.Fprintf(f.Err, "%s: %v\n", f.tool.Name, err)
	}
	if repro == nil || repro.Execution == nil {
		return nil
	}
	if repro.Chance && !f.unconfirmed {
		return repro // there is nothing to report
	}
	finding.Accesses, finding.Goroutines = repro.Finding.Accesses, repro.Finding.Goroutines
	if finding.Kind == heisen.Leak {
		finding.Blocked, finding.Wait = repro.Finding.Blocked, repro.Finding.Wait // with locks and users
	}
	finding.Witness = repro.Steps
	confirm.AddBlocked(finding, repro.Execution.Blocked)
	t := finding.Trials
	t.Replayed, t.Choices = repro.Replayed, len(repro.Execution.Choices)
	text, err := f.origin.Schedule(v.Suspect.Program, repro.Tests, repro.Schedule, repro.Execution).MarshalText()
	if err == nil {
		err = private.Open(f.folder)
	}
	name := filepath.Join(f.folder, finding.Fingerprint+".schedule")
	if err == nil {
		err = private.Replace(name, func(w io.Writer) error {
			_, err := w.Write(text)
			return err
		})
	}
	if err != nil {
		fmt.Fprintf(f.Err, "%s: cannot write the schedule of %s: %v\n", f.tool.Name, finding.Fingerprint, err)
		return repro
	}
	t.Endings[0].Schedule = name
	finding.Replay = f.tool.Name + " replay " + filepath.ToSlash(name)
	return repro
}

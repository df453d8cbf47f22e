package cli

import (
	"cmp"
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

// sayHarmful says why a finding is printed again.
func (f *fuzzRun) sayHarmful(finding *report.Finding) {
	if !f.isQuiet(finding) {
		fmt.Fprintf(f.Err, "%s: %s was told without harm; in the tests of %s it does harm:\n", f.tool.Name, finding.Fingerprint, cmp.Or(finding.Package, "another package"))
	}
}

// reportUnexplained reports the failures of programs that no confirmed bug explains, each once. Those
// that may only show an assumption, about time or the runtime, come last, and are mentioned unless -timing
// asks for more. Of the executions that failed in the same way, one counts that cannot be due to what it measured, if
// there is one.
func (f *fuzzRun) reportUnexplained(ctx context.Context) {
	slices.SortStableFunc(f.unexplained, func(a, b *confirm.Result) int {
		return cmp.Or(order(a.Timing, b.Timing), order(a.MayBeMeasured(), b.MayBeMeasured()))
	})
	for _, v := range f.unexplained {
		p, outcome := v.Suspect.Program, v.Endings[0].Outcome
		explained := slices.ContainsFunc(f.explained[p], func(o confirm.Outcome) bool { return o.Same(outcome) })
		if explained || f.lateUse[p] && confirm.OfLateUse(outcome) {
			continue
		}
		f.explained[p] = append(f.explained[p], outcome)
		if !f.timing {
			if kind, because := f.assumption(ctx, v); kind != "" {
				f.assumed.add(p.Package, kind, because, outcome.String())
				continue
			}
		}
		if !(f.timing && v.Timing) && f.failsAnyway(ctx, v) {
			fmt.Fprintf(f.Err, "%s: %s: %s\n", f.tool.Name, p.Package, v.Endings[0].Trial.Execution.What())
			f.anyway++
			continue
		}
		finding := v.Report()
		if repro := f.reproduce(ctx, v, &finding); repro != nil && repro.Chance && !f.unconfirmed {
			f.mentionChance(v, "an execution failed ("+outcome.String()+")", repro)
			continue
		}
		f.found.add(finding)
		f.failures++
	}
	f.assumed.mention(f)
}

// failsAnyway reports whether a program fails whatever the schedule is, as it does without heisen.
func (f *fuzzRun) failsAnyway(ctx context.Context, v *confirm.Result) bool {
	always, err := f.confirmer.Always(ctx, v)
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(f.Err, "%s: %v\n", f.tool.Name, err)
	}
	return always && err == nil
}

// order puts what is not before what is.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// mentionChance prints a line about something that an execution has shown, and no repetition of its schedule.
func (f *fuzzRun) mentionChance(v *confirm.Result, what string, repro *confirm.Reproduction) {
	cause := "what decides it is not known, such as files, sockets or other processes"
	if outside := repro.Outside(); len(outside) > 0 {
		cause = "it depends on " + strings.Join(outside, ", ")
	}
	fmt.Fprintf(f.Err, "%s: %s: %s, but not when its schedule was repeated: %s; -unconfirmed reports it\n",
		f.tool.Name, v.Suspect.Program.Package, what, cause)
}

// maxReadable is the number of deviations of a schedule that people can follow.
const maxReadable = 300

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
	finding.Printed = repro.Finding.Printed
	if finding.Kind == heisen.Leak || finding.Kind == heisen.Unstoppable {
		finding.Blocked, finding.Wait = repro.Finding.Blocked, repro.Finding.Wait // with locks and users
	}
	repro.Show(finding)
	t := finding.Trials
	t.Replayed, t.Again, t.Choices = repro.Replayed, repro.Again, len(repro.Execution.Choices)
	if t.Choices > maxReadable && repro.Execution.HeldBack != "" {
		t.HeldBack, finding.Witness = repro.Execution.HeldBack, nil
	}
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

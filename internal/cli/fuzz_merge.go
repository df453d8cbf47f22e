package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/heisen-go/heisen/internal/confirm/trials"
	"github.com/heisen-go/heisen/internal/findingsfile"
	"github.com/heisen-go/heisen/internal/observed"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/report"
)

// merge is heisen fuzz -merge. It combines files that -report json has written.
func (f *fuzzRun) merge() (int, error) {
	if len(f.line.packages()) == 0 {
		return Misused, misuse("-merge needs files that -report json has written")
	}
	var all, reported []report.Finding
	for _, name := range f.line.packages() {
		found, err := findingsfile.ReadOwn(name) // there are none if a part of the suspects has shown nothing
		if err != nil {
			return Failed, err
		}
		all = append(all, found...)
	}
	suspects, confirmed, harmful, executions, failures := 0, 0, 0, 0, 0
	merged := trials.Merge(all)
	for _, one := range merged {
		t := one.Trials
		if t == nil || observed.IsObserved(&one) && slices.ContainsFunc(merged, func(other report.Finding) bool { return trials.SameBug(&other, &one) }) {
			continue
		}
		_, hidden := f.known.hides(&one)
		if observed.IsObserved(&one) {
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
		wanted := t.Confirmed > 0 || f.config.Unconfirmed
		if hidden || !wanted && !f.reports.includes(asJSON) {
			continue
		}
		reported = append(reported, one)
		f.setQuiet(&one, !wanted)
	}
	reported = byBug(reported, merged)
	flakyOf(all, reported)
	var failed error
	for i := range reported {
		if !f.isQuiet(&reported[i]) && f.reports.shows(asText) {
			failed = errors.Join(failed, f.reports.printTo(f.Err, f.raw.Err)(&reported[i]))
		}
	}
	f.reports.keepAll(reported, f.isQuiet)
	failed = errors.Join(failed, f.reports.writeOutput(f.Out, reported, f.isQuiet, jsonTo(f.Out)), f.reports.writeFiles(reported, f.isQuiet))
	fmt.Fprint(f.Err, suspectLine(f.tool.Name, confirmed, suspects, harmful, 0, plural.Of(executions, "execution")))
	switch {
	case failed != nil:
		return Failed, failed
	case confirmed+failures > 0:
		return Findings, nil
	}
	return Clean, nil
}

// byBug returns findings with those of each bug as one, whatever has found them: the first that does harm, else the first that has happened, else
// the first, with the others as its pairs. all has further pairs, of which the executions with one of the others tell.
func byBug(found, all []report.Finding) (grouped []report.Finding) {
	at := map[string]int{} // by fingerprint
	for _, one := range found {
		i, known := at[one.Fingerprint]
		switch {
		case !known:
			at[one.Fingerprint] = len(grouped)
			grouped = append(grouped, one)
		case one.Trials.Harmful && !grouped[i].Trials.Harmful, happened(&one) && !happened(&grouped[i]):
			one.AddPairs(&grouped[i])
			grouped[i] = one
		default:
			grouped[i].AddPairs(&one)
		}
	}
	for _, one := range all {
		if i, known := at[one.Fingerprint]; known && one.Trials == nil && one.Identity != "" {
			count := grouped[i].Count
			grouped[i].AddPairs(&one)
			grouped[i].Count = count
		}
	}
	return grouped
}

// flakyOf sets which tests findings make flaky: those that equal ones in any of the files do, with their executions added up.
func flakyOf(all, reported []report.Finding) {
	by := map[string][]report.FlakyTest{}
	for i := range all {
		tests := by[all[i].Fingerprint]
		for _, t := range all[i].Flaky {
			k := slices.IndexFunc(tests, func(known report.FlakyTest) bool { return known.Package == t.Package && known.Test == t.Test })
			if k < 0 {
				tests = append(tests, t)
				continue
			}
			tests[k].Executions += t.Executions
			tests[k].Failed += t.Failed
		}
		by[all[i].Fingerprint] = tests
	}
	for i := range reported {
		reported[i].Flaky = by[reported[i].Fingerprint]
	}
}

package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/heisen-go/heisen/internal/confirm/trials"
	"github.com/heisen-go/heisen/internal/observed"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/report"
)

// merge is heisen fuzz -merge. It combines the parts of a campaign, and files that -report json has written.
func (f *fuzzRun) merge() (int, error) {
	f.reports.foreign = true
	f.config.Unversioned = f.config.Folder == schedulesFolder
	names := f.line.packages()
	if len(names) == 0 && f.isSet("corpus") && f.corpus != noCorpus {
		names = []string{f.corpus} // with the folders of its shards
	}
	if len(names) == 0 {
		return Misused, misuse("-merge needs files that -report json has written, or folders")
	}
	m, err := f.gather(names)
	if err != nil {
		return Failed, err
	}
	merged, failed := f.mergeCorpora(m)
	together := trials.Merge(m.findings)
	c := f.judge(together)
	reported := byBug(c.reported, together)
	flakyOf(m.findings, reported)
	failed = errors.Join(failed, f.keepSchedules(m, reported))
	for i := range reported {
		if !f.isQuiet(&reported[i]) && f.reports.shows(asText) {
			failed = errors.Join(failed, f.reports.printTo(f.Err, f.raw.Err)(&reported[i]))
		}
	}
	f.reports.keepAll(reported, f.isQuiet)
	failed = errors.Join(failed, f.reports.writeOutput(f.Out, reported, f.isQuiet, jsonTo(f.Out)), f.reports.writeFiles(reported, f.isQuiet))
	fmt.Fprint(f.Err, suspectLine(f.tool.Name, c.confirmed, c.suspects, c.harmful, 0, plural.Of(c.executions, "execution")))
	f.flaky = flakyRows(reported)
	f.flakySummary()
	f.mergedSummary(m, merged)
	failed = errors.Join(failed, m.damage)
	switch {
	case failed != nil:
		return Failed, failed
	case c.confirmed+c.failures > 0:
		return Findings, nil
	}
	return Clean, nil
}

// judged are findings of several parts, and what they are.
type judged struct {
	reported                                           []report.Finding
	suspects, confirmed, harmful, executions, failures int
}

// judge counts findings, and decides which are reported and which of these are quiet.
func (f *fuzzRun) judge(merged []report.Finding) (c judged) {
	for _, one := range merged {
		t := one.Trials
		if t == nil || observed.IsObserved(&one) && slices.ContainsFunc(merged, func(other report.Finding) bool { return trials.SameBug(&other, &one) }) {
			continue
		}
		_, hidden := f.known.hides(&one)
		if observed.IsObserved(&one) {
			c.failures++
		} else {
			c.suspects++
			c.executions += t.Executions
			if t.Confirmed > 0 {
				c.confirmed++
				if t.Harmful {
					c.harmful++
				}
			}
		}
		wanted := t.Confirmed > 0 || f.config.Unconfirmed
		if hidden || !wanted && !f.reports.includes(asJSON) {
			continue
		}
		c.reported = append(c.reported, one)
		f.setQuiet(&one, !wanted)
	}
	return c
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

package confirm

import (
	"fmt"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/trials"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/report"
)

// Flaky is a test that failed in some executions and passed in others, for one cause.
type Flaky struct {
	report.FlakyTest
	Finding string // the fingerprint of the one that decides it; empty if none does
	Cause   string // what is known of the cause besides, in words; may be empty
}

// explanation says why a program has failed in some way.
type explanation struct {
	outcome controlled.Outcome
	finding string // as in Flaky
	failure bool   // the finding is nothing but the failure
	cause   string // as in Flaky
}

// explain notes that a finding explains outcomes of a program.
func (c *Campaign) explain(p *controlled.Program, finding string, outcomes ...controlled.Outcome) {
	for _, o := range outcomes {
		c.explained[p] = append(c.explained[p], &explanation{outcome: o, finding: finding})
	}
}

// Flaky returns the flaky tests, once the campaign has ended: in the order of the programs, by the names of the tests, the most frequent causes
// first. A test that fails in all its executions is none.
func (c *Campaign) Flaky() (all []Flaky) {
	for _, p := range c.Programs {
		if !p.Test {
			continue
		}
		for _, t := range c.observed.Tallies(p) {
			if t.Passed.All > 0 {
				all = append(all, c.causes(p, t)...)
			}
		}
	}
	return all
}

// causes returns the causes of the failures of a test.
func (c *Campaign) causes(p *controlled.Program, t *trials.Tally) (all []Flaky) {
	made := t.Passed.All + t.Failed().All
	for _, f := range t.Failures {
		finding, cause := c.causeOf(p, f.Outcome)
		if cause == "" && (finding == "" || c.isFailure(p, finding)) {
			cause = company(t)
		}
		if i := slices.IndexFunc(all, func(one Flaky) bool { return one.Finding == finding && one.Cause == cause }); i >= 0 {
			all[i].Failed += f.All
			continue
		}
		all = append(all, Flaky{report.FlakyTest{Package: p.Tested(), Test: t.Test, Executions: made, Failed: f.All}, finding, cause})
	}
	slices.SortStableFunc(all, func(a, b Flaky) int { return b.Failed - a.Failed })
	return all
}

// isFailure reports whether a finding is nothing but a failure.
func (c *Campaign) isFailure(p *controlled.Program, finding string) bool {
	return slices.ContainsFunc(c.explained[p], func(why *explanation) bool { return why.finding == finding && why.failure })
}

// company says whether a test fails or passes because of other tests that run in its process. It is empty if nothing says so.
func company(t *trials.Tally) string {
	failed := t.Failed()
	switch {
	case failed.Alone > 0 && t.Passed.Alone == 0:
		return fmt.Sprintf("it needs other tests before it: by itself, it failed in %s, and passed in none", plural.Of(failed.Alone, "execution"))
	case failed.Alone == 0 && t.Passed.Alone > 0:
		return fmt.Sprintf("it fails among other tests only: by itself, it passed in %s", plural.Of(t.Passed.Alone, "execution"))
	}
	return ""
}

// causeOf returns why a program has failed in some way: as in Flaky.
func (c *Campaign) causeOf(p *controlled.Program, o controlled.Outcome) (finding, cause string) {
	for _, why := range c.explained[p] {
		if why.outcome.Identity().Same(o) && (why.finding != "" || why.cause != "") {
			return c.decides(p, c.reportedAs(why.finding), o), why.cause
		}
	}
	for _, r := range c.raced {
		if r.program == p && r.failure.Identity().Same(o) && !c.observed.Independent(p, r.race, r.failure) {
			return c.decides(p, c.reportedAs(r.race), o), ""
		}
	}
	return "", ""
}

// reportedAs returns the fingerprint of the finding that a race was reported with, which may be one from which it follows.
func (c *Campaign) reportedAs(fingerprint string) string {
	for i := range c.following {
		if one := &c.following[i]; one.finding.Fingerprint == fingerprint {
			for _, root := range one.roots {
				if of, known := c.told[root]; known {
					return of.bug
				}
			}
		}
	}
	return fingerprint
}

// decides returns the fingerprint of a finding, unless it is a race with which executions fail in some way for another reason.
func (c *Campaign) decides(p *controlled.Program, finding string, o controlled.Outcome) string {
	for _, v := range slices.Concat(c.races, c.bugs) {
		f := &v.Finding
		if v.Suspect.Program != p || f.Fingerprint != finding || f.Kind != heisen.Race || f.Trials == nil {
			continue
		}
		for _, e := range f.Trials.Endings {
			ended := controlled.Outcome{Class: controlled.Class(e.Outcome), Message: e.Message, Waits: o.Waits, Place: o.Place}
			if e.Anyway && ended.Same(o) {
				return ""
			}
		}
	}
	return finding
}

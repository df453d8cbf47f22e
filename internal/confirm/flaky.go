package confirm

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

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
func (c *Campaign) Flaky() []Flaky { return c.flaky }

// findFlaky finds the flaky tests in what the executions have shown.
func (c *Campaign) findFlaky(ctx context.Context) (all []Flaky) {
	for _, p := range c.Programs {
		if !p.Test {
			continue
		}
		pairs := maxPairs
		for _, t := range c.observed.Tallies(p) {
			if t.Passed.All > 0 {
				all = append(all, c.causes(ctx, p, t, &pairs)...)
			}
		}
	}
	return all
}

// causes returns the causes of the failures of a test. It makes at most so many executions.
func (c *Campaign) causes(ctx context.Context, p *controlled.Program, t *trials.Tally, most *int) (all []Flaky) {
	made := t.Passed.All + t.Failed().All
	company := sync.OnceValue(func() string { return c.company(ctx, p, t, most) })
	for _, f := range t.Failures {
		finding, cause := c.causeOf(p, f.Outcome)
		if cause == "" && (finding == "" || c.isFailure(p, finding)) {
			cause = company()
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

// maxPairs bounds the executions that look for the test on which others of a package depend.
const maxPairs = 100

// company says whether a test fails or passes because of other tests that run in its process, and of which one, as pairs of tests show under the
// default schedule. It is empty if nothing says so.
func (c *Campaign) company(ctx context.Context, p *controlled.Program, t *trials.Tally, most *int) string {
	failed := t.Failed()
	switch {
	case failed.Alone > 0 && t.Passed.Alone == 0:
		what, by := "it needs other tests before it", c.decisive(ctx, p, t.Test, false, most)
		if by != "" {
			what = fmt.Sprintf("it needs %s before it (go test -run '^%s$' %s fails)", by, t.Test, p.Tested())
		}
		return fmt.Sprintf("%s: by itself, it failed in %s, and passed in none", what, plural.Of(failed.Alone, "execution"))
	case failed.Alone == 0 && t.Passed.Alone > 0:
		what, by := "it fails among other tests only", c.decisive(ctx, p, t.Test, true, most)
		if by != "" {
			what = fmt.Sprintf("it fails after %s (go test -run '^(%s|%s)$' %s)", by, by, t.Test, p.Tested())
		}
		return fmt.Sprintf("%s: by itself, it passed in %s", what, plural.Of(t.Passed.Alone, "execution"))
	}
	return ""
}

// decisive returns the nearest test before another one after which that fails, or passes. It is empty if no single one is known.
func (c *Campaign) decisive(ctx context.Context, p *controlled.Program, test string, fails bool, most *int) string {
	at := slices.IndexFunc(p.Units, func(u *controlled.Unit) bool { return u.Test == test })
	for i := at - 1; i >= 0 && *most > 0 && ctx.Err() == nil; i-- {
		*most--
		other := p.Units[i].Test
		pair := c.anythingIn(p, "^("+regexp.QuoteMeta(other)+"|"+regexp.QuoteMeta(test)+")$")
		outcome, err := c.usualOutcome(ctx, pair, c.Procs)
		if c.sayFailed(ctx, err) {
			return ""
		}
		failed := outcome.Class == controlled.TestFailed && slices.ContainsFunc(strings.Split(outcome.Tests, "\n"), func(name string) bool {
			return controlled.TopLevel(name) == test
		})
		if failed == fails && (failed || !outcome.Class.EndsEarly()) {
			return other
		}
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

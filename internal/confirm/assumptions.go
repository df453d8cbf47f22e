package confirm

import (
	"context"
	"fmt"
	"strings"

	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/trials"
	"github.com/heisen-go/heisen/internal/plural"
)

// Failures that may only show that a program assumes something about time, or about what it measures of the
// runtime. They are mentioned, one line for each reason, and are no findings.

// assumed are the failures of a package that have the same reason.
type assumed struct {
	pkg, kind, because string
	outcomes           []string
}

// assumption returns what a failure may be: what is assumed, and what is said about it. It returns empty texts
// if the failure is one.
func (c *Campaign) assumption(ctx context.Context, v *trials.Result) (kind, because string) {
	e := v.Endings[0].Trial.Execution
	switch {
	case v.Timing && e.Awaited != "":
		return "timing", "it fails if time passes while something can still answer: " + e.Awaited
	case v.Timing && v.OwnFailure() && e.Delays > 0:
		return "timing", "it fails if a goroutine goes on only after a timer has fired"
	case v.Timing && v.OwnFailure():
		starved, err := c.repeater.ByStarving(ctx, v)
		if !c.sayFailed(ctx, err) && starved {
			return "timing", "it fails if a goroutine does not go on for long: " + e.HeldBack
		}
	}
	what, err := c.repeater.ByMeasuring(ctx, v)
	if c.sayFailed(ctx, err) || what == "" {
		return "", ""
	}
	return "runtime", "it fails because of what it measures, which heisen changes: " + what
}

// assume notes a failure. Those of a package that have the same reason are mentioned together.
func (c *Campaign) assume(p *controlled.Program, kind, because, outcome string) {
	for i := range c.assumed {
		if known := &c.assumed[i]; known.pkg == p.Package && known.kind == kind && known.because == because {
			known.outcomes = append(known.outcomes, outcome)
			return
		}
	}
	c.assumed = append(c.assumed, assumed{p.Package, kind, because, []string{outcome}})
}

// maxMentioned bounds the outcomes on a line.
const maxMentioned = 3

// mentionAssumptions mentions them in the order in which the first ones of their kinds were noted.
func (c *Campaign) mentionAssumptions() {
	for _, m := range c.assumed {
		what, because, outcomes := "a "+m.kind+" assumption", m.because, m.outcomes
		if n := len(outcomes); n > 1 {
			what = plural.Of(n, m.kind+" assumption")
			if how, ok := strings.CutPrefix(because, "it fails"); ok {
				because = "they fail" + how
			}
		}
		if over := len(outcomes) - maxMentioned; over > 0 {
			outcomes = append(outcomes[:maxMentioned:maxMentioned], fmt.Sprintf("%d more", over))
		}
		c.say("%s: %s (%s): %s; -timing reports it", m.pkg, what, strings.Join(outcomes, "; "), because)
	}
}

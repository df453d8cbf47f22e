package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/heisen-go/heisen/internal/confirm"
	"github.com/heisen-go/heisen/internal/plural"
)

// Failures that may only show that a program assumes something about time, or about what it measures of the
// runtime. They are mentioned, one line for each reason, and are no findings.

// assumption returns what a failure may be: what is assumed, and what is said about it. It returns empty texts
// if the failure is one.
func (f *fuzzRun) assumption(ctx context.Context, v *confirm.Result) (kind, because string) {
	e := v.Endings[0].Trial.Execution
	switch {
	case v.Timing && e.Awaited != "":
		return "timing", "it fails if time passes while something can still answer: " + e.Awaited
	case v.Timing && v.OwnFailure() && e.Delays > 0:
		return "timing", "it fails if a goroutine goes on only after a timer has fired"
	case v.Timing && v.OwnFailure() && f.byStarving(ctx, v):
		return "timing", "it fails if a goroutine does not go on for long: " + e.HeldBack
	case e.Measured == "":
		return "", ""
	}
	what, err := f.confirmer.ByMeasuring(ctx, v)
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(f.Err, "%s: %v\n", f.tool.Name, err)
	}
	if err != nil || what == "" {
		return "", ""
	}
	return "runtime", "it fails because of what it measures, which heisen changes: " + what
}

// byStarving reports whether a failure needs a goroutine that could go on to be held back for a time.
func (f *fuzzRun) byStarving(ctx context.Context, v *confirm.Result) bool {
	yes, err := f.confirmer.ByStarving(ctx, v)
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(f.Err, "%s: %v\n", f.tool.Name, err)
	}
	return yes && err == nil
}

// assumptions are mentioned in the order in which the first ones of their kinds were added.
type assumptions struct {
	all []assumed
}

// assumed are the failures of a package that have the same reason.
type assumed struct {
	pkg, kind, because string
	outcomes           []string
}

func (a *assumptions) add(pkg, kind, because, outcome string) {
	for i := range a.all {
		if known := &a.all[i]; known.pkg == pkg && known.kind == kind && known.because == because {
			known.outcomes = append(known.outcomes, outcome)
			return
		}
	}
	a.all = append(a.all, assumed{pkg, kind, because, []string{outcome}})
}

// maxMentioned bounds the outcomes on a line.
const maxMentioned = 3

// mention prints the lines.
func (a *assumptions) mention(f *fuzzRun) {
	for _, m := range a.all {
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
		fmt.Fprintf(f.Err, "%s: %s: %s (%s): %s; -timing reports it\n", f.tool.Name, m.pkg, what, strings.Join(outcomes, "; "), because)
	}
}

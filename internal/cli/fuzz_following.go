package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm"
	"github.com/heisen-go/heisen/report"
)

// Races that follow from others belong to the findings of these, and are none of their own. Which ones these are is known
// when all races are.

// followingRace is a race that follows from others.
type followingRace struct {
	result  *confirm.Result
	finding report.Finding
	roots   []string // fingerprints
	suspect bool     // it counts as a confirmed suspect
}

// follows reports whether a race follows from others. If not, it is one from which others can follow. suspect says that it counts as
// a confirmed suspect.
func (f *fuzzRun) follows(ctx context.Context, v *confirm.Result, finding *report.Finding, suspect bool) bool {
	if finding.Kind != heisen.Race {
		return false
	}
	roots, err := f.confirmer.Roots(ctx, v)
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(f.Err, "%s: %v\n", f.tool.Name, err)
	}
	if len(roots) > 0 {
		f.following = append(f.following, followingRace{v, *finding, roots, suspect})
		return true
	}
	f.told[finding.Fingerprint] = finding.Trials.Harmful
	return false
}

// reportFollowing adds the races that follow from reported ones to the findings of these. It reports others as findings of their own: those
// that follow from races that no execution has confirmed, and those that do harm that their roots are not known to do.
func (f *fuzzRun) reportFollowing(ctx context.Context) {
	for i := range f.following {
		one := &f.following[i]
		if slices.ContainsFunc(one.roots, func(root string) bool {
			harmful, known := f.told[root]
			return known && (harmful || !one.finding.Trials.Harmful) && f.found.follow(root, report.FollowingOf(&one.finding))
		}) {
			if one.suspect {
				f.followed++
			}
			continue
		}
		finding := one.finding
		for _, root := range one.roots {
			if _, known := f.told[root]; known {
				finding.Roots = append(finding.Roots, root)
			}
		}
		f.reproduce(ctx, one.result, &finding)
		atCalls(&finding, f.standard)
		f.found.add(finding)
		f.failures++
	}
}

// followingSummary lists the races that follow from reported ones.
func (f *fuzzRun) followingSummary() {
	all, _ := f.found.all()
	for i := range all {
		one := &all[i]
		if len(one.Following) == 0 {
			continue
		}
		name := one.Fingerprint
		if one.Variable != "" {
			name += " (" + one.Variable + ")"
		}
		fmt.Fprintf(f.Err, "Reached only through the race %s, and so no findings of their own:\n", name)
		for _, next := range one.Following {
			fmt.Fprintf(f.Err, "  %s\n", next)
		}
	}
}

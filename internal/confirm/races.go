package confirm

import (
	"context"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm/trials"
	"github.com/heisen-go/heisen/report"
)

// Races that follow from others belong to the findings of these, and are none of their own. Which ones these are is known
// when all races are.

// followingRace is a race that follows from others.
type followingRace struct {
	result  *trials.Result
	finding report.Finding
	roots   []string // fingerprints
	suspect bool     // it counts as a confirmed suspect
}

// follows reports whether a race follows from others. If not, it is one from which others can follow. suspect says that it counts as
// a confirmed suspect.
func (c *Campaign) follows(ctx context.Context, v *trials.Result, finding *report.Finding, suspect bool) bool {
	if finding.Kind != heisen.Race {
		return false
	}
	roots, err := c.repeater.Roots(ctx, v)
	c.sayFailed(ctx, err)
	if len(roots) > 0 {
		c.following = append(c.following, followingRace{v, *finding, roots, suspect})
		return true
	}
	c.told[finding.Fingerprint] = finding.Trials.Harmful
	return false
}

// reportFollowing adds the races that follow from reported ones to the findings of these. It reports others as findings of their own: those
// that follow from races that no execution has confirmed, and those that do harm that their roots are not known to do.
func (c *Campaign) reportFollowing(ctx context.Context) {
	for i := range c.following {
		one := &c.following[i]
		if slices.ContainsFunc(one.roots, func(root string) bool {
			harmful, known := c.told[root]
			return known && (harmful || !one.finding.Trials.Harmful) && c.listener.Follow(root, report.FollowingOf(&one.finding))
		}) {
			if one.suspect {
				c.count(func(n *Statistics) { n.Followed++ })
			}
			continue
		}
		for _, root := range one.roots {
			if _, known := c.told[root]; known {
				one.finding.Roots = append(one.finding.Roots, root)
			}
		}
		c.reportFailure(ctx, one.result, one.finding, "")
	}
}

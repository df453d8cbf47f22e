package confirm

import "github.com/heisen-go/heisen/internal/confirm/controlled"

// The parts of a campaign, which several machines make, are disjoint, and each takes as much of the time and of the quota of executions as a campaign
// that is not divided. So n parts try n times as much. All make the same survey, because its suspects are what is divided.

// partOf returns the i-th of n parts, from 1.
func partOf[T any](all []T, i, n int) (mine []T) {
	for k, s := range all {
		if k%n == i-1 {
			mine = append(mine, s)
		}
	}
	return mine
}

// shared returns the units that the campaign searches, of all, with their quotas.
//
// As many units as can be dealt out evenly belong to one part each, with the time and the quota that all parts together have for one: a search
// learns from its executions, and so it is the same that a single campaign with that quota makes. The units that are left, fewer than there are parts, are
// searched by all parts, each with other seeds. One of them enumerates, another one for each unit.
func (c *Campaign) shared(units []*controlled.Unit) (mine []*controlled.Unit) {
	n := c.Parts
	dealt := len(units) / n * n
	for _, u := range partOf(units[:dealt], c.Part, n) {
		u.Quota = c.Quota * n
		c.Budget.Enlarge(u, n)
		mine = append(mine, u)
	}
	for k, u := range units[dealt:] {
		u.Quota, u.Share = c.Quota, controlled.Share{I: uint64((c.Part - 1 + k) % n), Of: uint64(n)}
		mine = append(mine, u)
	}
	return mine
}

package confirm

import (
	"testing"
	"time"

	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
)

// TestShared: each unit belongs to one part, which searches it as all parts together would, or all parts have other shares of it. All parts have
// the same number of executions, and one part enumerates a unit.
func TestShared(t *testing.T) {
	const quota = 100
	for n := 1; n <= 6; n++ {
		for all := range 20 {
			quotas, shares, enumerate := make([]int, all), make([]map[controlled.Share]bool, all), make([]int, all)
			for part := 1; part <= n; part++ {
				units, at := make([]*controlled.Unit, all), map[*controlled.Unit]int{}
				for i := range units {
					units[i] = &controlled.Unit{}
					at[units[i]] = i
				}
				c := &Campaign{Config: Config{Part: part, Parts: n, Quota: quota}}
				c.Budget = suspects.NewBudget(time.Second, 1, units, true)
				mine := 0
				for _, u := range c.shared(units) {
					i := at[u]
					if shares[i] == nil {
						shares[i] = map[controlled.Share]bool{}
					}
					if shares[i][u.Share] {
						t.Errorf("%d units, %d parts: unit %d is searched twice as %+v", all, n, i, u.Share)
					}
					shares[i][u.Share] = true
					quotas[i], mine = quotas[i]+u.Quota, mine+u.Quota
					if u.Share.Enumerates() {
						enumerate[i]++
					}
					if most := suspects.EnumerationQuota(u); most != min(quota*n/4, u.Quota) {
						t.Errorf("%d units, %d parts: %d executions may enumerate unit %d", all, n, most, i)
					}
					if limit := c.Budget.ForEnumeration(u); limit != time.Second*time.Duration(min(n*25, u.Quota))/100 {
						t.Errorf("%d units, %d parts: %v to enumerate unit %d", all, n, limit, i)
					}
				}
				if mine != all*quota {
					t.Errorf("part %d/%d of %d units has %d executions", part, n, all, mine)
				}
			}
			for i := range all {
				if quotas[i] != n*quota || enumerate[i] != 1 || len(shares[i]) != 1 && len(shares[i]) != n {
					t.Errorf("%d units, %d parts: unit %d has %d executions in %v", all, n, i, quotas[i], shares[i])
				}
			}
		}
	}
}

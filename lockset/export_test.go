package lockset

// CompactNow compacts the table of locksets, as if there were many.
func (d *Eraser) CompactNow() { d.table.SetCompactAbove(0); d.compact() }

// CompactNow compacts the table of locksets, as if there were many.
func (d *Hybrid) CompactNow() { d.table.SetCompactAbove(0); d.compact() }

// CompactOrderNow makes the order of messages forget threads that have ended, as if there were many.
func (d *Eraser) CompactOrderNow() { d.compactOrder() }

// CompactOrderNow makes the order forget threads that have ended, as if there were many.
func (d *Hybrid) CompactOrderNow() { d.ensureInit(); d.compactOrder() }

// CompactOrderNow makes the order forget threads that have ended, as if there were many.
func (d *LockOrder) CompactOrderNow() { d.ensureInit(); d.compactOrder() }

// SetMaxGroups bounds the groups of a variable.
func (d *Hybrid) SetMaxGroups(n int) { d.maxGroups = n }

// SpendBudgets leaves nothing of the budgets for long searches and for holds that end out of order, but what
// acquisitions add to them.
func (d *LockOrder) SpendBudgets() {
	d.rebuilt = rebuildBase
	d.search.effort, d.search.effortOnPairs = effortBase, pairsBase
}

package lockset

// SetMost sets how many locks a set has at most that is no bitmap.
func (t *Table) SetMost(n uint32) { t.most = n }

// CompactNow compacts, as if there were many sets.
func (d *Eraser) CompactNow() { d.table.limit = 0; d.compact() }

// CompactNow compacts, as if there were many sets.
func (d *Hybrid) CompactNow() { d.table.limit = 0; d.compact() }

package lockset

// CompactNow compacts the table of locksets, as if there were many.
func (d *Eraser) CompactNow() { d.table.SetCompactAbove(0); d.compact() }

// CompactNow compacts the table of locksets, as if there were many.
func (d *Hybrid) CompactNow() { d.table.SetCompactAbove(0); d.compact() }

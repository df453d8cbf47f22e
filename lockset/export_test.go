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

package focus

// CompactNow compacts the table of locksets, as if there were many.
func (f *Filter) CompactNow() { f.table.SetCompactAbove(0); f.compact() }

// CompactNow compacts the table of locksets and the order of messages, as if there was much to forget.
func (d *Discoverer) CompactNow() {
	d.table.SetCompactAbove(0)
	d.compact()
	d.compactOrder()
}

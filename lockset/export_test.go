package lockset

// SetMost sets how many locks a set has at most that is no bitmap.
func (t *Table) SetMost(n uint32) { t.most = n }

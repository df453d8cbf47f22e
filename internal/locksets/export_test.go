package locksets

// SetMost sets the largest number of locks of a set that is not a bitmap.
func (t *Table) SetMost(n uint32) { t.most = n }

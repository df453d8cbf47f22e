package locksets

// SetMost sets the largest number of locks of a set that is not a tree.
func (t *Table) SetMost(n uint32) { t.most = n }

// Bytes is what Grown compares.
func (t *Table) Bytes() uint64 { return t.bytes + t.nodes.bytes() }

// Add is With without the memo.
func (t *Table) Add(s ID, l Lock) ID { return t.add(s, l) }

// Common is Intersect without the memo.
func (t *Table) Common(a, b ID) ID { return t.intersect(a, b) }

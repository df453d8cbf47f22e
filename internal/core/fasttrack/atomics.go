package fasttrack

// AtomicInPlace is an atomic operation in one go: what it sees and publishes through the object at
// addr, and between these, unless it is noted, the access of the given kind to the word of c, which is
// locked, with the given head. It returns the new head, and whether that was all: not if it takes
// memory, or there is a race. What it has done then makes no difference to who does all of it.
//
//go:nosplit
func (t *Table) AtomicInPlace(th *Thread, c *Cell, head, addr, place uint64, kind uint32, noted bool) (uint64, bool) {
	i := uint32(head >> headExtra)
	x := extraAt(i)
	s := &x.published
	switch {
	case i == 0:
		if kind != AtomicRead {
			return head, false
		}
	case x.number() != uint32(addr&7)+1 || !x.readers.zero() ||
		kind != AtomicWrite && !t.knowsAll(th, s.word.Load()) && !t.seeInPlace(th, x, s):
		return head, false
	}
	if !noted {
		next := t.AccessAgain(th, c, head, place, 1<<(addr&7), kind)
		if next == 0 {
			return head, false
		}
		head = next
	}
	if kind == AtomicRead {
		return head, true
	}
	// An update has seen all that is there, a store does away with it.
	th.hidden.lock = 0
	return head, t.another(th) && t.replaceInPlace(th, x, s)
}

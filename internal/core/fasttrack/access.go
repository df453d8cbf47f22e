package fasttrack

// Tables of pairs of kinds, one bit each, at 8 times the earlier access's kind plus the later
// one's.
const (
	// conflicts has the pairs that race if they are not ordered.
	conflicts uint64 = 1<<(8*Read+Write) | 1<<(8*Read+AtomicWrite) | 1<<(8*Read+AtomicUpdate) |
		0x1F<<(8*Write) |
		1<<(8*AtomicRead+Write) |
		1<<(8*AtomicWrite+Read) | 1<<(8*AtomicWrite+Write) |
		1<<(8*AtomicUpdate+Read) | 1<<(8*AtomicUpdate+Write)
	// subsumes has the pairs of a thread's accesses in which the later one is redundant in the same
	// epoch: any access that races with the later one also races with the earlier one.
	subsumes uint64 = 1<<(8*Read+Read) |
		0x1F<<(8*Write) |
		1<<(8*AtomicRead+AtomicRead) |
		1<<(8*AtomicWrite+AtomicRead) | 1<<(8*AtomicWrite+AtomicWrite) | 1<<(8*AtomicWrite+AtomicUpdate) |
		1<<(8*AtomicUpdate+AtomicRead) | 1<<(8*AtomicUpdate+AtomicWrite) | 1<<(8*AtomicUpdate+AtomicUpdate)
	// replaces has the pairs in which the later access takes the place of an earlier one that is
	// ordered before it: any later access that races with the earlier one also races with the later
	// one.
	replaces uint64 = 1<<(8*Read+Read) | 1<<(8*Read+Write) |
		1<<(8*Write+Write) |
		1<<(8*AtomicRead+AtomicRead) | 1<<(8*AtomicRead+AtomicWrite) | 1<<(8*AtomicRead+AtomicUpdate) | 1<<(8*AtomicRead+Write) |
		1<<(8*AtomicWrite+AtomicWrite) | 1<<(8*AtomicWrite+AtomicUpdate) | 1<<(8*AtomicWrite+Write) |
		1<<(8*AtomicUpdate+AtomicWrite) | 1<<(8*AtomicUpdate+AtomicUpdate) | 1<<(8*AtomicUpdate+Write)
	// relevant has the pairs that need a comparison.
	relevant = conflicts | replaces
)

// An access to the bytes of a word in a mask is compared with the entries for these bytes, and
// recorded, by the first of several functions that can handle it. AccessOwn, AccessWiden,
// AccessPlainEntries and AccessInCell return false, and change nothing, if they cannot.
// AccessLocked always can.

// AccessOwn handles plain accesses to a word that has at most a write and a read, of the same
// bytes, by the thread or by an earlier one of its slot: READ EXCLUSIVE and WRITE EXCLUSIVE without
// a comparison. The read comes first, since the next access looks for it first.
//
//go:nosplit
func (t *Table) AccessOwn(th *Thread, c *Cell, entry, mask uint64, write bool) bool {
	read := mask << headEntries
	wrote := read | Write<<(headEntries+kindShift)
	both := read | wrote<<descBits
	head, n := c.head.Load(), c.first.Load()
	next := wrote
	switch {
	case head != 0 && slotOf(n^entry) != 0:
		return false
	case head == both:
		if !write {
			next = both
		} else if slotOf(sideEntry(c, 0).Load()^entry) != 0 {
			return false
		}
	case head == wrote:
		if !write {
			next = both
		}
	case head == read || head == 0:
		if !write {
			next = read
		}
	default:
		return false
	}
	if next == head {
		return c.Refresh(th, &c.first, head, n, entry)
	}
	if !c.head.CompareAndSwap(head, head|headLock) {
		return false
	}
	if c.first.Load() != n && head != 0 || head == both && write && slotOf(sideEntry(c, 0).Load()^entry) != 0 {
		c.Unlock(head) // it has just changed
		return false
	}
	if head == wrote && !write {
		storeRelease(sideEntry(c, 0), n)
	}
	storeRelease(&c.first, entry)
	th.lastAccess = entry >> placeBits
	c.Unlock(next)
	return true
}

// AccessWiden adds bytes to the first entry, which is of an access of the same kind, place and
// epoch, if all entries of these bytes are plain and ordered before. Programs often go through
// words byte by byte.
//
// The thread's own entries of these bytes may stay until the first entry has all bytes of the word,
// and so may writes of others: any access that is ordered after this one is ordered after them.
//
//go:nosplit
func (t *Table) AccessWiden(th *Thread, c *Cell, entry, mask uint64, write bool) bool {
	head := c.head.Load()
	if head&(headLock|headOverflow|headAtomics) != 0 || head>>headEntries&bytesMask == 0 || (head>>(headEntries+kindShift)&7 == Write) != write {
		return false
	}
	if !c.head.CompareAndSwap(head, head|headLock) {
		return false
	}
	next := head | mask<<headEntries
	whole := next>>headEntries&bytesMask == bytesMask
	ok := c.first.Load() == entry // else it has just changed
	for side := range uint32(cellEntries - 1) {
		shift := headEntries + (1+side)*descBits
		d := head >> shift & descMask
		if d == 0 || d&mask == 0 && !whole {
			continue
		}
		n, left := sideEntry(c, side).Load(), d
		own := slotOf(n^entry) == 0
		switch {
		case !own && !t.covers(th, n>>placeBits):
			ok = ok && d&mask == 0
		case !write && d>>kindShift != Read:
		case whole:
			left = 0
		case !own && d>>kindShift == Read: // its thread must not refresh it
			if left &^= mask; left&bytesMask == 0 {
				left = 0
			}
		}
		next ^= (d ^ left) << shift
	}
	if !ok {
		next = head
	}
	c.Unlock(next)
	return ok
}

// AccessPlain tries AccessOwn, refresh, AccessWiden and AccessPlainEntries, which handle most plain
// accesses.
//
//go:nosplit
func (t *Table) AccessPlain(th *Thread, c *Cell, entry, mask uint64, write bool) bool {
	if head := c.head.Load(); hasBytes(head) {
		return t.AccessBytes(th, c, head, entry, mask, write)
	}
	return t.AccessOwn(th, c, entry, mask, write) || t.refresh(th, c, entry, mask, write) ||
		c.first.Load() == entry && t.AccessWiden(th, c, entry, mask, write) || t.AccessPlainEntries(th, c, entry, mask, write)
}

// AccessPlainWords is AccessPlain for n whole words from that of c on. It stops at the first word
// that needs more, and returns the number of words done.
//
//go:nosplit
func (t *Table) AccessPlainWords(th *Thread, c *Cell, n uintptr, entry uint64, write bool) (done uintptr) {
	for ; done < n && (c.SameEpochWord(th, write) || t.AccessOwn(th, c, entry, bytesMask, write) ||
		t.refresh(th, c, entry, bytesMask, write) || t.AccessPlainEntries(th, c, entry, bytesMask, write) ||
		t.AccessBytes(th, c, c.head.Load(), entry, bytesMask, write)); done++ {
		c = nextCell(c)
	}
	return done
}

// AccessPlainEntries handles plain accesses to a word with plain entries only, if there is no race
// and the cell has room: READ EXCLUSIVE, WRITE EXCLUSIVE and READ SHARE.
//
//go:nosplit
func (t *Table) AccessPlainEntries(th *Thread, c *Cell, entry, mask uint64, write bool) bool {
	head, fresh := c.head.Load(), mask
	if write {
		fresh |= Write << kindShift
	}
	first := head >> headEntries & descMask
	if head&(headLock|headOverflow|headReaders|headAtomics) != 0 || !c.head.CompareAndSwap(head, head|headLock) {
		return false
	}
	// A read replaces the reads that are ordered before it. A write replaces all entries that are
	// ordered before it.
	next, free := head&^(descMask<<headEntries), uint32(0)
	for side := range uint32(cellEntries - 1) {
		shift := (headEntries + (1+side)*descBits) & 63
		d := head >> shift & descMask
		if d&mask != 0 {
			n := sideEntry(c, side).Load()
			if slotOf(n^entry) != 0 && !t.covers(th, n>>placeBits) {
				if write || d>>kindShift == Write {
					c.Unlock(head)
					return false
				}
			} else if write || d>>kindShift == Read {
				next &^= mask << shift
				if d&bytesMask&^mask == 0 {
					next &^= descMask << shift
					d = 0
				}
			}
		}
		if d == 0 {
			free |= 1 << side
		}
	}
	at, n := &c.first, c.first.Load()
	moves := slotOf(n^entry) == 0 // only its thread may move an entry: others look for theirs without the lock
	if first&mask != 0 {
		moves = moves || t.covers(th, n>>placeBits)
		switch {
		case !moves && (write || first>>kindShift == Write):
			c.Unlock(head)
			return false
		case moves && (write || first>>kindShift == Read):
			if first &^= mask; first&bytesMask == 0 {
				first = 0
			}
		}
	}
	// The new entry becomes the first if possible: the next access looks for it first.
	switch side := uint32(0); {
	case first == 0:
		next |= fresh << headEntries
	case free == 0:
		c.Unlock(head)
		return false
	case moves:
		if free&1 == 0 {
			side = 1
		}
		storeRelease(sideEntry(c, side), n)
		next |= fresh<<headEntries | first<<((headEntries+(1+side)*descBits)&63)
	default:
		if side = th.sideHint & 1; free>>side&1 == 0 {
			side ^= 1
		}
		at = sideEntry(c, side)
		next |= first<<headEntries | fresh<<((headEntries+(1+side)*descBits)&63)
	}
	storeRelease(at, entry)
	th.lastAccess = entry >> placeBits
	c.Unlock(next)
	return true
}

// AccessInCell handles all accesses for which the cell, or a small overflow set, has room. It
// reports races.
//
//go:nosplit
func (t *Table) AccessInCell(th *Thread, c *Cell, addr, place uint64, mask, kind uint32, races *Races) bool {
	old, head := c.Lock(), uint64(0)
	if hasBytes(old) {
		done := kind <= Write && t.accessHistories(th, c.first.Load(), th.Epoch|place, uint64(mask), kind == Write)
		c.Unlock(old)
		return done
	}
	if hasReaders(old) && kind == Read {
		if set, done := t.addKnownReader(th, c, old, place, uint64(mask)); set {
			c.Unlock(old)
			return done
		}
	}
	small := old>>headExtension != 0 && extensionAt(uint32(old>>headExtension)).smallOverflow()
	if old&headOverflow == 0 || !small {
		head = t.AccessNoRace(th, c, old, place, mask, kind)
	}
	if head == 0 && small { // an empty set will do, too
		head = t.accessSmallOverflow(th, c, old|headOverflow, th.Epoch|place, uint64(mask|kind<<kindShift))
	}
	if head != 0 {
		c.Unlock(head)
		return true
	}
	if old&headOverflow == 0 && !hasReaders(old) {
		head, left := t.accessEntries(th, c, old, addr, th.Epoch|place, mask, mask, kind, races)
		if left == 0 {
			c.Unlock(head)
			return true
		}
		races.Count, races.Bytes = 0, 0
	}
	c.Unlock(old)
	return false
}

// AccessLocked handles all accesses. The cell is locked and has the given head; AccessLocked
// returns the new one. It needs more stack than the others.
//
//go:nosplit
func (t *Table) AccessLocked(th *Thread, c *Cell, head, addr, place uint64, mask, kind uint32, races *Races) uint64 {
	if hasBytes(head) {
		head = t.spillBytes(c, head)
	}
	entry, left := th.Epoch|place, mask
	if hasReaders(head) && kind == Read && t.addReader(th, c, head, entry, uint64(mask)) {
		return head
	}
	if head&headOverflow != 0 {
		head, left = t.accessOverflow(th, head, entry, addr, mask, kind, left, races)
	}
	head, left = t.accessEntries(th, c, head, addr, entry, mask, left, kind, races)
	if races.Count != 0 {
		t.compareReaders(th, races)
	}
	if hasReaders(head) {
		head = c.forgetReaders(head)
	}
	if left == 0 {
		return head
	}
	if kind <= Write {
		if next := t.accessToBytes(th, c, head, entry, uint64(left), kind == Write); next != 0 {
			return next
		}
	}
	if kind != Read && kind != AtomicRead {
		// Reads move to the overflow set, which is searched quickly if all entries are reads.
		for i := range uint32(cellEntries) {
			d := uint32(head>>(headEntries+i*descBits)) & descMask
			if k := d >> kindShift; k == Read || k == AtomicRead {
				head = t.addToOverflow(head, c.entryAt(i).Load(), d&bytesMask, k)
				storeRelease(c.entryAt(i), entry)
				return head&^(descMask<<(headEntries+i*descBits)) | uint64(left|kind<<kindShift)<<(headEntries+i*descBits)
			}
		}
	}
	if kind == Read && left == mask {
		if next := t.gatherReaders(th, c, head, entry, uint64(mask)); next != 0 {
			return next
		}
	}
	return t.addToOverflow(head, entry, left, kind)
}

// AccessNoRace is AccessLocked for accesses that race with nothing and for which the cell has room.
// Otherwise it returns 0 and changes nothing.
//
//go:nosplit
func (t *Table) AccessNoRace(th *Thread, c *Cell, head, place uint64, mask, kind uint32) uint64 {
	entry, free, same := th.Epoch|place, uint32(cellEntries), uint32(cellEntries)
	if hasBytes(head) {
		return 0
	}
	if head&headOverflow != 0 {
		switch x := extensionAt(uint32(head >> headExtension)); {
		case (kind == AtomicRead || kind == Read && head&headAtomics == 0) && t.refreshInOverflow(th, head, entry, mask, kind):
			return head
		case kind < AtomicWrite || x.smallOverflow() || x.mayConflict(kind, mask):
			return 0
		}
		// All entries of the overflow set about these bytes are atomic, and stay there.
	}
	rest, kept := head>>headEntries, head
	for i := range uint32(cellEntries) {
		d := uint32(rest) & descMask
		rest >>= descBits
		if d == 0 {
			free = min(free, i)
			continue
		}
		n := c.entryAt(i).Load()
		if n == entry && d>>kindShift == kind {
			same = i
			continue
		}
		if d&mask == 0 {
			continue
		}
		how := d>>kindShift<<3 + kind
		if relevant>>(how&63)&1 == 0 {
			continue
		}
		if slotOf(n^entry) != 0 && !t.covers(th, n>>placeBits) {
			if conflicts>>(how&63)&1 != 0 {
				return 0
			}
			continue
		}
		switch shift := (headEntries + i*descBits) & 63; {
		case replaces>>(how&63)&1 == 0:
		case d&bytesMask&^mask != 0:
			kept &^= uint64(mask) << shift
		default:
			kept &^= descMask << shift
			free = min(free, i)
		}
	}
	fresh := uint64(mask | kind<<kindShift)
	switch {
	case same < cellEntries:
		fresh <<= (headEntries + same*descBits) & 63
	case free < cellEntries:
		at := &c.first
		if n := c.first.Load(); free != 0 && slotOf(n^entry) == 0 {
			// The new entry becomes the first, since the next access looks for it first. Only its
			// own thread may move an entry: a thread that looks without the lock must not take
			// another entry's bytes for its own.
			storeRelease(c.entryAt(free), n)
			kept |= kept >> headEntries & descMask << ((headEntries + free*descBits) & 63)
			kept &^= descMask << headEntries
			free = 0
		} else if free != 0 {
			if side := th.sideHint & 1; kept>>(headEntries+(1+side)*descBits)&descMask == 0 {
				free = 1 + side
			}
			at = c.entryAt(free)
		}
		storeRelease(at, entry)
		fresh <<= (headEntries + free*descBits) & 63
	default:
		return 0
	}
	th.lastAccess = entry >> placeBits
	return kept | fresh
}

// LockNoRace is AccessNoRace for an operation on a lock. Threads that share a lock, or take it in
// turn, refresh their own entries without loading those of others.
//
//go:nosplit
func (t *Table) LockNoRace(th *Thread, c *Cell, head, place, mask uint64) uint64 {
	d := head >> headEntries
	// Without plain reads there is nothing to compare. Entries of others are atomic, or a write.
	// The write was compared with this thread's earlier entry, whichever came first, and has not
	// removed it.
	reads := d&bytesMask != 0 && d>>kindShift&7 == Read || d>>descBits&bytesMask != 0 && d>>(descBits+kindShift)&7 == Read ||
		d>>(2*descBits)&bytesMask != 0 && d>>(2*descBits+kindShift)&7 == Read
	if head&headOverflow == 0 && !reads {
		if n, _, side := c.ownEntry(th, head, mask|AtomicUpdate<<kindShift); n != nil {
			if side >= 0 {
				th.sideHint = uint32(side)
			}
			storeRelease(n, th.Epoch|place)
			th.lastAccess = th.Epoch >> placeBits
			return head
		}
	}
	return t.AccessNoRace(th, c, head, place, uint32(mask), AtomicUpdate)
}

// accessEntries compares an access to the bytes in mask with the entries of a cell and records it
// for the bytes in left. It returns the new head and the bytes that are still to be recorded.
//
//go:nosplit
func (t *Table) accessEntries(th *Thread, c *Cell, head, addr, entry uint64, mask, left, kind uint32, races *Races) (uint64, uint32) {
	into, free := uint32(cellEntries), uint32(cellEntries)
	for i := range uint32(cellEntries) {
		d := uint32(head>>(headEntries+i*descBits)) & descMask
		both := d & mask
		switch n := c.entryAt(i).Load(); {
		case both == 0:
		case th.sameEpoch(n) && subsumes>>(8*(d>>kindShift)+kind)&1 != 0:
			left &^= both // an earlier access of the thread subsumes this one
		case !t.compareEntry(th, n, addr, d>>kindShift, kind, both, races):
			if d &^= both; d&bytesMask == 0 {
				d = 0
			}
			head = head&^(descMask<<(headEntries+i*descBits)) | uint64(d)<<(headEntries+i*descBits)
		}
		switch {
		case d == 0:
			free = min(free, i)
		case d>>kindShift == kind && c.entryAt(i).Load() == entry:
			into = i
		}
	}
	if left == 0 {
		return head, 0
	}
	th.lastAccess = th.Epoch >> placeBits
	switch {
	case into < cellEntries:
		return head | uint64(left)<<(headEntries+into*descBits), 0
	case free < cellEntries:
		storeRelease(c.entryAt(free), entry)
		return head | uint64(left|kind<<kindShift)<<(headEntries+free*descBits), 0
	}
	return head, left
}

// compareEntry compares an access of a kind with an entry of kind k; both are the bytes that they
// share. It adds a race if they conflict and are not ordered, and for each set of readers that they
// conflict with. It reports whether the entry must be kept for these bytes.
//
//go:nosplit
func (t *Table) compareEntry(th *Thread, n, addr uint64, k, kind, both uint32, races *Races) (keep bool) {
	how := 8*k + kind
	if relevant>>how&1 == 0 {
		return true
	}
	before := slotOf(n) == slotOf(th.Epoch) || t.covers(th, n>>placeBits)
	if !before && conflicts>>how&1 != 0 {
		races.add(n, addr, k, both)
	}
	return kind != Write && !(before && replaces>>how&1 != 0)
}

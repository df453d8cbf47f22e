package fasttrack

// Which kinds make a race with which; which are remembered instead of which others that are
// ordered before them, for all that races with those races with them; and which suffice
// that the same thread has made in an epoch, for the same reason. A bit at 8 times the
// earlier one's kind, plus the later one's.
const (
	conflicts = 1<<(8*Read+Write) | 1<<(8*Read+AtomicWrite) | 1<<(8*Read+AtomicUpdate) |
		0x1F<<(8*Write) |
		1<<(8*AtomicRead+Write) |
		1<<(8*AtomicWrite+Read) | 1<<(8*AtomicWrite+Write) |
		1<<(8*AtomicUpdate+Read) | 1<<(8*AtomicUpdate+Write)
	suffices = 1<<(8*Read+Read) |
		0x1F<<(8*Write) |
		1<<(8*AtomicRead+AtomicRead) |
		1<<(8*AtomicWrite+AtomicRead) | 1<<(8*AtomicWrite+AtomicWrite) | 1<<(8*AtomicWrite+AtomicUpdate) |
		1<<(8*AtomicUpdate+AtomicRead) | 1<<(8*AtomicUpdate+AtomicWrite) | 1<<(8*AtomicUpdate+AtomicUpdate)
	replaces = 1<<(8*Read+Read) | 1<<(8*Read+Write) |
		1<<(8*Write+Write) |
		1<<(8*AtomicRead+AtomicRead) | 1<<(8*AtomicRead+AtomicWrite) | 1<<(8*AtomicRead+AtomicUpdate) | 1<<(8*AtomicRead+Write) |
		1<<(8*AtomicWrite+AtomicWrite) | 1<<(8*AtomicWrite+AtomicUpdate) | 1<<(8*AtomicWrite+Write) |
		1<<(8*AtomicUpdate+AtomicWrite) | 1<<(8*AtomicUpdate+AtomicUpdate) | 1<<(8*AtomicUpdate+Write)
	// Which kinds have anything to do with each other.
	matters = conflicts | replaces
)

// An access to bytes of a word, those set in a mask, is compared with what is known of them, and
// noted, in one of several ways. AccessOwn, AccessMore, AccessAlone and AccessAmong report false, and have done
// nothing, where they are not enough. AccessLocked always is.

// AccessOwn is for plain accesses, where what is known of the word is at most a write and
// a read, of the same bytes, by the thread, or an earlier one that had its slot: there is
// nothing to compare. The read's note comes first, for it is the one that is looked for next.
//
//go:nosplit
func (t *Table) AccessOwn(th *Thread, c *Cell, note, mask uint64, write bool) bool {
	read := mask << headNotes
	wrote := read | Write<<(headNotes+noteKind)
	both := read | wrote<<noteBits
	head, n := c.head.Load(), c.first.Load()
	next := wrote
	switch {
	case head != 0 && slotOf(n^note) != 0:
		return false
	case head == both:
		if !write {
			next = both
		} else if slotOf(asideOf(c, 0).Load()^note) != 0 {
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
		return c.Renew(th, &c.first, head, n, note)
	}
	if !c.head.CompareAndSwap(head, head|headLock) {
		return false
	}
	if c.first.Load() != n && head != 0 || head == both && write && slotOf(asideOf(c, 0).Load()^note) != 0 {
		c.Unlock(head) // it has just changed
		return false
	}
	if head == wrote && !write {
		storeRelease(asideOf(c, 0), n)
	}
	storeRelease(&c.first, note)
	th.last = note >> placeBits
	c.Unlock(next)
	return true
}

// AccessMore adds bytes to the first note, which is of an access at the same place in the same epoch, if
// that was of the same kind, and all other notes of these bytes are of plain accesses and ordered before: so
// words are often gone through byte by byte. What the thread itself says of these bytes may stay until
// the note has all bytes of the word, and what others have written, too: who comes after this access
// comes after those.
//
//go:nosplit
func (t *Table) AccessMore(th *Thread, c *Cell, note, mask uint64, write bool) bool {
	head := c.head.Load()
	if head&(headLock|headCrowd|headAtomics) != 0 || head>>headNotes&noteBytes == 0 || (head>>(headNotes+noteKind)&7 == Write) != write {
		return false
	}
	if !c.head.CompareAndSwap(head, head|headLock) {
		return false
	}
	next := head | mask<<headNotes
	whole := next>>headNotes&noteBytes == noteBytes
	ok := c.first.Load() == note // or it has just changed
	for side := range uint32(cellNotes - 1) {
		shift := headNotes + (1+side)*noteBits
		d := head >> shift & noteMask
		if d == 0 || d&mask == 0 && !whole {
			continue
		}
		n, left := asideOf(c, side).Load(), d
		own := slotOf(n^note) == 0
		switch {
		case !own && !t.covers(th, n>>placeBits):
			ok = ok && d&mask == 0
		case !write && d>>noteKind != Read:
		case whole:
			left = 0
		case !own && d>>noteKind == Read: // its thread is not to go on from there
			if left &^= mask; left&noteBytes == 0 {
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

// AccessPlain is what is enough for most plain accesses: AccessOwn, Look and Again, AccessMore, or AccessAlone.
//
//go:nosplit
func (t *Table) AccessPlain(th *Thread, c *Cell, note, mask uint64, write bool) bool {
	return t.AccessOwn(th, c, note, mask, write) || t.noteAgain(th, c, note, mask, write) ||
		c.first.Load() == note && t.AccessMore(th, c, note, mask, write) || t.AccessAlone(th, c, note, mask, write)
}

// AccessWords is AccessPlain for whole words, as many as that is enough for, of n words from that of c on: it
// returns how many.
//
//go:nosplit
func (t *Table) AccessWords(th *Thread, c *Cell, n uintptr, note uint64, write bool) (done uintptr) {
	for ; done < n && (c.NotedWord(th, write) || t.AccessOwn(th, c, note, noteBytes, write) ||
		t.noteAgain(th, c, note, noteBytes, write) || t.AccessAlone(th, c, note, noteBytes, write)); done++ {
		c = nextCell(c)
	}
	return done
}

// AccessAlone is for plain accesses to a word of which plain accesses are noted, and none that races with
// it, where there is room in the cell.
//
//go:nosplit
func (t *Table) AccessAlone(th *Thread, c *Cell, note, mask uint64, write bool) bool {
	head, fresh := c.head.Load(), mask
	if write {
		fresh |= Write << noteKind
	}
	first := head >> headNotes & noteMask
	if !plain(head) || !c.head.CompareAndSwap(head, head|headLock) {
		return false
	}
	// Of what is ordered before, reads go, and all if this is a write.
	next, free := head&^(noteMask<<headNotes), uint32(0)
	for side := range uint32(cellNotes - 1) {
		shift := (headNotes + (1+side)*noteBits) & 63
		d := head >> shift & noteMask
		if d&mask != 0 {
			n := asideOf(c, side).Load()
			if slotOf(n^note) != 0 && !t.covers(th, n>>placeBits) {
				if write || d>>noteKind == Write {
					c.Unlock(head)
					return false
				}
			} else if write || d>>noteKind == Read {
				next &^= mask << shift
				if d&noteBytes&^mask == 0 {
					next &^= noteMask << shift
					d = 0
				}
			}
		}
		if d == 0 {
			free |= 1 << side
		}
	}
	at, n := &c.first, c.first.Load()
	moves := slotOf(n^note) == 0 // or somebody may look for it
	if first&mask != 0 {
		moves = moves || t.covers(th, n>>placeBits)
		switch {
		case !moves && (write || first>>noteKind == Write):
			c.Unlock(head)
			return false
		case moves && (write || first>>noteKind == Read):
			if first &^= mask; first&noteBytes == 0 {
				first = 0
			}
		}
	}
	// The new note is the first, if that can be: it is the one that is looked for next.
	switch side := uint32(0); {
	case first == 0:
		next |= fresh << headNotes
	case free == 0:
		c.Unlock(head)
		return false
	case moves:
		if free&1 == 0 {
			side = 1
		}
		storeRelease(asideOf(c, side), n)
		next |= fresh<<headNotes | first<<((headNotes+(1+side)*noteBits)&63)
	default:
		if side = th.side & 1; free>>side&1 == 0 {
			side ^= 1
		}
		at = asideOf(c, side)
		next |= first<<headNotes | fresh<<((headNotes+(1+side)*noteBits)&63)
	}
	storeRelease(at, note)
	th.last = note >> placeBits
	c.Unlock(next)
	return true
}

// AccessAmong is for all accesses for which there is room in the cell.
//
//go:nosplit
func (t *Table) AccessAmong(th *Thread, c *Cell, addr, place uint64, mask, kind uint32, races *Races) bool {
	old, head := c.Lock(), uint64(0)
	few := old>>headExtra != 0 && extraAt(uint32(old>>headExtra)).small()
	if old&headCrowd == 0 || !few {
		head = t.AccessAgain(th, c, old, place, mask, kind)
	}
	if head == 0 && few { // one that nobody is in will do, too
		head = t.accessFew(th, c, old|headCrowd, th.Epoch|place, uint64(mask|kind<<noteKind))
	}
	if head != 0 {
		c.Unlock(head)
		return true
	}
	if old&headCrowd == 0 {
		head, left := t.accessNotes(th, c, old, addr, th.Epoch|place, mask, mask, kind, races)
		if left == 0 {
			c.Unlock(head)
			return true
		}
		races.Count, races.Bytes = 0, 0
	}
	c.Unlock(old)
	return false
}

// AccessLocked is for a cell that is locked, with the given head. It returns the new one. It takes
// more stack.
//
//go:nosplit
func (t *Table) AccessLocked(th *Thread, c *Cell, head, addr, place uint64, mask, kind uint32, races *Races) uint64 {
	note, left := th.Epoch|place, mask
	if head&headCrowd != 0 {
		head, left = t.accessCrowd(th, head, note, addr, mask, kind, left, races)
	}
	head, left = t.accessNotes(th, c, head, addr, note, mask, left, kind, races)
	if left == 0 {
		return head
	}
	if kind != Read && kind != AtomicRead {
		// Crowds are for readers: they are quick to search if there is nobody else.
		for i := range uint32(cellNotes) {
			d := uint32(head>>(headNotes+i*noteBits)) & noteMask
			if k := d >> noteKind; k == Read || k == AtomicRead {
				head = t.addToCrowd(head, c.note(i).Load(), d&noteBytes, k)
				storeRelease(c.note(i), note)
				return head&^(noteMask<<(headNotes+i*noteBits)) | uint64(left|kind<<noteKind)<<(headNotes+i*noteBits)
			}
		}
	}
	return t.addToCrowd(head, note, left, kind)
}

// AccessAgain is AccessLocked for most accesses: they race with nothing. It returns 0, and has
// done nothing, if that is not so, or there is no room.
//
//go:nosplit
func (t *Table) AccessAgain(th *Thread, c *Cell, head, place uint64, mask, kind uint32) uint64 {
	note, free, same := th.Epoch|place, uint32(cellNotes), uint32(cellNotes)
	if head&headCrowd != 0 {
		switch x := extraAt(uint32(head >> headExtra)); {
		case (kind == AtomicRead || kind == Read && head&headAtomics == 0) && t.againInCrowd(th, head, note, mask, kind):
			return head
		case kind < AtomicWrite || x.small() || x.reads|x.writes != 0:
			return 0
		}
		// All that is in the crowd is atomic, and stays there.
	}
	rest, kept := head>>headNotes, head
	for i := range uint32(cellNotes) {
		d := uint32(rest) & noteMask
		rest >>= noteBits
		if d == 0 {
			free = min(free, i)
			continue
		}
		n := c.note(i).Load()
		if n == note && d>>noteKind == kind {
			same = i
			continue
		}
		if d&mask == 0 {
			continue
		}
		how := d>>noteKind<<3 + kind
		if matters>>(how&63)&1 == 0 {
			continue
		}
		if slotOf(n^note) != 0 && !t.covers(th, n>>placeBits) {
			if conflicts>>(how&63)&1 != 0 {
				return 0
			}
			continue
		}
		switch shift := (headNotes + i*noteBits) & 63; {
		case replaces>>(how&63)&1 == 0:
		case d&noteBytes&^mask != 0:
			kept &^= uint64(mask) << shift
		default:
			kept &^= noteMask << shift
			free = min(free, i)
		}
	}
	fresh := uint64(mask | kind<<noteKind)
	switch {
	case same < cellNotes:
		fresh <<= (headNotes + same*noteBits) & 63
	case free < cellNotes:
		at := &c.first
		if n := c.first.Load(); free != 0 && slotOf(n^note) == 0 {
			// The new note is the first, for it is the one that is looked for next. Only its own
			// thread moves a note: who looks without the lock must not find another's bytes there.
			storeRelease(c.note(free), n)
			kept |= kept >> headNotes & noteMask << ((headNotes + free*noteBits) & 63)
			kept &^= noteMask << headNotes
			free = 0
		} else if free != 0 {
			if side := th.side & 1; kept>>(headNotes+(1+side)*noteBits)&noteMask == 0 {
				free = 1 + side
			}
			at = c.note(free)
		}
		storeRelease(at, note)
		fresh <<= (headNotes + free*noteBits) & 63
	default:
		return 0
	}
	th.last = note >> placeBits
	return kept | fresh
}

// LockAgain is AccessAgain for an operation on a lock. Who takes it together with others, or by turns, goes on
// with a note of its own: what others have noted need not be fetched.
//
//go:nosplit
func (t *Table) LockAgain(th *Thread, c *Cell, head, place, mask uint64) uint64 {
	d := head >> headNotes
	// Where no plain reads are noted there is nothing to be compared: of others there are atomic operations, or a
	// write, that was compared with its earlier one, whichever came first, and has not taken that note away.
	reads := d&noteBytes != 0 && d>>noteKind&7 == Read || d>>noteBits&noteBytes != 0 && d>>(noteBits+noteKind)&7 == Read ||
		d>>(2*noteBits)&noteBytes != 0 && d>>(2*noteBits+noteKind)&7 == Read
	if head&headCrowd == 0 && !reads {
		if n, _, side := c.own(th, head, mask|AtomicUpdate<<noteKind); n != nil {
			if side >= 0 {
				th.side = uint32(side)
			}
			storeRelease(n, th.Epoch|place)
			th.last = th.Epoch >> placeBits
			return head
		}
	}
	return t.AccessAgain(th, c, head, place, uint32(mask), AtomicUpdate)
}

// accessNotes compares an access to the bytes in mask with the notes of a cell, and notes
// it for those in left. It returns the new head, and what is left to be noted.
//
//go:nosplit
func (t *Table) accessNotes(th *Thread, c *Cell, head, addr, note uint64, mask, left, kind uint32, races *Races) (uint64, uint32) {
	into, free := uint32(cellNotes), uint32(cellNotes)
	for i := range uint32(cellNotes) {
		d := uint32(head>>(headNotes+i*noteBits)) & noteMask
		both := d & mask
		switch n := c.note(i).Load(); {
		case both == 0:
		case th.unseen(n) && suffices>>(8*(d>>noteKind)+kind)&1 != 0:
			left &^= both // it says as much, and whoever came since has seen it
		case !t.meet(th, n, addr, d>>noteKind, kind, both, races):
			if d &^= both; d&noteBytes == 0 {
				d = 0
			}
			head = head&^(noteMask<<(headNotes+i*noteBits)) | uint64(d)<<(headNotes+i*noteBits)
		}
		switch {
		case d == 0:
			free = min(free, i)
		case d>>noteKind == kind && c.note(i).Load() == note:
			into = i
		}
	}
	if left == 0 {
		return head, 0
	}
	th.last = th.Epoch >> placeBits
	switch {
	case into < cellNotes:
		return head | uint64(left)<<(headNotes+into*noteBits), 0
	case free < cellNotes:
		storeRelease(c.note(free), note)
		return head | uint64(left|kind<<noteKind)<<(headNotes+free*noteBits), 0
	}
	return head, left
}

// meet compares an access of the given kind with a note of kind k that it shares bytes
// with, and reports whether the note is still needed for these.
//
//go:nosplit
func (t *Table) meet(th *Thread, n, addr uint64, k, kind, both uint32, races *Races) (keep bool) {
	how := 8*k + kind
	if matters>>how&1 == 0 {
		return true
	}
	before := slotOf(n) == slotOf(th.Epoch) || t.covers(th, n>>placeBits)
	if !before && conflicts>>how&1 != 0 {
		races.add(n, addr, k, both)
	}
	return kind != Write && !(before && replaces>>how&1 != 0)
}

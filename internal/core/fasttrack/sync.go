package fasttrack

// The operations on synchronization objects.
const (
	Acquire       = iota // joins everything
	AcquireShared        // joins all but what ReleaseShared released
	Receive              // is AcquireShared of a message or an atomic variable instead of a lock
	Release
	ReleaseShared
	Send     // joins the thread's clock into the release clock; atomic updates do so after Receive
	Store    // replaces the release clock
	Exchange // is Receive, then Send

	// The operations on locks, as bits.
	lockOps = 1<<Acquire | 1<<AcquireShared | 1<<Release | 1<<ReleaseShared
)

// Sync performs an operation on the object at addr. Its cell is locked and has the given head. Sync
// returns the new one.
//
//go:nosplit
func (t *Table) Sync(th *Thread, head uint64, addr uint64, op uint32) uint64 {
	number := uint32(addr&7) + 1
	i := uint32(head >> headExtension)
	for i != 0 && extensionAt(i).number() != number {
		i = extensionAt(i).next
	}
	if i == 0 {
		if op <= Receive {
			return head // nothing was released
		}
		if head, i = t.newObject(head, number); i == 0 {
			return head
		}
	}
	x := extensionAt(i)
	t.spillInline(x)
	t.foldPartnerEpoch(&x.release)
	t.foldPartnerEpoch(&x.sharedRelease)
	if lockOps>>op&1 != 0 {
		t.updateReuse(th, x, i, op)
	} else if op > ReleaseShared {
		th.endReuse()
	}
	switch op {
	case Acquire:
		learned := t.acquire(th, &x.release)
		if !x.sharedRelease.empty() {
			learned = t.acquire(th, &x.sharedRelease) || learned
		}
		if learned {
			t.countAcquire(x)
		}
	case AcquireShared:
		if t.acquire(th, &x.release) {
			t.countAcquire(x)
		}
	case Receive:
		t.acquire(th, &x.release)
	case Release:
		if !x.release.isExactly(t.epochToPublish(th)) { // else the clock is the same already
			t.releaseJoin(th, x, &x.release)
		}
		if !x.sharedRelease.empty() && t.coversRelease(th, &x.sharedRelease) { // the writer's release includes theirs
			t.clearRelease(&x.sharedRelease)
		}
	case ReleaseShared:
		t.releaseJoin(th, x, &x.sharedRelease)
	case Send:
		t.releaseJoin(th, x, &x.release)
	case Store:
		t.releaseStore(th, x, &x.release, t.epochToPublish(th))
		t.clearRelease(&x.sharedRelease)
		t.endEpoch(th)
	case Exchange:
		t.acquire(th, &x.release)
		t.releaseJoin(th, x, &x.release)
	}
	return head
}

// SyncInPlace is Sync for the cases that need no memory, such as when the thread has learned all
// that was released, or clocks are short. It needs little stack. If it returns false, Sync must be
// called; what SyncInPlace has done makes no difference to it.
//
//go:nosplit
func (t *Table) SyncInPlace(th *Thread, head uint64, addr uint64, op uint32) bool {
	i := uint32(head >> headExtension)
	if i == 0 {
		return op <= Receive
	}
	x := extensionAt(i)
	if x.number() != uint32(addr&7)+1 {
		return false // the object is at another byte, or there is none
	}
	if lockOps>>op&1 != 0 {
		t.updateReuse(th, x, i, op)
	} else if op > ReleaseShared {
		th.reuse.lock = 0
	}
	s, readers := &x.release, !x.sharedRelease.empty()
	switch {
	case op == ReleaseShared:
		s = &x.sharedRelease
	case readers && (op == Acquire || op == Release || op == Store):
		return false
	}
	switch {
	case op > Receive && (s.isExactly(t.epochToPublish(th)) || op == ReleaseShared && t.epochToPublish(th) == th.unchangedSince && t.releaseCovers(s, th.unchangedSince)):
		th.resetSameEpoch()
		return true // the clock is the same already
	case t.knowsRelease(th, s.word.Load()):
	case op <= Receive:
		if !t.acquireInPlace(th, x, s) {
			return false
		}
		if op != Receive {
			t.countAcquire(x)
		}
		return true
	case op == ReleaseShared || op == Send && s.exact():
		return t.hasNextEpoch(th) && t.releaseJoinInPlace(th, x, s)
	case op != Store:
		return false
	}
	return op <= Receive || t.hasNextEpoch(th) && t.releaseStoreInPlace(th, x, s)
}

// Reacquire reports whether acquiring the lock at addr, with Acquire or AcquireShared, changes nothing: the
// thread has learned all that was released, and has a same-epoch entry of an operation on the lock. While it
// holds the lock, no other thread releases anything that it would have to learn, so the cell need not be
// locked. If it returns false, SyncInPlace or Sync must be called.
//
//go:nosplit
func (t *Table) Reacquire(th *Thread, c *Cell, addr uint64, op uint32) bool {
	head, i := t.unlockedObject(th, c, addr)
	if i == 0 {
		return false
	}
	x := extensionAt(i)
	if !t.knowsRelease(th, x.release.word.Load()) || op == Acquire && !x.sharedRelease.empty() {
		return false
	}
	t.updateReuse(th, x, i, op)
	return c.SameEpochAtomic(th, head, 1<<(addr&7), AtomicUpdate) && c.head.Load() == head
}

// ReleaseAgain reports whether releasing the lock at addr, which the thread holds, publishes nothing new: the
// release clock has the thread's clock already, and the thread has a same-epoch entry of an operation on the
// lock. Then it has released the lock, without locking the cell: other threads change what it looks at only
// when they hold the lock. If it returns false, SyncInPlace or Sync must be called.
//
//go:nosplit
func (t *Table) ReleaseAgain(th *Thread, c *Cell, addr uint64) bool {
	head, i := t.unlockedObject(th, c, addr)
	if i == 0 {
		return false
	}
	x := extensionAt(i)
	if !x.release.isExactly(t.epochToPublish(th)) || !x.sharedRelease.empty() ||
		!c.SameEpochAtomic(th, head, 1<<(addr&7), AtomicUpdate) || c.head.Load() != head {
		return false
	}
	t.updateReuse(th, x, i, Release)
	th.resetSameEpoch()
	return true
}

// unlockedObject returns the head of a cell and the extension of the object at addr, 0 if the cell must be
// locked to find it.
//
//go:nosplit
func (t *Table) unlockedObject(th *Thread, c *Cell, addr uint64) (head uint64, i uint32) {
	head = c.head.Load()
	i = uint32(head >> headExtension)
	if i == 0 || head&headLock != 0 || t.Stale(th) || extensionAt(i).number() != uint32(addr&7)+1 {
		return head, 0
	}
	return head, i
}

// Note returns what SetNote has noted about the object at addr, or 0. The object's cell is locked and has the
// given head.
//
//go:nosplit
func (t *Table) Note(head, addr uint64) uint32 {
	for i := uint32(head >> headExtension); i != 0; i = extensionAt(i).next {
		if x := extensionAt(i); x.number() == uint32(addr&7)+1 {
			return x.note
		}
	}
	return 0
}

// SetNote notes a number about the synchronization object at addr, for the host, until the object's memory is
// cleared. The object's cell is locked and has the given head. SetNote returns the new one.
//
//go:nosplit
func (t *Table) SetNote(head, addr uint64, note uint32) uint64 {
	number := uint32(addr&7) + 1
	i := uint32(head >> headExtension)
	for i != 0 && extensionAt(i).number() != number {
		i = extensionAt(i).next
	}
	if i == 0 {
		if head, i = t.newObject(head, number); i == 0 {
			return head
		}
	}
	extensionAt(i).note = note
	return head
}

// Noted reports whether there is a note about an object in the word. It must not be used at the time.
func (t *Table) Noted(c *Cell) bool {
	for i := uint32(c.head.Load() >> headExtension); i != 0; i = extensionAt(i).next {
		if x := extensionAt(i); x.number() != 0 && x.note != 0 {
			return true
		}
	}
	return false
}

// newObject adds an object at a byte of a word. It returns the new head and the object's extension,
// 0 if memory runs out.
//
//go:nosplit
func (t *Table) newObject(head uint64, number uint32) (uint64, uint32) {
	first := uint32(head >> headExtension)
	for i := first; i != 0; i = extensionAt(i).next {
		if x := extensionAt(i); x.number() == 0 {
			storeRelease32(&x.object, x.object.Load()|number)
			return head, i
		}
	}
	fresh := t.newExtension()
	if fresh == 0 {
		return head, 0
	}
	x := extensionAt(fresh)
	storeRelease32(&x.object, x.object.Load()|number)
	if first == 0 {
		return head | uint64(fresh)<<headExtension, fresh
	}
	extensionAt(fresh).next = extensionAt(first).next // the first has the overflow set
	extensionAt(first).next = fresh
	return head, fresh
}

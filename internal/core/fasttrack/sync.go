package fasttrack

// The ways to synchronise through an object.
const (
	Acquire       = iota // sees everything
	AcquireShared        // sees all but what ReleaseShared published
	Receive              // is AcquireShared of what is no lock: a message, or an atomic variable that is read
	Release
	ReleaseShared
	Send     // publishes, besides what is there; so do atomic updates, after they have seen
	Store    // publishes instead of what is there
	Exchange // See and Send

	// What is done with locks, as bits.
	lockOps = 1<<Acquire | 1<<AcquireShared | 1<<Release | 1<<ReleaseShared
)

// Sync orders the thread as the operation on the object at addr says, in the word of the
// locked cell c with the given head. It returns the new one.
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
			return head // nothing was published
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
		if !x.release.isExactly(t.epochToPublish(th)) { // otherwise all is as it was
			t.releaseJoin(th, x, &x.release)
		}
		if !x.sharedRelease.empty() && t.coversRelease(th, &x.sharedRelease) { // the writer publishes on their behalf
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

// SyncInPlace is Sync where that takes no memory, as when all that was published through the
// object is known to the thread, or clocks are short. It takes little stack. If it reports
// false, Sync is to be called all the same.
//
//go:nosplit
func (t *Table) SyncInPlace(th *Thread, head uint64, addr uint64, op uint32) bool {
	i := uint32(head >> headExtension)
	if i == 0 {
		return op <= Receive
	}
	x := extensionAt(i)
	if x.number() != uint32(addr&7)+1 {
		return false // another byte's, or of none: there may be others
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
		return true // it says so already
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

// ReacquireShared reports whether it makes no difference that the thread has taken the lock at addr together with
// others: it knows all that was published for those who do that, and it is noted that it has taken the lock. As
// long as it has that, nobody publishes more for them; so the cell is not locked. If it reports false, SyncInPlace
// or Sync is to be called, to which what was done makes no difference.
//
//go:nosplit
func (t *Table) ReacquireShared(th *Thread, c *Cell, addr uint64) bool {
	head := c.head.Load()
	i := uint32(head >> headExtension)
	if i == 0 || head&headLock != 0 || t.Stale(th) {
		return false
	}
	x := extensionAt(i)
	if x.number() != uint32(addr&7)+1 || !t.knowsRelease(th, x.release.word.Load()) {
		return false
	}
	t.updateReuse(th, x, i, AcquireShared)
	return c.SameEpochAtomic(th, head, 1<<(addr&7), AtomicUpdate) && c.head.Load() == head
}

// newObject makes an object at a byte of a word. It returns the new head, and the number
// of the object's extra, 0 if there is no memory.
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
	extensionAt(fresh).next = extensionAt(first).next // the first has the crowd
	extensionAt(first).next = fresh
	return head, fresh
}

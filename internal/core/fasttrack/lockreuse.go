package fasttrack

// What a thread publishes through a lock nobody can see before it is taken again. If the same
// thread does that, having published nothing elsewhere, and nobody else did before, and as long
// as it has the lock, nobody else knows, or can learn, what the thread has done since it published
// anything that may have been seen: its epochs since then are as good as one. So who takes the
// same lock again and again notes what it does under it once.

const numberMask = 1<<8 - 1 // of what an extra says of its object

//go:nosplit
func (x *extension) number() uint32 { return x.object.Load() & numberMask }

// updateReuse is told that the thread takes or releases a lock, before it learns or publishes.
//
//go:nosplit
func (t *Table) updateReuse(th *Thread, x *extension, i, op uint32) {
	h := &th.reuse
	switch {
	case op <= AcquireShared:
		if h.lock == i && h.acquires == x.object.Load() && (op == Acquire || h.shared) && t.unownedReleases.Load() == 0 {
			th.since, th.span = h.since, th.Epoch-h.since+placeMask
		}
	case th.sharesSlot:
		th.endReuse()
	case h.lock == i && h.acquires == x.object.Load() && h.shared == (op == ReleaseShared) && th.since == th.Epoch:
		// It was told already.
	default:
		// What is published for readers is not seen by those that take the lock like them.
		h.lock, h.acquires, h.since, h.shared = i, x.object.Load(), th.since, op == ReleaseShared
		th.resetSameEpoch()
	}
}

// countAcquire notes that somebody has learnt something by taking a lock.
//
//go:nosplit
func (t *Table) countAcquire(x *extension) {
	object := x.object.Load() + numberMask + 1
	storeRelease32(&x.object, object)
	if object <= numberMask { // it is counted anew
		t.generation.Add(1)
	}
}

// removeObject notes that an extra has no object any more.
//
//go:nosplit
func (t *Table) removeObject(x *extension) {
	storeRelease32(&x.object, x.object.Load()&^numberMask)
	t.countAcquire(x)
}

// UnownedRelease is told that a thread is about to release a lock that it has not taken, or has released:
// then others may get a lock that a thread takes for its own.
//
//go:nosplit
func (t *Table) UnownedRelease() {
	if t.unownedReleases.Load() == 0 {
		t.unownedReleases.Store(1)
		t.generation.Add(1)
	}
}

// lockReuse is what a thread has published last, if only through a lock: while it has that again, and
// nobody has seen it, nobody can see it.
type lockReuse struct {
	since    uint64 // the thread's, before
	lock     uint32 // the number of its extra, 0 if there is none
	acquires uint32 // of the lock
	shared   bool
}

// endReuse says that the thread publishes what others may see at any time.
//
//go:nosplit
func (th *Thread) endReuse() {
	th.reuse.lock = 0
	th.resetSameEpoch()
}

package fasttrack

// What a thread releases through a lock is invisible to other threads until the lock is acquired
// again. Suppose the same thread acquires it next, and has released nothing elsewhere. Then, as
// long as it holds the lock, no other thread has learned, or can learn, what it did since its last
// visible release. All its epochs since then count as one: the same-epoch rules accept entries of
// any of them. So a thread that takes the same lock again and again records its accesses under the
// lock once.

// lockReuse describes the last release of a thread, if it was a release of a lock.
type lockReuse struct {
	since    uint64 // the thread's since before the release
	lock     uint32 // the lock's extension, 0 if there is none
	acquires uint32 // its object word then: unchanged if no thread has learned anything from the lock
	shared   bool
}

// numberMask is the part of extension.object that has the number of the object.
const numberMask = 1<<8 - 1

// number returns 1 plus the byte of the object, 0 if there is none.
//
//go:nosplit
func (x *extension) number() uint32 { return x.object.Load() & numberMask }

// updateReuse is called when the thread acquires or releases a lock, before it learns or publishes
// anything.
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
		// The release is repeated after SyncInPlace has failed.
	default:
		// ReleaseShared is not visible to AcquireShared.
		h.lock, h.acquires, h.since, h.shared = i, x.object.Load(), th.since, op == ReleaseShared
		th.resetSameEpoch()
	}
}

// countAcquire records that an acquire of a lock has learned something.
//
//go:nosplit
func (t *Table) countAcquire(x *extension) {
	object := x.object.Load() + numberMask + 1
	storeRelease32(&x.object, object)
	if object <= numberMask { // the count has wrapped around
		t.generation.Add(1)
	}
}

// removeObject removes the object of an extension.
//
//go:nosplit
func (t *Table) removeObject(x *extension) {
	storeRelease32(&x.object, x.object.Load()&^numberMask)
	x.note = 0
	t.countAcquire(x)
}

// UnownedRelease is called before a thread releases a lock that it has not acquired, or has
// released already. From then on a thread that has acquired a lock need not be its only holder, so
// locks are not reused.
//
//go:nosplit
func (t *Table) UnownedRelease() {
	if t.unownedReleases.Load() == 0 {
		t.unownedReleases.Store(1)
		t.generation.Add(1)
	}
}

// endReuse records that the thread releases something that others can see at any time.
//
//go:nosplit
func (th *Thread) endReuse() {
	th.reuse.lock = 0
	th.resetSameEpoch()
}

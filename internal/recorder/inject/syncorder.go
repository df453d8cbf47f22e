//go:build heisen_inject

package runtime

import (
	"unsafe"
)

// Happens-before inside the program: what synchronization and atomic operations do to the clocks of
// package internal/core/fasttrack. The functions run in hooks, on the stack of the current
// goroutine, which may act for a parked one. They switch to the system stack where memory may be
// needed. The lock of the object's cell is held during an operation: between heisenAtomicLock and
// heisenAtomicUnlock nothing may block.

// heisenLockOps are the ops on locks, heisenAcquireOps those that acquire.
const (
	heisenAcquireOps = 1<<heisenOpAcquire | 1<<heisenOpAcquireShared | 1<<heisenOpTryAcquire | 1<<heisenOpTryAcquireShared

	heisenLockOps = heisenAcquireOps | 1<<heisenOpRelease | 1<<heisenOpReleaseShared
)

// heisenSyncOrder is a synchronization of h through obj. h is the current goroutine or parked. fp
// leads to the place, and is 0 if h is elsewhere.
//
//go:nosplit
func heisenSyncOrder(h *heisenG, op uint64, obj, fp uintptr) {
	c := heisenCellAt(obj)
	switch {
	case op == heisenOpCollected:
		heisenSyncCollected(h)
	case op > heisenOpChanceReceive: // these ops add nothing to happens-before
	case c == &heisenNoCell:
		heisenSyncElsewhere(h, op, obj, fp)
	case heisenLockOps>>op&1 == 0:
		heisenSyncMessage(h, op, obj, c)
	case heisenAcquireOps>>op&1 != 0 && heisenFastTrack.Reacquire(&h.order, c, uint64(obj), heisenSyncOps[op]):
		h.pushLock(obj, heisenSyncOps[op] == heisenFastTrackAcquireShared, heisenPC(heisenCaller(fp)))
	default: // it takes part in races like an atomic operation
		if b := heisenBufOfG(h); b != nil {
			heisenSyncLock(b, h, op, obj, fp, c, c.Lock())
		}
	}
}

// heisenReleaseAgain is a release of a lock by the current goroutine, if only races are looked for and the
// release publishes nothing new. Otherwise it returns false, and heisenSyncG must be called.
//
//go:nosplit
func heisenReleaseAgain(lock uintptr) bool {
	gp := getg()
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	if heisen.mode != heisenModeFollow || !heisen.on || h == nil || gp.raceignore != 0 || heisenOnStack(lock) {
		return false
	}
	held := h.findLock(lock, false)
	if held == 0 || heisen.locks && h.locksHeld.held[(held-1)%heisenMaxHeld].sent ||
		!heisenFastTrack.ReleaseAgain(&h.order, heisenCellAt(lock), uint64(lock)) {
		return false
	}
	h.popLock(held)
	return true
}

// The following functions are not inlined: that would take stack where little is left.

//go:nosplit
//go:noinline
func heisenSyncCollected(h *heisenG) {
	systemstack(func() {
		heisenFastTrack.BeginEpoch(&h.order, h.id)
		heisenFastTrack.AcquireCollected(&h.order)
	})
}

// heisenSyncMessage is a synchronization through something other than a lock.
//
//go:nosplit
//go:noinline
func heisenSyncMessage(h *heisenG, op uint64, obj uintptr, c *heisenFastTrackCell) {
	t, head := &heisenFastTrack, c.Lock()
	if !t.Stale(&h.order) && t.SyncInPlace(&h.order, head, uint64(obj), heisenSyncOps[op]) {
		c.Unlock(head)
		return
	}
	systemstack(func() {
		if t.Stale(&h.order) {
			t.BeginEpoch(&h.order, h.id)
		}
		if head == 0 {
			heisenMarkUsed(obj)
		}
		c.Unlock(t.Sync(&h.order, head, uint64(obj), heisenSyncOps[op]))
	})
}

// heisenSyncLock is an operation of h on a lock. The lock's cell is locked and has the given head;
// heisenSyncLock unlocks it.
//
//go:nosplit
//go:noinline
func heisenSyncLock(b *heisenBuf, h *heisenG, op uint64, addr, fp uintptr, c *heisenFastTrackCell, head uint64) {
	held := uint32(0)
	if op == heisenOpRelease || op == heisenOpReleaseShared {
		if held = h.findLock(addr, op == heisenOpReleaseShared); held == 0 {
			heisenHandOver(h, addr, op == heisenOpReleaseShared)
		}
	}
	var pc uintptr
	if heisenAcquireOps>>op&1 != 0 {
		pc = heisenCaller(fp)
	}
	place := uint64(0) // if it is recorded; in an epoch that is about to begin nothing is
	if heisenFastTrack.Stale(&h.order) || !c.SameEpochAtomic(&h.order, head, 1<<(addr&7), heisenFastTrackAtomicUpdate) {
		place = heisenPlaceFrom(b, h, pc, fp)
	}
	head, done := heisenLockInPlace(h, heisenSyncOps[op], addr, place, c, head)
	if done {
		c.Unlock(head)
	} else {
		if place == 0 { // it may not be recorded any more
			place = heisenPlaceFrom(b, h, pc, fp)
		}
		heisenAtomicSlow(b, h, heisenSyncOps[op], addr, place, c, head)
	}
	if heisenAcquireOps>>op&1 != 0 {
		h.pushLock(addr, heisenSyncOps[op] == heisenFastTrackAcquireShared, heisenPC(pc))
	} else if held != 0 {
		h.popLock(held)
	}
}

// heisenLockInPlace does what heisenSyncLock needs if that takes no memory and the operation races
// with nothing. A place of 0 says that the access is recorded. It returns the new head and whether
// it has done everything. If not, heisenAtomicSlow must be called; what was done makes no
// difference to it.
//
//go:nosplit
func heisenLockInPlace(h *heisenG, how uint32, addr uintptr, place uint64, c *heisenFastTrackCell, head uint64) (uint64, bool) {
	t := &heisenFastTrack
	takes := how <= heisenFastTrackAcquireShared
	if head == 0 || t.Stale(&h.order) || takes && !t.SyncInPlace(&h.order, head, uint64(addr), how) {
		return head, false
	}
	// If the lock is reused, the access may be recorded already.
	if place != 0 && !(takes && c.SameEpochAtomic(&h.order, head, 1<<(addr&7), heisenFastTrackAtomicUpdate)) {
		next := t.LockNoRace(&h.order, c, head, place, 1<<(addr&7))
		if next == 0 {
			return head, false
		}
		head = next
	}
	return head, takes || t.SyncInPlace(&h.order, head, uint64(addr), how)
}

// heisenAtomicSlow is an operation of h on the word of a locked cell, with the given head, that
// synchronizes as how says and is an atomic access. It unlocks the cell. Inlined, it would take
// stack where little is left.
//
//go:nosplit
//go:noinline
func heisenAtomicSlow(b *heisenBuf, h *heisenG, how uint32, addr uintptr, place uint64, c *heisenFastTrackCell, head uint64) {
	systemstack(func() {
		kind := uint32(heisenFastTrackAtomicUpdate)
		switch how {
		case heisenFastTrackReceive:
			kind = heisenFastTrackAtomicRead
		case heisenFastTrackStore:
			kind = heisenFastTrackAtomicWrite
		}
		t := &heisenFastTrack
		if t.Stale(&h.order) {
			t.BeginEpoch(&h.order, h.id)
		}
		if head == 0 {
			heisenMarkUsed(addr)
		}
		if how == heisenFastTrackExchange {
			head = t.Sync(&h.order, head, uint64(addr), heisenFastTrackReceive)
			how = heisenFastTrackSend
		} else if how <= heisenFastTrackReceive {
			head = t.Sync(&h.order, head, uint64(addr), how)
		}
		if !c.SameEpochAtomic(&h.order, head, 1<<(addr&7), kind) {
			if next := t.AccessNoRace(&h.order, c, head, place, 1<<(addr&7), kind); next != 0 {
				head = next
			} else {
				head = t.AccessLocked(&h.order, c, head, uint64(addr)&^7, place, 1<<(addr&7), kind, &b.races)
			}
			if b.races.Count != 0 {
				b.setRacing(kind, place, addr, 1)
			}
		}
		if how > heisenFastTrackReceive {
			head = t.Sync(&h.order, head, uint64(addr), how)
		}
		c.Unlock(head)
		if b.races.Count != 0 {
			heisenReportRaces(b, h)
		}
	})
}

// heisenAtomicLock locks the cell of an atomic operation that the current goroutine is about to
// make. It reports whether the operation is followed, and heisenAtomicUnlock must be called.
//
//go:nosplit
func heisenAtomicLock(op uint64, addr uintptr) bool {
	gp := getg()
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	if !heisen.on || h == nil || gp.raceignore != 0 || gp.m.p == 0 || heisenOnStack(addr) {
		return false
	}
	b, c := heisenBufOfG(h), heisenCellAt(addr)
	if b == nil {
		return false
	}
	if c == &heisenNoCell {
		c = heisenElsewhereCell(addr)
	}
	head := c.Lock()
	if i := head >> heisenFastTrackHeadExtension; i != 0 && op != heisenOpAtomicRead {
		heisenPrefetch(uintptr(unsafe.Pointer(heisenFastTrackExtensionAt(uint32(i)))))
	}
	b.racing.cell, b.racing.head = c, head
	return true
}

// heisenAtomicUnlock does what an atomic operation means after it was made, and unlocks its cell.
//
//go:nosplit
func heisenAtomicUnlock(h *heisenG, op uint64, addr, fp uintptr) {
	b := heisenBufOfP()
	kind := uint32(op - heisenOpAtomicRead + heisenFastTrackAtomicRead)
	t, c, head := &heisenFastTrack, b.racing.cell, b.racing.head
	if heisenCellAt(addr) == &heisenNoCell {
		heisenSyncInElsewhere(h, op, addr, c, head)
		return
	}
	stale, recorded, place := t.Stale(&h.order), false, uint64(0)
	if !stale {
		recorded = c.SameEpochAtomic(&h.order, head, 1<<(addr&7), kind)
	}
	if !recorded {
		place = heisenPlaceFrom(b, h, 0, fp)
	}
	if head != 0 && !stale {
		next, done := t.AtomicInPlace(&h.order, c, head, uint64(addr), place, kind, recorded)
		if done {
			c.Unlock(next)
			return
		}
		head = next
	}
	if recorded { // it may not be recorded any more
		place = heisenPlaceFrom(b, h, 0, fp)
	}
	heisenAtomicSlow(b, h, heisenSyncOps[op], addr, place, c, head)
}

// heisenSyncOps has the operations of package internal/core/fasttrack, by the recorder's ops.
var heisenSyncOps = [...]uint32{
	heisenOpAtomicRead:       heisenFastTrackReceive,
	heisenOpAtomicWrite:      heisenFastTrackStore,
	heisenOpAtomicUpdate:     heisenFastTrackExchange,
	heisenOpAcquire:          heisenFastTrackAcquire,
	heisenOpTryAcquire:       heisenFastTrackAcquire,
	heisenOpAcquireShared:    heisenFastTrackAcquireShared,
	heisenOpTryAcquireShared: heisenFastTrackAcquireShared,
	heisenOpReceive:          heisenFastTrackReceive,
	heisenOpChanceReceive:    heisenFastTrackReceive,
	heisenOpRelease:          heisenFastTrackRelease,
	heisenOpReleaseShared:    heisenFastTrackReleaseShared,
	heisenOpSend:             heisenFastTrackSend,
}

//go:build heisen_inject

package runtime

import "unsafe"

// Goroutines that wait for locks for ever while others go on: those that wait in a circle for locks that the
// next one holds, and those that wait for a lock of one that waits for ever. They do so although others can
// reach the locks, because nobody else releases them. Locks that were released by a goroutine that did not
// hold them do not count, nor do those of the standard library (atrest.go, which has what holds at rest). Nor does
// one that waits for a lock that it holds itself: this is how one waits until another one releases it, for the first time.
//
// The functions run on the system stack, while no goroutine runs.

// heisenStrandBehindLocks marks these goroutines as stranded. heisenFindLeaks has marked others. self is the
// goroutine that looks, nil if none does. It reports whether there was memory for that.
func heisenStrandBehindLocks(self *g) bool {
	t := heisenLockHolders()
	t.addWriters()
	heisenForgetBehind()
	forEachGRace(func(gp *g) {
		if heisenAwaitedLock(gp) != 0 {
			t.strandBehind(gp, self)
		}
	})
	t.free()
	return !t.failed
}

// strandBehind marks gp as stranded if it waits for ever, and all others for which it waits then. It follows
// from one that waits to one that holds the lock, once for each goroutine.
func (t *heisenByLock) strandBehind(gp, self *g) {
	last := gp
	for last != nil && last != self && !heisenIsStranded(last) && heisenBehindOf(last) == heisenBehindUnknown && heisenAwaitedLock(last) != 0 {
		heisenSetBehind(last, heisenBehindLooking)
		holder := t.awaited(last)
		if holder == last {
			holder = nil
		}
		last = holder
	}
	stays := last != nil && last != self && (heisenIsStranded(last) || heisenBehindOf(last) == heisenBehindLooking)
	for at := gp; at != nil && heisenBehindOf(at) == heisenBehindLooking; at = t.awaited(at) {
		heisenSetBehind(at, heisenBehindNobody)
		if stays {
			heisenStrand(at)
		}
	}
}

// heisenForgetBehind resets task.behind of all goroutines.
func heisenForgetBehind() {
	forEachGRace(func(gp *g) {
		if h := (*heisenG)(unsafe.Pointer(gp.racectx)); h != nil {
			h.task.behind = heisenBehindUnknown
		}
	})
}

// heisenIsLeft reports whether a stranded goroutine is a finding. That main waits for ever is none, unless it
// waits for the lock of another goroutine: it is how main waits for a goroutine, or for a signal, to end the program.
// heisenFindBehind has run.
func heisenIsLeft(gp *g) bool {
	if gp.goid != 1 {
		return heisenIsStranded(gp)
	}
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	return heisenIsStranded(gp) && h.task.behind == heisenBehindLocks && (h.locksHeld == nil || !h.locksHeld.holdsAny(uintptr(h.task.on)))
}

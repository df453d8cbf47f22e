//go:build heisen_inject

package runtime

import "unsafe"

// Goroutines that wait for ever only because others do. They are no bugs of their own:
//
//   - those that wait for a lock that a goroutine holds which waits for ever for something else than a lock;
//   - those that wait for what goroutines can reach that wait for each other's locks, or for a lock of such goroutines;
//   - those that wait for a WaitGroup that another one can reach which waits for ever, and for no WaitGroup.
//
// They are looked for where goroutines that wait for ever are sent, on the system stack, while no goroutine runs.

// heisenBehind says for what a stranded goroutine waits in the end.
type heisenBehind uint8

const (
	heisenBehindUnknown heisenBehind = iota
	heisenBehindNobody               // for something that nobody does
	heisenBehindLocks                // it waits in a circle of locks, or for a lock of one
	heisenBehindOthers               // for what others would do that wait for ever
)

// heisenLongestChain bounds the goroutines each of which waits for a lock that the next one holds.
const heisenLongestChain = 64

// heisenFindBehind sets task.behind of the stranded goroutines.
func heisenFindBehind() {
	locks, others := 0, 0
	forEachGRace(func(gp *g) {
		if heisenIsStranded(gp) {
			(*heisenG)(unsafe.Pointer(gp.racectx)).task.behind = heisenBehindUnknown
		}
	})
	forEachGRace(func(gp *g) {
		if !heisenIsStranded(gp) {
			return
		}
		switch heisenFindBehindLock(gp) {
		case heisenBehindLocks:
			locks++
		case heisenBehindNobody:
			others++
		}
	})
	if others == 0 || locks+others < 2 {
		return
	}
	w := heisenBeginSearch(nil)
	if w.marks == 0 {
		return
	}
	w.excludeRuntime()
	w.findBehind(heisenBehindLocks, func(*g) bool { return true })
	w.findBehind(heisenBehindNobody, func(gp *g) bool { return gp.waitreason == waitReasonSyncWaitGroupWait })
	w.end()
}

// heisenFindBehindLock sets and returns what a goroutine waits for as far as the holders of locks decide it.
func heisenFindBehindLock(gp *g) heisenBehind {
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	if !heisenLocks(gp) {
		h.task.behind = heisenBehindNobody
		return heisenBehindNobody
	}
	found := heisenBehindLocks // unless the chain ends
	for at, i := gp, 0; i < heisenLongestChain; i++ {
		if at = heisenHolderOf(uintptr((*heisenG)(unsafe.Pointer(at.racectx)).task.on)); at == nil {
			found = heisenBehindNobody
			break
		}
		if !heisenLocks(at) {
			if found = heisenBehindNobody; heisenIsStranded(at) {
				found = heisenBehindOthers
			}
			break
		}
		if known := (*heisenG)(unsafe.Pointer(at.racectx)).task.behind; known != heisenBehindUnknown && heisenIsStranded(at) {
			found = known
			break
		}
	}
	h.task.behind = found
	return found
}

// heisenHolderOf returns a goroutine that holds a lock, nil if none is known. Of several, it is one that waits for a lock.
func heisenHolderOf(lock uintptr) (holder *g) {
	forEachGRace(func(gp *g) {
		h := (*heisenG)(unsafe.Pointer(gp.racectx))
		if h != nil && h.locksHeld != nil && h.locksHeld.holdsAny(lock) && (holder == nil || heisenLocks(gp)) {
			holder = gp
		}
	})
	return holder
}

// findBehind marks what the stranded goroutines can reach that wait for something, and notes that others are behind them which wait for an
// object that was reached, if may returns true for them.
func (w *heisenLeakSearch) findBehind(from heisenBehind, may func(*g) bool) {
	forEachGRace(func(gp *g) {
		if heisenIsStranded(gp) && (*heisenG)(unsafe.Pointer(gp.racectx)).task.behind == from && !(from == heisenBehindNobody && may(gp)) {
			w.goroutine(gp)
		}
	})
	for more := true; more && !w.failed; {
		w.follow()
		more = false
		forEachGRace(func(gp *g) {
			if !heisenIsStranded(gp) || !may(gp) {
				return
			}
			if h := (*heisenG)(unsafe.Pointer(gp.racectx)); h.task.behind == heisenBehindNobody && w.waitsForReached(gp, h) {
				h.task.behind, more = heisenBehindOthers, true
				w.goroutine(gp)
			}
		})
	}
}

// waitsForReached reports whether a goroutine waits for an object that was reached.
func (w *heisenLeakSearch) waitsForReached(gp *g, h *heisenG) bool {
	if heisenWaitsForSync(gp.waitreason) {
		return w.inHeap(h.task.waitsFor) && w.reached(h.task.waitsFor)
	}
	for sg := gp.waiting; sg != nil; sg = sg.waitlink {
		if c := heisenChannelOf(sg); w.inHeap(c) && w.reached(c) {
			return true
		}
	}
	return false
}

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
	heisenBehindLooking              // it is being found out
)

// heisenFindBehind sets task.behind of the stranded goroutines.
func heisenFindBehind() {
	locks, others := 0, 0
	heisenForgetBehind()
	holders := heisenLockHolders()
	holders.addWriters()
	forEachGRace(func(gp *g) {
		if !heisenIsStranded(gp) {
			return
		}
		switch holders.findBehind(gp) {
		case heisenBehindLocks:
			locks++
		case heisenBehindNobody:
			others++
		}
	})
	holders.free()
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

// findBehind returns for what a goroutine waits as far as the holders of locks decide it. It sets task.behind of that goroutine and of all
// that it waits for: each of these waits for a lock that the next one holds.
func (t *heisenByLock) findBehind(gp *g) (found heisenBehind) {
	last := gp
	for last != nil && heisenBehindOf(last) == heisenBehindUnknown && heisenLocks(last) {
		heisenSetBehind(last, heisenBehindLooking)
		last = t.awaited(last)
	}
	switch {
	case last == nil:
		found = heisenBehindNobody
	case !heisenLocks(last):
		if found = heisenBehindNobody; last != gp && heisenIsStranded(last) {
			found = heisenBehindOthers
		}
	case heisenBehindOf(last) == heisenBehindLooking: // a circle
		found = heisenBehindLocks
	default:
		found = heisenBehindOf(last)
	}
	if last == gp {
		heisenSetBehind(gp, found)
	}
	for at := gp; at != nil && heisenBehindOf(at) == heisenBehindLooking; at = t.awaited(at) {
		heisenSetBehind(at, found)
	}
	return found
}

func heisenBehindOf(gp *g) heisenBehind { return (*heisenG)(unsafe.Pointer(gp.racectx)).task.behind }

func heisenSetBehind(gp *g, b heisenBehind) { (*heisenG)(unsafe.Pointer(gp.racectx)).task.behind = b }

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

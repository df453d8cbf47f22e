//go:build heisen_inject

package runtime

import (
	"internal/goarch"
	"unsafe"
)

// Goroutines that wait for a lock at rest. A program is at rest if main or the tests have returned, all
// other goroutines are blocked, no timer is set, and nothing outside can answer. Then nobody releases a
// lock any more, whatever can reach it. So those that wait for a Mutex or RWMutex wait for ever, and so
// does the goroutine that holds it. Channels are different: a worker that waits for the next job is no
// mistake, so what they can be reached from decides (leaks.go).
//
// These locks do not count:
//
//   - one that the goroutine holds that ends the program: it keeps others from going on;
//   - one that was released by a goroutine that did not hold it: it is a signal, like a channel;
//   - one that workers take in turn: the one that holds it waits for something that may still come, and
//     all others wait at the place where it has acquired the lock;
//   - those of the standard library, such as that of a sync.Once.
//
// The functions run on the system stack, while no goroutine runs.

// heisenRests reports whether the program is at rest, in a run that has no schedule. self ends it. The
// world is stopped.
func heisenRests(self *g) bool {
	return !heisenOthersRun(self) && !heisenTimersBefore(maxWhen) && !netpollAnyWaiters() && !sig.inuse
}

// heisenStrandByLocks marks the goroutines as stranded that wait for locks, and those that hold these.
// The program is at rest, and heisenFindLeaks has marked others. self ends the program.
func heisenStrandByLocks(self *g) {
	forEachGRace(func(gp *g) {
		if lock := heisenAwaitedLock(gp); lock != 0 && gp != self && !heisenIsStranded(gp) && heisenLockStays(lock, self) {
			heisenStrandAt(lock)
		}
	})
}

// heisenAwaitedLock returns the lock that gp waits for, 0 if it waits for none that code of the program
// locks.
func heisenAwaitedLock(gp *g) uintptr {
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	if h == nil || !heisenLocks(gp) || !heisenMayBeStranded(gp, h) || heisenIsSignal(uintptr(h.task.on)) ||
		heisenProgramCaller(gp, gp.sched.bp, true) == 0 || heisenInOnce(gp) {
		return 0
	}
	return uintptr(h.task.on)
}

// heisenLocks reports whether gp waits for a lock.
func heisenLocks(gp *g) bool { return heisenIsLockReason(gp.waitreason) && heisenWaiting(gp) }

// heisenIsLockReason reports whether a reason to wait is a lock.
func heisenIsLockReason(why waitReason) bool {
	switch why {
	case waitReasonSyncMutexLock, waitReasonSyncRWMutexRLock, waitReasonSyncRWMutexLock:
		return true
	}
	return false
}

// heisenInOnce reports whether gp waits for the end of a sync.Once.
func heisenInOnce(gp *g) bool {
	fp := gp.sched.bp
	for i := 0; i < 8 && fp-gp.stack.lo < gp.stack.hi-gp.stack.lo-16; i++ {
		pc := *(*uintptr)(unsafe.Pointer(fp + goarch.PtrSize))
		if f := findfunc(pc); !f.valid() || heisenLayer(pc) == heisenProgram {
			return false
		} else if funcname(f) == "sync.(*Once).doSlow" {
			return true
		}
		fp = *(*uintptr)(unsafe.Pointer(fp))
	}
	return false
}

// heisenLockStays reports whether nobody releases a lock for which goroutines wait.
func heisenLockStays(lock uintptr, self *g) bool {
	stays, held, mayGoOn := true, false, true
	forEachGRace(func(gp *g) {
		h := (*heisenG)(unsafe.Pointer(gp.racectx))
		if h == nil || h.locksHeld == nil {
			return
		}
		if h.locksHeld.count > heisenMaxHeld {
			stays = false // it may hold others than are known
		}
		if h.locksHeld.holdsAny(lock) {
			held = true
			stays = stays && gp != self && heisenMayBeStranded(gp, h)
			mayGoOn = mayGoOn && !heisenLocks(gp) && !heisenIsStranded(gp)
		}
	})
	return stays && !(held && mayGoOn && heisenTakenInTurn(lock))
}

// heisenTakenInTurn reports whether all goroutines that wait for a lock wait where one that holds it has
// acquired it.
func heisenTakenInTurn(lock uintptr) bool {
	inTurn := true
	forEachGRace(func(gp *g) {
		if heisenAwaitedLock(gp) == lock && !heisenAcquiredAt(lock, uint32(heisenPC(heisenCallerOn(gp, gp.sched.bp)))) {
			inTurn = false
		}
	})
	return inTurn
}

// heisenAcquiredAt reports whether a goroutine holds a lock that it has acquired at a text offset.
func heisenAcquiredAt(lock uintptr, pc uint32) (found bool) {
	forEachGRace(func(gp *g) {
		h := (*heisenG)(unsafe.Pointer(gp.racectx))
		if h == nil || h.locksHeld == nil || !h.locksHeld.holdsAny(lock) {
			return
		}
		for i := range min(h.locksHeld.count, heisenMaxHeld) {
			l := &h.locksHeld.held[i]
			found = found || l.lock == lock && l.pc == pc
		}
	})
	return found
}

// heisenStrandAt marks the goroutines as stranded that wait for a lock or hold it.
func heisenStrandAt(lock uintptr) {
	forEachGRace(func(gp *g) {
		h := (*heisenG)(unsafe.Pointer(gp.racectx))
		if h != nil && (heisenAwaitedLock(gp) == lock || h.locksHeld != nil && h.locksHeld.holdsAny(lock)) {
			h.task.stranded = true
		}
	})
}

// holdsAny reports whether a goroutine holds a lock, shared or not.
func (k *heisenLocksHeld) holdsAny(lock uintptr) bool {
	return k.holds(lock, false) || k.holds(lock, true)
}

// heisenSignals has a bit for each lock, chosen by its address, that was released by a goroutine that did
// not hold it.
var heisenSignals [64]uint64

// heisenNoteSignal notes that a goroutine releases a lock that it does not hold. The caller holds
// heisenHandOvers.
func heisenNoteSignal(lock uintptr) {
	word, bit := heisenSignalBit(lock)
	*word |= bit
}

// heisenIsSignal reports whether a lock was released by a goroutine that did not hold it.
func heisenIsSignal(lock uintptr) bool {
	word, bit := heisenSignalBit(lock)
	return *word&bit != 0
}

func heisenSignalBit(lock uintptr) (word *uint64, bit uint64) {
	hash := uint64(lock) * 0x9E3779B97F4A7C15
	return &heisenSignals[hash>>58], 1 << (hash >> 52 & 63)
}

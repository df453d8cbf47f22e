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
// The program is at rest, and heisenFindLeaks has marked others. self ends the program. It reports whether there was memory for that.
func heisenStrandByLocks(self *g) bool {
	s := heisenRestingLocks{heisenLockHolders(), heisenLockWaiters(), self}
	for more := true; more; {
		more = false
		for from := uintptr(0); from < s.waiters.n; {
			to := s.waiters.end(from, s.waiters.at(from).lock)
			if s.freeToGo(from, to) && s.stays(from, to) {
				s.strand(from, to)
				more = true
			}
			from = to
		}
	}
	s.holders.free()
	s.waiters.free()
	return !s.holders.failed && !s.waiters.failed
}

// heisenRestingLocks are the locks of a program at rest. A lock is given by the range of those that wait for it.
type heisenRestingLocks struct {
	holders, waiters heisenByLock
	self             *g
}

// held returns the range of those that hold a lock for which goroutines wait.
func (s *heisenRestingLocks) held(from uintptr) (first, last uintptr) {
	lock := s.waiters.at(from).lock
	first = s.holders.first(lock)
	return first, s.holders.end(first, lock)
}

// freeToGo reports whether one that waits for a lock is not stranded.
func (s *heisenRestingLocks) freeToGo(from, to uintptr) bool {
	for i := from; i < to; i++ {
		if gp := s.waiters.at(i).gp.ptr(); gp != s.self && !heisenIsStranded(gp) {
			return true
		}
	}
	return false
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

// stays reports whether nobody releases a lock for which goroutines wait.
func (s *heisenRestingLocks) stays(from, to uintptr) bool {
	if s.holders.more {
		return false
	}
	first, last := s.held(from)
	mayGoOn := first < last
	for i := first; i < last; i++ {
		gp := s.holders.at(i).gp.ptr()
		if gp == s.self || !heisenMayBeStranded(gp, (*heisenG)(unsafe.Pointer(gp.racectx))) {
			return false
		}
		mayGoOn = mayGoOn && !heisenLocks(gp) && !heisenIsStranded(gp)
	}
	return !(mayGoOn && s.takenInTurn(from, to, first, last))
}

// takenInTurn reports whether all goroutines that wait for a lock wait where one that holds it has acquired it. Those that hold it are the
// holders from first to last.
func (s *heisenRestingLocks) takenInTurn(from, to, first, last uintptr) bool {
	for i := from; i < to; i++ {
		p := s.waiters.at(i)
		if !s.acquiredAt(p.lock, uint32(heisenPC(heisenCallerOn(p.gp.ptr(), p.gp.ptr().sched.bp))), first, last) {
			return false
		}
	}
	return true
}

// acquiredAt reports whether one of the holders from first to last has acquired a lock at a text offset.
func (s *heisenRestingLocks) acquiredAt(lock uintptr, pc uint32, first, last uintptr) bool {
	for i := first; i < last; i++ {
		k := (*heisenG)(unsafe.Pointer(s.holders.at(i).gp.ptr().racectx)).locksHeld
		for j := range min(k.count, heisenMaxHeld) {
			if l := &k.held[j]; l.lock == lock && l.pc == pc {
				return true
			}
		}
	}
	return false
}

// strand marks the goroutines as stranded that wait for a lock or hold it.
func (s *heisenRestingLocks) strand(from, to uintptr) {
	first, last := s.held(from)
	for i := first; i < last; i++ {
		heisenStrand(s.holders.at(i).gp.ptr())
	}
	for i := from; i < to; i++ {
		heisenStrand(s.waiters.at(i).gp.ptr())
	}
}

func heisenStrand(gp *g) { (*heisenG)(unsafe.Pointer(gp.racectx)).task.stranded = true }

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

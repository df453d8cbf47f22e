//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// Goroutines that wait for a mutex in a bubble of package testing/synctest. While one waits, time does not go on in the bubble,
// because waiting for a mutex is nothing that a bubble waits for. If the goroutine that holds the mutex waits for that time, or for
// others in the bubble that do, nothing happens any more: nobody outside can wake them, and the test hangs until its timeout. So
// after a while such a program ends, as it does when all its goroutines are asleep.
//
// A timer looks from time to time, from the first such wait on until there is none. If one lasts, a goroutine of the runtime stops the
// world and judges. A mutex that something outside of the bubble can reach may be released there. Then the goroutines are only named.

const (
	heisenBubblePeriod   = 1000 * 1000 * 1000      // ns between two looks
	heisenBubblePatience = 10 * heisenBubblePeriod // ns for which nothing has to happen
)

var heisenBubbles struct {
	armed uint32 // 1 while the timer is set
	timer timer
}

// heisenWaitsInBubble is called when the current goroutine may have to wait for a semaphore, for a reason.
func heisenWaitsInBubble(sema *uint32, why waitReason) {
	gp := getg()
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	if gp.bubble == nil || h == nil || heisenSched.on || !heisenIsLockReason(why) {
		return
	}
	h.task.inBubble = uintptr(unsafe.Pointer(sema))
	h.task.bubbleSince = nanotime()
	heisenArmBubbles()
}

// heisenArmBubbles sets the timer unless it is set.
func heisenArmBubbles() {
	b := &heisenBubbles
	if atomic.Cas(&b.armed, 0, 1) {
		b.timer.modify(nanotime()+heisenBubblePeriod, 0, heisenLookAtBubbles, nil, 0)
	}
}

// heisenLookAtBubbles looks for goroutines that have waited in a bubble for long. It is called by the timer, on the system stack.
func heisenLookAtBubbles(any, uintptr, int64) {
	atomic.Store(&heisenBubbles.armed, 0)
	waits, long := false, false
	forEachGRace(func(gp *g) {
		if heisenWaitsForMutexInBubble(gp) {
			waits = true
			long = long || heisenWaitsLongInBubble(gp)
		}
	})
	if long {
		go heisenJudgeBubbles()
	} else if waits {
		heisenArmBubbles()
	}
}

// heisenWaitsLongInBubble reports whether a goroutine that waits in a bubble has done so for long, and was not judged.
func heisenWaitsLongInBubble(gp *g) bool {
	since := (*heisenG)(unsafe.Pointer(gp.racectx)).task.bubbleSince
	return since != 0 && nanotime()-since >= heisenBubblePatience
}

// heisenJudgeBubbles ends the program if a goroutine waits in a bubble in which nothing can happen any more. It is a goroutine of the
// runtime.
func heisenJudgeBubbles() {
	if debug.asyncpreemptoff != 0 { // the world may never stop
		return
	}
	world := stopTheWorld(stwAllGoroutinesStack)
	systemstack(func() {
		forEachGRace(func(gp *g) {
			if !heisenWaitsForMutexInBubble(gp) || !heisenWaitsLongInBubble(gp) {
				return
			}
			since := &(*heisenG)(unsafe.Pointer(gp.racectx)).task.bubbleSince
			*since = nanotime() // judged again after a while
			if heisenBubbleStandsStill(gp.bubble) {
				heisenNameInBubble(gp, heisenBubbleHolder(gp))
				if !heisenReachedFromOutside(gp.bubble, heisenMutexOf(gp)) {
					fatal("no goroutine of a bubble can go on - deadlock!")
				}
				*since = 0 // named once
			}
		})
	})
	startTheWorld(world)
	heisenArmBubbles()
}

// heisenNameInBubble prints which goroutine waits for which.
func heisenNameInBubble(gp, holder *g) {
	print("heisen: goroutine ", gp.goid, " waits for a mutex that goroutine ", holder.goid, " holds, and that one for the bubble of testing/synctest in which both are.\n",
		"heisen: Time does not go on in a bubble while a goroutine waits for a mutex.\n")
}

// heisenReachedFromOutside reports whether something outside of a bubble may reach a mutex. The world is stopped.
func heisenReachedFromOutside(bubble *synctestBubble, mutex uintptr) bool {
	w := heisenBeginSearch(nil)
	if w.marks == 0 {
		return true
	}
	inside := func(gp *g) bool { return gp.bubble == bubble }
	w.reach(false, inside, nil, func(*g) bool { return false })
	reached := w.failed || w.reached(mutex)
	w.end()
	return reached
}

// heisenWaitsForMutexInBubble reports whether gp waits for a Mutex or RWMutex in a bubble.
func heisenWaitsForMutexInBubble(gp *g) bool {
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	return h != nil && gp.bubble != nil && heisenLocks(gp) && h.task.inBubble != 0
}

// heisenBubbleStandsStill reports whether each goroutine of a bubble waits for the bubble, or for a mutex that another one
// holds that waits.
func heisenBubbleStandsStill(bubble *synctestBubble) bool {
	still := true
	forEachGRace(func(gp *g) {
		if gp.bubble != bubble || !still {
			return
		}
		switch status := readgstatus(gp) &^ _Gscan; {
		case status == _Gdead || status == _Gidle:
		case !heisenWaiting(gp):
			still = false
		case gp.waitreason.isIdleInSynctest():
		default:
			still = heisenWaitsForMutexInBubble(gp) && heisenBubbleHolder(gp) != nil
		}
	})
	return still
}

// heisenBubbleHolder returns the goroutine of the same bubble that holds the mutex for which gp waits, nil if it is not known.
func heisenBubbleHolder(gp *g) (holder *g) {
	lock := heisenMutexOf(gp)
	forEachGRace(func(other *g) {
		h := (*heisenG)(unsafe.Pointer(other.racectx))
		if other != gp && other.bubble == gp.bubble && h != nil && h.locksHeld != nil && h.locksHeld.holdsAny(lock) {
			holder = other
		}
	})
	return holder
}

// holdsAny reports whether a goroutine holds a lock, shared or not.
func (k *heisenLocksHeld) holdsAny(lock uintptr) bool {
	return k.holds(lock, false) || k.holds(lock, true)
}

// heisenMutexOf returns the Mutex or RWMutex for which gp waits, by where its semaphores are.
func heisenMutexOf(gp *g) uintptr {
	sema := (*heisenG)(unsafe.Pointer(gp.racectx)).task.inBubble
	switch gp.waitreason {
	case waitReasonSyncRWMutexLock:
		return sema - heisenWriterSemaphore
	case waitReasonSyncRWMutexRLock:
		return sema - heisenReaderSemaphore
	}
	return sema - heisenMutexSemaphore
}

// Where the semaphores of package sync are in a Mutex and in an RWMutex, which begins with a Mutex.
const (
	heisenMutexSemaphore  = 4
	heisenWriterSemaphore = 8
	heisenReaderSemaphore = 12
)

package lock

import (
	"runtime"
	"sync"
)

// Pause comes before an operation in which the goroutine may wait for another one: on a channel or condition, a
// select, WaitGroup.Wait, Sleep, input or output. Until Resume, others may take away the lock that h holds, and
// the locks of those Helds that h is an inner one of. If nobody wants them, they stay held, and what is between the
// accesses before and after stays atomic. Others that wait for this goroutine, because they want a
// lock of the program that it holds, pause too, in LockOther.
func (h *Held) Pause() {
	for at := h; at != nil; at = at.outer {
		if mode := at.whole(h); mode > Free && at.paused == Free {
			at.taken = at.lock.pause(mode)
			at.setPaused(mode)
		}
	}
}

// Resume comes after the operation. It acquires again what has been taken away, and reports whether that was nothing.
// While it waits for one lock, the others stay paused: the order in which they were acquired does not matter. Without a
// Pause before, it does nothing.
func (h *Held) Resume() (kept bool) {
	kept = true
	for lost := h.unpause(); lost != nil; lost = h.unpause() {
		kept = false
		h.Pause()             // what unpause has resumed
		need := lost.whole(h) // may be weaker than before, after a panic in a function that was called
		lost.setPaused(Free)
		if need == Free {
			continue
		}
		lost.lock.strengthen(Free, need)
		if h.pausedOnly(lost) {
			return false
		}
		lost.taken = lost.lock.pause(need)
		lost.setPaused(need)
	}
	return kept
}

// Yield belongs into a loop that waits for another goroutine by looking again and again at what that one changes: into each
// iteration. Those who wait for a lock that h holds, or one of those around it, get it first, as they would between Pause
// and Resume. The result is that of Resume. If nobody waits, it costs a look at each lock.
func (h *Held) Yield() (kept bool) {
	if !h.wanted() {
		return true
	}
	h.Pause()
	for at := h; at != nil; at = at.outer {
		if at.paused > Free {
			at.lock.letIn(at.taken)
		}
	}
	return h.Resume()
}

// wanted reports whether somebody waits for a lock that h holds, or one of those around it.
func (h *Held) wanted() bool {
	for at := h; at != nil; at = at.outer {
		if at.reasons != 0 && at.lock.state.Load()&waiting != 0 {
			return true
		}
	}
	return false
}

// letIn waits until those have tried to take a lock whom pause has woken. taken is the result of pause.
func (l *Lock) letIn(taken uint32) {
	for {
		q := l.open()
		woken := q.woken > 0 && q.taken == taken
		q.mu.Unlock()
		if !woken {
			return
		}
		runtime.Gosched()
	}
}

// unpause ends the pauses of h and those around it, apart from those whose lock has been taken away. It returns the
// outermost of these.
func (h *Held) unpause() (lost *Held) {
	for at := h; at != nil; at = at.outer {
		held := at.paused
		if held == Free {
			continue
		}
		if !at.lock.resume(held, at.taken) {
			lost = at
			continue
		}
		at.setPaused(Free)
		if need := at.whole(h); need < held {
			at.lock.weaken(held, need)
		}
	}
	return lost
}

// pausedOnly reports whether none but lost is paused, of h and those around it.
func (h *Held) pausedOnly(lost *Held) bool {
	for at := h; at != nil; at = at.outer {
		if at != lost && at.paused > Free {
			return false
		}
	}
	return true
}

// whole returns the mode in which the goroutine holds the lock of h, if no Held around h has the same lock:
// the strongest mode from last, which is the innermost, to h. Otherwise it returns Free.
func (h *Held) whole(last *Held) (mode Mode) {
	if h.lock == nil {
		return Free
	}
	for outer := h.outer; outer != nil; outer = outer.outer {
		if outer.lock == h.lock && outer.reasons != 0 {
			return Free
		}
	}
	for at := last; at != h; at = at.outer {
		if at.lock == h.lock {
			mode = max(mode, strongest(at.reasons))
		}
	}
	return max(mode, strongest(h.reasons))
}

// Locker is a lock of the program. A *sync.Mutex and a *sync.RWMutex are Lockers.
type Locker interface {
	sync.Locker
	TryLock() bool
}

// RLocker is a lock of the program that can be held for reading. A *sync.RWMutex is one.
type RLocker interface {
	RLock()
	TryRLock() bool
}

// tries is how often LockOther tries to get a lock before it pauses. Whoever holds the lock of the program will
// mostly release it soon.
const tries = 16

// LockOther calls l.Lock. If l is not free soon, it does so between Pause and Resume. It belongs where the program
// acquires l while h may hold a lock, and where a holder of l may wait for a message or condition. The result is that
// of Resume.
func (h *Held) LockOther(l Locker) (kept bool) {
	if l == nil || soon(l.TryLock) {
		return true
	}
	h.Pause()
	l.Lock()
	return h.Resume()
}

// RLockOther is LockOther for l.RLock.
func (h *Held) RLockOther(l RLocker) (kept bool) {
	if l == nil || soon(l.TryRLock) {
		return true
	}
	h.Pause()
	l.RLock()
	return h.Resume()
}

// soon reports whether try succeeds within a short time.
func soon(try func() bool) bool {
	for range tries {
		if try() {
			return true
		}
		runtime.Gosched()
	}
	return false
}

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
			at.paused = mode
		}
	}
}

// Resume comes after the operation. It acquires again what has been taken away, in the order in which the
// Helds were made, and reports whether that was nothing. Without a Pause before, it does nothing.
func (h *Held) Resume() (kept bool) {
	for at := h; at != nil; at = at.outer {
		if at.paused > Free {
			return h.resume(h)
		}
	}
	return true
}

// resume resumes h and those around it, the outermost first. The innermost is last.
func (h *Held) resume(last *Held) (kept bool) {
	kept = true
	if h.outer != nil {
		kept = h.outer.resume(last)
	}
	if h.paused == Free {
		return kept
	}
	held, need := h.paused, h.whole(last) // need may be weaker after a panic in a function that was called
	h.paused = Free
	if h.lock.resume(held, h.taken) {
		if need < held {
			h.lock.weaken(held, need)
		}
		return kept
	}
	if need > Free {
		h.lock.strengthen(Free, need)
	}
	return false
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

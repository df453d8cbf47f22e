//go:build heisen_inject

package runtime

import "internal/runtime/atomic"

// Locks that one goroutine acquires and another one releases, as Go allows. The goroutine that had
// acquired the lock does not hold it any more, and reports must not say so. Only the goroutine itself
// changes what it holds (lockhistory.go). So the one that releases the lock leaves a note, and the other
// one looks at its notes before its locks matter next: at an access, or an operation on a lock.

const heisenMaxHanded = 4 // notes that a goroutine can have at a time

// heisenHanded is a note: the address of a lock, and whether it is shared. Free ones are 0.
type heisenHanded struct {
	lock   atomic.Uintptr
	shared bool
}

// heisenHandOver is called before h releases a lock that it does not hold.
//
//go:nosplit
//go:noinline
func heisenHandOver(h *heisenG, lock uintptr, shared bool) {
	heisenFastTrack.UnownedRelease()
	systemstack(func() {
		heisenLock(&heisenHandOvers)
		heisenNoteSignal(lock)
		var owner *heisenG // of several, the first
		for other := heisen.allG; other != nil; other = other.link {
			if k := other.locksHeld; k != nil && (owner == nil || other.id < owner.id) && k.holds(lock, shared) {
				owner = other
			}
		}
		if owner != nil {
			owner.locksHeld.hand(lock, shared)
			owner.handed.Add(1)
		}
		heisenUnlock(&heisenHandOvers)
	})
}

// heisenHandOvers is held while a note is written.
var heisenHandOvers uint32

// holds reports whether a goroutine holds a lock and has no note about it.
func (k *heisenLocksHeld) holds(lock uintptr, shared bool) bool {
	for i := range k.handed {
		if n := &k.handed[i]; n.lock.Load() == lock && n.shared == shared {
			return false
		}
	}
	n := min(atomic.Load(&k.count), heisenMaxHeld)
	for i := range n {
		if l := &k.held[i]; l.lock == lock && l.shared == shared {
			return true
		}
	}
	return false
}

// hand leaves a note. Without room for it, reports of the goroutine say that it holds the lock.
func (k *heisenLocksHeld) hand(lock uintptr, shared bool) {
	for i := range k.handed {
		if n := &k.handed[i]; n.lock.Load() == 0 {
			n.shared = shared
			n.lock.Store(lock)
			return
		}
	}
}

// heisenForgetHanded makes h forget the locks that others have released. h is the current goroutine or
// parked.
//
//go:nosplit
//go:noinline
func heisenForgetHanded(h *heisenG) {
	systemstack(func() {
		h.handed.Store(0)
		for i := range h.locksHeld.handed {
			n := &h.locksHeld.handed[i]
			lock := n.lock.Load()
			if lock == 0 {
				continue
			}
			if held := h.findLock(lock, n.shared); held != 0 {
				h.popLock(held)
			}
			n.lock.Store(0)
		}
	})
}

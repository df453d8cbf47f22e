//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"internal/runtime/sys"
	"unsafe"
)

// The history of the locks of a goroutine. The entry of an access in a shadow cell says where the
// goroutine had acquired the locks that it held, and the epoch says when the access was. When a race
// is reported, the latest operations on locks of its goroutine are undone, from the present back to
// that epoch: what is held then are the locks. If there were too many operations since, the report
// says where the locks were acquired, but not which they were.
//
// Only the goroutine changes its history, in hooks. Others read it at any time. A history belongs to
// the state of a goroutine, and has the operations of earlier goroutines with that state, too.

const (
	heisenMinLockHistory = 16
	heisenMaxLockHistory = 128
)

// heisenLocksHeld are the locks that a goroutine holds, and how that came about.
type heisenLocksHeld struct {
	_       sys.NotInHeap
	changes uint32                    // odd while held, count, ops or size change
	count   uint32                    // of locks that it holds, at most heisenMaxHeld
	held    [heisenMaxHeld]heisenHeld // the locks
	handed  [heisenMaxHanded]heisenHanded
	size    uint32 // of ops, a power of two
	noted   uint32 // operations so far; the last ones are in ops
	ops     uintptr
}

// heisenLockOp is an operation on a lock.
type heisenLockOp struct {
	lock uintptr
	when uint64 // the goroutine's epoch afterwards, shifted left by two; 2 if the lock was acquired, and 1 if it is shared
	id   uint32 // of the goroutine
	pc   uint32 // where the lock was acquired
}

const (
	heisenLockShared   = 1
	heisenLockAcquired = 2
)

// heisenNewLocksHeld allocates the locks of h.
//
//go:nosplit
//go:noinline
func heisenNewLocksHeld(h *heisenG) *heisenLocksHeld {
	systemstack(func() {
		h.locksHeld = (*heisenLocksHeld)(persistentalloc(unsafe.Sizeof(heisenLocksHeld{}), 8, &memstats.other_sys))
		h.locksHeld.grow()
	})
	return h.locksHeld
}

// grow doubles the history, up to its maximum. The old one is not freed, since it may be read; doubling
// bounds the waste. It must run on the system stack.
func (k *heisenLocksHeld) grow() {
	old, size := k.ops, max(2*k.size, heisenMinLockHistory)
	k.ops = uintptr(persistentalloc(uintptr(size)*unsafe.Sizeof(heisenLockOp{}), 8, &memstats.other_sys))
	for i := k.noted - min(k.noted, k.size); i != k.noted; i++ {
		*k.op(k.ops, size, i) = *k.op(old, k.size, i)
	}
	k.size = size
}

// op returns the place of operation i in a history.
//
//go:nosplit
func (k *heisenLocksHeld) op(ops uintptr, size, i uint32) *heisenLockOp {
	return (*heisenLockOp)(unsafe.Pointer(ops + uintptr(i&(size-1))*unsafe.Sizeof(heisenLockOp{})))
}

// begin is called before a change, end after it.
//
//go:nosplit
func (k *heisenLocksHeld) begin() {
	k.changes++
	heisenStoreBarrier()
}

//go:nosplit
func (k *heisenLocksHeld) end() {
	heisenStoreBarrier()
	k.changes++
}

// note adds an operation of h to the history.
//
//go:nosplit
func (k *heisenLocksHeld) note(h *heisenG, l *heisenHeld, acquired bool) {
	if k.noted&(k.size-1) == 0 && k.noted != 0 && k.size < heisenMaxLockHistory {
		systemstack(func() { k.grow() })
	}
	op := k.op(k.ops, k.size, k.noted)
	op.lock, op.id, op.pc = l.lock, h.id, l.pc
	op.when = h.order.Epoch >> heisenFastTrackPlaceBits << 2
	if acquired {
		op.when |= heisenLockAcquired
	}
	if l.shared {
		op.when |= heisenLockShared
	}
	heisenStoreBarrier()
	k.noted++
}

// forgetLocks releases all locks of h, which has ended.
func (h *heisenG) forgetLocks() {
	if h.locksHeld == nil {
		return
	}
	for h.locksHeld.count > 0 {
		h.popLock(h.locksHeld.count)
	}
	for i := range h.locksHeld.handed {
		h.locksHeld.handed[i].lock.Store(0)
	}
}

// heisenPast is a copy of the locks that a goroutine held at some time.
type heisenPast struct {
	count uint32
	held  [heisenMaxHeld]heisenHeld
}

// copyTo copies what the goroutine holds now, and returns the operations so far and where they are.
// It reports whether it could: the goroutine may be busy.
func (k *heisenLocksHeld) copyTo(past *heisenPast) (ops uintptr, size, noted uint32, ok bool) {
	for range 100 {
		changes := atomic.LoadAcq(&k.changes)
		if changes&1 == 0 {
			past.count, past.held = min(k.count, heisenMaxHeld), k.held
			ops, size, noted = k.ops, k.size, k.noted
			if atomic.Xadd(&k.changes, 0) == changes { // orders the loads before it
				return ops, size, noted, true
			}
		}
		procyield(20)
	}
	return 0, 0, 0, false
}

// undo makes past what it was before an operation. It reports whether that is possible.
func (past *heisenPast) undo(op *heisenLockOp) bool {
	shared := op.when&heisenLockShared != 0
	if op.when&heisenLockAcquired == 0 {
		if past.count == heisenMaxHeld {
			return false
		}
		past.held[past.count] = heisenHeld{lock: op.lock, pc: op.pc, shared: shared}
		past.count++
		return true
	}
	for i := past.count; i > 0; i-- {
		if l := &past.held[i-1]; l.lock == op.lock && l.shared == shared {
			copy(past.held[i-1:], past.held[i:past.count])
			past.count--
			return true
		}
	}
	return false
}

// matches reports whether the locks were acquired at the sites of a set. It brings them in the order
// of the set, which is lost when releases are undone.
func (past *heisenPast) matches(set uint32) bool {
	i := past.count
	for ; set != 0 && i > 0; i-- {
		site := uint32(*heisenNode(set))
		j := i
		for ; j > 0; j-- {
			if l := &past.held[j-1]; site&^heisenNodeShared == l.pc && (site&heisenNodeShared != 0) == l.shared {
				break
			}
		}
		if j == 0 {
			return false
		}
		past.held[i-1], past.held[j-1] = past.held[j-1], past.held[i-1]
		set = heisenParentPlace(set)
	}
	return set == 0 && i == 0
}

// heisenLocksAt finds the locks that goroutine id held in an epoch, acquired at the sites of a set, and
// reports whether they are known.
func heisenLocksAt(id uint32, epoch uint64, set uint32, past *heisenPast) bool {
	for h := heisen.allG; h != nil; h = h.link {
		if k := h.locksHeld; k != nil && k.at(id, epoch, set, past) {
			return true
		}
	}
	return false
}

// at is heisenLocksAt for one history. Between two operations the goroutine held the same locks. The
// epoch of an access in between is not before that of the first one, nor after that of the second
// one. Epochs of different slots say nothing.
func (k *heisenLocksHeld) at(id uint32, epoch uint64, set uint32, past *heisenPast) bool {
	ops, size, noted, ok := k.copyTo(past)
	if !ok {
		return false
	}
	sameSlot := func(e uint64) bool { // it has no epoch any more when it has ended
		return e != 0 && heisenFastTrackSlotOf((e^epoch)<<heisenFastTrackPlaceBits) == 0
	}
	before := true // whether the access may have come before the operation that was undone last
	for i := noted; i != noted-min(noted, size); i-- {
		op := *k.op(ops, size, i-1)
		if atomic.Xadd(&k.noted, 0)-(i-1) >= size && k.ops == ops {
			return false // it was overwritten
		}
		when := op.when >> 2
		if op.id == id && before && (!sameSlot(when) || when <= epoch) && past.matches(set) {
			return true
		}
		if !past.undo(&op) {
			return false
		}
		before = op.id != id || !sameSlot(when) || when >= epoch
	}
	return false
}

// heisenNameLocks returns a place with the locks themselves instead of the sites where they were
// acquired, as far as they are known. The access at the place is that of an entry, by goroutine id.
// It must run on the system stack.
func heisenNameLocks(b *heisenBuf, id uint32, entry uint64) uint64 {
	place := entry & heisenFastTrackPlaceMask
	node := *heisenNode(uint32(place))
	past := &b.past
	if uint32(node>>32)&^(heisenMaxPlaces-1) != heisenNodeAccess || !heisenLocksAt(id, entry>>heisenFastTrackPlaceBits, uint32(node), past) {
		return place
	}
	return heisenNameAs(b, place, past)
}

// heisenNameLocksNow is heisenNameLocks for the place where goroutine h waits now.
func heisenNameLocksNow(b *heisenBuf, h *heisenG, place uint64) uint64 {
	past := &b.past
	if uint32(*heisenNode(uint32(place))>>32)&^(heisenMaxPlaces-1) != heisenNodeAccess {
		return place
	}
	if _, _, _, ok := h.locksHeld.copyTo(past); !ok {
		return place
	}
	return heisenNameAs(b, place, past)
}

// heisenNameAs returns a place with locks, which are given.
func heisenNameAs(b *heisenBuf, place uint64, past *heisenPast) uint64 {
	node := *heisenNode(uint32(place))
	set := uint32(0)
	for i := range past.count {
		l := &past.held[i]
		if set = b.extendLockset(set, uint64(l.lock), l.pc, l.shared); set == 0 {
			set = b.extendLockset(0, heisenManyLocks, 0, false)
			break
		}
	}
	if named := b.place(heisenNodeAccess|uint32(node>>32)%heisenMaxPlaces, set); named != 0 {
		return uint64(named)
	}
	return place
}

// extendLockset returns a set of locks and one more, 0 if there is no room.
func (b *heisenBuf) extendLockset(set uint32, lock uint64, pc uint32, shared bool) uint32 {
	high := uint32(lock >> 32)
	if shared {
		high |= heisenNodeShared
	}
	if set = b.place(heisenNodeLow|set, uint32(lock)); set != 0 {
		if set = b.place(heisenNodeHigh|set, high); set != 0 {
			set = b.place(heisenNodeTaken|set, pc)
		}
	}
	return set
}

//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// How atomic operations are recorded. The functions of sync/atomic are in atomicfuncs.go; the
// assembly of that package implements them otherwise. With intrinsics off, all atomic operations of
// the program come here. Everything runs on the goroutine's stack, nosplit. heisenAtomicBegin may stop
// the goroutine before it takes a lock (see stops.go). From then until heisenAtomicEnd, nothing may
// block, fault or be preempted.
//
// An operation and its stamp must be one step. Otherwise the recording could show a load before the
// store that it saw. A lock chosen by address makes them one step among recorded operations;
// operations that are not recorded use other memory.

// heisenAtomicBegin takes the lock for addr. It returns nil if the operation is not recorded. A nil
// addr faults here, before the lock is held. The goroutine may be stopped first, so its callers hold
// pointers as pointers, and have not taken a write barrier.
//
//go:nosplit
func heisenAtomicBegin(op uint64, addr unsafe.Pointer) *heisenStripe {
	_ = *(*uint8)(addr)
	if heisen.mode == heisenModeFollow {
		if heisenAtomicLock(op, uintptr(addr)) {
			return &heisenAtomicLocks[0] // which is not locked: the cell is
		}
		return nil
	}
	if heisenSched.on {
		heisenPointAtomic(op, addr, getcallerfp())
	}
	gp := getg()
	heisenEndPending((*heisenG)(unsafe.Pointer(gp.racectx)))
	if heisen.noisy {
		heisenNoiseAt(getcallerfp())
	}
	if heisenHealing.on {
		concerned := heisenHealAtomic((*heisenG)(unsafe.Pointer(gp.racectx)), addr, op != heisenOpAtomicRead, heisenPC(heisenCaller(getcallerfp())))
		if heisenHealing.only && !concerned {
			return nil
		}
	}
	if !heisen.on || heisen.quiet && !heisenOverlaps.sections && !heisen.races || gp.racectx == 0 || gp.raceignore != 0 || gp.m.p == 0 ||
		heisenOnStack(uintptr(addr)) {
		return nil
	}
	if heisen.races {
		if !heisenAtomicLock(op, uintptr(addr)) {
			return nil
		}
		if heisen.quiet && !heisenOverlaps.sections {
			return &heisenAtomicLocks[0] // which is not locked: the cell is
		}
	}
	s := &heisenAtomicLocks[uintptr(addr)>>3*0x9E3779B1>>8%heisenStripes]
	heisenLock(&s.held)
	return s
}

// heisenAtomicEnd stamps the operation, releases the lock and records the operation. Inlined, it
// would take its caller's caller for the place in the program.
//
//go:nosplit
//go:noinline
func heisenAtomicEnd(s *heisenStripe, op uint64, addr unsafe.Pointer) {
	if s == nil {
		return
	}
	h := (*heisenG)(unsafe.Pointer(getg().racectx))
	if heisen.races {
		heisenAtomicUnlock(h, op, uintptr(addr), getcallerfp())
		if heisen.quiet && !heisenOverlaps.sections {
			return
		}
	}
	var pc uint64
	if heisenOverlaps.sections {
		pc = heisenPC(heisenCaller(getcallerfp()))
		heisenTrackAtomic(h, op != heisenOpAtomicRead, uintptr(addr), pc)
		if heisen.quiet {
			heisenUnlock(&s.held)
			return
		}
	}
	stamp := heisenStamp()
	heisenUnlock(&s.held)
	if !heisenOverlaps.sections { // not while others wait for the lock
		pc = heisenPC(heisenCaller(getcallerfp()))
	}
	// There was a P when the lock was taken, and hooks are not preempted.
	heisenPut(heisenOpen(h, 3), h, op, uintptr(addr), stamp, pc)
}

// heisenBeginLoad begins an atomic load that takes no lock: the thread has learned all that was
// released, and the load is recorded. It returns what heisenLoadUnchanged needs after the load; a
// head of 0 means that the load must take the lock.
//
//go:nosplit
func heisenBeginLoad(addr unsafe.Pointer) (head uint64, version uint32) {
	h := (*heisenG)(unsafe.Pointer(getg().racectx))
	if heisen.mode != heisenModeFollow || h == nil || !h.order.UpToDate(&heisenFastTrack) {
		return 0, 0
	}
	head, version, recorded := heisenFastTrack.BeginLoad(&h.order, heisenCellAt(uintptr(addr)), uint64(uintptr(addr)))
	if head != 0 && !recorded && !heisenRefreshLoad(h, uintptr(addr)) {
		return 0, 0
	}
	return head, version
}

// heisenRefreshLoad records the load if it was recorded in an earlier epoch.
//
//go:nosplit
//go:noinline
func heisenRefreshLoad(h *heisenG, addr uintptr) bool {
	gp := getg()
	b := heisenBufOfP()
	if !heisen.on || gp.raceignore != 0 || gp.m.p == 0 || b == nil || !h.started || heisenOnStack(addr) {
		return false
	}
	place := heisenPlaceFrom(b, h, 0, getcallerfp())
	return heisenFastTrack.RefreshLoad(&h.order, heisenCellAt(addr), place, 1<<(addr&7))
}

// heisenLoadUnchanged reports whether the load that heisenBeginLoad began is valid.
//
//go:nosplit
func heisenLoadUnchanged(addr unsafe.Pointer, head uint64, version uint32) bool {
	return heisenCellAt(uintptr(addr)).LoadUnchanged(head, version)
}

// heisenCASOp returns the op of a compare-and-swap: one that fails is a load.
//
//go:nosplit
func heisenCASOp(swapped bool) uint64 {
	if swapped {
		return heisenOpAtomicUpdate
	}
	return heisenOpAtomicRead
}

// heisenExpect records the value that the next compare-and-swap of the current goroutine compares
// with, and its width in bytes: if memory has another value, nothing is written.
//
//go:nosplit
func heisenExpect(old uint64, wide uint8) {
	if heisenSched.on {
		if h := (*heisenG)(unsafe.Pointer(getg().racectx)); h != nil {
			h.task.expects, h.task.wide = old, wide
		}
	}
}

// heisenStamp returns the next sequence number.
//
//go:nosplit
func heisenStamp() uint64 { return atomic.Xadd64(&heisen.stamp, 1) - 1 }

//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// The functions of sync/atomic, which its assembly implements otherwise. With intrinsics off, all
// atomic operations of the program come here. (Operations on pointers have functions of their own
// in the runtime, which end in the Uintptr ones.) Everything runs on the goroutine's stack,
// nosplit; between heisenAtomicBegin and heisenAtomicEnd a lock is held, and nothing may block,
// fault or be preempted. The file is long because Go needs a function for each type and operation.
//
// An operation and its stamp must be one step, else the recording could show a load before the
// store that it saw. A lock chosen by address makes them one step among recorded operations;
// operations that are not recorded use other memory.

// heisenAtomicBegin takes the lock for addr. It returns nil if the operation is not recorded. A nil
// addr faults here, before the lock is held.
//
//go:nosplit
func heisenAtomicBegin(op uint64, addr unsafe.Pointer) *heisenStripe {
	_ = *(*uint8)(addr)
	if heisenShadow.racesOnly {
		if heisenAtomicLock(op, uintptr(addr)) {
			return &heisenAtomicLocks[0] // which is not locked: the cell is
		}
		return nil
	}
	if heisenSched.on {
		heisenPointAtomic(op, addr, getcallerfp())
	}
	if heisen.once {
		heisenBeforeWrite(uintptr(addr), heisenWroteWord)
	}
	gp := getg()
	heisenEndPending((*heisenG)(unsafe.Pointer(gp.racectx)))
	if heisen.noisy {
		heisenNoiseAt(getcallerfp())
	}
	if !heisen.on || heisen.quiet && !heisenOverlaps.sections && !heisen.races || gp.racectx == 0 || (*heisenG)(unsafe.Pointer(gp.racectx)).mute || gp.raceignore != 0 || gp.m.p == 0 ||
		heisenOnStack(uintptr(addr)) || !heisenShared(uintptr(addr)) {
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

// heisenBeginLoad begins an atomic load that takes no lock: there is nothing to learn, and it is
// recorded. It returns what heisenLoadUnchanged needs after the load; a head of 0 means that the
// load must take the lock.
//
//go:nosplit
func heisenBeginLoad(addr unsafe.Pointer) (head uint64, version uint32) {
	h := (*heisenG)(unsafe.Pointer(getg().racectx))
	if !heisenShadow.racesOnly || h == nil || !h.order.UpToDate(&heisenFastTrack) {
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
	if !heisen.on || h.mute || gp.raceignore != 0 || gp.m.p == 0 || b == nil || !h.started || heisenOnStack(addr) {
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

// sync.Mutex reports its locking itself. Its atomic operations would only repeat that, and order
// what Go's memory model does not.

//go:linkname race_CompareAndSwapInt32 internal/race.CompareAndSwapInt32
//go:nosplit
func race_CompareAndSwapInt32(addr *int32, old, new int32) bool {
	return atomic.Cas((*uint32)(unsafe.Pointer(addr)), uint32(old), uint32(new))
}

//go:linkname race_AddInt32 internal/race.AddInt32
//go:nosplit
func race_AddInt32(addr *int32, delta int32) int32 {
	return int32(atomic.Xadd((*uint32)(unsafe.Pointer(addr)), delta))
}

//go:linkname sync_atomic_LoadPointer sync/atomic.LoadPointer
//go:nosplit
func sync_atomic_LoadPointer(addr *unsafe.Pointer) (val unsafe.Pointer) {
	head, version := heisenBeginLoad(unsafe.Pointer(addr))
	if head != 0 {
		if val = atomic.Loadp(unsafe.Pointer(addr)); heisenLoadUnchanged(unsafe.Pointer(addr), head, version) {
			return val
		}
	}
	l := heisenAtomicBegin(heisenOpAtomicRead, unsafe.Pointer(addr))
	val = atomic.Loadp(unsafe.Pointer(addr))
	heisenAtomicEnd(l, heisenOpAtomicRead, unsafe.Pointer(addr))
	return val
}

//go:linkname sync_atomic_LoadInt32 sync/atomic.LoadInt32
//go:nosplit
func sync_atomic_LoadInt32(addr *int32) (val int32) {
	head, version := heisenBeginLoad(unsafe.Pointer(addr))
	if head != 0 {
		if val = int32(atomic.Load((*uint32)(unsafe.Pointer(addr)))); heisenLoadUnchanged(unsafe.Pointer(addr), head, version) {
			return val
		}
	}
	l := heisenAtomicBegin(heisenOpAtomicRead, unsafe.Pointer(addr))
	val = int32(atomic.Load((*uint32)(unsafe.Pointer(addr))))
	heisenAtomicEnd(l, heisenOpAtomicRead, unsafe.Pointer(addr))
	return val
}

//go:linkname sync_atomic_LoadUint32 sync/atomic.LoadUint32
//go:nosplit
func sync_atomic_LoadUint32(addr *uint32) (val uint32) {
	head, version := heisenBeginLoad(unsafe.Pointer(addr))
	if head != 0 {
		if val = atomic.Load(addr); heisenLoadUnchanged(unsafe.Pointer(addr), head, version) {
			return val
		}
	}
	l := heisenAtomicBegin(heisenOpAtomicRead, unsafe.Pointer(addr))
	val = atomic.Load(addr)
	heisenAtomicEnd(l, heisenOpAtomicRead, unsafe.Pointer(addr))
	return val
}

//go:linkname sync_atomic_LoadInt64 sync/atomic.LoadInt64
//go:nosplit
func sync_atomic_LoadInt64(addr *int64) (val int64) {
	head, version := heisenBeginLoad(unsafe.Pointer(addr))
	if head != 0 {
		if val = int64(atomic.Load64((*uint64)(unsafe.Pointer(addr)))); heisenLoadUnchanged(unsafe.Pointer(addr), head, version) {
			return val
		}
	}
	l := heisenAtomicBegin(heisenOpAtomicRead, unsafe.Pointer(addr))
	val = int64(atomic.Load64((*uint64)(unsafe.Pointer(addr))))
	heisenAtomicEnd(l, heisenOpAtomicRead, unsafe.Pointer(addr))
	return val
}

//go:linkname sync_atomic_LoadUint64 sync/atomic.LoadUint64
//go:nosplit
func sync_atomic_LoadUint64(addr *uint64) (val uint64) {
	head, version := heisenBeginLoad(unsafe.Pointer(addr))
	if head != 0 {
		if val = atomic.Load64(addr); heisenLoadUnchanged(unsafe.Pointer(addr), head, version) {
			return val
		}
	}
	l := heisenAtomicBegin(heisenOpAtomicRead, unsafe.Pointer(addr))
	val = atomic.Load64(addr)
	heisenAtomicEnd(l, heisenOpAtomicRead, unsafe.Pointer(addr))
	return val
}

//go:linkname sync_atomic_LoadUintptr sync/atomic.LoadUintptr
//go:nosplit
func sync_atomic_LoadUintptr(addr *uintptr) (val uintptr) {
	head, version := heisenBeginLoad(unsafe.Pointer(addr))
	if head != 0 {
		if val = atomic.Loaduintptr(addr); heisenLoadUnchanged(unsafe.Pointer(addr), head, version) {
			return val
		}
	}
	l := heisenAtomicBegin(heisenOpAtomicRead, unsafe.Pointer(addr))
	val = atomic.Loaduintptr(addr)
	heisenAtomicEnd(l, heisenOpAtomicRead, unsafe.Pointer(addr))
	return val
}

//go:linkname sync_atomic_StoreInt32 sync/atomic.StoreInt32
//go:nosplit
func sync_atomic_StoreInt32(addr *int32, val int32) {
	l := heisenAtomicBegin(heisenOpAtomicWrite, unsafe.Pointer(addr))
	atomic.Store((*uint32)(unsafe.Pointer(addr)), uint32(val))
	heisenAtomicEnd(l, heisenOpAtomicWrite, unsafe.Pointer(addr))
}

//go:linkname sync_atomic_StoreUint32 sync/atomic.StoreUint32
//go:nosplit
func sync_atomic_StoreUint32(addr *uint32, val uint32) {
	l := heisenAtomicBegin(heisenOpAtomicWrite, unsafe.Pointer(addr))
	atomic.Store(addr, val)
	heisenAtomicEnd(l, heisenOpAtomicWrite, unsafe.Pointer(addr))
}

//go:linkname sync_atomic_StoreInt64 sync/atomic.StoreInt64
//go:nosplit
func sync_atomic_StoreInt64(addr *int64, val int64) {
	l := heisenAtomicBegin(heisenOpAtomicWrite, unsafe.Pointer(addr))
	atomic.Store64((*uint64)(unsafe.Pointer(addr)), uint64(val))
	heisenAtomicEnd(l, heisenOpAtomicWrite, unsafe.Pointer(addr))
}

//go:linkname sync_atomic_StoreUint64 sync/atomic.StoreUint64
//go:nosplit
func sync_atomic_StoreUint64(addr *uint64, val uint64) {
	l := heisenAtomicBegin(heisenOpAtomicWrite, unsafe.Pointer(addr))
	atomic.Store64(addr, val)
	heisenAtomicEnd(l, heisenOpAtomicWrite, unsafe.Pointer(addr))
}

//go:linkname sync_atomic_StoreUintptr sync/atomic.StoreUintptr
//go:nosplit
func sync_atomic_StoreUintptr(addr *uintptr, val uintptr) {
	l := heisenAtomicBegin(heisenOpAtomicWrite, unsafe.Pointer(addr))
	atomic.Storeuintptr(addr, val)
	heisenAtomicEnd(l, heisenOpAtomicWrite, unsafe.Pointer(addr))
}

//go:linkname sync_atomic_SwapInt32 sync/atomic.SwapInt32
//go:nosplit
func sync_atomic_SwapInt32(addr *int32, val int32) (old int32) {
	l := heisenAtomicBegin(heisenOpAtomicUpdate, unsafe.Pointer(addr))
	old = int32(atomic.Xchg((*uint32)(unsafe.Pointer(addr)), uint32(val)))
	heisenAtomicEnd(l, heisenOpAtomicUpdate, unsafe.Pointer(addr))
	return old
}

//go:linkname sync_atomic_SwapUint32 sync/atomic.SwapUint32
//go:nosplit
func sync_atomic_SwapUint32(addr *uint32, val uint32) (old uint32) {
	l := heisenAtomicBegin(heisenOpAtomicUpdate, unsafe.Pointer(addr))
	old = atomic.Xchg(addr, val)
	heisenAtomicEnd(l, heisenOpAtomicUpdate, unsafe.Pointer(addr))
	return old
}

//go:linkname sync_atomic_SwapInt64 sync/atomic.SwapInt64
//go:nosplit
func sync_atomic_SwapInt64(addr *int64, val int64) (old int64) {
	l := heisenAtomicBegin(heisenOpAtomicUpdate, unsafe.Pointer(addr))
	old = int64(atomic.Xchg64((*uint64)(unsafe.Pointer(addr)), uint64(val)))
	heisenAtomicEnd(l, heisenOpAtomicUpdate, unsafe.Pointer(addr))
	return old
}

//go:linkname sync_atomic_SwapUint64 sync/atomic.SwapUint64
//go:nosplit
func sync_atomic_SwapUint64(addr *uint64, val uint64) (old uint64) {
	l := heisenAtomicBegin(heisenOpAtomicUpdate, unsafe.Pointer(addr))
	old = atomic.Xchg64(addr, val)
	heisenAtomicEnd(l, heisenOpAtomicUpdate, unsafe.Pointer(addr))
	return old
}

//go:linkname sync_atomic_SwapUintptr sync/atomic.SwapUintptr
//go:nosplit
func sync_atomic_SwapUintptr(addr *uintptr, val uintptr) (old uintptr) {
	l := heisenAtomicBegin(heisenOpAtomicUpdate, unsafe.Pointer(addr))
	old = atomic.Xchguintptr(addr, val)
	heisenAtomicEnd(l, heisenOpAtomicUpdate, unsafe.Pointer(addr))
	return old
}

//go:linkname sync_atomic_CompareAndSwapInt32 sync/atomic.CompareAndSwapInt32
//go:nosplit
func sync_atomic_CompareAndSwapInt32(addr *int32, old, new int32) (swapped bool) {
	heisenExpect(uint64(uint32(old)), 4)
	l := heisenAtomicBegin(heisenOpAtomicUpdate, unsafe.Pointer(addr))
	swapped = atomic.Cas((*uint32)(unsafe.Pointer(addr)), uint32(old), uint32(new))
	heisenAtomicEnd(l, heisenCASOp(swapped), unsafe.Pointer(addr))
	return swapped
}

//go:linkname sync_atomic_CompareAndSwapUint32 sync/atomic.CompareAndSwapUint32
//go:nosplit
func sync_atomic_CompareAndSwapUint32(addr *uint32, old, new uint32) (swapped bool) {
	heisenExpect(uint64(old), 4)
	l := heisenAtomicBegin(heisenOpAtomicUpdate, unsafe.Pointer(addr))
	swapped = atomic.Cas(addr, old, new)
	heisenAtomicEnd(l, heisenCASOp(swapped), unsafe.Pointer(addr))
	return swapped
}

//go:linkname sync_atomic_CompareAndSwapInt64 sync/atomic.CompareAndSwapInt64
//go:nosplit
func sync_atomic_CompareAndSwapInt64(addr *int64, old, new int64) (swapped bool) {
	heisenExpect(uint64(old), 8)
	l := heisenAtomicBegin(heisenOpAtomicUpdate, unsafe.Pointer(addr))
	swapped = atomic.Cas64((*uint64)(unsafe.Pointer(addr)), uint64(old), uint64(new))
	heisenAtomicEnd(l, heisenCASOp(swapped), unsafe.Pointer(addr))
	return swapped
}

//go:linkname sync_atomic_CompareAndSwapUint64 sync/atomic.CompareAndSwapUint64
//go:nosplit
func sync_atomic_CompareAndSwapUint64(addr *uint64, old, new uint64) (swapped bool) {
	heisenExpect(old, 8)
	l := heisenAtomicBegin(heisenOpAtomicUpdate, unsafe.Pointer(addr))
	swapped = atomic.Cas64(addr, old, new)
	heisenAtomicEnd(l, heisenCASOp(swapped), unsafe.Pointer(addr))
	return swapped
}

//go:linkname sync_atomic_CompareAndSwapUintptr sync/atomic.CompareAndSwapUintptr
//go:nosplit
func sync_atomic_CompareAndSwapUintptr(addr *uintptr, old, new uintptr) (swapped bool) {
	heisenExpect(uint64(old), 8)
	l := heisenAtomicBegin(heisenOpAtomicUpdate, unsafe.Pointer(addr))
	swapped = atomic.Casuintptr(addr, old, new)
	heisenAtomicEnd(l, heisenCASOp(swapped), unsafe.Pointer(addr))
	return swapped
}

//go:linkname sync_atomic_AddInt32 sync/atomic.AddInt32
//go:nosplit
func sync_atomic_AddInt32(addr *int32, delta int32) (new int32) {
	l := heisenAtomicBegin(heisenOpAtomicUpdate, unsafe.Pointer(addr))
	new = int32(atomic.Xadd((*uint32)(unsafe.Pointer(addr)), delta))
	heisenAtomicEnd(l, heisenOpAtomicUpdate, unsafe.Pointer(addr))
	return new
}

//go:linkname sync_atomic_AddUint32 sync/atomic.AddUint32
//go:nosplit
func sync_atomic_AddUint32(addr *uint32, delta uint32) (new uint32) {
	l := heisenAtomicBegin(heisenOpAtomicUpdate, unsafe.Pointer(addr))
	new = atomic.Xadd(addr, int32(delta))
	heisenAtomicEnd(l, heisenOpAtomicUpdate, unsafe.Pointer(addr))
	return new
}

//go:linkname sync_atomic_AddInt64 sync/atomic.AddInt64
//go:nosplit
func sync_atomic_AddInt64(addr *int64, delta int64) (new int64) {
	l := heisenAtomicBegin(heisenOpAtomicUpdate, unsafe.Pointer(addr))
	new = int64(atomic.Xadd64((*uint64)(unsafe.Pointer(addr)), delta))
	heisenAtomicEnd(l, heisenOpAtomicUpdate, unsafe.Pointer(addr))
	return new
}

//go:linkname sync_atomic_AddUint64 sync/atomic.AddUint64
//go:nosplit
func sync_atomic_AddUint64(addr *uint64, delta uint64) (new uint64) {
	l := heisenAtomicBegin(heisenOpAtomicUpdate, unsafe.Pointer(addr))
	new = atomic.Xadd64(addr, int64(delta))
	heisenAtomicEnd(l, heisenOpAtomicUpdate, unsafe.Pointer(addr))
	return new
}

//go:linkname sync_atomic_AddUintptr sync/atomic.AddUintptr
//go:nosplit
func sync_atomic_AddUintptr(addr *uintptr, delta uintptr) (new uintptr) {
	l := heisenAtomicBegin(heisenOpAtomicUpdate, unsafe.Pointer(addr))
	new = atomic.Xadduintptr(addr, delta)
	heisenAtomicEnd(l, heisenOpAtomicUpdate, unsafe.Pointer(addr))
	return new
}

//go:linkname sync_atomic_AndInt32 sync/atomic.AndInt32
//go:nosplit
func sync_atomic_AndInt32(addr *int32, val int32) (old int32) {
	l := heisenAtomicBegin(heisenOpAtomicUpdate, unsafe.Pointer(addr))
	old = int32(atomic.And32((*uint32)(unsafe.Pointer(addr)), uint32(val)))
	heisenAtomicEnd(l, heisenOpAtomicUpdate, unsafe.Pointer(addr))
	return old
}

//go:linkname sync_atomic_AndUint32 sync/atomic.AndUint32
//go:nosplit
func sync_atomic_AndUint32(addr *uint32, val uint32) (old uint32) {
	l := heisenAtomicBegin(heisenOpAtomicUpdate, unsafe.Pointer(addr))
	old = atomic.And32(addr, val)
	heisenAtomicEnd(l, heisenOpAtomicUpdate, unsafe.Pointer(addr))
	return old
}

//go:linkname sync_atomic_AndInt64 sync/atomic.AndInt64
//go:nosplit
func sync_atomic_AndInt64(addr *int64, val int64) (old int64) {
	l := heisenAtomicBegin(heisenOpAtomicUpdate, unsafe.Pointer(addr))
	old = int64(atomic.And64((*uint64)(unsafe.Pointer(addr)), uint64(val)))
	heisenAtomicEnd(l, heisenOpAtomicUpdate, unsafe.Pointer(addr))
	return old
}

//go:linkname sync_atomic_AndUint64 sync/atomic.AndUint64
//go:nosplit
func sync_atomic_AndUint64(addr *uint64, val uint64) (old uint64) {
	l := heisenAtomicBegin(heisenOpAtomicUpdate, unsafe.Pointer(addr))
	old = atomic.And64(addr, val)
	heisenAtomicEnd(l, heisenOpAtomicUpdate, unsafe.Pointer(addr))
	return old
}

//go:linkname sync_atomic_AndUintptr sync/atomic.AndUintptr
//go:nosplit
func sync_atomic_AndUintptr(addr *uintptr, val uintptr) (old uintptr) {
	l := heisenAtomicBegin(heisenOpAtomicUpdate, unsafe.Pointer(addr))
	old = atomic.Anduintptr(addr, val)
	heisenAtomicEnd(l, heisenOpAtomicUpdate, unsafe.Pointer(addr))
	return old
}

//go:linkname sync_atomic_OrInt32 sync/atomic.OrInt32
//go:nosplit
func sync_atomic_OrInt32(addr *int32, val int32) (old int32) {
	l := heisenAtomicBegin(heisenOpAtomicUpdate, unsafe.Pointer(addr))
	old = int32(atomic.Or32((*uint32)(unsafe.Pointer(addr)), uint32(val)))
	heisenAtomicEnd(l, heisenOpAtomicUpdate, unsafe.Pointer(addr))
	return old
}

//go:linkname sync_atomic_OrUint32 sync/atomic.OrUint32
//go:nosplit
func sync_atomic_OrUint32(addr *uint32, val uint32) (old uint32) {
	l := heisenAtomicBegin(heisenOpAtomicUpdate, unsafe.Pointer(addr))
	old = atomic.Or32(addr, val)
	heisenAtomicEnd(l, heisenOpAtomicUpdate, unsafe.Pointer(addr))
	return old
}

//go:linkname sync_atomic_OrInt64 sync/atomic.OrInt64
//go:nosplit
func sync_atomic_OrInt64(addr *int64, val int64) (old int64) {
	l := heisenAtomicBegin(heisenOpAtomicUpdate, unsafe.Pointer(addr))
	old = int64(atomic.Or64((*uint64)(unsafe.Pointer(addr)), uint64(val)))
	heisenAtomicEnd(l, heisenOpAtomicUpdate, unsafe.Pointer(addr))
	return old
}

//go:linkname sync_atomic_OrUint64 sync/atomic.OrUint64
//go:nosplit
func sync_atomic_OrUint64(addr *uint64, val uint64) (old uint64) {
	l := heisenAtomicBegin(heisenOpAtomicUpdate, unsafe.Pointer(addr))
	old = atomic.Or64(addr, val)
	heisenAtomicEnd(l, heisenOpAtomicUpdate, unsafe.Pointer(addr))
	return old
}

//go:linkname sync_atomic_OrUintptr sync/atomic.OrUintptr
//go:nosplit
func sync_atomic_OrUintptr(addr *uintptr, val uintptr) (old uintptr) {
	l := heisenAtomicBegin(heisenOpAtomicUpdate, unsafe.Pointer(addr))
	old = atomic.Oruintptr(addr, val)
	heisenAtomicEnd(l, heisenOpAtomicUpdate, unsafe.Pointer(addr))
	return old
}

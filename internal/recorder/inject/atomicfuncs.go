//go:build heisen_inject

package runtime

import (
	"internal/goexperiment"
	"internal/runtime/atomic"
	"unsafe"
)

// This file has the functions of sync/atomic, one for each type and operation; see atomics.go.

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

// The operations on pointers have bodies of their own in the runtime, which take the write barrier and
// then call the Uintptr functions. Here the goroutine may be stopped first, by heisenAtomicBegin, so
// the order is another one: all pointers are in the frame as pointers until the operation is done, and
// the write barrier comes right before it. See stops.go.

//go:linkname sync_atomic_StorePointer sync/atomic.StorePointer
//go:nosplit
func sync_atomic_StorePointer(addr *unsafe.Pointer, val unsafe.Pointer) {
	l := heisenAtomicBegin(heisenOpAtomicWrite, unsafe.Pointer(addr))
	heisenPointerBarrier(addr, val)
	atomic.StorepNoWB(noescape(unsafe.Pointer(addr)), val)
	heisenAtomicEnd(l, heisenOpAtomicWrite, unsafe.Pointer(addr))
}

//go:linkname sync_atomic_SwapPointer sync/atomic.SwapPointer
//go:nosplit
func sync_atomic_SwapPointer(addr *unsafe.Pointer, val unsafe.Pointer) (old unsafe.Pointer) {
	l := heisenAtomicBegin(heisenOpAtomicUpdate, unsafe.Pointer(addr))
	heisenPointerBarrier(addr, val)
	old = unsafe.Pointer(atomic.Xchguintptr((*uintptr)(noescape(unsafe.Pointer(addr))), uintptr(val)))
	heisenAtomicEnd(l, heisenOpAtomicUpdate, unsafe.Pointer(addr))
	return old
}

// The frame has old, too: if its object were freed meanwhile, a new one could have its address.
//
//go:linkname sync_atomic_CompareAndSwapPointer sync/atomic.CompareAndSwapPointer
//go:nosplit
func sync_atomic_CompareAndSwapPointer(addr *unsafe.Pointer, old, new unsafe.Pointer) (swapped bool) {
	heisenExpect(uint64(uintptr(old)), 8)
	l := heisenAtomicBegin(heisenOpAtomicUpdate, unsafe.Pointer(addr))
	heisenPointerBarrier(addr, new)
	swapped = atomic.Casp1((*unsafe.Pointer)(noescape(unsafe.Pointer(addr))), old, new)
	heisenAtomicEnd(l, heisenCASOp(swapped), unsafe.Pointer(addr))
	return swapped
}

// heisenPointerBarrier is what comes right before a pointer is stored at addr.
//
//go:nosplit
func heisenPointerBarrier(addr *unsafe.Pointer, val unsafe.Pointer) {
	if writeBarrier.enabled {
		atomicwb(addr, val)
	}
	if goexperiment.CgoCheck2 {
		cgoCheckPtrWrite(addr, val)
	}
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

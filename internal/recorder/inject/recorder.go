//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// This file has the recorder's global state and the writing of events. The functions run in hooks:
// on the goroutine's stack, with little of it left, so they are nosplit with small frames, switch
// to the system stack for anything larger, and never allocate from the Go heap.
//
// The hooks (hooks.go, runtimehooks.go, annotations.go, atomicfuncs.go) take the place of the race
// detector's. Each appends words, laid out as package internal/core/wire says, to the buffer of the P it runs on. A
// goroutine is never preempted in package runtime, so the buffer needs no lock, and no hook is half
// done while the world is stopped. The recorder's types are not in the heap, so pointers between
// them have no write barriers.
//
// Accesses have no global stamp. Synchronization has: a dense sequence number by which the
// receiving side merges goroutines.
//
// Processors such as arm64 reorder plain loads and stores. Data that threads share without a lock
// is atomic, or ordered by heisenStoreBarrier for readers that reach it through the last store.

const (
	heisenBufWords  = heisenMaxPayload / 8 // of a P
	heisenIsTask    = 1 << 63
	heisenMaxFrames = 64 << 10 // deeper calls are not recorded
	heisenMinFrames = 32       // frames of a new goroutine
	heisenMaxTask   = 4 << 10  // bytes of a task's name
	heisenHeader    = 2        // words of a switch to another goroutine
	heisenBegin     = 1        // words of a begin record
	heisenNewCalls  = 1        // words of a record of new calls
	heisenSlab      = 256      // goroutine states allocated at a time
	heisenStripes   = 256      // locks for atomic operations
	heisenSpins     = 64       // spins before a waiting M sleeps
)

// heisenRecorder is the recorder's state that all threads share. The modes are set before main
// starts and do not change, except that recording ends.
type heisenRecorder struct {
	mode     heisenRunMode
	on       bool   // hooks record
	open     bool   // the connection is usable
	ending   uint32 // 1 when a thread ends the recording
	filter   bool   // repeated accesses are left out
	races    bool   // the program finds races itself
	overlaps bool   // the program finds overlaps itself
	detour   bool   // heisenBeforeAccess must be called: in deterministic runs and with hidden packages
	calls    bool   // racefuncenter and racefuncexit have more to do than to keep the shadow stack
	noisy    bool   // accesses may have to wait
	hides    bool   // some packages are hidden
	shows    bool   // hidden packages are also recorded, marked
	quiet    bool   // only findings are sent
	order    bool   // accesses are not recorded
	locks    bool   // what the order of locks depends on is sent, see lockorder.go
	cells    bool   // words have shadow cells: for races or locks
	marks    bool   // repeated accesses are recorded, marked
	entries  bool   // which calls are new is recorded
	leaks    bool   // the program looks for goroutines that wait for ever
	to, from int32  // the connection: descriptors to write to and to read from, which may be one
	sendLock uint32 // serializes messages
	era      uint64 // incremented when memory may have been freed; what was remembered in another era is void

	lock   mutex // guards the rest of this block
	ids    uint32
	freeG  *heisenG
	allG   *heisenG // all states that were used
	slab   *[heisenSlab]heisenG
	unused int // states in slab
	bufID  uint32
	freeB  *heisenBuf

	_     [64]byte
	stamp uint64 // next sequence number
	_     [56]byte
	lost  uint64 // events that could not be recorded
	found uint64 // findings that were sent, with repetition
}

var heisen heisenRecorder

// heisenStripe is a lock that makes an atomic operation and its stamp one step.
type heisenStripe struct {
	held uint32
	_    [60]byte
}

var heisenAtomicLocks [heisenStripes]heisenStripe

// heisenLock takes a lock: 0 is free, 1 held, 2 held with waiters. The holder may wait for the
// analyzer, so waiters sleep.
//
//go:nosplit
func heisenLock(l *uint32) {
	for range heisenSpins {
		if atomic.Cas(l, 0, 1) {
			return
		}
		procyield(10)
	}
	for atomic.Xchg(l, 2) != 0 {
		heisenSleepOn(l, 2, -1)
	}
}

// heisenUnlock releases a lock and wakes a waiter.
//
//go:nosplit
func heisenUnlock(l *uint32) {
	if atomic.Xchg(l, 0) == 2 {
		heisenWakeUp(l, 1)
	}
}

// heisenAccess records that the current goroutine is about to access size bytes at addr. Stacks
// belong to one goroutine, and memory outside of the heap and the data segments may be memory that
// C reuses: both are ignored.
//
//go:nosplit
func heisenAccess(op uint64, addr, size, pc uintptr) {
	gp := getg()
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	if !heisen.on || h == nil || h.mute {
		return
	}
	if addr-gp.stack.lo < gp.stack.hi-gp.stack.lo || !heisenShared(addr) {
		return
	}
	if heisen.overlaps {
		heisenTrackAccess(h, op == heisenOpWrite, addr, size, heisenPC(pc))
	}
	if heisen.races {
		kind := uint32(heisenFastTrackRead)
		if op == heisenOpWrite {
			kind = heisenFastTrackWrite
		}
		heisenRaceAccess(h, kind, addr, size, pc)
	}
	if heisen.quiet || heisen.order {
		return
	}
	if b := heisenBufOfP(); b == nil {
		atomic.Xadd64(&heisen.lost, 1)
	} else if !heisen.filter {
		heisenPutAccess(h, op, addr, size, heisenPlace(b, h, heisenPC(pc)))
	} else {
		heisenFiltered(b, h, op, addr, size, heisenPC(pc))
	}
}

// heisenFiltered records an access unless it is redundant in its span (filter.go).
//
//go:nosplit
func heisenFiltered(b *heisenBuf, h *heisenG, op uint64, addr, size uintptr, pc uint64) {
	if !b.filter.pays() {
		heisenPutAccess(h, op, addr, size, heisenPlace(b, h, pc))
		return
	}
	access := op<<heisenOpShift | uint64(addr)
	where := pc<<32 | uint64(min(size, 1<<32-1))
	seen, repeated := b.filter.repeated(h, access, where)
	switch {
	case !repeated:
		heisenPutAccess(h, op, addr, size, heisenPlace(b, h, pc))
		*seen = heisenRecorded{access, where, h.span, heisen.era}
	case heisen.marks:
		heisenPutAccess(h, op+heisenOpReadAgain-heisenOpRead, addr, size, heisenPlace(b, h, pc))
	}
}

// heisenPutAccess writes the record of an access.
//
//go:nosplit
func heisenPutAccess(h *heisenG, op uint64, addr, size uintptr, place uint64) {
	b := heisenOpen(h, 2)
	if b == nil {
		return
	}
	p := b.pos
	heisenWords2(b.word(p), op<<heisenOpShift|uint64(addr), place<<32|uint64(min(size, 1<<32-1)))
	h.words += 2
	b.commit(p + 2)
}

// heisenShared reports whether addr is in the heap or in the data segments.
//
//go:nosplit
func heisenShared(addr uintptr) bool {
	return addr-racearenastart < racearenaend-racearenastart ||
		addr-racedatastart < racedataend-racedatastart
}

// heisenSync records a synchronization event of h with the next stamp.
//
//go:nosplit
func heisenSync(h *heisenG, op uint64, obj uintptr, fp uintptr) {
	if heisen.locks {
		heisenSyncLocks(h, op, obj, fp)
	} else if heisen.races {
		heisenSyncOrder(h, op, obj, fp)
	} else if (heisen.overlaps || heisen.leaks) && heisenLockOps>>op&1 != 0 {
		heisenFollowLock(h, op, obj, fp)
	}
	if heisen.quiet {
		return
	}
	pc := heisenPC(heisenCaller(fp))
	b := heisenOpen(h, 3)
	if b == nil {
		return
	}
	heisenPut(b, h, op, obj, heisenStamp(), pc)
}

// heisenPut writes the record of a synchronization event.
//
//go:nosplit
func heisenPut(b *heisenBuf, h *heisenG, op uint64, obj uintptr, stamp, pc uint64) {
	p := b.pos
	heisenWords2(b.word(p), op<<heisenOpShift|uint64(obj), stamp)
	*(*uint64)(b.word(p + 2)) = heisenPlace(b, h, pc)
	h.words += 3
	b.commit(p + 3)
	b.wrote()
	if heisen.filter {
		heisenTrackSpan(b, h, op, obj)
	}
}

// heisenSyncG is heisenSync for goroutine gp, which is the current one or parked, unless
// synchronization is ignored at the moment. Objects on the current goroutine's stack belong to it
// and order nothing.
//
//go:nosplit
func heisenSyncG(gp *g, op uint64, obj uintptr, fp uintptr) {
	self := getg()
	if gp != self {
		fp = 0 // gp is elsewhere
	}
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	if gp != self && h != nil && !h.started { // its first event is made for it, while it waits
		h.origin.goid = gp.goid
	}
	if heisen.mode == heisenModeFollow {
		switch {
		case !heisen.on || h == nil || self.raceignore != 0 || heisenOnStack(obj):
		case heisen.locks:
			heisenSyncLocks(h, op, obj, fp)
		default:
			heisenSyncOrder(h, op, obj, fp)
		}
		return
	}
	if heisenOnlyLearns>>op&1 == 0 || heisenOverlaps.sections || heisenOverlaps.brief {
		heisenEndPending(h)
	}
	if heisenHealing.on && h != nil {
		h.healSync(op, obj)
	}
	if !heisen.on || h == nil || self.raceignore != 0 ||
		obj-self.stack.lo < self.stack.hi-self.stack.lo {
		return
	}
	if heisenSched.exploring.on {
		heisenUseBySync(op, uint64(obj))
	}
	heisenSync(h, op, obj, fp)
}

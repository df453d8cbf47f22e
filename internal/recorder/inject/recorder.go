//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// The recorder that heisen injects into package runtime.
//
// The hooks (heisen_hooks.go) take the place of the race detector's. Each
// appends a few 64-bit words, laid out in heisen_wire.go, to the buffer of the
// P it runs on. Hooks are nosplit and belong to package runtime, so a goroutine
// is never preempted inside one: the buffer needs no lock, and a stopped world
// means that no hook is half done. Nothing here allocates from the Go heap, and
// the types are not in the heap, so pointers between them have no write
// barriers.
//
// Accesses carry no global stamp, synchronisation does: a dense sequence number
// that the receiving side merges by.
//
// Processors such as arm64 keep little order between plain loads and stores. So what
// threads tell each other without a lock is atomic, or ordered by heisenStoreBarrier
// for who reads it through what was stored last.

const (
	heisenBufWords  = 8 << 10 // 64 KiB per P
	heisenIsTask    = 1 << 63
	heisenMaxFrames = 64 << 10 // deeper calls are not kept
	heisenMinFrames = 32       // what a new goroutine starts with
	heisenMaxTask   = 4 << 10  // bytes of a task's name
	heisenHeader    = 2        // words of a switch to another goroutine
	heisenBegin     = 1        // words of a begin record
	heisenSlab      = 256      // goroutine states made at a time
	heisenStripes   = 256      // locks for atomic operations
	heisenSpins     = 64       // before a waiting M sleeps
)

// heisenRecorder is the state of the recorder that all threads share.
type heisenRecorder struct {
	on           bool   // hooks record
	open         bool   // what they record is sent
	ending       uint32 // 1 when a thread ends the recording
	filter       bool   // all but repeated accesses
	races        bool   // races by happens-before are looked for
	overlaps     bool   // overlaps are looked for
	overlapsOnly bool   // overlaps of two accesses are, and nothing else is done
	detour       bool   // accesses have to be looked at in another way first: in a deterministic run, or if packages are hidden
	calls        bool   // and calls: if packages are hidden, or for sections
	noisy        bool   // accesses may have to wait
	hides        bool   // some packages are hidden
	once         bool   // what an object reaches is looked at once, as far as possible
	shows        bool   // what they do is recorded all the same, marked
	quiet        bool   // nothing is recorded but what is found
	marks        bool   // those too, marked
	fd           int32  // the connection
	sendLock     uint32 // serialises messages
	era          uint64 // what was seen in another one may have been forgotten since

	lock  mutex // guards the rest of this block
	ids   uint32
	freeG *heisenG
	bufID uint32
	freeB *heisenBuf

	_     [64]byte
	stamp uint64 // next sequence number
	_     [56]byte
	lost  uint64 // events that happened where nothing can be recorded
}

var heisen heisenRecorder

// heisenStripe is a lock that makes an atomic operation and its stamp one step.
type heisenStripe struct {
	held uint32
	_    [60]byte
}

var heisenAtomicLocks [heisenStripes]heisenStripe

// heisenLock takes a lock that is 0 when free, 1 when held and 2 when held and
// waited for. A holder may wait for the analyser, so waiters sleep.
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
		futexsleep(l, 2, -1)
	}
}

//go:nosplit
func heisenUnlock(l *uint32) {
	if atomic.Xchg(l, 0) == 2 {
		futexwakeup(l, 1)
	}
}

// heisenAccess records that the current goroutine is about to touch size bytes
// at addr. Stacks are private to their goroutine, and memory outside of the
// heap and the data segments cannot be told from memory that C reuses: both are
// passed over.
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
	if heisen.quiet {
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

// heisenFiltered records an access that is not redundant in its span.
//
//go:nosplit
func heisenFiltered(b *heisenBuf, h *heisenG, op uint64, addr, size uintptr, pc uint64) {
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

// heisenShared reports whether addr lies in the heap or in the data segments.
//
//go:nosplit
func heisenShared(addr uintptr) bool {
	return addr-racearenastart < racearenaend-racearenastart ||
		addr-racedatastart < racedataend-racedatastart
}

// heisenSync records a synchronisation event of h with the next stamp.
//
//go:nosplit
func heisenSync(h *heisenG, op uint64, obj uintptr, fp uintptr) {
	if heisen.races {
		heisenSyncOrder(h, op, obj, fp)
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

// heisenSyncG is heisenSync for goroutine gp, which is the current one or
// parked, if synchronisation is not ignored just now. Objects on the current
// goroutine's stack are its own and order nothing.
//
//go:nosplit
func heisenSyncG(gp *g, op uint64, obj uintptr, fp uintptr) {
	self := getg()
	if gp != self {
		fp = 0 // this is not where gp stands
	}
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	if heisenShadow.racesOnly {
		if heisen.on && h != nil && !h.mute && self.raceignore == 0 && !heisenOnStack(obj) {
			heisenSyncOrder(h, op, obj, fp)
		}
		return
	}
	if heisen.once {
		(*heisenG)(unsafe.Pointer(self.racectx)).commitWrite()
		if op == heisenOpSend { // an element of a channel may be written
			heisenBeforeWrite(obj, heisenWroteWide)
		}
	}
	if heisenOnlyLearns>>op&1 == 0 || heisenOverlaps.sections || heisenOverlaps.brief {
		heisenEndPending(h)
	}
	if !heisen.on || h == nil || h.mute || self.raceignore != 0 || !heisenShared(obj) ||
		obj-self.stack.lo < self.stack.hi-self.stack.lo {
		return
	}
	heisenSync(h, op, obj, fp)
}

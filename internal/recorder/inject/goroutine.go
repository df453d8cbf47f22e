//go:build heisen_inject

package runtime

import (
	"internal/goarch"
	"internal/runtime/atomic"
	"internal/runtime/sys"
	"unsafe"
)

// This file has the recorder's state of a goroutine and its shadow stack. The functions run in
// hooks, on the goroutine's stack unless they say otherwise, and are nosplit. States are allocated
// in slabs under heisen.lock and reused.

// heisenG is the recorder's state of a goroutine; g.racectx points to it.
type heisenG struct {
	_       sys.NotInHeap
	order   heisenFastTrackThread // its FastTrack state; see races.go
	id      uint32                // dense number, in order of creation, or heisenUnknownG
	started bool                  // it has done something
	orphan  bool                  // no recorded goroutine has started it
	hidden  bool                  // it is in hidden code
	mute    bool                  // its accesses are not recorded at the moment
	lockset uint32                // where it acquired the locks it holds, as a place; see locksets.go
	handed  atomic.Uint32         // locks that it has acquired and others have released since; see handover.go
	origin  heisenOrigin          // in quiet programs; see origins.go

	// The shadow stack. The frames above bottom, up to top, are the calls of instrumented
	// functions, and the tasks, that the goroutine is in. bottom is a sentinel with base 0, which
	// is never popped. There is memory below it, too.
	top    *heisenFrame
	limit  *heisenFrame // the last frame
	bottom *heisenFrame

	words uint64     // words written for it so far
	buf   *heisenBuf // where the last of them are
	pairs uint32     // hidden calls it is in; see hide.go
	grows bool       // growslice does not report what it reads; see heisenGrowslice

	locksHeld *heisenLocksHeld // nil if this state never had a lock; see lockhistory.go

	pending heisenAtomRaceThread // its pending accesses; see overlaps.go
	// The next access to the map at keyed concerns one key, of which key is a hash; see race_MapKey.
	keyed uintptr
	key   uint64

	healed       [heisenMaxHeals]heisenHealed // the first of them are healing locks; see heal.go
	numHealed    uint32
	awaited      atomic.Uint32                         // 1 more than the number of the healing lock that it waits for; 0 if it waits for none
	mutexes      [heisenMaxHealMutexes]heisenHealMutex // the first of them are locks of the program that it holds; see heal.go
	numMutex     uint32
	acquisitions uint32 // of locks of the program

	span     uint64 // of its accesses; see filter.go
	released uint32
	locks    [heisenMaxReleased]heisenReleased // the first of them are released locks

	// The last failed try of channels; see states.go.
	tried               uintptr
	triedAt, triedWords uint64

	noise    uint64 // state of the random number generator for noise
	noiseDue bool   // it is to wait

	task  heisenSchedG // in a deterministic run and for leaks; see sched.go
	ended uint32       // number of the latest task that has ended, or 0
	test  uint32       // the top-level test that it belongs to, from 1, or 0; see leaktests.go

	news      uint32 // what it knows of acquisitions, see lockorder.go
	inherited uint32 // what it knew when it began, until it has sent something; 0 if nothing
	moment    uint32 // changes when it passes on, or learns, what is known of acquisitions
	readWrite bool   // the lock that it is about to record is a read-write lock

	labels uint32 // the number of its labels, 0 if it has none; see labels.go

	kept uint32 // 1 more than the number of its calls that are those of its last record; 0 if all are, see places.go

	next *heisenG // in the free list
	link *heisenG // in the list of all states
}

// heisenFrame is a call of an instrumented function. base is the distance from the top of the
// goroutine's stack to the function's frame. It does not change when the stack moves. It identifies
// frames that a panic has unwound.
type heisenFrame struct {
	_     sys.NotInHeap
	pc    uintptr // return address in the caller, or a task's number with heisenIsTask
	base  uint32
	place uint32 // of the call, once needed; see places.go
	call  uint32 // text offset in the function, if opened

	hidden bool // it is hidden code
	opened bool // it is hidden and its caller is not
}

// heisenNewG returns a state for a new goroutine. It must run on the system stack.
func heisenNewG() *heisenG {
	lock(&heisen.lock)
	h := heisen.freeG
	if h != nil {
		heisen.freeG = h.next
	} else {
		h = heisenNextState()
	}
	id := heisen.ids
	if id != heisenUnknownG {
		heisen.ids++
	} else if !heisen.quiet && heisen.on { // a recording needs numbers
		heisen.on = false
		print("heisen: the program has started 4,294,967,295 goroutines; the rest of this run is not recorded\n")
	}
	unlock(&heisen.lock)

	h.forgetLocks()
	bottom, limit := h.bottom, h.limit
	*h = heisenG{id: id, top: bottom, limit: limit, bottom: bottom, locksHeld: h.locksHeld, span: 1<<63 | uint64(id), link: h.link}
	if bottom == nil {
		heisenGrow(h)
	}
	return h
}

// heisenNextState returns a state that was never used. heisen.lock is held. States are not touched before they are
// used: a short program needs few of them, and the system provides memory by the page.
func heisenNextState() *heisenG {
	if heisen.unused == 0 {
		heisen.slab = (*[heisenSlab]heisenG)(persistentalloc(heisenSlab*unsafe.Sizeof(heisenG{}), goarch.PtrSize, &memstats.other_sys))
		heisen.unused = heisenSlab
	}
	heisen.unused--
	h := &heisen.slab[heisen.unused]
	h.link, heisen.allG = heisen.allG, h
	return h
}

// heisenFreeG frees the state of a goroutine that has ended.
//
//go:nosplit
func heisenFreeG(h *heisenG) {
	systemstack(func() {
		lock(&heisen.lock)
		h.next = heisen.freeG
		heisen.freeG = h
		unlock(&heisen.lock)
	})
}

// heisenGrow doubles the shadow stack of h, up to heisenMaxFrames. It must run on the system stack.
// The old frames are not freed: doubling bounds the waste, and states keep their frames when they
// are reused.
func heisenGrow(h *heisenG) {
	const frame = unsafe.Sizeof(heisenFrame{})
	size := (uintptr(unsafe.Pointer(h.limit)) - uintptr(unsafe.Pointer(h.bottom))) / frame
	if size == heisenMaxFrames {
		return
	}
	depth := uintptr(h.depth())
	size = max(2*size, heisenMinFrames)
	bottom := (*heisenFrame)(persistentalloc((size+2)*frame, goarch.PtrSize, &memstats.other_sys)).above(1)
	bottom.place = heisenRoot
	if depth > 0 {
		memmove(unsafe.Pointer(bottom), unsafe.Pointer(h.bottom), (depth+1)*frame)
	}
	h.bottom, h.top, h.limit = bottom, bottom.above(depth), bottom.above(size)
}

// above returns the nth frame above f.
//
//go:nosplit
func (f *heisenFrame) above(n uintptr) *heisenFrame {
	return (*heisenFrame)(add(unsafe.Pointer(f), n*unsafe.Sizeof(heisenFrame{})))
}

// below returns the frame below f.
//
//go:nosplit
func (f *heisenFrame) below() *heisenFrame {
	return (*heisenFrame)(unsafe.Pointer(uintptr(unsafe.Pointer(f)) - unsafe.Sizeof(heisenFrame{})))
}

// from returns the place of the call below f, 0 if it is not known.
//
//go:nosplit
func (f *heisenFrame) from() uint32 { return f.below().place }

// depth returns the number of calls that h is in.
//
//go:nosplit
func (h *heisenG) depth() uint32 {
	return uint32((uintptr(unsafe.Pointer(h.top)) - uintptr(unsafe.Pointer(h.bottom))) / unsafe.Sizeof(heisenFrame{}))
}

// function returns f, or, if f is a task, the call of a function below it.
//
//go:nosplit
func (f *heisenFrame) function() *heisenFrame {
	for f.pc&heisenIsTask != 0 {
		f = f.below()
	}
	return f
}

// leave pops the frame at base and those above it, which a panic leaves without racefuncexit.
//
//go:nosplit
func (h *heisenG) leave(base uint32) {
	f := h.top
	for f != h.bottom && f.base >= base {
		f = f.below()
	}
	if h.pairs != 0 && f != h.top {
		h.reveal(f)
	}
	h.top = f
}

// heisenGoid returns the runtime's number of h if that is known or h is the current goroutine, else 0: a
// state can also stand for something that is no goroutine, such as timers.
//
//go:nosplit
func heisenGoid(h *heisenG) uint64 {
	if h.origin.goid != 0 {
		return h.origin.goid
	}
	if gp := getg().m.curg; gp != nil && gp.racectx == uintptr(unsafe.Pointer(h)) {
		return gp.goid
	}
	return 0
}

//go:build heisen_inject

package runtime

import (
	"internal/goarch"
	"internal/runtime/sys"
	"unsafe"
)

// heisenG is the recorder's state of a goroutine; g.racectx points to it.
type heisenG struct {
	_       sys.NotInHeap
	order   heisenFastTrackThread // what it knows of others; see happens.go
	id      uint32                // dense number in order of creation
	started bool                  // it has done something; as a rule its begin record was written
	orphan  bool                  // it was started by nobody that is recorded
	hidden  bool                  // it is in hidden code
	mute    bool                  // what it does is not recorded
	lockset uint32                // the set of locks that it holds; see held.go
	numHeld uint32                // how many

	// The shadow stack: the frames above bottom, up to top, are the calls of
	// instrumented functions, and the tasks, that the goroutine is in. bottom is none:
	// its base is 0, so that nobody takes it off. There is memory below it, too.
	top    *heisenFrame
	limit  *heisenFrame // there is room for no more
	bottom *heisenFrame

	words uint64     // words written on its behalf so far
	buf   *heisenBuf // where the latest of them stands
	pairs uint32     // hidden calls that it is in; see hide.go

	held [heisenMaxHeld]heisenHeld // the first locks that it holds

	pending heisenAtomRaceThread // what is pending; see watch.go

	span     uint64 // of its accesses; see filter.go
	released uint32
	locks    [heisenMaxReleased]heisenReleased // the first so many are released locks

	// The latest try of channels that failed; see states.go.
	tried               uintptr
	triedAt, triedWords uint64

	wrote uintptr // what it was about to write, not noted yet; see trees.go

	noise    uint64 // state of the generator of random numbers
	noiseDue bool   // it is to wait

	task heisenSchedG // in a deterministic run; see sched.go

	next *heisenG // in the list of free ones
}

// heisenFrame is a call of an instrumented function. base is the distance from
// the top of the goroutine's stack to the function's frame, which does not
// change when the stack moves: frames that a panic has unwound are recognised by
// it.
type heisenFrame struct {
	_     sys.NotInHeap
	pc    uintptr // return address in the caller; or a task's number and heisenIsTask
	base  uint32
	place uint32 // of the call, once it has been needed; see paths.go
	call  uint32 // entry of the function, if opened

	hidden bool // it is hidden code
	opened bool // it is hidden and its caller is not
}

// heisenNewG returns a state for a new goroutine. It must run on the system
// stack.
func heisenNewG() *heisenG {
	lock(&heisen.lock)
	h := heisen.freeG
	if h == nil {
		slab := (*[heisenSlab]heisenG)(persistentalloc(heisenSlab*unsafe.Sizeof(heisenG{}), goarch.PtrSize, &memstats.other_sys))
		for i := range slab {
			slab[i].next = h
			h = &slab[i]
		}
	}
	heisen.freeG = h.next
	id := heisen.ids
	heisen.ids++
	unlock(&heisen.lock)

	bottom, limit := h.bottom, h.limit
	*h = heisenG{id: id, top: bottom, limit: limit, bottom: bottom, span: 1<<63 | uint64(id)}
	if bottom == nil {
		heisenGrow(h)
	}
	return h
}

// heisenFreeG takes back the state of a goroutine that has ended.
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

// heisenGrow doubles the shadow stack of h, unless it has all frames that there may
// be. It must run on the system stack. The old frames are not freed: doubling bounds
// the waste, and states are reused with their frames.
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

// from returns what place the call before that of f is, 0 if that is not known.
//
//go:nosplit
func (f *heisenFrame) from() uint32 { return f.below().place }

// depth returns how many calls h is in.
//
//go:nosplit
func (h *heisenG) depth() uint32 {
	return uint32((uintptr(unsafe.Pointer(h.top)) - uintptr(unsafe.Pointer(h.bottom))) / unsafe.Sizeof(heisenFrame{}))
}

// leave takes the frame at base off the shadow stack, and those above it: a panic
// leaves them without racefuncexit.
//
//go:nosplit
func (h *heisenG) leave(base uint32) {
	f := h.top
	for f != h.bottom && f.base >= base {
		f = f.below()
	}
	if h.pairs != 0 && f != h.top {
		systemstack(func() { h.reveal(f) }) // stack is short where some hooks run
	}
	h.top = f
}

// heisenGoid returns the runtime's number of the current goroutine, if that is h: a state can
// speak for something that is no goroutine (timers). Otherwise it is 0.
//
//go:nosplit
func heisenGoid(h *heisenG) uint64 {
	if gp := getg().m.curg; gp != nil && gp.racectx == uintptr(unsafe.Pointer(h)) {
		return gp.goid
	}
	return 0
}

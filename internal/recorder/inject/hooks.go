//go:build heisen_inject

package runtime

import (
	"internal/runtime/sys"
	"unsafe"
)

// This file takes the place of race.go: the functions that the compiler calls in instrumented code.
// They run on the goroutine's stack, between instructions that belong together, so they are
// nosplit, must not block on Go locks, and keep frames small. Most are implemented in assembly
// (fasthooks_*.s), which continues here if its fast path does not apply. The functions that the
// runtime calls are in runtimehooks.go, those that programs and the standard library call in
// annotations.go.

const raceenabled = true

// Start and end of the heap and of the data segments, the only memory that is recorded.
var (
	racearenastart, racearenaend uintptr
	racedatastart, racedataend   uintptr
)

// heisenReadSlowly is raceread for memory without a cell, and in modes other than finding races.
//
//go:nosplit
func heisenReadSlowly(addr uintptr) {
	if h := (*heisenG)(unsafe.Pointer(getg().racectx)); h != nil && !h.muted(sys.GetCallerSP()) {
		heisenAccessByte(h, false, addr, sys.GetCallerPC(), sys.GetCallerSP())
	}
}

// heisenWriteSlowly is racewrite, likewise.
//
//go:nosplit
func heisenWriteSlowly(addr uintptr) {
	if h := (*heisenG)(unsafe.Pointer(getg().racectx)); h != nil && !h.muted(sys.GetCallerSP()) {
		heisenAccessByte(h, true, addr, sys.GetCallerPC(), sys.GetCallerSP())
	}
}

// heisenReadPassed is raceread in a deterministic run, after its point, if the cell's first entry does not make the access
// redundant. There is a cell.
//
//go:nosplit
func heisenReadPassed(addr uintptr) {
	h := (*heisenG)(unsafe.Pointer(getg().racectx))
	if !h.followed() || !heisenRaceByte(h, heisenCellAt(addr), false, addr, sys.GetCallerPC()) {
		heisenAccess(heisenOpRead, addr, 1, sys.GetCallerPC())
	}
}

// heisenWritePassed is racewrite, likewise.
//
//go:nosplit
func heisenWritePassed(addr uintptr) {
	h := (*heisenG)(unsafe.Pointer(getg().racectx))
	if !h.followed() || !heisenRaceByte(h, heisenCellAt(addr), true, addr, sys.GetCallerPC()) {
		heisenAccess(heisenOpWrite, addr, 1, sys.GetCallerPC())
	}
}

// followed reports whether accesses of h, which is the current goroutine, are recorded, and it is up to date.
//
//go:nosplit
func (h *heisenG) followed() bool {
	return heisen.on && !h.mute && h.order.UpToDate(&heisenFastTrack)
}

// heisenReadMiss is raceread if only races are looked for and the cell's first entry does not make
// the access redundant.
//
//go:nosplit
func heisenReadMiss(addr uintptr) {
	h := (*heisenG)(unsafe.Pointer(getg().racectx))
	if b := heisenBufOfP(); b != nil {
		at, value := b.reads.find(h, addr)
		if *at == value {
			return
		}
		if c := heisenCellAt(addr); c.SameEpochBeside(&h.order, addr) || heisenRaceByte(h, c, false, addr, sys.GetCallerPC()) {
			*at = value
			return
		}
	}
	heisenAccessByte(h, false, addr, sys.GetCallerPC(), sys.GetCallerSP())
}

// heisenWriteMiss is racewrite, likewise.
//
//go:nosplit
func heisenWriteMiss(addr uintptr) {
	h := (*heisenG)(unsafe.Pointer(getg().racectx))
	if !heisenRaceByte(h, heisenCellAt(addr), true, addr, sys.GetCallerPC()) {
		heisenAccessByte(h, true, addr, sys.GetCallerPC(), sys.GetCallerSP())
	}
}

//go:nosplit
func racereadrange(addr, size uintptr) {
	h := (*heisenG)(unsafe.Pointer(getg().racectx))
	if h == nil || heisen.detour && heisenBeforeAccess(h, false, addr, size, sys.GetCallerPC(), sys.GetCallerSP()) {
		return
	}
	if n := h.raceRange(false, addr, size, sys.GetCallerPC()); n < size {
		heisenAccess(heisenOpRead, addr+n, size-n, sys.GetCallerPC())
	}
}

//go:nosplit
func racewriterange(addr, size uintptr) {
	h := (*heisenG)(unsafe.Pointer(getg().racectx))
	if h == nil || heisen.detour && heisenBeforeAccess(h, true, addr, size, sys.GetCallerPC(), sys.GetCallerSP()) {
		return
	}
	if n := h.raceRange(true, addr, size, sys.GetCallerPC()); n < size {
		heisenAccess(heisenOpWrite, addr+n, size-n, sys.GetCallerPC())
	}
}

// heisenAccessByte is an access to a byte in any mode.
//
//go:nosplit
func heisenAccessByte(h *heisenG, write bool, addr, pc, sp uintptr) {
	switch heisen.mode {
	case heisenModeFollow:
		if heisenFollowByte(h, write, addr, pc) {
			return
		}
	case heisenModeBoth:
		if c := heisenCellAt(addr); c != &heisenNoCell && h.order.UpToDate(&heisenFastTrack) && c.SameEpochByte(&h.order, addr, write) {
			return
		}
	case heisenModeWatch:
		heisenTrackByte(h, write, addr, pc)
		return
	}
	if heisen.detour && heisenBeforeAccess(h, write, addr, 1, pc, sp) {
		return
	}
	if heisen.mode == heisenModeExplore && heisen.on && !h.mute && heisenFollowByte(h, write, addr, pc) {
		return
	}
	op := uint64(heisenOpRead)
	if write {
		op = heisenOpWrite
	}
	heisenAccess(op, addr, 1, pc)
	if heisenSched.values.wanted {
		heisenSched.values.note(h, write, addr)
	}
}

// heisenFollowByte does what an access to a byte needs if only races are looked for. It reports whether nothing is left to
// do.
//
//go:nosplit
func heisenFollowByte(h *heisenG, write bool, addr, pc uintptr) bool {
	c := heisenCellAt(addr)
	return c == &heisenNoCell ||
		h.order.UpToDate(&heisenFastTrack) && (c.SameEpochByte(&h.order, addr, write) || heisenOnStack(addr) || heisenRaceByte(h, c, write, addr, pc))
}

// heisenBeforeAccess does what precedes the recording of an access, and reports whether the access
// is not to be recorded.
//
//go:nosplit
func heisenBeforeAccess(h *heisenG, write bool, addr, size, pc, sp uintptr) bool {
	if heisenSched.on {
		heisenPointAccess(write, addr, size, pc)
	}
	return h.hidden && heisenIsHidden(h, sp)
}

// heisenFuncEnter is racefuncenter if there is more to do than to push a frame.
//
//go:nosplit
func heisenFuncEnter(callpc uintptr) {
	gp := getg()
	if h := (*heisenG)(unsafe.Pointer(gp.racectx)); h != nil {
		heisenEnter(h, uint32(gp.stack.hi-sys.GetCallerSP()), callpc, sys.GetCallerPC(), sys.GetCallerSP())
	}
}

// heisenEnter pushes the frame that begins at base.
//
//go:nosplit
func heisenEnter(h *heisenG, base uint32, callpc, pc, sp uintptr) {
	h.leave(base)
	if h.top == h.limit {
		systemstack(func() { heisenGrow(h) })
		if h.top == h.limit {
			return
		}
	}
	f := h.top.above(1)
	f.pc, f.base, f.place = callpc, base, 0
	h.top = f
	if heisen.hides {
		heisenEntered(h, pc)
	}
}

// racefuncenterfp is the entry hook of functions that pass their frame pointer instead of their
// caller.
//
//go:nosplit
func racefuncenterfp(fp uintptr) {}

// heisenFuncExit is racefuncexit if there is more to do than to pop a frame.
//
//go:nosplit
func heisenFuncExit() {
	gp := getg()
	if h := (*heisenG)(unsafe.Pointer(gp.racectx)); h != nil {
		heisenExit(h, uint32(gp.stack.hi-sys.GetCallerSP()))
	}
}

// heisenExit pops the frame that begins at base.
//
//go:nosplit
func heisenExit(h *heisenG, base uint32) {
	h.leave(base)
	if h.task.deepest > h.depth() {
		heisenLeaveSections(h)
	}
	if h.pending.numActive != 0 {
		heisenLeaveCalls(h, h.top.above(1).pc)
	}
}

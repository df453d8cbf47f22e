//go:build heisen_inject

package runtime

import (
	"internal/runtime/sys"
	"unsafe"
)

// The race detector's interface to the compiler and the runtime, answered by the recorder. This
// file takes the place of race.go. What programs and the standard library call is in asked.go.

const raceenabled = true

// Start and end of the heap and of the data segments; only they are recorded.
var (
	racearenastart, racearenaend uintptr
	racedatastart, racedataend   uintptr
)

// What the compiler calls in instrumented functions. Most accesses to a word add nothing to what is noted in
// its cell, and most calls only a frame: quick_*.s finds that out, and goes on here if it is not so.

func raceread(addr uintptr)

func racewrite(addr uintptr)

func racefuncenter(callpc uintptr)

func racefuncexit()

// heisenReadGeneral is raceread for what has no cell, or in other modes.
//
//go:nosplit
func heisenReadGeneral(addr uintptr) {
	if h := (*heisenG)(unsafe.Pointer(getg().racectx)); h != nil {
		heisenAccessByte(h, false, addr, sys.GetCallerPC(), sys.GetCallerSP())
	}
}

// heisenWriteGeneral is racewrite, likewise.
//
//go:nosplit
func heisenWriteGeneral(addr uintptr) {
	if h := (*heisenG)(unsafe.Pointer(getg().racectx)); h != nil {
		heisenAccessByte(h, true, addr, sys.GetCallerPC(), sys.GetCallerSP())
	}
}

// heisenReadMiss is raceread where races are all that is looked for, and the first note does not say that it
// was read.
//
//go:nosplit
func heisenReadMiss(addr uintptr) {
	h := (*heisenG)(unsafe.Pointer(getg().racectx))
	if !heisenRaceByte(h, heisenCellAt(addr), false, addr, sys.GetCallerPC()) {
		heisenAccessByte(h, false, addr, sys.GetCallerPC(), sys.GetCallerSP())
	}
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

// heisenAccessByte takes an access to a byte in all other modes, or for the first time.
//
//go:nosplit
func heisenAccessByte(h *heisenG, write bool, addr, pc, sp uintptr) {
	if heisenShadow.racesFirst {
		c := heisenCellAt(addr)
		if c == &heisenNoCell {
			if heisenShadow.racesOnly {
				return
			}
		} else if h.order.UpToDate(&heisenFastTrack) && (c.SameEpochByte(&h.order, addr, write) || heisenShadow.racesOnly && (heisenOnStack(addr) || heisenRaceByte(h, c, write, addr, pc))) {
			return
		}
	} else if heisen.overlapsOnly {
		heisenTrackByte(h, write, addr, pc)
		return
	}
	if heisen.detour && heisenBeforeAccess(h, write, addr, 1, pc, sp) {
		return
	}
	op := uint64(heisenOpRead)
	if write {
		op = heisenOpWrite
	}
	heisenAccess(op, addr, 1, pc)
}

// heisenBeforeAccess does what comes before an access is recorded, and reports whether that
// is all.
//
//go:nosplit
func heisenBeforeAccess(h *heisenG, write bool, addr, size, pc, sp uintptr) bool {
	if heisenSched.on {
		heisenPointAccess(write, addr, size, pc)
	}
	if heisen.once && write {
		heisenBeforeWrite(addr, heisenWroteWord+min(size/9, 1))
	}
	return heisen.hides && heisenIsHidden(h, sp)
}

// heisenFuncEnter is racefuncenter where more is to be done than to add a frame.
//
//go:nosplit
func heisenFuncEnter(callpc uintptr) {
	gp := getg()
	if h := (*heisenG)(unsafe.Pointer(gp.racectx)); h != nil {
		heisenEnter(h, uint32(gp.stack.hi-sys.GetCallerSP()), callpc, sys.GetCallerPC(), sys.GetCallerSP())
	}
}

// heisenEnter adds the frame that begins at base.
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
		heisenEntered(h, pc, sp)
	}
}

// racefuncenterfp is the entry hook of functions that pass their frame pointer
// instead of their caller.
//
//go:nosplit
func racefuncenterfp(fp uintptr) {}

// heisenFuncExit is racefuncexit where more is to be done than to take a frame off.
//
//go:nosplit
func heisenFuncExit() {
	gp := getg()
	if h := (*heisenG)(unsafe.Pointer(gp.racectx)); h != nil {
		heisenExit(h, uint32(gp.stack.hi-sys.GetCallerSP()))
	}
}

// heisenExit takes the frame off that begins at base.
//
//go:nosplit
func heisenExit(h *heisenG, base uint32) {
	h.leave(base)
	if h.task.deepest > h.depth() {
		heisenLeaveSections(h)
	}
	if h.pending.numActive != 0 {
		heisenLeaveCalls(h)
	}
}

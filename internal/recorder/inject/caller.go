//go:build heisen_inject

package runtime

import (
	"internal/goarch"
	"internal/runtime/atomic"
	"unsafe"
)

// This file finds the place in the program that asked for an operation. It runs in hooks, on the
// goroutine's stack, and walks frame pointers, so it is nosplit. It switches to the system stack to
// classify a function that it has not seen yet.

// heisenPC returns pc as an offset into the program's text, 0 if it is elsewhere.
//
//go:nosplit
func heisenPC(pc uintptr) uint64 {
	off := pc - firstmoduledata.text
	if off >= firstmoduledata.etext-firstmoduledata.text {
		return 0
	}
	return uint64(off)
}

// heisenTextPC returns the address of an offset into the program's text.
//
//go:nosplit
func heisenTextPC(offset uint64) uintptr { return firstmoduledata.text + uintptr(offset) }

// heisenCaller walks up from frame pointer fp to the place that asked for a synchronization: the
// first return address that is in a recorded function, or outside of the standard library. If there
// is none on the stack, it returns the first that is outside of the packages that implement
// synchronization, else the outermost one in these without the runtime, such as in what sync.OnceFunc
// has made, else 0.
//
//go:nosplit
func heisenCaller(fp uintptr) uintptr {
	gp := getg()
	if gp != gp.m.curg {
		return 0 // frame pointers of system stacks don't lead to the program
	}
	return heisenCallerOn(gp, fp)
}

// heisenWalkOut walks up from a frame pointer into the stack of gp to the first return address outside of the standard library,
// and notes the outermost one before it that is in the standard library, without the packages that implement synchronization.
// Either is 0 if there is none.
//
//go:nosplit
func heisenWalkOut(gp *g, fp uintptr) (program, library uintptr) {
	for i := 0; i < 32 && fp-gp.stack.lo < gp.stack.hi-gp.stack.lo-16; i++ {
		pc := *(*uintptr)(unsafe.Pointer(fp + goarch.PtrSize))
		if pc == 0 {
			break
		}
		switch heisenLayer(pc) {
		case heisenProgram:
			return pc, library
		case heisenLibrary:
			library = pc
		}
		fp = *(*uintptr)(unsafe.Pointer(fp))
	}
	return 0, library
}

// heisenProgramCaller returns the first return address outside of the standard library, up from a frame pointer into the stack
// of gp. If direct is set, only the runtime may be below it. It returns 0 if there is none.
//
//go:nosplit
func heisenProgramCaller(gp *g, fp uintptr, direct bool) uintptr {
	program, library := heisenWalkOut(gp, fp)
	if direct && library != 0 {
		return 0
	}
	return program
}

// heisenOutermost returns the first return address outside of the standard library, up from a frame pointer into the stack of
// gp. If there is none, it returns the outermost one in the standard library, without the packages that implement synchronization.
//
//go:nosplit
func heisenOutermost(gp *g, fp uintptr) uintptr {
	program, library := heisenWalkOut(gp, fp)
	switch {
	case program != 0:
		return program
	case !framepointer_enabled:
		return heisenCallerInFrames(gp)
	}
	return library
}

// heisenCallerOn is heisenCaller for a frame pointer into the stack of gp.
//
//go:nosplit
func heisenCallerOn(gp *g, fp uintptr) (best uintptr) {
	// A return address is in a recorded function if the next one is that of this function's call.
	// Methods of package sync/atomic may be recorded, but do not ask for anything themselves.
	var f *heisenFrame
	inner, outer := uintptr(0), uintptr(0)
	if h := (*heisenG)(unsafe.Pointer(gp.racectx)); h != nil {
		f = h.top.function()
	}
	for i := 0; i < 24 && fp-gp.stack.lo < gp.stack.hi-gp.stack.lo-16; i++ {
		pc := *(*uintptr)(unsafe.Pointer(fp + goarch.PtrSize))
		if pc == 0 {
			break
		}
		if f != nil && pc == f.pc && inner != 0 {
			if heisenLayer(inner) < heisenCore {
				return inner
			}
			f = f.below().function()
		}
		inner = pc
		switch heisenLayer(pc) {
		case heisenProgram:
			return pc
		case heisenLibrary:
			if best == 0 {
				best = pc
			}
		case heisenCore:
			outer = pc
		}
		fp = *(*uintptr)(unsafe.Pointer(fp))
	}
	if !framepointer_enabled {
		return heisenCallerInFrames(gp)
	}
	if best == 0 {
		return outer
	}
	return best
}

// heisenCallerInFrames is heisenCallerOn for processors on which the runtime keeps no frame pointers. It knows
// only the calls of recorded functions, so it returns where the innermost of them was called from outside of
// the packages that implement synchronization.
//
//go:nosplit
func heisenCallerInFrames(gp *g) uintptr {
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	if h == nil {
		return 0
	}
	f := h.top.function()
	for i := 0; i < 24 && f != h.bottom && f.pc != 0; i++ {
		if heisenLayer(f.pc) < heisenCore {
			return f.pc
		}
		f = f.below().function()
	}
	return 0
}

// The layers of code that heisenCaller distinguishes.
const (
	heisenProgram = iota // packages outside of the standard library
	heisenLibrary        // the standard library
	heisenCore           // the part of it that implements synchronization
	heisenRuntime        // package runtime, which is part of heisenCore
)

// heisenLayers caches the layers of return addresses: the address, shifted left by two, and the
// layer. Threads may overwrite each other's entries, which are one word each.
var heisenLayers [4096]uintptr

// heisenLayer returns the layer of a return address.
//
//go:nosplit
func heisenLayer(pc uintptr) uintptr {
	if v := atomic.Loaduintptr(heisenLayerOf(pc)); v>>2 == pc {
		return v & 3
	}
	return heisenNewLayer(pc)
}

//go:nosplit
func heisenLayerOf(pc uintptr) *uintptr { return &heisenLayers[pc>>2%uintptr(len(heisenLayers))] }

//go:nosplit
func heisenNewLayer(pc uintptr) (layer uintptr) {
	systemstack(func() {
		layer = heisenFindLayer(pc)
	})
	atomic.Storeuintptr(heisenLayerOf(pc), pc<<2|layer)
	return layer
}

// heisenFindLayer returns the layer of the function at pc, the outermost one if others were inlined
// into it, by the first element of its package path.
func heisenFindLayer(pc uintptr) uintptr {
	f := findfunc(pc)
	if !f.valid() {
		return heisenCore
	}
	return heisenNameLayer(funcname(f))
}

// heisenNameLayer returns the layer of a function by its name.
func heisenNameLayer(name string) uintptr {
	end := 0
	for end < len(name) && name[end] != '/' && name[end] != '.' && name[end] != '[' {
		end++
	}
	switch root := name[:end]; root {
	case "runtime":
		if end < len(name) && name[end] == '.' {
			return heisenRuntime
		}
		return heisenCore
	case "", "sync", "internal":
		return heisenCore
	default:
		for _, std := range heisenStdRoots {
			if root == std {
				return heisenLibrary
			}
		}
	}
	return heisenProgram
}

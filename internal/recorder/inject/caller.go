//go:build heisen_inject

package runtime

import (
	"internal/goarch"
	"internal/runtime/atomic"
	"unsafe"
)

// heisenPC returns pc as an offset into the program's text, 0 if it is not in
// it.
//
//go:nosplit
func heisenPC(pc uintptr) uint64 {
	off := pc - firstmoduledata.text
	if off >= firstmoduledata.etext-firstmoduledata.text {
		return 0
	}
	return uint64(off)
}

// heisenCaller walks up from the frame pointer fp to the first return address
// outside of the standard library: the place in the program that asked for a
// synchronisation. Where the program is not on the stack it settles for the
// first that is not in the packages that do the synchronising; 0 if there is
// none.
//
//go:nosplit
func heisenCaller(fp uintptr) uintptr {
	gp := getg()
	if gp != gp.m.curg {
		return 0 // frame pointers of system stacks do not lead to the program
	}
	return heisenCallerOn(gp, fp)
}

// heisenCallerOn is heisenCaller for a frame pointer into the stack of gp.
//
//go:nosplit
func heisenCallerOn(gp *g, fp uintptr) (best uintptr) {
	for i := 0; i < 24 && fp-gp.stack.lo < gp.stack.hi-gp.stack.lo-16; i++ {
		pc := *(*uintptr)(unsafe.Pointer(fp + goarch.PtrSize))
		if pc == 0 {
			break
		}
		switch heisenLayer(pc) {
		case heisenProgram:
			return pc
		case heisenLibrary:
			if best == 0 {
				best = pc
			}
		}
		fp = *(*uintptr)(unsafe.Pointer(fp))
	}
	return best
}

// The layers of code that heisenCaller tells apart.
const (
	heisenProgram = iota // packages that are not of the standard library
	heisenLibrary        // those that are
	heisenCore           // of those, the ones that synchronise
)

// heisenLayers remembers the layer of return addresses: the address, shifted
// left by two, and the layer. Threads may overwrite each other's entries, each of
// which is one word.
var heisenLayers [4096]uintptr

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

// heisenFindLayer tells the layer of the function at pc, the outermost if others
// were inlined into it, by the first element of its package path.
func heisenFindLayer(pc uintptr) uintptr {
	f := findfunc(pc)
	if !f.valid() {
		return heisenCore
	}
	return heisenNameLayer(funcname(f))
}

// heisenNameLayer tells the layer of a function by its name.
func heisenNameLayer(name string) uintptr {
	end := 0
	for end < len(name) && name[end] != '/' && name[end] != '.' && name[end] != '[' {
		end++
	}
	switch root := name[:end]; root {
	case "", "runtime", "sync", "internal":
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

//go:build heisen_inject && !amd64 && !arm64

package runtime

import (
	"internal/runtime/sys"
	"unsafe"
)

// The hooks of compiled code for processors without fast paths in assembly.

//go:nosplit
func raceread(addr uintptr) {
	if h := (*heisenG)(unsafe.Pointer(getg().racectx)); h != nil {
		heisenAccessByte(h, false, addr, sys.GetCallerPC(), sys.GetCallerSP())
	}
}

//go:nosplit
func racewrite(addr uintptr) {
	if h := (*heisenG)(unsafe.Pointer(getg().racectx)); h != nil {
		heisenAccessByte(h, true, addr, sys.GetCallerPC(), sys.GetCallerSP())
	}
}

//go:nosplit
func racefuncenter(callpc uintptr) {
	gp := getg()
	if h := (*heisenG)(unsafe.Pointer(gp.racectx)); h != nil {
		heisenEnter(h, uint32(gp.stack.hi-sys.GetCallerSP()), callpc, sys.GetCallerPC(), sys.GetCallerSP())
	}
}

//go:nosplit
func racefuncexit() {
	gp := getg()
	if h := (*heisenG)(unsafe.Pointer(gp.racectx)); h != nil {
		heisenExit(h, uint32(gp.stack.hi-sys.GetCallerSP()))
	}
}

//go:nosplit
func heisenPrefetch(uintptr) {}

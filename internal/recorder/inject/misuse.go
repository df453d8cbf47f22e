//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"internal/runtime/sys"
	"unsafe"
)

// Misuse of package testing: a goroutine that does not run a test calls FailNow or SkipNow of the test, also by
// Fatal, Skip and the like. That ends the goroutine, and not the test. It is looked for in deterministic runs.
// Or a goroutine uses a test that has ended, as by Log or Errorf. Package testing is patched to call these
// functions.

// heisenMisuses counts the calls that were sent, up to a bound.
var heisenMisuses uint32

const heisenMaxMisuses = 100

// race_Runs notes that the current goroutine runs a test.
//
//go:linkname race_Runs internal/race.Runs
func race_Runs(test unsafe.Pointer) {
	if at := heisenEndedAt(test); atomic.Loaduintptr(at) == uintptr(test) {
		atomic.Storeuintptr(at, 0) // an old test had this address
	}
	if h := (*heisenG)(unsafe.Pointer(getg().racectx)); h != nil {
		h.task.runs = uintptr(test)
	}
}

// race_Stops is called before the current goroutine ends because it has called FailNow, or SkipNow, of a
// test that some goroutine runs.
//
//go:linkname race_Stops internal/race.Stops
func race_Stops(test unsafe.Pointer, skips bool) {
	h := (*heisenG)(unsafe.Pointer(getg().racectx))
	if !heisenSched.on || h == nil || h.task.runs == uintptr(test) {
		return
	}
	how := uint32(heisenMisuseFails)
	if skips {
		how = heisenMisuseSkips
	}
	heisenSendMisuse(h, how, heisenPC(sys.GetCallerPC()))
}

// heisenEnded has tests all functions of which have returned. One with the same hash replaces another, which is
// then forgotten.
var heisenEnded [1 << 10]uintptr

func heisenEndedAt(test unsafe.Pointer) *uintptr {
	return &heisenEnded[uintptr(test)*0x9E3779B97F4A7C15>>54]
}

// race_Ends notes that all functions of a test have returned.
//
//go:linkname race_Ends internal/race.Ends
func race_Ends(test unsafe.Pointer) {
	atomic.Storeuintptr(heisenEndedAt(test), uintptr(test))
}

// race_Uses is called before the current goroutine changes a test.
//
//go:linkname race_Uses internal/race.Uses
func race_Uses(test unsafe.Pointer) {
	h := (*heisenG)(unsafe.Pointer(getg().racectx))
	if h == nil || atomic.Loaduintptr(heisenEndedAt(test)) != uintptr(test) || !heisenSched.on && !heisen.quiet {
		return
	}
	heisenSendMisuse(h, heisenMisuseLate, heisenPC(sys.GetCallerPC()))
}

// heisenSendMisuse sends that h misuses a test, at a place.
func heisenSendMisuse(h *heisenG, how uint32, pc uint64) {
	if !heisen.open || atomic.Xadd(&heisenMisuses, 1) > heisenMaxMisuses {
		return
	}
	gp := getg()
	systemstack(func() {
		b := heisenBufOfP()
		if b == nil {
			return
		}
		words := [2]uint64{uint64(h.id), heisenNameLabels(b, heisenPlace(b, h, pc), heisenLabelsOf(gp))}
		if heisen.quiet {
			heisenSendAncestry(h.id)
		} else {
			heisenFlushAll(0) // the receiver must know the goroutine
		}
		heisenSend(heisenMsgMisuse, how, 0, unsafe.Pointer(&words), unsafe.Sizeof(words))
	})
}

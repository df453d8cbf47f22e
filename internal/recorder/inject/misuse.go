//go:build heisen_inject

package runtime

import "unsafe"

// Misuse of package testing in deterministic runs: a goroutine that does not run a test calls FailNow or
// SkipNow of the test, also by Fatal, Skip and the like. That ends the goroutine, and not the test.
// Package testing is patched to call these functions.

// heisenMisuses counts the calls that were sent, up to a bound.
var heisenMisuses uint32

const heisenMaxMisuses = 100

// race_Runs notes that the current goroutine runs a test.
//
//go:linkname race_Runs internal/race.Runs
func race_Runs(test unsafe.Pointer) {
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
	if !heisenSched.on || !heisen.open || h == nil || h.task.runs == uintptr(test) || heisenMisuses == heisenMaxMisuses {
		return
	}
	heisenMisuses++
	how := uint32(heisenMisuseFails)
	if skips {
		how = heisenMisuseSkips
	}
	pc := heisenPC(heisenCaller(getcallerfp()))
	systemstack(func() {
		b := heisenBufOfP()
		if b == nil {
			return
		}
		words := [2]uint64{uint64(h.id), heisenPlace(b, h, pc)}
		if heisen.quiet {
			heisenSendAncestry(h.id)
		} else {
			heisenFlushAll(0) // the receiver must know the goroutine
		}
		heisenSend(heisenMsgMisuse, how, 0, unsafe.Pointer(&words), unsafe.Sizeof(words))
	})
}

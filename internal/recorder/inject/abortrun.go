//go:build heisen_inject

package runtime

import "unsafe"

// The report of where the goroutines of a deterministic run wait. It runs on the system stack, once:
// in the scheduler if the run cannot continue or must not, or at the end of the program.

const (
	heisenDeadlock   = 1 // no goroutine can ever continue
	heisenStuckClock = 2 // the bound on the clock was reached
	heisenStuckSteps = 3 // the bound on the number of steps was reached
	heisenLeaked     = 4 // the program has ended, and these goroutines wait for ever
)

// heisenAbortRun reports where the goroutines of the program are, and ends the program. Unless why
// is heisenDeadlock, some of them may be able to continue.
func heisenAbortRun(why uint32, message string) {
	waiting := heisenReportWaiting(why, func(*g) bool { return true })
	if why == heisenDeadlock && waiting == 0 {
		message = "no goroutines (main called runtime.Goexit) - deadlock!"
	}
	fatal(message)
}

// heisenReportWaiting reports where those goroutines of the program are that concern it, and returns
// their number.
func heisenReportWaiting(why uint32, concerns func(*g) bool) (waiting int) {
	var words [1 << 9]uint64
	used := uintptr(0)
	flush := func() {
		heisenSend(heisenMsgStuck, why, 0, unsafe.Pointer(&words), used*8)
		used = 0
	}
	heisenFlushAll(heisenForever)
	forEachGRace(func(gp *g) {
		status := readgstatus(gp) &^ _Gscan
		h := (*heisenG)(unsafe.Pointer(gp.racectx))
		reason := ""
		switch status {
		case _Gwaiting:
			reason = gp.waitreason.String()
		case _Gsyscall:
			reason = "syscall"
		case _Grunnable, _Grunning, _Gpreempted:
			reason = "runnable"
		}
		if h == nil || reason == "" || !heisenInProgram(gp, h) || isSystemGoroutine(gp, false) || !concerns(gp) {
			return
		}
		waiting++
		if heisen.quiet {
			heisenSetGoid(h, gp.goid)
			heisenSendAncestry(h.id)
		}
		if used+4+8 > uintptr(len(words)) {
			flush()
		}
		place := uint64(0)
		if b := heisenBufOfP(); b != nil {
			place = heisenPlace(b, h, heisenPC(heisenCallerOn(gp, gp.sched.bp)))
		}
		words[used], words[used+1], words[used+2] = uint64(h.id), h.task.on, place
		text := (*[8 * 8]byte)(unsafe.Pointer(&words[used+4]))
		n := uintptr(copy(text[:], reason))
		words[used+3] = uint64(n)
		clear(text[n:])
		used += 4 + alignUp(n, 8)/8
	})
	flush()
	return waiting
}

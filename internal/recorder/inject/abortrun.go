//go:build heisen_inject

package runtime

import "unsafe"

// The report of where goroutines wait. It runs on the system stack while no goroutine runs: once in the
// scheduler of a deterministic run, if it cannot continue or must not, or at the end of the program;
// in other runs whenever leaks were found (leaktests.go).

const (
	heisenDeadlock   = 1 // no goroutine can ever continue
	heisenStuckClock = 2 // the bound on the clock was reached
	heisenStuckSteps = 3 // the bound on the number of steps was reached
	heisenLeaked     = 4 // the program or a test has ended, and these goroutines wait for ever
	heisenGoingOn    = 5 // and these go on for ever
	heisenNotLooked  = 6 // goroutines may wait or go on for ever that were not found: there was not enough time or memory to look
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
		heisenEnd.goesOn()
	}
	heisenFlushAll(heisenForever)
	if why == heisenLeaked {
		heisenFindBehind()
	}
	forEachGRace(func(gp *g) {
		status := readgstatus(gp) &^ _Gscan
		h := (*heisenG)(unsafe.Pointer(gp.racectx))
		reason := ""
		switch status {
		case _Gwaiting, heisenLeakedStatus:
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
		if heisenSched.on {
			heisenSched.behaviors.waited(gp, h)
		}
		if heisen.quiet {
			heisenSetGoid(h, gp.goid)
			heisenSendAncestry(h.id)
		}
		if used+heisenStuckWords+heisenStuckChannels+heisenStuckUses+8 > uintptr(len(words)) {
			flush()
		}
		words[used], words[used+1], words[used+2] = uint64(h.id), heisenWaitObject(gp, h), heisenWaitPlace(gp, h)
		if gp.goid < 1<<32 {
			words[used] |= gp.goid << 32
		}
		words[used+3], words[used+4] = h.task.ranAt, uint64(h.task.ranClock)
		text := (*[8 * 8]byte)(unsafe.Pointer(&words[used+heisenStuckWords]))
		n := uintptr(copy(text[:], reason))
		words[used+5] = uint64(n)
		if why == heisenLeaked && h.task.behind == heisenBehindOthers {
			words[used+5] |= heisenStuckBehind
		}
		clear(text[n:])
		object, channels := &words[used+1], &words[used+6]
		*channels = 0
		used += heisenStuckWords + alignUp(n, 8)/8
		switch {
		case why == heisenGoingOn:
			*channels = heisenPutStops(gp, h, words[used:][:heisenStuckChannels])
			*object = 0
			if *channels == 1 {
				*object = words[used]
			}
			used += uintptr(*channels)
		case gp.waitreason == waitReasonSelect && status != _Grunnable:
			for sg := gp.waiting; sg != nil && *channels < heisenStuckChannels; sg = sg.waitlink {
				words[used] = uint64(heisenChannelOf(sg))
				used++
				*channels++
			}
		}
		uses := h.task.uses.put(words[used:][:heisenStuckUses])
		used += uintptr(uses)
		*channels |= uses << 32
	})
	flush()
	return waiting
}

// heisenLookFailed is set if goroutines that wait or go on for ever may not have been found.
var heisenLookFailed bool

// heisenReportFailedLook sends that goroutines that wait or go on for ever may not have been found, if so.
func heisenReportFailedLook() {
	if heisenLookFailed {
		heisenLookFailed = false
		heisenSend(heisenMsgStuck, heisenNotLooked, 0, nil, 0)
	}
}

// heisenWaitPlace returns the place where a goroutine waits, with its labels, and the locks it holds if they are known.
func heisenWaitPlace(gp *g, h *heisenG) uint64 {
	b := heisenBufOfP()
	if b == nil {
		return 0
	}
	pc := heisenCallerOn(gp, gp.sched.bp)
	place := uint64(0)
	if heisen.quiet && !heisenSched.on {
		place = heisenNameLocksNow(b, h, heisenPlaceWithLocks(b, h, pc))
	} else {
		place = heisenPlace(b, h, heisenPC(pc))
	}
	return heisenNameLabels(b, place, heisenLabelsOf(gp))
}

// heisenWaitObject returns what a goroutine waits for, 0 if that is several channels or not known.
func heisenWaitObject(gp *g, h *heisenG) uint64 {
	switch {
	case heisenSched.on || heisenWaitsForSync(gp.waitreason):
		return h.task.on
	case gp.waiting != nil && gp.waiting.waitlink == nil:
		return uint64(heisenChannelOf(gp.waiting))
	}
	return 0
}

//go:build heisen_inject

package runtime

import "internal/runtime/atomic"

// Goroutines that are left behind: at the end of a program they get the chance to run, as long as
// there are some that can, up to a limit (the option atexit_sleep_ms). What they do may race with what
// the program has done. Nothing is waited for if none can run. The functions run on the goroutine
// that ends the program, as ordinary Go code.

var (
	heisenLeaving uint32 // 1 once a goroutine waits for the others
	heisenNap     note   // on which it sleeps; never woken
)

const (
	heisenFirstYields = 10        // before the ending goroutine sleeps
	heisenShortestNap = 20 * 1000 // ns
	heisenLongestNap  = 5 * 1000 * 1000
)

// heisenAwaitOthers waits until no other goroutine can run. A goroutine that also ends the program
// meanwhile blocks for ever if alone is set; otherwise it does not wait.
func heisenAwaitOthers(alone bool) {
	gp := getg()
	if heisenSched.on {
		heisenRunToEnd()
		return
	}
	if !heisen.on || heisenOptions.exitSleep == 0 {
		return
	}
	if !atomic.Cas(&heisenLeaving, 0, 1) {
		if alone {
			gopark(nil, nil, waitReasonPanicWait, traceBlockForever, 1)
		}
		return
	}
	limit := nanotime() + heisenOptions.exitSleep*1000*1000
	nap := int64(heisenShortestNap)
	for i := 0; !heisenOthersRest(gp, limit); i++ {
		left := limit - nanotime()
		switch {
		case left <= 0:
			return
		case i < heisenFirstYields:
			Gosched()
		default:
			// Not a timer: it needs descriptors, of which none may be left, and in a bubble of
			// package synctest it never fires.
			notetsleepg(&heisenNap, min(nap, left))
			nap = min(nap*2, heisenLongestNap)
		}
	}
	if panicking.Load() != 0 { // of another goroutine, which ends the program
		gopark(nil, nil, waitReasonPanicWait, traceBlockForever, 1)
	}
}

// heisenOthersRest reports whether no goroutine but gp can run before the limit, unless something
// from outside of the program wakes it.
func heisenOthersRest(gp *g, limit int64) bool {
	// While others run the world is not stopped: one that cannot be preempted would prevent that.
	if heisenOthersRun(gp) {
		return false
	}
	// In a world that goes on, a goroutine can move from a timer that has not been looked at yet to
	// one that has.
	world := stopTheWorld(stwAllGoroutinesStack)
	rest := !heisenOthersRun(gp) && !heisenTimersBefore(limit)
	startTheWorld(world)
	return rest
}

// heisenOthersRun reports whether a goroutine other than gp runs or can go on without the others.
func heisenOthersRun(gp *g) (run bool) {
	forEachGRace(func(other *g) {
		if other == gp || run {
			return
		}
		switch readgstatus(other) &^ _Gscan {
		case _Grunnable, _Grunning, _Gcopystack, _Gpreempted:
			run = true
		case _Gsyscall:
			run = !heisenAwaitsSignals(other)
		case _Gwaiting:
			run = !heisenBlocked(other.waitreason)
		}
		run = run && !isSystemGoroutine(other, false)
	})
	return run
}

// heisenBlocked reports whether a goroutine that waits goes on only if another goroutine does
// something, or a timer. Others wait for the network, or for the garbage collector.
func heisenBlocked(why waitReason) bool {
	switch why {
	case waitReasonChanReceive, waitReasonChanSend, waitReasonSelect,
		waitReasonChanReceiveNilChan, waitReasonChanSendNilChan, waitReasonSelectNoCases,
		waitReasonSyncMutexLock, waitReasonSyncRWMutexRLock, waitReasonSyncRWMutexLock,
		waitReasonSyncCondWait, waitReasonSyncWaitGroupWait, waitReasonSemacquire,
		waitReasonSleep, waitReasonCoroutine, waitReasonPanicWait, waitReasonTraceReaderBlocked,
		waitReasonSynctestRun, waitReasonSynctestWait, waitReasonSynctestChanReceive,
		waitReasonSynctestChanSend, waitReasonSynctestSelect, waitReasonSynctestWaitGroupWait:
		return true
	}
	return false
}

// heisenAwaitsSignals reports whether a goroutine is the one of package os/signal that waits for
// signals. It stays in a system call until one comes.
func heisenAwaitsSignals(gp *g) bool {
	f := findfunc(gp.startpc)
	return f.valid() && funcname(f) == "os/signal.loop"
}

// heisenTimersBefore reports whether a timer fires before the limit. Timers that were stopped stay
// in the heap for a while. The world is stopped.
func heisenTimersBefore(limit int64) bool {
	for _, pp := range allp {
		for _, t := range pp.timers.heap {
			// The heap may not know yet that a timer was set to another time.
			if t.timer.astate.Load()&timerZombie == 0 && t.timer.when <= limit && !heisenDropsTicks(t.timer) && t.timer != &heisenBubbles.timer {
				return true
			}
		}
	}
	return false
}

//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// The ends of a program that looks for goroutines that wait for ever (leaktests.go). It looks before it
// ends, whatever ends it: the return of main, an exit on any goroutine, a panic that nobody recovers, a
// deadlock of all goroutines, or a signal for which it has no handler. Not before an end by another fatal
// error, since the state of the runtime is unknown then, and not before a signal that no handler sees.
//
// A search stops the world, so it runs on an ordinary goroutine. A signal handler cannot wait for that, and
// may not make a goroutine runnable. So a thread without a P, as that of the monitor, sleeps until a handler
// wakes it, and wakes a goroutine of the runtime, which looks and then raises the signal again. The thread
// is also what bounds the delay: it ends the program if the world cannot be stopped in time. A second signal
// ends the program at once.
//
// SIGQUIT only makes the program look, and the program goes on. A second one within a moment does what
// SIGQUIT does without heisen. So does the first one, once the search is over, in a test binary: go test
// ends a test that hangs in this way, and its user waits for the stacks.
//
// The goroutine that is first to end the program does so. Others that want to end it meanwhile wait for that.

const (
	heisenLongestLook = 5 * 1000 * 1000 * 1000 // ns without progress before the program ends although it was not looked to the end
	heisenQuitAgain   = 1000 * 1000 * 1000     // ns within which a second SIGQUIT is meant for the runtime
	heisenEndNap      = 1000 * 1000            // ns
)

var heisenEnd heisenEndState

type heisenEndState struct {
	ready  uint32 // 1 once the thread waits for signals
	begun  uint32 // 1 once a goroutine looks before it ends the program
	signal uint32 // that ends the program once it was looked, 0 if none does
	quit   uint32 // 1 if SIGQUIT asks to look
	dumps  uint32 // 1 if the next SIGQUIT is for the runtime

	wake   uint32 // 1 if the thread is to look at all this
	until  int64  // when the program ends however far the search is, 0 if there is no limit
	status int32  // with which it ends then, if no signal ends it
	quitAt int64  // when the last SIGQUIT came

	lock mutex // guards the rest
	gp   guintptr
	idle bool // gp is parked
}

// heisenStartLooking starts the goroutine that looks when signals come.
func heisenStartLooking() { go heisenLook() }

// heisenLook looks when signals ask for that. It is a goroutine of the runtime.
func heisenLook() {
	e := &heisenEnd
	e.gp.set(getg())
	systemstack(func() { newm(heisenWatch, nil, -1) })
	for {
		lock(&e.lock)
		switch {
		case atomic.Load(&e.signal) != 0:
			unlock(&e.lock)
			heisenEndBySignal()
		case atomic.Load(&e.quit) != 0:
			unlock(&e.lock)
			heisenLookOnly()
		default:
			e.idle = true
			goparkunlock(&e.lock, waitReasonForceGCIdle, traceBlockSystemGoroutine, 1)
		}
	}
}

// heisenEndBySignal looks and then ends the program by the signal that has come.
func heisenEndBySignal() {
	heisenLeaksAtEnd(0)
	heisenStop()
	systemstack(func() { heisenDie(atomic.Load(&heisenEnd.signal)) })
}

// heisenLookOnly looks because of SIGQUIT. The program goes on, unless it runs tests.
func heisenLookOnly() {
	e := &heisenEnd
	found := 0
	if heisen.open && atomic.Load(&e.begun) == 0 {
		found = heisenSearchLeaks(heisenLeakScope{})
	}
	e.quitAt = nanotime()
	atomic.Store(&e.quit, 0)
	switch {
	case heisenTasks.some:
		atomic.Store(&e.dumps, 1)
		heisenRaise(heisenQuit)
	case found == 0:
		print("heisen: SIGQUIT: no goroutine was found that waits for ever and was not reported before; a second SIGQUIT within a second ends the program\n")
	}
}

// heisenWatch runs in the thread that signal handlers wake.
//
//go:nowritebarrierrec
func heisenWatch() {
	e := &heisenEnd
	heisenOwnThread()
	atomic.Store(&e.ready, 1)
	for {
		left := int64(-1)
		if until := atomic.Loadint64(&e.until); until != 0 {
			if left = until - nanotime1(); left <= 0 {
				heisenEndNow()
			}
		}
		heisenSleepOn(&e.wake, 0, left)
		if atomic.Xchg(&e.wake, 0) != 0 {
			e.wakeGoroutine()
		}
	}
}

// wakeGoroutine makes the goroutine that looks runnable, if it is parked and a signal has come.
func (e *heisenEndState) wakeGoroutine() {
	lock(&e.lock)
	if e.idle && atomic.Load(&e.signal)|atomic.Load(&e.quit) != 0 {
		e.idle = false
		var list gList
		list.push(e.gp.ptr())
		injectglist(&list)
	}
	unlock(&e.lock)
}

// wakeThread wakes the thread. It may run in a signal handler.
func (e *heisenEndState) wakeThread() {
	atomic.Store(&e.wake, 1)
	heisenWakeUp(&e.wake, 1)
}

// limit bounds the time until the search is over.
func (e *heisenEndState) limit() {
	atomic.Storeint64(&e.until, nanotime1()+heisenLongestLook)
	e.wakeThread()
}

// goesOn bounds the time until the next call of it, or until the search is over, if that is bounded.
func (e *heisenEndState) goesOn() {
	if until := atomic.Loadint64(&e.until); until != 0 {
		atomic.Casint64(&e.until, until, nanotime1()+heisenLongestLook)
	}
}

// unlimited takes the bound away, since the search is over.
func (e *heisenEndState) unlimited() { atomic.Storeint64(&e.until, 0) }

// heisenEndNow ends the program in the thread, since the search takes too long.
func heisenEndNow() {
	if heisenTryLock(&heisen.sendLock, heisenAbortPatience) {
		heisenUnlock(&heisen.sendLock)
		heisenLookFailed = true
		heisenReportFailedLook()
	}
	heisenAbort()
	if s := atomic.Load(&heisenEnd.signal); s != 0 {
		heisenDie(s)
	}
	exit(heisenEnd.status)
}

// heisenEndsLater is called in the handler of a signal that would end the program. It reports whether the
// program ends later, after it has looked. A thread that is in a system call stays in its handler: the call
// may be the one that has sent the signal, and nothing of the program follows it.
func heisenEndsLater(s uint32) bool {
	e := &heisenEnd
	if !e.takes() || !atomic.Cas(&e.signal, 0, s) {
		return false
	}
	e.limit()
	if mp := getg().m; mp.curg != nil && mp.locks == 0 && readgstatus(mp.curg) == _Gsyscall {
		for {
			usleep(heisenEndNap / 1000)
		}
	}
	return true
}

// heisenLooksOnly is called in the handler of a signal that makes the runtime print the stacks and exit. It
// reports whether the program looks instead, and goes on.
func heisenLooksOnly(s uint32) bool {
	e := &heisenEnd
	if s != heisenQuit || !e.takes() || atomic.Load(&e.dumps) != 0 || atomic.Load(&e.signal) != 0 ||
		nanotime1()-e.quitAt < heisenQuitAgain || !atomic.Cas(&e.quit, 0, 1) {
		if heisen.leaks && s == heisenQuit && !heisenCrashing() {
			heisenAbort()
		}
		return false
	}
	e.wakeThread()
	return true
}

// takes reports whether the thread can be woken and the analyzer told what it finds.
func (e *heisenEndState) takes() bool {
	return atomic.Load(&e.ready) != 0 && heisen.open && panicking.Load() == 0 && !heisenCrashing()
}

// heisenLeaksAtEnd looks for goroutines of the whole program that wait for ever. The current goroutine ends the
// program, with a status if no signal does. If another one is about to do so, it waits for that, for a while.
func heisenLeaksAtEnd(status int32) {
	e := &heisenEnd
	if !heisen.leaks || !heisen.open {
		return
	}
	if !atomic.Cas(&e.begun, 0, 1) {
		heisenAwaitEnd()
		return
	}
	e.status = status
	e.limit()
	main, returned := getg().goid == 1, !heisenSched.ending.exits
	heisenSearchLeaks(heisenLeakScope{returned: returned, over: main && (returned || heisenTests != 0)})
}

// heisenAwaitEnd waits until another goroutine has ended the program, for a while.
func heisenAwaitEnd() {
	for limit := nanotime() + heisenEndPatience; heisen.open && nanotime() < limit; {
		notetsleepg(&heisenNap, heisenEndNap)
	}
}

// heisenBeforeSyscallExit is called before the program exits by syscall.Exit, as os.Exit does in the end.
//
//go:nosplit
func heisenBeforeSyscallExit(status int) {
	if heisen.leaks {
		heisenSched.ending.exits = true
		heisenLeaksAtEnd(int32(status))
	}
	heisenStop()
}

// heisenBeforePanic is called when nobody has recovered a panic, by its goroutine.
//
//go:nosplit
func heisenBeforePanic() {
	heisenNoteFailing()
	if heisen.leaks {
		heisenSched.ending.exits = true
		heisenLeaksAtEnd(2)
	}
	heisenStop()
}

// heisenBeforeOwnSignal is called before the current goroutine, an ordinary one, sends the program a signal. If
// that ends the program, nothing is left to do when the signal arrives: the goroutine may go on until then.
func heisenBeforeOwnSignal(s uint32) {
	if heisen.open && heisenKillsUnhandled(s) {
		heisenSched.ending.exits = true
		heisenLeaksAtEnd(2)
		heisenStop()
	}
}

// heisenDeadlocked is called when no goroutine can ever continue, on the system stack of a thread that has
// noticed, right before the fatal error. No goroutine runs, so the world need not be stopped. Several threads may
// notice. The first one looks, and ends the program.
func heisenDeadlocked() {
	e := &heisenEnd
	if !heisen.leaks || !heisen.open {
		return
	}
	if !atomic.Cas(&e.begun, 0, 1) {
		usleep(heisenLongestLook / 1000)
		return
	}
	e.status = 2
	e.limit()
	found := 0
	if heisenTakeP() {
		found = heisenFindLeaksIn(nil, heisenLeakScope{over: true})
	}
	e.unlimited()
	if found > 0 {
		heisenCountLeaked()
	}
}

// heisenTakeP makes sure that the thread has a P, since places are noted in its buffer.
func heisenTakeP() bool {
	if getg().m.p != 0 {
		return true
	}
	lock(&sched.lock)
	pp, _ := pidleget(0)
	unlock(&sched.lock)
	if pp == nil {
		return false
	}
	acquirep(pp)
	return true
}

// heisenOnOrdinaryStack reports whether the current goroutine may call what stops the world: it is not in a
// system call, in the child of a fork, or in the runtime.
//
//go:nosplit
func heisenOnOrdinaryStack() bool {
	gp := getg()
	return gp == gp.m.curg && !gp.throwsplit && gp.m.locks == 0 && readgstatus(gp) == _Grunning && (*heisenG)(unsafe.Pointer(gp.racectx)) != nil
}

//go:build heisen_inject && unix

package runtime

import "internal/runtime/atomic"

// Signals, as the runtime handles them on all systems that are like Unix. See os.go.

const (
	heisenInterrupted = _EINTR
	heisenBusy        = _EAGAIN

	heisenQuit       = _SIGQUIT
	heisenNumSignals = uintptr(len(sigtable))
)

//go:nowritebarrierrec
func heisenBlockSignals() {
	blocked := sigset_all
	sigdelset(&blocked, sigPerThreadSyscall)
	sigdelset(&blocked, _SIGQUIT) // with GOTRACEBACK=crash
	sigprocmask(_SIG_SETMASK, &blocked, nil)
}

func heisenCrashing() bool { return crashing.Load() != 0 }

func heisenRaise(s uint32) { raiseproc(s) }

func heisenDie(s uint32) { dieFromSignal(s) }

func heisenKillsUnhandled(s uint32) bool { return sigtable[s].flags&_SigKill != 0 && heisenEndsBy(s) }

// heisenEndsBy reports whether the program neither handles nor ignores a signal.
func heisenEndsBy(s uint32) bool {
	word, bit := s/32, uint32(1)<<(s&31)
	return atomic.Load(&sig.wanted[word])&bit == 0 && atomic.Load(&sig.ignored[word])&bit == 0
}

// heisenBeforeSIGPIPE is called when the program has written to a pipe that nobody reads, and ends unless it
// handles that.
func heisenBeforeSIGPIPE() {
	if heisenEndsBy(_SIGPIPE) {
		heisenSched.ending.exits = true
		heisenLeaksAtEnd(2)
	}
}

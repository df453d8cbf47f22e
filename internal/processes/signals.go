//go:build !plan9

package processes

import (
	"os"
	"syscall"
)

// Signal is a signal of the operating system.
type Signal = syscall.Signal

// The signals that heisen knows, by their numbers, which all systems with signals share.
const (
	Hangup    = Signal(1)
	Interrupt = Signal(2)
	Quit      = Signal(3)
	Kill      = Signal(9)
	Terminate = Signal(15)
)

// EndedBy returns the signal that has ended a process, 0 if none has.
func EndedBy(state *os.ProcessState) Signal {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal()
	}
	return 0
}

package processes

import "os"

// Signal stands for a signal: Plan 9 has notes instead, of which heisen gets none.
type Signal uint32

// The signals that heisen knows.
const (
	Hangup    = Signal(1)
	Interrupt = Signal(2)
	Quit      = Signal(3)
	Kill      = Signal(9)
	Terminate = Signal(15)
)

// Signal makes it an os.Signal.
func (Signal) Signal() {}

// String returns a name for it.
func (s Signal) String() string { return "signal" }

// EndedBy returns 0: no signal ends a process.
func EndedBy(*os.ProcessState) Signal { return 0 }

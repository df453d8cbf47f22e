//go:build heisen_inject && !unix

package runtime

// There are no signals that end a program: the runtime makes them of what the system tells it. See os.go.

const (
	heisenInterrupted = 4 // as on other systems; the runtime returns neither
	heisenBusy        = 11

	heisenQuit       = 3
	heisenNumSignals = 0
)

//go:nowritebarrierrec
func heisenBlockSignals() {}

func heisenCrashing() bool { return false }

func heisenRaise(uint32) {}

func heisenDie(uint32) { exit(2) }

func heisenKillsUnhandled(uint32) bool { return false }

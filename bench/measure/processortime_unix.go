//go:build unix

package measure

import (
	"syscall"
	"time"
)

// ProcessorTime returns the processor time of this process so far, that of garbage collection included.
func ProcessorTime() time.Duration { return used(0) }

// ProcessorTimeWithChildren returns also the processor time of child processes that have ended and were waited for.
func ProcessorTimeWithChildren() time.Duration { return used(0) + used(-1) }

// used returns the processor time of this process, or of its children. The numbers are the same on all systems, and not all have
// names for them in package syscall.
func used(who int) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(who, &used); err != nil {
		panic(err) // the arguments are right
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

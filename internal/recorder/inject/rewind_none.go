//go:build heisen_inject && (!linux || !amd64)

package runtime

import "unsafe"

// No process makes one execution after another. See rewind_linux_amd64.go.

func heisenRewinds(*[heisenForkFiles + 1]int32) (again bool) { return false }

func heisenRewinding() bool { return false }

func heisenExecutionStarts() {}

func heisenEndExecution(int32) {}

func heisenMonitorStarts() {}

func heisenTemplateStarts() {}

func heisenSenderSleeps() bool { return false }

func heisenBeforeC() {}

//go:nosplit
func heisenBeforeCall(trap, a1 uintptr) {}

//go:nosplit
func heisenThreadStarts() {}

func heisenWakesMonitor(uint32) {}

//go:nosplit
func heisenMapped(unsafe.Pointer, uintptr) {}

//go:nosplit
func heisenUnmaps() {}

package tree

import (
	"syscall"
	"time"
	"unsafe"
)

var (
	kernel          = syscall.NewLazyDLL("kernel32.dll")
	queryCounter    = kernel.NewProc("QueryPerformanceCounter")
	queryFrequency  = kernel.NewProc("QueryPerformanceFrequency")
	ticksInASecond  = max(ticks(queryFrequency), 1)
	ticksAtTheStart = ticks(queryCounter)
)

// ticks returns what a function of Windows says about its counter. These functions do not fail.
func ticks(function *syscall.LazyProc) (n int64) {
	function.Call(uintptr(unsafe.Pointer(&n)))
	return n
}

// clock returns the time since a fixed moment. Batches take microseconds, and package time knows milliseconds here.
func clock() time.Duration {
	passed := ticks(queryCounter) - ticksAtTheStart
	return time.Duration(passed/ticksInASecond)*time.Second + time.Duration(passed%ticksInASecond)*time.Second/time.Duration(ticksInASecond)
}

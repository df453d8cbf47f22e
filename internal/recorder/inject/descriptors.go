//go:build heisen_inject

package runtime

import "unsafe"

// Which of the descriptors that goroutines wait for can be answered from outside of the process. What
// goroutines of the program send to each other arrives at once, so a wait for that needs no time. A
// socket that listens, or that is not connected, is answered by the program itself or by a process that it has started.
// The operating system knows which is which (heisenFromOutside).
//
// heisenPollOpen and heisenPollClose run on goroutines, the others in the scheduler, on the system stack.

// heisenDescriptors has the address of the pollDesc of each descriptor that the poller knows, 0 for others.
// These are never freed. heisenDescriptorsEnd is above all of them.
var (
	heisenDescriptors    [4096]uintptr
	heisenDescriptorsEnd uintptr
)

//go:nosplit
func heisenPollOpen(fd uintptr, pd *pollDesc) {
	if fd < uintptr(len(heisenDescriptors)) {
		heisenDescriptors[fd] = uintptr(unsafe.Pointer(pd))
		heisenDescriptorsEnd = max(heisenDescriptorsEnd, fd+1)
	}
}

//go:nosplit
func heisenPollClose(fd uintptr) {
	if fd < uintptr(len(heisenDescriptors)) {
		heisenDescriptors[fd] = 0
	}
}

// heisenAwaited returns a goroutine that waits for a descriptor at which something outside can answer,
// nil if there is none.
func heisenAwaited() *g {
	for fd := range heisenDescriptorsEnd {
		if gp := heisenWaiter(heisenDescriptors[fd]); gp != nil && heisenFromOutside(fd) {
			return gp
		}
	}
	return nil
}

// heisenWaiter returns a goroutine that waits for what a pollDesc describes.
func heisenWaiter(desc uintptr) *g {
	if desc == 0 {
		return nil
	}
	pd := (*pollDesc)(unsafe.Pointer(desc))
	for _, waits := range [...]uintptr{pd.rg.Load(), pd.wg.Load()} {
		if waits > pdWait {
			return (*g)(unsafe.Pointer(waits))
		}
	}
	return nil
}

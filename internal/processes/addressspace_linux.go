package processes

import "syscall"

// AddressSpace returns the bound on the address space of processes (ulimit -v), in bytes; all bits are set if
// there is none.
func AddressSpace() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &limit); err != nil {
		return 1<<64 - 1
	}
	return limit.Cur
}

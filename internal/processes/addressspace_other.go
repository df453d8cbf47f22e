//go:build !linux

package processes

// AddressSpace returns the bound on the address space of processes. Heisen looks for one on Linux only.
func AddressSpace() uint64 { return 1<<64 - 1 }

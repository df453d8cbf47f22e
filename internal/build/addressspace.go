package build

import (
	"fmt"

	"github.com/heisen-go/heisen/internal/processes"
)

// leastAddressSpace is what heisen needs itself, in bytes: each of its threads may reserve 64 MiB for
// the C library's allocator and 8 MiB for its stack. With less, creating a thread may fail at any time,
// and the runtime ends a process that cannot create one.
const leastAddressSpace = 2500 << 20

// checkAddressSpace returns an error if the address space of processes is limited to less than heisen
// needs.
func checkAddressSpace() error {
	if limit := processes.AddressSpace(); limit < leastAddressSpace {
		return fmt.Errorf("address space is limited to %d MiB (ulimit -v), and heisen needs %d", limit>>20, uint64(leastAddressSpace)>>20)
	}
	return nil
}

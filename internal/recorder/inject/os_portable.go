//go:build heisen_inject && !linux

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// The operating system as far as package runtime knows it on all of its ports. See os.go.
//
// Memory comes from where the runtime takes its own, by the functions below its statistics, so that it counts
// for no limit of the heap. Not all systems hand out memory that costs nothing before it is touched, so cells are
// mapped as the heap grows, and tables are small.

const (
	heisenLazy = false

	// heisenPortableTables bounds the sizes of tables: a table takes a small share of it.
	heisenPortableTables = 8 << 30

	// A thread that sleeps looks at its word again and again, and the less often the longer it has slept.
	heisenFirstNap = 20        // µs
	heisenLastNap  = 1000      // µs
	heisenSleepCap = 20 * 1000 // µs, of all naps
)

func heisenMap(n uintptr) unsafe.Pointer { return sysAllocOS(alignUp(n, physPageSize), "heisen") }

func heisenAddresses(n uintptr) uintptr { return uintptr(sysReserveOS(nil, n, "heisen")) }

// heisenMapFixed maps memory at addresses of heisenAddresses. If there is none, the program ends, as it does
// if the heap cannot grow.
func heisenMapFixed(at, n uintptr) bool {
	sysMapOS(unsafe.Pointer(at), n, "heisen")
	sysUsedOS(unsafe.Pointer(at), n)
	return true
}

func heisenUnmap(p unsafe.Pointer, n uintptr) { sysFreeOS(p, alignUp(n, physPageSize)) }

// heisenZero maps the memory again.
func heisenZero(p unsafe.Pointer, n uintptr) {
	n = alignUp(n, physPageSize)
	sysUnusedOS(p, n)
	sysMapOS(p, n, "heisen")
	sysUsedOS(p, n)
}

func heisenMakeHuge(unsafe.Pointer, uintptr) {}

func heisenLimitedSpace() (left uintptr, limited bool) { return 0, false }

func heisenAddressSpace() uintptr { return heisenPortableTables }

//go:nosplit
func heisenSleepOn(word *uint32, value uint32, ns int64) {
	most := int64(heisenSleepCap)
	if ns >= 0 {
		most = min(most, ns/1000)
	}
	for nap := int64(heisenFirstNap); most > 0 && atomic.Load(word) == value; nap = min(2*nap, heisenLastNap) {
		usleep(uint32(min(nap, most)))
		most -= nap
	}
}

//go:nosplit
func heisenWakeUp(*uint32, uint32) {}

func heisenOpenToAppend(*byte, bool) int32 { return -1 }

func heisenFromOutside(uintptr) bool { return true }

func heisenChildRuns(int32) bool { return false }

func heisenGroupRuns() bool { return false }

func heisenThreadSleeps(uint64) bool { return true }

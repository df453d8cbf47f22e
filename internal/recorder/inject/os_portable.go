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
//
// The runtime has no way to ask how much there is. It can try, and give back: addresses by sysReserveOS, and memory
// by sysAllocOS. Only these two return if there is not enough.

const (
	heisenLazy = false

	// heisenPortableTables bounds the sizes of tables: a table takes a small share of it.
	heisenPortableTables = 8 << 30

	// Addresses count as limited if there are not heisenPlenty of them. How many are left is known to
	// heisenLeastAddresses.
	heisenPlenty         = 1 << 37
	heisenLeastAddresses = 1 << 20

	// Where addresses are not limited, memory may be. Cells leave so much of it, and as much as the heap has that
	// has cells, so that the heap can grow further without.
	heisenMemoryRoom = 64 << 20

	// A thread that sleeps looks at its word again and again, and the less often the longer it has slept.
	heisenFirstNap = 20        // µs
	heisenLastNap  = 1000      // µs
	heisenSleepCap = 20 * 1000 // µs, of all naps
)

// heisenAddressesKnown has what is known of the addresses of this process.
var heisenAddressesKnown struct {
	tried, plenty bool
	lo, size      uintptr // what heisenAddresses has handed out
	mapped        uintptr // how much of it has memory
}

func heisenMap(n uintptr) unsafe.Pointer { return sysAllocOS(alignUp(n, physPageSize), "heisen") }

func heisenAddresses(n uintptr) uintptr {
	if heisenSpaceIsLimited() {
		return 0
	}
	k := &heisenAddressesKnown
	if k.lo = uintptr(sysReserveOS(nil, n, "heisen")); k.lo != 0 {
		k.size = n
	}
	return k.lo
}

// heisenMapFixed tries to get the memory first, because package runtime ends the program if it cannot back
// addresses. Addresses that heisenAddresses has not handed out are reserved as package runtime does for the heap:
// the system is asked for them, and may give others.
func heisenMapFixed(at, n uintptr) bool {
	k := &heisenAddressesKnown
	needed := n
	if k.size != 0 {
		needed += heisenMemoryRoom + k.mapped/(2*heisenCellSize/8)
	}
	p := sysAllocOS(needed, "heisen")
	if p == nil {
		return false
	}
	sysFreeOS(p, needed)
	if at-k.lo < k.size {
		k.mapped += n
	} else {
		if p = sysReserveOS(unsafe.Pointer(at), n, "heisen"); p == nil {
			return false
		}
		if uintptr(p) != at {
			sysFreeOS(p, n)
			return false
		}
	}
	sysMapOS(unsafe.Pointer(at), n, "heisen")
	sysUsedOS(unsafe.Pointer(at), n)
	return true
}

func heisenUnmap(p unsafe.Pointer, n uintptr) { sysFreeOS(p, alignUp(n, physPageSize)) }

// heisenUnmapFixed keeps the addresses on Windows, which releases only what was reserved by one call.
func heisenUnmapFixed(at, n uintptr) {
	if GOOS == "windows" {
		sysUnusedOS(unsafe.Pointer(at), n)
	} else {
		sysFreeOS(unsafe.Pointer(at), n)
	}
}

// heisenZero maps the memory again.
func heisenZero(p unsafe.Pointer, n uintptr) {
	n = alignUp(n, physPageSize)
	sysUnusedOS(p, n)
	sysMapOS(p, n, "heisen")
	sysUsedOS(p, n)
}

func heisenMakeHuge(unsafe.Pointer, uintptr) {}

// heisenReservable reports whether n addresses can be reserved now.
func heisenReservable(n uintptr) bool {
	p := sysReserveOS(nil, n, "heisen")
	if p == nil {
		return false
	}
	sysFreeOS(p, n)
	return true
}

func heisenSpaceIsLimited() bool {
	k := &heisenAddressesKnown
	if !k.tried {
		k.tried, k.plenty = true, heisenReservable(heisenPlenty)
	}
	return !k.plenty
}

func heisenLimitedSpace() (left uintptr, limited bool) {
	if !heisenSpaceIsLimited() {
		return 0, false
	}
	for more := uintptr(heisenPlenty) / 2; more >= heisenLeastAddresses; more /= 2 {
		if heisenReservable(left + more) {
			left += more
		}
	}
	return left, true
}

func heisenHasSpace(n uintptr) bool { return !heisenSpaceIsLimited() || heisenReservable(n) }

func heisenAddressSpace() uintptr {
	if left, limited := heisenLimitedSpace(); limited {
		return min(left, heisenPortableTables)
	}
	return heisenPortableTables
}

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

func heisenFromOutside(uintptr) bool { return true }

func heisenChildRuns(int32) bool { return false }

func heisenGroupRuns() bool { return false }

func heisenThreadSleeps(uint64) bool { return true }

//go:build heisen_inject

package runtime

import "unsafe"

// Address space: how much there is, and the part that tables take. On Linux, the kernel backs a table with memory when it is touched.

const (
	// heisenLeastRoom is what must be left beside the first arena of the heap.
	heisenLeastRoom = 48 << 20

	// heisenMaxTables is the number of tables that heisenReleaseTables can release.
	heisenMaxTables = 48
)

// heisenTables has the address space that tables take: its size, and where the first ones are.
var heisenTables heisenTableSpace

type heisenTableSpace struct {
	size, n uintptr
	at      [heisenMaxTables]struct{ at, size uintptr }
}

func (t *heisenTableSpace) add(at, size uintptr) {
	t.size += size
	if t.n < heisenMaxTables {
		t.at[t.n].at, t.at[t.n].size = at, size
		t.n++
	}
}

// heisenReserve returns zeroed memory that is allocated when it is touched, nil if there is no
// address space.
func heisenReserve(n uintptr) unsafe.Pointer {
	p := heisenMap(n)
	if p != nil && !heisen.on {
		heisenTables.add(uintptr(p), n)
	}
	return p
}

// heisenMapAt maps n zeroed bytes at an address, and reports whether it could. What is mapped there
// already stays.
func heisenMapAt(at, n uintptr) bool {
	if !heisenMapFixed(at, n) {
		return false
	}
	heisenTables.add(at, n)
	return true
}

// heisenReleaseTables releases the tables of a program that turns out to have no address space for
// all of them. It is called during initialization, before hooks record anything.
func heisenReleaseTables() {
	heisen.races = false
	heisenShadow = heisenShadowMemory{}
	t := &heisenTables
	for i := range t.n {
		heisenUnmap(unsafe.Pointer(t.at[i].at), t.at[i].size)
	}
	t.n, t.size = 0, 0
}

// heisenLeavesRoom reports whether enough address space is left for what the runtime itself needs.
func heisenLeavesRoom() bool {
	left, limited := heisenLimitedSpace()
	return !limited || left >= heisenLeastRoom
}

// heisenPowerFor returns the power of two, up to most, by which something must be smaller to be no
// larger than room.
func heisenPowerFor(size, room uintptr, most uint32) (power uint32) {
	for power < most && size>>power > room {
		power++
	}
	return power
}

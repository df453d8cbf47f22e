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
	at      [heisenMaxTables]heisenTableAt
}

// heisenTableAt is where a table is, or a part of it that is mapped at an address of its own.
type heisenTableAt struct {
	at, size uintptr
	fixed    bool
}

func (t *heisenTableSpace) add(table heisenTableAt) {
	t.size += table.size
	if t.n < heisenMaxTables {
		t.at[t.n] = table
		t.n++
	}
}

// heisenReserve returns zeroed memory that is allocated when it is touched, nil if there is no
// address space.
func heisenReserve(n uintptr) unsafe.Pointer {
	p := heisenMap(n)
	if p != nil && !heisen.on {
		heisenTables.add(heisenTableAt{at: uintptr(p), size: n})
	}
	return p
}

// heisenMapAt maps n zeroed bytes at an address, and reports whether it could. What is mapped there
// already stays.
func heisenMapAt(at, n uintptr) bool {
	if !heisenMapFixed(at, n) {
		return false
	}
	heisenTables.add(heisenTableAt{at: at, size: n, fixed: true})
	return true
}

// heisenReleaseTables releases the tables of a program that turns out to have no address space for
// all of them. It is called during initialization, before hooks record anything.
func heisenReleaseTables() {
	heisen.races = false
	heisenShadow = heisenShadowMemory{}
	t := &heisenTables
	for _, table := range t.at[:t.n] {
		if table.fixed {
			heisenUnmapFixed(table.at, table.size)
		} else {
			heisenUnmap(unsafe.Pointer(table.at), table.size)
		}
	}
	t.n, t.size = 0, 0
}

// heisenLeavesRoom reports whether enough address space is left for what the runtime itself needs.
func heisenLeavesRoom() bool { return heisenHasSpace(heisenLeastRoom) }

// heisenScarce says what there is not enough of, if tables do not have all that they could use.
func heisenScarce() string {
	if heisenLazy || heisenSpaceIsLimited() {
		return "address space is limited (ulimit -v)"
	}
	return "shadow memory is small on this system"
}

// heisenPowerFor returns the power of two, up to most, by which something must be smaller to be no
// larger than room.
func heisenPowerFor(size, room uintptr, most uint32) (power uint32) {
	for power < most && size>>power > room {
		power++
	}
	return power
}

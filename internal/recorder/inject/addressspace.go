//go:build heisen_inject

package runtime

import (
	linux "internal/runtime/syscall/linux"
	"unsafe"
)

// Address space: how much there is, and the part that tables take. The kernel backs a table with memory when it is touched.

const (
	heisenNoReserve      = 0x4000   // MAP_NORESERVE: memory that is never touched costs nothing
	heisenFixedNoReplace = 0x100000 // MAP_FIXED_NOREPLACE, which old kernels take for a hint

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
	p := heisenMap(nil, n, 0)
	if p != nil && !heisen.on {
		heisenTables.add(uintptr(p), n)
	}
	return p
}

// heisenMapAt maps n zeroed bytes at an address, and reports whether it could. What is mapped there
// already stays.
func heisenMapAt(at, n uintptr) bool {
	p := heisenMap(unsafe.Pointer(at), n, heisenFixedNoReplace)
	if p != nil && uintptr(p) != at {
		munmap(p, n)
		return false
	}
	if p == nil {
		return false
	}
	heisenTables.add(at, n)
	return true
}

func heisenMap(at unsafe.Pointer, n uintptr, flags int32) unsafe.Pointer {
	p, err := mmap(at, n, _PROT_READ|_PROT_WRITE, _MAP_ANON|_MAP_PRIVATE|heisenNoReserve|flags, -1, 0)
	if err != 0 {
		return nil
	}
	sysNoHugePage(p, n) // the touched parts are scattered
	return p
}

// heisenReleaseTables releases the tables of a program that turns out to have no address space for
// all of them. It is called during initialization, before hooks record anything.
func heisenReleaseTables() {
	heisen.races = false
	heisenShadow = heisenShadowMemory{}
	t := &heisenTables
	for i := range t.n {
		munmap(unsafe.Pointer(t.at[i].at), t.at[i].size)
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

// heisenLimitedSpace returns about how much address space is left to a process for which it is
// limited (ulimit -v), and whether it is.
func heisenLimitedSpace() (left uintptr, limited bool) {
	const limitOfAddressSpace, unlimited = 9, 1<<64 - 1
	var limit struct{ current, most uint64 }
	_, _, errno := linux.Syscall6(heisenSysPrlimit, 0, limitOfAddressSpace, 0, uintptr(noescape(unsafe.Pointer(&limit))), 0, 0)
	if errno != 0 || limit.current == unlimited {
		return 0, false
	}
	used := uint64(heisenPagesUsed()) * uint64(physPageSize)
	return uintptr(max(limit.current, used) - used), true
}

// heisenAddressSpace returns about how much address space is left. If it is limited, it does not try,
// for an emulator pays for every page.
func heisenAddressSpace() uintptr {
	if left, limited := heisenLimitedSpace(); limited {
		return left
	}
	// Reservations count as memory where the kernel does not overcommit.
	for n := uintptr(1 << 46); n >= 1<<28; n /= 2 {
		if p, err := mmap(nil, n, _PROT_READ|_PROT_WRITE, _MAP_ANON|_MAP_PRIVATE|heisenNoReserve, -1, 0); err == 0 {
			munmap(p, n)
			return n
		}
	}
	return 0
}

// heisenPagesUsed returns the pages of the address space that the process has.
func heisenPagesUsed() (pages uintptr) {
	path := "/proc/self/statm\x00"
	fd := open(unsafe.StringData(path), _O_RDONLY|_O_CLOEXEC, 0)
	if fd < 0 {
		return 0
	}
	var text [32]byte
	n := read(fd, noescape(unsafe.Pointer(&text)), int32(len(text)))
	closefd(fd)
	for i := int32(0); i < n && text[i] >= '0' && text[i] <= '9'; i++ {
		pages = 10*pages + uintptr(text[i]-'0')
	}
	return pages
}

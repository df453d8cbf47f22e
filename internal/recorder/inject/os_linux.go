//go:build heisen_inject

package runtime

import (
	linux "internal/runtime/syscall/linux"
	"unsafe"
)

// The operating system on Linux, by system calls. See os.go.

const (
	heisenNoReserve      = 0x4000   // MAP_NORESERVE: memory that is never touched costs nothing
	heisenFixedNoReplace = 0x100000 // MAP_FIXED_NOREPLACE, which old kernels take for a hint

	heisenHugePages = 14 // MADV_HUGEPAGE
	heisenCollapse  = 25 // MADV_COLLAPSE

	heisenLazy = true
)

func heisenMap(n uintptr) unsafe.Pointer { return heisenMapWith(nil, n, 0) }

func heisenAddresses(uintptr) uintptr { return 0 }

func heisenMapFixed(at, n uintptr) bool {
	p := heisenMapWith(unsafe.Pointer(at), n, heisenFixedNoReplace)
	if p != nil && uintptr(p) != at {
		munmap(p, n)
		return false
	}
	return p != nil
}

func heisenMapWith(at unsafe.Pointer, n uintptr, flags int32) unsafe.Pointer {
	p, err := mmap(at, n, _PROT_READ|_PROT_WRITE, _MAP_ANON|_MAP_PRIVATE|heisenNoReserve|flags, -1, 0)
	if err != 0 {
		return nil
	}
	sysNoHugePage(p, n) // the touched parts are scattered
	heisenMapped(p, n)
	return p
}

func heisenUnmap(p unsafe.Pointer, n uintptr) {
	heisenUnmaps()
	munmap(p, n)
}

func heisenUnmapFixed(at, n uintptr) { heisenUnmap(unsafe.Pointer(at), n) }

func heisenZero(p unsafe.Pointer, n uintptr) {
	heisenUnmaps()
	madvise(p, n, _MADV_DONTNEED)
}

func heisenMakeHuge(p unsafe.Pointer, n uintptr) {
	madvise(p, n, heisenHugePages)
	madvise(p, n, heisenCollapse)
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

func heisenSpaceIsLimited() bool {
	_, limited := heisenLimitedSpace()
	return limited
}

func heisenHasSpace(n uintptr) bool {
	left, limited := heisenLimitedSpace()
	return !limited || left >= n
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

//go:nosplit
func heisenSleepOn(word *uint32, value uint32, ns int64) { futexsleep(word, value, ns) }

//go:nosplit
func heisenWakeUp(word *uint32, n uint32) { futexwakeup(word, n) }

func heisenThreadSleeps(id uint64) bool {
	const before, after = "/proc/self/task/", "/stat\x00"
	var path [64]byte
	n := copy(path[:], before)
	var digits [20]byte
	n += copy(path[n:], itoa(digits[:], id))
	copy(path[n:], after)
	fd := open(&path[0], 0 /* O_RDONLY */, 0)
	if fd < 0 {
		return true
	}
	var text [256]byte
	got := read(fd, noescape(unsafe.Pointer(&text)), int32(len(text)))
	closefd(fd)
	// The state follows the name, which is in parentheses.
	for i := int(got) - 3; i >= 0; i-- {
		if text[i] == ')' {
			return text[i+2] != 'R' && text[i+2] != 'D'
		}
	}
	return true
}

// heisenChildRuns reports whether a child process has not ended.
func heisenChildRuns(pid int32) bool {
	const byPid, ended, noHang, noWait = 1, 4, 1, 0x01000000
	var info [128]byte // its first word is a signal number, 0 if the child runs
	_, _, errno := linux.Syscall6(heisenSysWaitid, byPid, uintptr(pid), uintptr(noescape(unsafe.Pointer(&info))), ended|noHang|noWait, 0, 0)
	return errno == 0 && *(*int32)(unsafe.Pointer(&info)) == 0
}

// heisenEntries has entries of a folder in /proc. Only deterministic runs use it.
var heisenEntries [4096]byte

// Where an entry has its length and its name.
const (
	heisenEntryLength = 16
	heisenEntryName   = 19
)

// heisenGroupRuns reports whether another process than this one runs in its process group. It knows that
// only of a group that this process leads.
func heisenGroupRuns() bool {
	self := heisenGetpid()
	if group, _, errno := linux.Syscall6(heisenSysGetpgid, 0, 0, 0, 0, 0, 0); errno != 0 || group != self {
		return false
	}
	path := "/proc\x00"
	fd := open(unsafe.StringData(path), _O_RDONLY|_O_CLOEXEC, 0)
	if fd < 0 {
		return false
	}
	found := false
	for !found {
		n, _, errno := linux.Syscall6(heisenSysGetdents, uintptr(fd), uintptr(unsafe.Pointer(&heisenEntries)), uintptr(len(heisenEntries)), 0, 0, 0)
		if errno != 0 || n == 0 {
			break
		}
		for at := uintptr(0); at < n && !found; at += uintptr(*(*uint16)(unsafe.Pointer(&heisenEntries[at+heisenEntryLength]))) {
			pid, digits := uintptr(0), at+heisenEntryName
			for ; heisenEntries[digits] >= '0' && heisenEntries[digits] <= '9'; digits++ {
				pid = 10*pid + uintptr(heisenEntries[digits]-'0')
			}
			found = heisenEntries[digits] == 0 && pid != 0 && pid != self && heisenRunsIn(pid, self)
		}
	}
	closefd(fd)
	return found
}

// heisenRunsIn reports whether a process is in a process group and has not ended.
func heisenRunsIn(pid, group uintptr) bool {
	const before, after = "/proc/", "/stat\x00"
	var path [40]byte
	n := copy(path[:], before)
	var digits [20]byte
	n += copy(path[n:], itoa(digits[:], uint64(pid)))
	copy(path[n:], after)
	fd := open(&path[0], _O_RDONLY|_O_CLOEXEC, 0)
	if fd < 0 {
		return false
	}
	var text [256]byte
	got := int(read(fd, noescape(unsafe.Pointer(&text)), int32(len(text))))
	closefd(fd)
	// Behind the name, which is in parentheses, are the state, the parent and the group.
	at := got - 1
	for at >= 0 && text[at] != ')' {
		at--
	}
	if at < 0 || at+2 >= got || text[at+2] == 'Z' || text[at+2] == 'X' {
		return false
	}
	spaces, in := 0, uintptr(0)
	for i := at + 1; i < got && spaces <= 3; i++ {
		switch {
		case text[i] == ' ':
			spaces++
		case spaces == 3:
			in = 10*in + uintptr(text[i]-'0')
		}
	}
	return in == group
}

// heisenFromOutside reports whether something outside of the process can make a descriptor ready.
func heisenFromOutside(fd uintptr) bool {
	const kinds, pipe, socket = 0xf000, 0x1000, 0xc000
	id, mode := heisenFileOf(int32(fd))
	switch mode & kinds {
	case pipe:
		return !heisenHasOtherEnd(fd, id)
	case socket:
		return heisenPeerOutside(fd)
	case 0:
		return heisenKernelAnswers(fd)
	}
	return true
}

// heisenHasOtherEnd reports whether the process itself has the other end of a pipe.
func heisenHasOtherEnd(fd uintptr, id heisenIdentity) bool {
	const both = 2
	mode := heisenAccessMode(fd)
	if mode == both {
		return true
	}
	for other := range max(heisenDescriptorsEnd, 3) {
		if other == fd || other > 2 && heisenDescriptors[other] == 0 {
			continue
		}
		if heisenIdentityOf(int32(other)) == id && heisenAccessMode(other) != mode {
			return true
		}
	}
	return false
}

// heisenAccessMode returns how a descriptor may be used.
func heisenAccessMode(fd uintptr) uintptr {
	const getFlags, modes = 3, 3
	flags, _, errno := linux.Syscall6(heisenSysFcntl, fd, getFlags, 0, 0, 0, 0)
	if errno != 0 {
		return modes
	}
	return flags & modes
}

// heisenKernelAnswers reports whether a descriptor that is no file becomes ready by itself: a timer, a
// process, a signal. Others become ready by what a process does.
func heisenKernelAnswers(fd uintptr) bool {
	const before, here = "/proc/self/fd/", -100
	var path [40]byte
	n := copy(path[:], before)
	var digits [20]byte
	n += copy(path[n:], itoa(digits[:], uint64(fd)))
	var link [64]byte
	at := here
	got, _, errno := linux.Syscall6(heisenSysReadlinkat, uintptr(at), uintptr(noescape(unsafe.Pointer(&path))),
		uintptr(noescape(unsafe.Pointer(&link))), uintptr(len(link)), 0, 0)
	if errno != 0 {
		return true
	}
	name := unsafe.String(&link[0], int(got))
	for _, quiet := range [...]string{"anon_inode:inotify", "anon_inode:[inotify]", "anon_inode:[eventfd]", "anon_inode:[eventpoll]"} {
		if name == quiet {
			return false
		}
	}
	return true
}

// heisenAddress is the address of a socket.
type heisenAddress struct {
	family uint16
	rest   [126]byte
}

// heisenAddressOf returns the address of a socket, or of its peer; family 0 if there is none.
func heisenAddressOf(call, fd uintptr) (a heisenAddress) {
	size := uint32(unsafe.Sizeof(a))
	_, _, errno := linux.Syscall6(call, fd, uintptr(noescape(unsafe.Pointer(&a))), uintptr(noescape(unsafe.Pointer(&size))), 0, 0, 0)
	if errno != 0 || size < 2 {
		return heisenAddress{}
	}
	return a
}

const (
	heisenAFInet  = 2
	heisenAFInet6 = 10
)

func (a *heisenAddress) port() uint16 { return uint16(a.rest[0])<<8 | uint16(a.rest[1]) }

// host returns the address of the machine, with that of IPv4 in the form of IPv6.
func (a *heisenAddress) host() (ip [16]byte) {
	if a.family == heisenAFInet {
		ip[10], ip[11] = 0xff, 0xff
		copy(ip[12:], a.rest[2:6])
	} else {
		copy(ip[:], a.rest[6:22])
	}
	return ip
}

// isLoopback reports whether the address is on this machine by its number.
func (a *heisenAddress) isLoopback() bool {
	ip := a.host()
	for _, b := range ip[:10] {
		if b != 0 {
			return false
		}
	}
	if ip[10] == 0xff && ip[11] == 0xff {
		return ip[12] == 127
	}
	return ip[10] == 0 && ip[11] == 0 && ip[12] == 0 && ip[13] == 0 && ip[14] == 0 && ip[15] == 1
}

// heisenSocketOption returns an option of a socket; 0 if it has none.
func heisenSocketOption(fd, option uintptr) int32 {
	const ofSockets = 1
	var value [3]int32
	size := uint32(unsafe.Sizeof(value))
	linux.Syscall6(heisenSysGetsockopt, fd, ofSockets, option, uintptr(noescape(unsafe.Pointer(&value))), uintptr(noescape(unsafe.Pointer(&size))), 0)
	return value[0]
}

const (
	heisenOptionType    = 3
	heisenOptionPeer    = 17 // a process
	heisenOptionListens = 30
)

// heisenPeerOutside reports whether a socket is connected, or about to be, with one that is not in this process.
func heisenPeerOutside(fd uintptr) bool {
	if heisenSocketOption(fd, heisenOptionListens) != 0 {
		return false
	}
	local, peer := heisenAddressOf(heisenSysGetsockname, fd), heisenAddressOf(heisenSysGetpeername, fd)
	switch local.family {
	case heisenAFUnix:
		pid := heisenSocketOption(fd, heisenOptionPeer)
		return pid > 0 && uintptr(pid) != heisenGetpid()
	case heisenAFInet, heisenAFInet6:
	default:
		return true
	}
	if peer.family == 0 { // on its own machine it would be connected by now
		return heisenSocketOption(fd, heisenOptionType) == heisenSockStream
	}
	if !peer.isLoopback() && local.host() != peer.host() {
		return true
	}
	for other := range heisenDescriptorsEnd {
		if other == fd || heisenDescriptors[other] == 0 {
			continue
		}
		a := heisenAddressOf(heisenSysGetsockname, other)
		if a.family != heisenAFInet && a.family != heisenAFInet6 || a.port() != peer.port() {
			continue
		}
		back := heisenAddressOf(heisenSysGetpeername, other)
		if back.family == 0 || back.port() == local.port() { // it listens, or is not connected, or is the peer
			return false
		}
	}
	return true
}

//go:build heisen_inject

package runtime

import (
	linux "internal/runtime/syscall/linux"
	"unsafe"
)

// Which of the descriptors that goroutines wait for can be answered from outside of the process. What
// goroutines of the program send to each other arrives at once, so a wait for that needs no time. A
// socket that listens, or that is not connected, is answered by the program itself or by a process that it has started.
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

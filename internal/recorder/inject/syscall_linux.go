//go:build heisen_inject

package runtime

import (
	linux "internal/runtime/syscall/linux"
	"unsafe"
)

// The system calls that package runtime does not have. They run during initialization, or where
// messages are sent: on the system stack, with heisen.sendLock held.

const (
	heisenAFUnix      = 1
	heisenSockStream  = 1
	heisenSockCloexec = 0x80000
	heisenDupCloexec  = 1030 // F_DUPFD_CLOEXEC
	heisenNoSignal    = 0x4000
)

// heisenConnect returns a descriptor connected to the socket at path, or the negated error.
func heisenConnect(path string) int32 {
	var addr struct {
		family uint16
		path   [108]byte
	}
	if len(path) >= len(addr.path) {
		return -36 // ENAMETOOLONG
	}
	addr.family = heisenAFUnix
	copy(addr.path[:], path)

	fd, _, errno := linux.Syscall6(heisenSysSocket, heisenAFUnix, heisenSockStream|heisenSockCloexec, 0, 0, 0, 0)
	if errno != 0 {
		return -int32(errno)
	}
	for {
		_, _, errno = linux.Syscall6(heisenSysConnect, fd, uintptr(unsafe.Pointer(&addr)), unsafe.Sizeof(addr.family)+uintptr(len(path))+1, 0, 0, 0)
		if errno != _EINTR {
			break
		}
	}
	if errno != 0 {
		closefd(int32(fd))
		return -int32(errno)
	}
	if high, _, errno := linux.Syscall6(heisenSysFcntl, fd, heisenDupCloexec, heisenFD, 0, 0, 0); errno == 0 {
		closefd(int32(fd))
		fd = high
	}
	return int32(fd)
}

// heisenSendto sends up to n bytes, without SIGPIPE. It returns the number sent or the negated
// error.
func heisenSendto(fd int32, p unsafe.Pointer, n uintptr) int {
	k, _, errno := linux.Syscall6(heisenSysSendto, uintptr(fd), uintptr(p), n, heisenNoSignal, 0, 0)
	if errno != 0 {
		return -int(errno)
	}
	return int(k)
}

func heisenGetpid() uintptr {
	pid, _, _ := linux.Syscall6(heisenSysGetpid, 0, 0, 0, 0, 0, 0)
	return pid
}

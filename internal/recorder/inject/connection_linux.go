//go:build heisen_inject

package runtime

import (
	linux "internal/runtime/syscall/linux"
	"unsafe"
)

// The connection to the analyzer: a socket in the file system. See os.go.

const (
	heisenAFUnix      = 1
	heisenSockStream  = 1
	heisenSockCloexec = 0x80000
	heisenNoSignal    = 0x4000
	heisenCloneFiles  = 0x400

	heisenCloseRangeUnshare = 2
	heisenOldDescriptors    = 1024 // inherited ones that are closed where there is no close_range
)

func heisenConnect(path string) (to, from int32) {
	fd := heisenConnectSocket(path)
	return fd, fd
}

// heisenPrintNoConnection prints the error that heisenConnect has returned.
func heisenPrintNoConnection(err int32) {
	switch err {
	case 2: // ENOENT
		print("there is no socket")
	case 111: // ECONNREFUSED
		print("nobody listens at the socket")
	default:
		print("error ", err)
	}
}

// heisenConnectSocket returns a descriptor connected to the socket at path, or the negated error.
func heisenConnectSocket(path string) int32 {
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
	return heisenMoveUp(int32(fd))
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

func heisenGetppid() uintptr {
	pid, _, _ := linux.Syscall6(heisenSysGetppid, 0, 0, 0, 0, 0, 0)
	return pid
}

// heisenTakeDescriptors gives the calling thread a table of descriptors of its own, with fd only.
// It reports whether the kernel allows that.
func heisenTakeDescriptors(fd int32) bool {
	const toTheLast = 1<<32 - 1
	_, _, errno := linux.Syscall6(heisenSysCloseRange, 0, uintptr(fd)-1, heisenCloseRangeUnshare, 0, 0, 0)
	if errno == 0 {
		linux.Syscall6(heisenSysCloseRange, uintptr(fd)+1, toTheLast, 0, 0, 0, 0)
		return true
	}
	// Linux before 5.9 has no close_range, and some sandboxes do not allow it.
	if _, _, errno = linux.Syscall6(heisenSysUnshare, heisenCloneFiles, 0, 0, 0, 0, 0); errno != 0 {
		return false
	}
	for other := range int32(heisenOldDescriptors) {
		if other != fd {
			closefd(other)
		}
	}
	return true
}

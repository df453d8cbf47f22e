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
	heisenDupCloexec  = 1030 // F_DUPFD_CLOEXEC
	heisenNoSignal    = 0x4000
	heisenCloneFiles  = 0x400

	heisenCloseRangeUnshare = 2
	heisenOldDescriptors    = 1024 // inherited ones that are closed where there is no close_range
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

// heisenIdentity is what identifies an open file.
type heisenIdentity struct{ device, inode uint64 }

// heisenIdentityOf returns the identity of what is open as fd; zero if nothing is.
func heisenIdentityOf(fd int32) heisenIdentity {
	id, _ := heisenFileOf(fd)
	return id
}

// heisenFileOf returns the identity and the mode of what is open as fd; zero if nothing is.
func heisenFileOf(fd int32) (id heisenIdentity, mode uint32) {
	var stat struct {
		id   heisenIdentity // struct stat begins with these on all supported platforms
		rest [128]byte
	}
	if _, _, errno := linux.Syscall6(heisenSysFstat, uintptr(fd), uintptr(noescape(unsafe.Pointer(&stat))), 0, 0, 0, 0); errno != 0 {
		return heisenIdentity{}, 0
	}
	return stat.id, *(*uint32)(add(noescape(unsafe.Pointer(&stat)), heisenModeAt))
}

//go:build heisen_inject

package runtime

import (
	linux "internal/runtime/syscall/linux"
	"unsafe"
)

const (
	heisenToEnd       = 0x400
	heisenCloseOnExec = _O_CLOEXEC
	heisenDupCloexec  = 1030 // F_DUPFD_CLOEXEC
)

//go:nosplit
func heisenGetpid() uintptr { return uintptr(getpid()) }

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

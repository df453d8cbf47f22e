//go:build heisen_inject

package runtime

import "unsafe"

const (
	heisenToEnd       = 0x8
	heisenCloseOnExec = _O_CLOEXEC
	heisenDupCloexec  = 17 // F_DUPFD_CLOEXEC
)

func heisenGetpid() uintptr // in files_freebsd_amd64.s

func heisenIdentityOf(fd int32) heisenIdentity {
	var stat struct {
		id   heisenIdentity
		rest [208]byte
	}
	if heisenFstat(fd, noescape(unsafe.Pointer(&stat))) != 0 {
		return heisenIdentity{}
	}
	return stat.id
}

// heisenFstat returns 0 if it could.
func heisenFstat(fd int32, stat unsafe.Pointer) int32 // in files_freebsd_amd64.s

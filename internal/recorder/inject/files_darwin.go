//go:build heisen_inject

package runtime

import (
	"internal/abi"
	"unsafe"
)

const (
	heisenToEnd       = 0x8
	heisenCloseOnExec = 0x1000000
	heisenDupCloexec  = 67 // F_DUPFD_CLOEXEC
)

//go:nosplit
func heisenGetpid() uintptr {
	return uintptr(libcCall(unsafe.Pointer(abi.FuncPCABI0(heisenGetpidTrampoline)), nil))
}

func heisenGetpidTrampoline() // in files_darwin_*.s

// heisenStat is what libc's fstat takes, and what it begins with on both processors: the names of a file may be removed
// meanwhile, and their number is beside that of the device.
type heisenStat struct {
	device, _ uint32
	inode     uint64
	_         [128]byte
}

func heisenIdentityOf(fd int32) heisenIdentity {
	var stat heisenStat
	args := struct {
		fd   int32
		stat unsafe.Pointer
	}{fd, noescape(unsafe.Pointer(&stat))}
	if libcCall(unsafe.Pointer(abi.FuncPCABI0(heisenFstatTrampoline)), noescape(unsafe.Pointer(&args))) != 0 {
		return heisenIdentity{}
	}
	return heisenIdentity{uint64(stat.device), stat.inode}
}

func heisenFstatTrampoline() // in files_darwin_*.s

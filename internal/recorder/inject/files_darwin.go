//go:build heisen_inject

package runtime

import (
	"internal/abi"
	"unsafe"
)

const (
	heisenToEnd       = 0x8
	heisenCloseOnExec = 0x1000000
)

//go:nosplit
func heisenGetpid() uintptr {
	return uintptr(libcCall(unsafe.Pointer(abi.FuncPCABI0(heisenGetpidTrampoline)), nil))
}

func heisenGetpidTrampoline() // in files_darwin_*.s

//go:build heisen_inject

package runtime

import "unsafe"

// Files on Windows, by functions of kernel32.dll that the runtime does not import. See os.go.

// heisenKernel32 has the addresses of the functions, once a program has asked for one. They are no pointers of Go, so that
// storing them is no write barrier.
var heisenKernel32 struct{ createFile, getCurrentProcessId uintptr }

// heisenLongestPath is the longest name of a file, in UTF-16.
const heisenLongestPath = 1024

func heisenLoadKernel32() {
	k := &heisenKernel32
	if k.createFile == 0 {
		name := [...]uint16{'k', 'e', 'r', 'n', 'e', 'l', '3', '2', '.', 'd', 'l', 'l', 0}
		lib := windowsLoadSystemLib(name[:])
		k.getCurrentProcessId = uintptr(unsafe.Pointer(windowsFindfunc(lib, []byte("GetCurrentProcessId\x00"))))
		k.createFile = uintptr(unsafe.Pointer(windowsFindfunc(lib, []byte("CreateFileW\x00"))))
	}
}

func heisenOpenToAppend(path *byte, empty bool) int32 {
	const (
		toAppend, shared            = 0x4, 0x7
		newOrEmpty, newOrOld, plain = 2, 4, 0x80
	)
	var name [heisenLongestPath]uint16
	if !heisenToUTF16(name[:], gostringnocopy(path)) {
		return -1
	}
	how := uintptr(newOrOld)
	if empty {
		how = newOrEmpty
	}
	heisenLoadKernel32()
	// Only 32 bits of the number of a file count, and none has the numbers of standard output and standard error.
	return int32(stdcall(stdFunction(unsafe.Pointer(heisenKernel32.createFile)), uintptr(noescape(unsafe.Pointer(&name))), toAppend, shared, 0, how, plain, 0))
}

// heisenToUTF16 writes a string with a final zero, and reports whether there is room. Characters of more than 16 bits
// do not occur: the runtime does not keep them in the environment.
func heisenToUTF16(to []uint16, s string) bool {
	n := 0
	for _, r := range s {
		if n+1 == len(to) {
			return false
		}
		to[n] = uint16(r)
		n++
	}
	to[n] = 0
	return true
}

func heisenCloseFile(fd int32) { stdcall(_CloseHandle, uintptr(fd)) }

func heisenGetpid() uintptr {
	heisenLoadKernel32()
	return stdcall(stdFunction(unsafe.Pointer(heisenKernel32.getCurrentProcessId)))
}

// heisenIdentity is empty: no program closes handles that it does not know.
type heisenIdentity struct{}

func heisenIdentityOf(int32) heisenIdentity { return heisenIdentity{} }

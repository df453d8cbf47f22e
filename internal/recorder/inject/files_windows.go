//go:build heisen_inject

package runtime

import "unsafe"

// Files on Windows, by functions of kernel32.dll that the runtime does not import. See os.go.

// heisenKernel32 has the addresses of the functions, once a program has asked for one. They are no pointers of Go, so that
// storing them is no write barrier.
var heisenKernel32 struct{ createFile, getCurrentProcessId, readFile, waitNamedPipe uintptr }

// heisenCallKernel32 calls a function of kernel32.dll.
func heisenCallKernel32(function uintptr, args ...uintptr) uintptr {
	return stdcall(stdFunction(unsafe.Pointer(function)), args...)
}

// heisenLongestPath is the longest name of a file, in UTF-16.
const heisenLongestPath = 1024

func heisenLoadKernel32() {
	k := &heisenKernel32
	if k.createFile != 0 {
		return
	}
	name := [...]uint16{'k', 'e', 'r', 'n', 'e', 'l', '3', '2', '.', 'd', 'l', 'l', 0}
	lib := windowsLoadSystemLib(name[:])
	find := func(name []byte) uintptr { return uintptr(unsafe.Pointer(windowsFindfunc(lib, name))) }
	k.getCurrentProcessId = find([]byte("GetCurrentProcessId\x00"))
	k.readFile = find([]byte("ReadFile\x00"))
	k.waitNamedPipe = find([]byte("WaitNamedPipeW\x00"))
	k.createFile = find([]byte("CreateFileW\x00"))
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
	return int32(heisenCallKernel32(heisenKernel32.createFile, uintptr(noescape(unsafe.Pointer(&name))), toAppend, shared, 0, how, plain, 0))
}

// heisenToUTF16 writes strings with a final zero, and reports whether there is room. Characters of more than 16 bits
// do not occur: the runtime does not keep them in the environment.
func heisenToUTF16(to []uint16, parts ...string) bool {
	n := 0
	for _, part := range parts {
		for _, r := range part {
			if n+1 == len(to) {
				return false
			}
			to[n] = uint16(r)
			n++
		}
	}
	to[n] = 0
	return true
}

func heisenCloseFile(fd int32) { stdcall(_CloseHandle, uintptr(fd)) }

func heisenReadFile(fd int32, p unsafe.Pointer, n int32) int32 {
	var got uint32
	if heisenCallKernel32(heisenKernel32.readFile, uintptr(fd), uintptr(p), uintptr(n), uintptr(noescape(unsafe.Pointer(&got))), 0) == 0 {
		return -1
	}
	return int32(got)
}

func heisenGetpid() uintptr {
	heisenLoadKernel32()
	return heisenCallKernel32(heisenKernel32.getCurrentProcessId)
}

// heisenCallsSystem knows what package syscall passes to cgocall.
func heisenCallsSystem(c unsafe.Pointer) bool { return c == asmstdcallAddr }

// heisenIdentity is empty: no program closes handles that it does not know.
type heisenIdentity struct{}

func heisenIdentityOf(int32) heisenIdentity { return heisenIdentity{} }

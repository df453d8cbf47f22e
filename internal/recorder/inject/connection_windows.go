//go:build heisen_inject

package runtime

import "unsafe"

// The connection to the analyzer: an instance of a named pipe, which carries bytes in both directions. See os.go.
//
// The analyzer always has instances that wait for a program, but for moments. Beside the pipe it has another one with the same
// name and an ending, to which nobody connects: the pipe itself exists as long as a program is connected, the door only while
// more may come.

const (
	heisenDoor     = "-door"
	heisenFreeWait = 1000 // ms for an instance, before the program looks at the door again

	// Errors of the system.
	heisenNoSuchPipe   = 2
	heisenNoSuchFolder = 3
	heisenAllBusy      = 231
)

// heisenConnect returns the handle of the analyzer's pipe at path, for both directions.
func heisenConnect(path string) (to, from int32) {
	var pipe, door [heisenLongestPath]uint16
	if !heisenToUTF16(pipe[:], path) || !heisenToUTF16(door[:], path, heisenDoor) {
		return -heisenNoSuchPipe, -heisenNoSuchPipe
	}
	heisenLoadKernel32()
	for {
		fd, failed := heisenOpenPipe(&pipe)
		if failed == heisenAllBusy && heisenAwaitPipe(&door, 1) != heisenNoSuchPipe {
			heisenAwaitPipe(&pipe, heisenFreeWait)
			continue
		}
		if failed != 0 {
			return -int32(failed), -int32(failed)
		}
		return fd, fd
	}
}

func heisenPrintNoConnection(why int32) {
	if why == heisenNoSuchPipe || why == heisenNoSuchFolder {
		print("there is no pipe")
		return
	}
	print("error ", why)
}

// heisenOpenPipe opens an instance of a named pipe, or returns why it could not. Who has made the pipe learns nothing of the user.
func heisenOpenPipe(name *[heisenLongestPath]uint16) (fd int32, failed uint32) {
	const (
		readAndWrite = 0xc0000000
		existing     = 3
		anonymously  = 0x100000
	)
	handle := heisenCallKernel32(heisenKernel32.createFile, uintptr(noescape(unsafe.Pointer(name))), readAndWrite, 0, 0, existing, anonymously, 0)
	if handle == ^uintptr(0) {
		return -1, getlasterror()
	}
	return int32(handle), 0
}

// heisenAwaitPipe waits until an instance of a named pipe is free. It returns 0, or why it did not.
func heisenAwaitPipe(name *[heisenLongestPath]uint16, milliseconds uintptr) (failed uint32) {
	if heisenCallKernel32(heisenKernel32.waitNamedPipe, uintptr(noescape(unsafe.Pointer(name))), milliseconds) == 0 {
		return getlasterror()
	}
	return 0
}

// heisenSendto waits until the analyzer's buffer has room.
func heisenSendto(fd int32, p unsafe.Pointer, n uintptr) int {
	var sent uint32
	if stdcall(_WriteFile, uintptr(fd), uintptr(p), n, uintptr(noescape(unsafe.Pointer(&sent))), 0) == 0 {
		return -1
	}
	return int(sent)
}

func heisenTakeDescriptors(int32) bool { return false }

func heisenGetppid() uintptr { return 0 }

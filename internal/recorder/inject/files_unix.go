//go:build heisen_inject && unix

package runtime

import "unsafe"

// Files, as the runtime opens them on all systems that are like Unix. See os.go.

func heisenOpenToAppend(path *byte, empty bool) int32 {
	how := int32(_O_WRONLY | _O_CREAT | heisenToEnd | heisenCloseOnExec)
	if empty {
		how |= _O_TRUNC
	}
	return open(path, how, 0o644)
}

func heisenCloseFile(fd int32) { closefd(fd) }

func heisenReadFile(fd int32, p unsafe.Pointer, n int32) int32 { return read(fd, p, n) }

func heisenCallsSystem(unsafe.Pointer) bool { return false }

// heisenIdentity is what identifies an open file.
type heisenIdentity struct{ device, inode uint64 }

// heisenMoveUp gives a descriptor a number that leaves lower ones to the program, and returns it: the old one if no
// higher one is free.
func heisenMoveUp(fd int32) int32 {
	high, failed := fcntl(fd, heisenDupCloexec, heisenFD)
	if failed != 0 {
		return fd
	}
	closefd(fd)
	return high
}

package cli

import (
	"os"
	"syscall"
	"unsafe"
)

// foregroundGroup returns the process group that a terminal's keyboard sends signals to.
func foregroundGroup(tty *os.File) (group int, err error) {
	var id int32
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, tty.Fd(), syscall.TIOCGPGRP, uintptr(unsafe.Pointer(&id))); errno != 0 {
		return 0, errno
	}
	return int(id), nil
}

//go:build darwin || dragonfly || freebsd || linux || netbsd

package processes

import (
	"os"
	"syscall"
	"unsafe"
)

// InForeground reports whether this process is in the process group that a terminal's keyboard sends signals to.
func InForeground(tty *os.File) bool {
	var id int32
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, tty.Fd(), syscall.TIOCGPGRP, uintptr(unsafe.Pointer(&id)))
	return errno == 0 && int(id) == syscall.Getpgrp()
}

package recorder

import (
	"errors"
	"net"
	"syscall"
)

// dialNamed connects to a socket from an end to which the kernel gives a name that leads to no file: where many files were
// removed, the kernel makes new ones slowly.
func dialNamed(path string) (net.Conn, error) {
	d := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		var failed error
		err := c.Control(func(fd uintptr) { failed = syscall.Bind(int(fd), &syscall.SockaddrUnix{}) })
		return errors.Join(err, failed)
	}}
	return d.Dial("unix", path)
}

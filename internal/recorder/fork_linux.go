package recorder

import (
	"net"
	"os"
	"syscall"

	"github.com/heisen-go/heisen/internal/core/wire"
)

// request asks for a new process, and returns the connection with it.
func (f *Forker) request(stdout, stderr *os.File) (connection, error) {
	server, ok := f.program.conn.(*net.UnixConn)
	if !ok {
		return nil, errCannotFork
	}
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	own, other := os.NewFile(uintptr(pair[0]), "connection"), os.NewFile(uintptr(pair[1]), "connection")
	defer own.Close()
	defer other.Close()
	conn, err := net.FileConn(own)
	if err != nil {
		return nil, err
	}
	rights := syscall.UnixRights(pair[1], int(stdout.Fd()), int(stderr.Fd()))
	if _, _, err := server.WriteMsgUnix([]byte{wire.ForkWith}, rights, nil); err != nil {
		conn.Close()
		return nil, err
	}
	return conn.(*net.UnixConn), nil
}

package recorder

import (
	"net"
	"os"
	"syscall"
)

// request asks for a process, or for an execution of one that was rewound, and returns the connection with it. The analyzer's end
// of another connection belongs to wire.ForkAgain; otherwise it is nil.
func request(server connection, kind byte, stdout, stderr, analyzer *os.File) (connection, error) {
	to, ok := server.(*net.UnixConn)
	if !ok {
		return nil, errCannotFork
	}
	conn, other, err := connectionPair()
	if err != nil {
		return nil, err
	}
	defer other.Close()
	files := []int{int(other.Fd()), int(stdout.Fd()), int(stderr.Fd())}
	if analyzer != nil {
		files = append(files, int(analyzer.Fd()))
	}
	if _, _, err := to.WriteMsgUnix([]byte{kind}, syscall.UnixRights(files...), nil); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// connectionPair returns the two ends of a connection, the second one for another process.
func connectionPair() (connection, *os.File, error) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	own, other := os.NewFile(uintptr(pair[0]), "connection"), os.NewFile(uintptr(pair[1]), "connection")
	defer own.Close()
	conn, err := net.FileConn(own)
	if err != nil {
		other.Close()
		return nil, nil, err
	}
	return conn.(*net.UnixConn), other, nil
}

// wakeMonitor sends a signal of the runtime's own, which programs take for nothing else.
func wakeMonitor(p *os.Process) { p.Signal(syscall.SIGURG) }

//go:build !windows

package recorder

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
)

// A socket is an entrance: a socket in the file system.
type socket struct {
	l       *net.UnixListener
	path    string
	moves   int         // how often its path has changed
	moved   bool        // the path has changed since no more programs should connect, so none can
	stopped atomic.Bool // no more programs will connect
	ended   atomic.Bool // all connected programs were returned
}

func newSocket(path string) (*socket, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: path})
	if err != nil {
		return nil, err
	}
	return &socket{l: l, path: path}, nil
}

func (s *socket) address() string { return s.path }

func (s *socket) accept() (*Program, error) {
	if s.ended.Load() {
		return nil, net.ErrClosed
	}
	conn, err := withDescriptors(s.l.AcceptUnix)
	if err != nil {
		s.l.Close()
		return nil, err
	}
	if from := conn.RemoteAddr().String(); s.stopped.Load() && from != "" && from != unnamed {
		s.ended.Store(true)
		return nil, errors.Join(net.ErrClosed, conn.Close())
	}
	return &Program{conn: conn}, nil
}

// unnamed is the address of a program's end of a connection on Linux. Elsewhere it is empty.
const unnamed = "@"

// stop makes a connection that comes after those of all programs. Unlike theirs, its other end has a name.
func (s *socket) stop() error {
	s.moved = s.move()
	s.stopped.Store(true)
	conn, err := dialNamed(s.path)
	if err != nil {
		s.moved = false // the name is in use from now on
		from := &net.UnixAddr{Net: "unix", Name: filepath.Join(filepath.Dir(s.path), "last")}
		conn, err = net.DialUnix("unix", from, &net.UnixAddr{Net: "unix", Name: s.path})
	}
	if err != nil {
		return errors.Join(err, s.l.Close()) // accept must not wait forever
	}
	return conn.Close()
}

// move changes the path to one of the same length that it has not had, and reports whether it could.
func (s *socket) move() bool {
	const names = 1_000_000
	to := filepath.Join(filepath.Dir(s.path), fmt.Sprintf("%06d", s.moves))
	if s.moves == names || len(to) != len(s.path) || os.Rename(s.path, to) != nil {
		return false
	}
	s.path, s.moves = to, s.moves+1
	return true
}

// again lets programs connect again.
func (s *socket) again() bool {
	if !s.moved || !s.ended.Load() {
		return false
	}
	s.moved = false
	s.stopped.Store(false)
	s.ended.Store(false)
	return true
}

func (s *socket) close() error { return s.l.Close() }

//go:build !windows

package recorder

import (
	"errors"
	"net"
	"path/filepath"
	"sync/atomic"
)

// A socket is an entrance: a socket in the file system.
type socket struct {
	l       *net.UnixListener
	stopped atomic.Bool // no more programs will connect
	ended   atomic.Bool // all connected programs were returned
}

func newSocket(path string) (*socket, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: path})
	if err != nil {
		return nil, err
	}
	return &socket{l: l}, nil
}

func (s *socket) address() string { return s.l.Addr().String() }

func (s *socket) accept() (*Program, error) {
	if s.ended.Load() {
		return nil, net.ErrClosed
	}
	conn, err := withDescriptors(s.l.AcceptUnix)
	if err != nil {
		s.l.Close()
		return nil, err
	}
	if s.stopped.Load() && conn.RemoteAddr().String() == s.last().Name {
		s.ended.Store(true)
		return nil, errors.Join(net.ErrClosed, conn.Close())
	}
	return &Program{conn: conn}, nil
}

// stop makes a connection that comes after those of all programs.
func (s *socket) stop() error {
	s.stopped.Store(true)
	conn, err := net.DialUnix("unix", s.last(), s.l.Addr().(*net.UnixAddr))
	if err != nil {
		return errors.Join(err, s.l.Close()) // accept must not wait forever
	}
	return conn.Close()
}

// last returns the address from which stop connects.
func (s *socket) last() *net.UnixAddr {
	return &net.UnixAddr{Net: "unix", Name: filepath.Join(filepath.Dir(s.address()), "last")}
}

func (s *socket) close() error { return s.l.Close() }

//go:build !linux && !windows

package recorder

import (
	"errors"
	"net"
)

// dialNamed would connect to a socket from an end that has a name and no file. Names without files are a thing of Linux.
func dialNamed(string) (net.Conn, error) { return nil, errors.ErrUnsupported }

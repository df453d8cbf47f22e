//go:build !(darwin || freebsd || linux || windows)

package recorder

import (
	"net"
	"testing"
)

// eachEntrance runs a test with the only kind of entrance.
func eachEntrance(t *testing.T, test func(t *testing.T)) { test(t) }

// enter connects to a listener at path.
func enter(_ *Listener, path string) (peer, error) {
	return net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: path})
}

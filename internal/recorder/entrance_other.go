//go:build !(darwin || freebsd || linux || windows)

package recorder

// newListener returns a socket: programs that may run elsewhere connect to nothing else.
func newListener() (*Listener, error) { return listenInFolder(newSocket) }

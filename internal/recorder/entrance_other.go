//go:build !(darwin || freebsd || linux)

package recorder

// newEntrance makes an entrance at path.
func newEntrance(path string) (entrance, error) { return newSocket(path) }

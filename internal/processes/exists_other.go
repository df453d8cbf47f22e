//go:build !unix && !windows

package processes

import "os"

// exists reports whether there is a process id.
func exists(id int) bool {
	p, err := os.FindProcess(id)
	return err == nil && p.Release() == nil
}

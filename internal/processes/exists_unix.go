//go:build unix && !linux

package processes

import "syscall"

// exists reports whether there is a process id. One that has ended exists until its parent has asked.
func exists(id int) bool { return syscall.Kill(id, 0) == nil }

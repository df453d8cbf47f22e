//go:build unix

package processes

import (
	"os"
	"os/exec"
	"syscall"
)

// signal sends a signal to process id.
func signal(id int, sig Signal) error { return syscall.Kill(id, sig) }

// OwnGroup makes a command, which has not started, the first of a process group of its own: signals typed at
// the terminal do not reach it.
func OwnGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// KillGroup kills the process group of a command that OwnGroup was called for.
func KillGroup(cmd *exec.Cmd) error { return KillGroupOf(cmd.Process) }

// KillGroupOf kills a process that leads a process group, and the group.
func KillGroupOf(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }

// Replace replaces this process by the program at path. It returns only with an error.
func Replace(path string, args, env []string) error { return syscall.Exec(path, args, env) }

//go:build !unix

package processes

import (
	"errors"
	"os"
	"os/exec"
)

// signal ends process id if the signal is Kill. There are no others.
func signal(id int, sig Signal) error {
	if sig != Kill {
		return errors.ErrUnsupported
	}
	p, err := os.FindProcess(id)
	if err != nil {
		return err
	}
	return errors.Join(p.Kill(), p.Release())
}

// OwnGroup does nothing: there are no process groups.
func OwnGroup(*exec.Cmd) {}

// KillGroup kills a command that OwnGroup was called for, and what it has started, as Tree finds it: what a process that has ended has
// started goes on.
func KillGroup(cmd *exec.Cmd) error { return KillGroupOf(cmd.Process) }

// KillGroupOf does the same for a process.
func KillGroupOf(p *os.Process) error {
	below := Tree(Find(p.Pid))
	err := p.Kill()
	for _, p := range below {
		p.Signal(Kill)
	}
	return err
}

// Replace runs the program at path, and ends this process with its status: no process can become another one
// here. It returns only with an error.
func Replace(path string, args, env []string) error {
	cmd := exec.Command(path, args[1:]...)
	cmd.Args[0] = args[0]
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return err
	}
	os.Exit(cmd.ProcessState.ExitCode())
	return nil
}

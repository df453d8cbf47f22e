// Package processes ends commands with everything that they have started.
//
// A go command starts compilers and test binaries, and tests start programs. A signal to the first of
// them does not reach the others, and killing it leaves them behind. The package finds them by their
// parents: in /proc on Linux, in the list of processes on Windows. On other systems it knows the first process
// only, and where there are no signals, it can only kill.
//
// The package also has what else heisen needs of processes and what differs between operating systems.
package processes

import (
	"os/exec"
	"time"
)

// Process is a process that was running when it was found.
type Process struct {
	ID    int
	start string // when it started; another process with the same number has another time
}

// state is what the system says of a process.
type state struct {
	start string
	dead  bool // it has ended; who has started it may not have asked yet
}

// Find returns process id.
func Find(id int) Process { return Process{id, stateOf(id).start} }

// Running reports whether the process has not ended.
func (p Process) Running() bool {
	s := stateOf(p.ID)
	return !s.dead && s.start == p.start
}

// Signal sends a signal to the process, if it is running.
func (p Process) Signal(sig Signal) {
	if p.Running() {
		signal(p.ID, sig)
	}
}

// Tree returns the given processes and all below them that are running.
func Tree(roots ...Process) (all []Process) {
	children := children()
	seen := map[int]bool{}
	var visit func(p Process)
	visit = func(p Process) {
		if seen[p.ID] {
			return
		}
		seen[p.ID] = true
		all = append(all, p)
		for _, child := range children[p.ID] {
			visit(child)
		}
	}
	for _, p := range roots {
		if p.Running() {
			visit(p)
		}
	}
	return all
}

// pause is how often End looks whether processes have ended.
const pause = 20 * time.Millisecond

// rootPauses is how many pauses the first root lives longer than the other processes.
const rootPauses = 20

// End calls ask for each process of the trees below roots, which may signal it, and returns when all
// of them have ended. It kills those that are still running after the grace period, or when hurry is
// closed, and what they have started since. The first root comes last: a go command removes
// its temporary folder once all others have ended.
func End(roots []Process, grace time.Duration, hurry <-chan struct{}, ask func(Process)) {
	known := Tree(roots...)
	for _, p := range known {
		ask(p)
	}
	for deadline, killed := time.Now().Add(grace), 0; ; time.Sleep(pause) {
		running := Tree(known...)
		if len(running) == 0 {
			return
		}
		known = running
		select {
		case <-hurry:
		default:
			if time.Now().Before(deadline) {
				continue
			}
		}
		for _, p := range running {
			if killed >= rootPauses || p != roots[0] {
				p.Signal(Kill)
			}
		}
		killed++
	}
}

// GoGrace is how long a go command has to remove its temporary folder, and the programs below it to
// end by themselves.
const GoGrace = 800 * time.Millisecond

// BindGo makes the end of the context of a go command interrupt it, so that it removes its temporary
// folder, and end everything below it.
func BindGo(cmd *exec.Cmd) {
	cmd.Cancel = func() error {
		End([]Process{Find(cmd.Process.Pid)}, GoGrace, nil, func(p Process) { p.Signal(Interrupt) })
		return nil
	}
}

//go:build heisen_inject

package runtime

import _ "unsafe" // for go:linkname

// The processes that a deterministic run has started, and those that these have left behind: as long as
// one of them runs, it can answer. Of processes that the program has started, the kernel is asked. Others
// are in the program's process group, unless they have left it: heisen starts the program in a group of
// its own. They are looked for only after a process has been started, and until there is none.

// heisenProcesses are the processes that were started.
type heisenProcesses struct {
	pids   [64]int32 // of those that were running when they were last looked at
	count  int
	others bool  // others may run: not all of them are in pids, or they have left some behind
	ran    int64 // the real time when one was last running, 0 for never
	looked int64 // the real time when others were last looked for
}

const (
	// What a process has done shortly before its end may still be on its way, such as a signal.
	heisenProcessGrace = 50 * 1000 * 1000 // ns
	// Looking through all processes of the machine takes a while.
	heisenProcessPause = 5 * 1000 * 1000 // ns
)

// race_Forked is called after the current goroutine has started a process; pid is not positive if that
// has failed.
//
//go:linkname race_Forked internal/race.Forked
func race_Forked(pid int) {
	p := &heisenSched.outside.processes
	if !heisenSched.on || pid <= 0 {
		return
	}
	heisenInfluenced(heisenByProcess, heisenProgramCaller(getg(), getcallerfp(), false))
	if p.others = true; p.count < len(p.pids) {
		p.pids[p.count] = int32(pid)
		p.count++
	}
}

// run reports whether a process runs, or has run just now.
func (p *heisenProcesses) run() bool {
	if p.count == 0 && !p.others && p.ran == 0 {
		return false
	}
	now := nanotime1()
	if p.anyRuns(now) {
		p.ran = now
		return true
	}
	if p.ran != 0 && now-p.ran < heisenProcessGrace {
		return true
	}
	p.ran = 0
	return false
}

func (p *heisenProcesses) anyRuns(now int64) bool {
	for p.count > 0 {
		last := p.count - 1
		if heisenChildRuns(p.pids[last]) {
			return true
		}
		p.count = last
		heisenSched.outside.answered()
	}
	if !p.others {
		return false
	}
	if p.looked == 0 || now-p.looked >= heisenProcessPause {
		p.others = heisenGroupRuns()
		p.looked = now
	}
	return p.others
}

//go:build heisen_inject

package runtime

import (
	linux "internal/runtime/syscall/linux"
	"unsafe"
)

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

// heisenChildRuns reports whether a child process has not ended.
func heisenChildRuns(pid int32) bool {
	const byPid, ended, noHang, noWait = 1, 4, 1, 0x01000000
	var info [128]byte // its first word is a signal number, 0 if the child runs
	_, _, errno := linux.Syscall6(heisenSysWaitid, byPid, uintptr(pid), uintptr(noescape(unsafe.Pointer(&info))), ended|noHang|noWait, 0, 0)
	return errno == 0 && *(*int32)(unsafe.Pointer(&info)) == 0
}

// heisenEntries has entries of the folder /proc. Only the scheduler uses it.
var heisenEntries [4096]byte

// heisenGroupRuns reports whether another process than this one runs in its process group. It knows that
// only of a group that this process leads.
func heisenGroupRuns() bool {
	self := heisenGetpid()
	if group, _, errno := linux.Syscall6(heisenSysGetpgid, 0, 0, 0, 0, 0, 0); errno != 0 || group != self {
		return false
	}
	path := "/proc\x00"
	fd := open(unsafe.StringData(path), _O_RDONLY|_O_CLOEXEC, 0)
	if fd < 0 {
		return false
	}
	found := false
	for !found {
		n, _, errno := linux.Syscall6(heisenSysGetdents, uintptr(fd), uintptr(unsafe.Pointer(&heisenEntries)), uintptr(len(heisenEntries)), 0, 0, 0)
		if errno != 0 || n == 0 {
			break
		}
		const lengthAt, nameAt = 16, 19 // in an entry
		for at := uintptr(0); at < n && !found; at += uintptr(*(*uint16)(unsafe.Pointer(&heisenEntries[at+lengthAt]))) {
			pid, digits := uintptr(0), at+nameAt
			for ; heisenEntries[digits] >= '0' && heisenEntries[digits] <= '9'; digits++ {
				pid = 10*pid + uintptr(heisenEntries[digits]-'0')
			}
			found = heisenEntries[digits] == 0 && pid != 0 && pid != self && heisenRunsIn(pid, self)
		}
	}
	closefd(fd)
	return found
}

// heisenRunsIn reports whether a process is in a process group and has not ended.
func heisenRunsIn(pid, group uintptr) bool {
	const before, after = "/proc/", "/stat\x00"
	var path [40]byte
	n := copy(path[:], before)
	var digits [20]byte
	n += copy(path[n:], itoa(digits[:], uint64(pid)))
	copy(path[n:], after)
	fd := open(&path[0], _O_RDONLY|_O_CLOEXEC, 0)
	if fd < 0 {
		return false
	}
	var text [256]byte
	got := int(read(fd, noescape(unsafe.Pointer(&text)), int32(len(text))))
	closefd(fd)
	// Behind the name, which is in parentheses, are the state, the parent and the group.
	at := got - 1
	for at >= 0 && text[at] != ')' {
		at--
	}
	if at < 0 || at+2 >= got || text[at+2] == 'Z' || text[at+2] == 'X' {
		return false
	}
	spaces, in := 0, uintptr(0)
	for i := at + 1; i < got && spaces <= 3; i++ {
		switch {
		case text[i] == ' ':
			spaces++
		case spaces == 3:
			in = 10*in + uintptr(text[i]-'0')
		}
	}
	return in == group
}

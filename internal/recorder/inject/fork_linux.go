//go:build heisen_inject

package runtime

import (
	"internal/abi"
	linux "internal/runtime/syscall/linux"
	"unsafe"
)

// A process that is forked at the end of its prologue. It waits there, and for each request of the analyzer it makes a process
// with the rest of the run: a child of the analyzer, with a connection and an output of its own. The new process has one
// thread. Those that were asleep get one when they are needed; the monitor thread gets one at once.
//
// The new process must be able to do everything that one started afresh can. So a process is forked only if it has changed
// nothing but its memory: it has no files open and no other threads at work, and has made no system calls besides those that
// only look at something.

const (
	heisenCloneParent = 0x8000
	heisenSIGCHLD     = 17

	heisenSolSocket    = 1
	heisenRights       = 1      // SCM_RIGHTS
	heisenForkPatience = 20_000 // times 100 µs, for threads that are about to sleep
)

// heisenWhyNotFork returns why this process cannot be forked, or the empty string.
func heisenWhyNotFork() (why string) {
	switch {
	case heisenPrologue.calls:
		return "it has made system calls before"
	case heisenSched.outside.processes.count > 0 || heisenSched.outside.processes.others:
		return "it has started processes before"
	case sig.inuse:
		return "it handles signals"
	case prof.hz.Load() != 0:
		return "it is profiled"
	case gcphase != _GCoff:
		return "it collects garbage"
	}
	for fd := range heisenDescriptorsEnd {
		if heisenDescriptors[fd] != 0 {
			return "it waits for files"
		}
	}
	systemstack(func() {
		if !heisenAloneInProcess() {
			why = "it has threads at work"
		} else if heisenOtherFiles() {
			why = "it has files open"
		}
	})
	return why
}

// heisenAloneInProcess reports whether all other threads sleep, besides the monitor thread, and none is C's.
func heisenAloneInProcess() bool {
	for range heisenForkPatience {
		lock(&sched.lock)
		threads := heisenThreads() - int32(extraMInUse.Load()) - int32(extraMLength.Load())
		// Besides the monitor, a template for threads counts as the runtime's own.
		alone := threads+heisenPrepared.n-sched.nmidle-sched.nmsys == 1 && sched.nmsys == 1+int32(newmHandoff.haveTemplateThread) && sched.nmidlelocked == 0
		unlock(&sched.lock)
		if alone {
			return !iscgo || heisenNumbersIn("/proc/self/task\x00", func(uintptr) { threads-- }) && threads == 0
		}
		usleep(100)
	}
	return false
}

// heisenInherited are the descriptors that the process had at its start.
var heisenInherited [64]uintptr

// heisenForksLater is called at the start of a process that is to be forked.
func heisenForksLater() {
	n := 0
	heisenNumbersIn(heisenOpenFiles, func(fd uintptr) {
		if n < len(heisenInherited) {
			heisenInherited[n] = fd
			n++
		}
	})
}

// heisenOtherFiles reports whether the program has opened files, besides those that the runtime itself uses.
func heisenOtherFiles() (others bool) {
	known := heisenNumbersIn(heisenOpenFiles, func(fd uintptr) {
		for _, inherited := range &heisenInherited {
			if fd == inherited {
				return
			}
		}
		if netpollInited.Load() == 0 || !netpollIsPollDescriptor(fd) {
			others = true
		}
	})
	return others || !known
}

const heisenOpenFiles = "/proc/self/fd\x00" // has the descriptors

// heisenNumbersIn calls do for each number in a folder, besides its own descriptor, and reports whether it could.
func heisenNumbersIn(path string, do func(number uintptr)) bool {
	fd := open(unsafe.StringData(path), _O_RDONLY|_O_CLOEXEC, 0)
	if fd < 0 {
		return false
	}
	defer closefd(fd)
	for {
		n, _, errno := linux.Syscall6(heisenSysGetdents, uintptr(fd), uintptr(unsafe.Pointer(&heisenEntries)), uintptr(len(heisenEntries)), 0, 0, 0)
		if errno != 0 || n == 0 {
			return errno == 0
		}
		for at := uintptr(0); at < n; at += uintptr(*(*uint16)(unsafe.Pointer(&heisenEntries[at+heisenEntryLength]))) {
			number, digits := uintptr(0), at+heisenEntryName
			for ; heisenEntries[digits] >= '0' && heisenEntries[digits] <= '9'; digits++ {
				number = 10*number + uintptr(heisenEntries[digits]-'0')
			}
			if digits > at+heisenEntryName && number != uintptr(fd) {
				do(number)
			}
		}
	}
}

// heisenOnlyLooks reports whether a system call changes nothing besides the memory of the process, and what it prints.
//
//go:nosplit
func heisenOnlyLooks(trap, a1, a2, a3 uintptr) bool {
	const writes = 1 | 2 | 0x40 | 0x200 // O_WRONLY, O_RDWR, O_CREAT, O_TRUNC
	const ofTerminal, itsSize = 0x5401, 0x5413
	switch trap {
	case heisenSysWrite:
		return a1 <= 2
	case heisenSysOpenat:
		return a3&writes == 0
	case heisenSysIoctl:
		return a2 == ofTerminal || a2 == itsSize
	}
	for _, harmless := range &heisenLooking {
		if trap == harmless {
			return true
		}
	}
	return false
}

// heisenFork serves requests, if it can. It returns in new processes only.
func heisenFork(can bool) {
	for can {
		kind, files := heisenReceiveFiles(heisen.to)
		if kind == 0 {
			break
		}
		pid := heisenForkNow()
		if pid == 0 {
			again := false
			if kind == heisenForkAgain {
				// The number of the connection of the process that waits is that of the one with the analyzer.
				linux.Syscall6(heisenSysDup3, uintptr(files[heisenForkFiles]), uintptr(heisen.to), heisenCloseOnExec, 0, 0, 0)
				closefd(files[heisenForkFiles])
				again = heisenRewinds(&files)
			}
			heisenForked(&files, again)
			return
		}
		for _, fd := range files[:heisenNumFiles(kind)] {
			closefd(fd)
		}
		words := [1]uint64{uint64(pid)}
		heisenSend(heisenMsgForked, 0, 0, unsafe.Pointer(&words), unsafe.Sizeof(words))
	}
	exit(0)
}

// heisenForkedFiles are the descriptors of a request.
type heisenForkedFiles = [heisenForkFiles + 1]int32

// heisenNumFiles returns how many descriptors a kind of request has.
func heisenNumFiles(kind byte) uintptr {
	if kind == heisenForkAgain {
		return heisenForkFiles + 1
	}
	return heisenForkFiles
}

// heisenReceiveFiles receives a request for a process. The kind is 0 if no more will come.
func heisenReceiveFiles(from int32) (kind byte, files heisenForkedFiles) {
	var (
		request [1]byte
		part    = struct {
			base *byte
			n    uintptr
		}{&request[0], 1}
		control struct {
			size        uintptr
			level, kind int32
			files       heisenForkedFiles
		}
		message struct {
			name       uintptr
			nameSize   uintptr
			parts      unsafe.Pointer
			numParts   uintptr
			control    unsafe.Pointer
			numControl uintptr
			flags      int64
		}
	)
	message.parts, message.numParts = noescape(unsafe.Pointer(&part)), 1
	message.control, message.numControl = noescape(unsafe.Pointer(&control)), unsafe.Sizeof(control)
	const closeOnExec = 0x40000000
	for {
		n, _, errno := linux.Syscall6(heisenSysRecvmsg, uintptr(from), uintptr(noescape(unsafe.Pointer(&message))), closeOnExec, 0, 0, 0)
		if errno == _EINTR {
			continue
		}
		kind = request[0]
		if errno != 0 || n != 1 || kind != heisenForkWith && kind != heisenForkAgain || control.level != heisenSolSocket ||
			control.kind != heisenRights || control.size != unsafe.Offsetof(control.files)+heisenNumFiles(kind)*4 {
			return 0, files
		}
		return kind, control.files
	}
}

// heisenForkNow makes a new process. It returns 0 there, and in this one the number of the new one, or a negative error.
func heisenForkNow() (pid int) {
	var before sigset
	sigprocmask(_SIG_SETMASK, &sigset_all, &before)
	lock(&sched.sysmonlock) // the monitor thread is between two looks then
	lock(&sched.lock)
	child, _, errno := linux.Syscall6(heisenSysClone, heisenCloneParent|heisenSIGCHLD, 0, 0, 0, 0, 0)
	if pid = int(child); errno != 0 {
		pid = -int(errno)
	}
	if pid == 0 {
		heisenLoneThread()
	}
	unlock(&sched.lock)
	unlock(&sched.sysmonlock)
	sigprocmask(_SIG_SETMASK, &before, nil)
	return pid
}

// heisenLoneThread makes the runtime know that no other thread has survived. sched.lock and sched.sysmonlock are held: nobody
// waits for them any more.
func heisenLoneThread() {
	self := getg().m
	sched.lock.key, sched.sysmonlock.key = mutexLocked, mutexLocked
	self.procid = uint64(gettid())
	for mp := allm; mp != nil; mp = mp.alllink {
		if mp == self {
			continue
		}
		mp.procid, mp.locks = 0, 0
		if iscgo { // its stack is that of the next thread
			mp.g0.stack.lo, mp.g0.stack.hi = 0, 0
		}
	}
	if sched.sysmonwait.Load() {
		sched.sysmonwait.Store(false)
		noteclear(&sched.sysmonnote)
	}
}

// heisenRevived runs first in a new thread of an M whose thread has not survived a fork. It does the rest of stopm.
//
//go:nowritebarrierrec
func heisenRevived() {
	mPark()
	if mp := getg().m; mp == &m0 { // for which mstart1 does not do that
		acquirep(mp.nextp.ptr())
		mp.nextp = 0
	}
}

// heisenBeginsWith reports whether the first thing that an M's thread does is to call a function.
func heisenBeginsWith(mp *m, fn uintptr) bool {
	return mp.mstartfn != nil && abi.FuncPCABIInternal(mp.mstartfn) == fn
}

// heisenForked prepares a new process, or one that has gone back. That has no poller any more.
func heisenForked(files *heisenForkedFiles, again bool) {
	heisenPrologue.forked = true
	linux.Syscall6(heisenSysSetpgid, 0, 0, 0, 0, 0, 0)
	for i, fd := range files[1:heisenForkFiles] {
		linux.Syscall6(heisenSysDup3, uintptr(fd), uintptr(i+1), 0, 0, 0, 0)
		closefd(fd)
	}
	if !heisenRewinding() {
		closefd(heisen.to)
	}
	heisen.to = heisenMoveUp(files[0])
	heisen.from = heisen.to
	if netpollInited.Load() != 0 { // what it waits for is shared
		if !again {
			heisenClosePoller()
		}
		netpollinit()
	}
	heisenExecutionStarts()
	pp := getg().m.p.ptr()
	pp.sysmontick.schedtick, pp.sysmontick.schedwhen = uint32(pp.schedtick), nanotime1()
	for mp := allm; mp != nil; mp = mp.alllink {
		switch {
		case mp == getg().m:
		case heisenBeginsWith(mp, abi.FuncPCABIInternal(sysmon)), heisenBeginsWith(mp, abi.FuncPCABIInternal(templateThread)):
			if mp.procid == 0 { // it has no thread yet
				sched.nmsys-- // it counts itself
				newm1(mp)
			}
		case !heisenBeginsWith(mp, abi.FuncPCABIInternal(mPark)):
			mp.mstartfn = heisenRevived
		}
	}
}

func heisenClosePoller() {
	closefd(int32(netpollEventFd))
	closefd(epfd)
}

//go:build heisen_inject

package runtime

import (
	"internal/abi"
	"internal/runtime/atomic"
	linux "internal/runtime/syscall/linux"
	"unsafe"
)

// A forked process that makes one execution after another. It keeps a copy of its memory from the end of the prologue. After an
// execution it copies back what has changed, and continues there with the next one.
//
// That is possible only while nothing besides memory has changed. One thread runs. That of the monitor sleeps, and that of the
// sender (sender.go) is not started, until something happens for which they are needed: a system call that does more than look, a
// call of C, or a signal of the analyzer's because the execution takes long. Then the process ends with the execution, as other
// forked ones do. The same holds if the runtime starts a thread, gives up memory, or begins to handle signals, and if the program
// fails by a panic or a fatal error.
//
// The kernel tells which pages were written (PAGEMAP_SCAN, since Linux 6.7). Pages are protected against writing only once: those
// that one execution writes are mostly those that the next one writes.

// heisenRewind is the state of a process that rewinds. All of it is part of what is copied back.
var heisenRewind struct {
	vault   uintptr // *heisenVault; 0 if the process ends with its execution
	spoiled bool    // something besides memory has changed
	sender  uintptr // an M whose thread is not started; 0 if there is none
}

// heisenVault has what survives. The process has no other memory that is not copied back.
type heisenVault struct {
	sp, bp   uintptr // of the caller of heisenSnapshot
	stackTop uintptr

	pages     uintptr // the copies
	numPages  uintptr
	analyzer  int32 // the connection on which the analyzer asks for executions
	pagemap   int32
	protects  int32  // descriptor that protects pages; negative if they are not, and all are compared
	parked    uint32 // 1 once the thread of the monitor sleeps
	wake      uint32 // 1 once it is to run
	umask     uintptr
	lowest    int32 // at the start of an execution, the descriptor that the next file would get
	polls     bool  // it began with a poller
	numRanges int
	numRuns   int
	numMapped int
	mask      sigset

	ranges  [256]heisenSpan // what is writable, in order
	runs    [4097]heisenRun // what was copied of these, in order; the last one is never used
	mapped  [64]heisenSpan  // by the runtime since then
	regions [256]heisenPageRegion
	scan    heisenPageScan
	zero    [heisenPage]byte
	text    [4096]byte
	stack   [16 << 10]byte
}

// heisenSpan are addresses from lo up to hi.
type heisenSpan struct{ lo, hi uintptr }

// heisenRun has pages one after another, and where their copies begin.
type heisenRun struct {
	heisenSpan
	copies uintptr
}

const (
	heisenPage = 4096

	// Processes with more pages do not rewind: a copy takes memory, and without protection, to compare more pages takes longer than to fork.
	heisenMostPages     = 32768
	heisenMostUnguarded = 1536

	heisenPagemapScan = 0xc0606610 // PAGEMAP_SCAN of struct pm_scan_arg
	heisenPageWritten = 1 << 1
	heisenPagePresent = 1 << 3
	heisenPageSwapped = 1 << 4

	heisenSysUserfaultfd  = 323
	heisenUserModeOnly    = 1
	heisenFaultAPI        = 0xc018aa3f // UFFDIO_API of struct uffdio_api
	heisenFaultRegister   = 0xc020aa00 // UFFDIO_REGISTER of struct uffdio_register
	heisenFaultProtect    = 0xc018aa06 // UFFDIO_WRITEPROTECT of struct uffdio_writeprotect
	heisenFaultAPIVersion = 0xaa
	heisenFaultAsync      = 1 << 15 // UFFD_FEATURE_WP_ASYNC: who writes goes on at once
	heisenFaultByWriting  = 1 << 1  // UFFDIO_REGISTER_MODE_WP
	heisenFaultProtects   = 1       // UFFDIO_WRITEPROTECT_MODE_WP

	heisenSysUmask = 95
	heisenDup      = 0 // F_DUPFD
)

// heisenPageRegion is struct page_region.
type heisenPageRegion struct {
	heisenSpan
	categories uint64
}

// heisenPageScan is struct pm_scan_arg.
type heisenPageScan struct {
	size, flags, start, end, walkEnd, vec, vecLen, maxPages, inverted, mask, anyOf, returned uint64
}

// heisenSnapshot copies memory, and returns 0. It returns 1 again, each time that the process goes back. It is in assembly.
func heisenSnapshot() int32

// heisenGoBack lets heisenSnapshot return again. It is in assembly.
func heisenGoBack()

// heisenRewinds makes this process one that rewinds, if it can. It returns at the start of each execution, with the descriptors of
// that, and reports whether the process has gone back to here. The analyzer asks for executions on heisen.to, and learns there how
// they have ended.
func heisenRewinds(files *heisenForkedFiles) (again bool) {
	r := &heisenRewind
	n := alignUp(unsafe.Sizeof(heisenVault{}), heisenPage)
	p := heisenMap(n)
	if p == nil {
		return false
	}
	v := (*heisenVault)(p)
	v.analyzer, v.protects = heisen.to, -1
	v.stackTop = uintptr(unsafe.Pointer(&v.stack)) + unsafe.Sizeof(v.stack)
	v.pagemap = open(unsafe.StringData("/proc/self/pagemap\x00"), _O_RDONLY|_O_CLOEXEC, 0)
	if v.pagemap < 0 || vgetrandomAlloc.states != nil || !v.findWritable(heisenSpan{uintptr(p), uintptr(p) + n}) {
		v.giveUp()
		return false
	}
	v.pagemap = heisenMoveUp(v.pagemap)
	v.guard()
	v.umask = heisenUmask()
	sigprocmask(_SIG_SETMASK, nil, &v.mask)
	r.vault = uintptr(p)
	if !v.startThreads() {
		r.vault = 0
		v.giveUp()
		return false
	}
	r.spoiled = false
	switch {
	case heisenSnapshot() != 0:
		sigprocmask(_SIG_SETMASK, &(*heisenVault)(unsafe.Pointer(r.vault)).mask, nil)
		kind, next := heisenReceiveFiles(heisen.to)
		if kind != heisenForkWith {
			exit(0)
		}
		*files = next
		return true
	case v.numPages == 0:
		r.vault = 0
		v.giveUp()
	}
	return false
}

func heisenRewinding() bool { return heisenRewind.vault != 0 }

// giveUp gives up to rewind.
func (v *heisenVault) giveUp() {
	v.close()
	v.wakeMonitor()
}

// startThreads starts the runtime's own threads, and waits until they sleep.
func (v *heisenVault) startThreads() bool {
	for mp := allm; mp != nil; mp = mp.alllink {
		monitors := heisenBeginsWith(mp, abi.FuncPCABIInternal(sysmon))
		if !monitors && !heisenBeginsWith(mp, abi.FuncPCABIInternal(templateThread)) {
			continue
		}
		if !monitors {
			sched.nmsys--               // it counts itself
			newmHandoff.waiting = false // as that of the process that was forked
		}
		newm1(mp)
		for tries := 0; ; tries++ {
			sleeps := monitors && atomic.Load(&v.parked) != 0
			if !monitors {
				lock(&newmHandoff.lock)
				sleeps = newmHandoff.waiting
				unlock(&newmHandoff.lock)
			}
			if id := atomic.Load64(&mp.procid); sleeps && id != 0 && heisenThreadSleeps(id) {
				break
			}
			if tries == heisenForkPatience {
				return false
			}
			usleep(20)
		}
	}
	return true
}

// wakeMonitor lets the thread of the monitor run. It may run in a signal handler.
func (v *heisenVault) wakeMonitor() {
	if atomic.Xchg(&v.wake, 1) == 0 {
		heisenRewind.spoiled = true
		futexwakeup(&v.wake, 1)
	}
}

// close closes the descriptors besides that of the analyzer.
func (v *heisenVault) close() {
	if v.pagemap >= 0 {
		closefd(v.pagemap)
	}
	if v.protects >= 0 {
		closefd(v.protects)
	}
}

// heisenUmask returns what files that are made are not allowed.
func heisenUmask() uintptr {
	umask, _, _ := linux.Syscall6(heisenSysUmask, 0o77, 0, 0, 0, 0, 0)
	linux.Syscall6(heisenSysUmask, umask, 0, 0, 0, 0, 0)
	return umask
}

// heisenLowest returns the descriptor that the next file would get.
func heisenLowest() int32 {
	fd, errno := fcntl(0, heisenDup, 0)
	if errno != 0 {
		return -1
	}
	closefd(fd)
	return fd
}

// findWritable finds the memory to which the process may write, besides its own. It reports whether all of that is known, and no
// other process sees it.
func (v *heisenVault) findWritable(own heisenSpan) bool {
	fd := open(unsafe.StringData("/proc/self/maps\x00"), _O_RDONLY|_O_CLOEXEC, 0)
	if fd < 0 {
		return false
	}
	defer closefd(fd)
	// A line has the addresses, what is allowed, an offset, a device, the number of a file, and perhaps a name.
	var line struct {
		heisenSpan
		field             int
		writable, private bool
		file              uintptr
	}
	for {
		n := read(fd, unsafe.Pointer(&v.text), int32(len(v.text)))
		if n <= 0 {
			return n == 0
		}
		for _, c := range v.text[:n] {
			digit := uintptr(16)
			switch {
			case c >= '0' && c <= '9':
				digit = uintptr(c - '0')
			case c >= 'a' && c <= 'f':
				digit = uintptr(c-'a') + 10
			}
			switch {
			case c == '\n':
				if line.writable && !v.addWritable(line.heisenSpan, own, line.private, line.file != 0) {
					return false
				}
				line.heisenSpan, line.field, line.writable, line.private, line.file = heisenSpan{}, 0, false, false, 0
			case c == ' ' || c == '-' && line.field == 0:
				line.field++
			case line.field == 0 && digit < 16:
				line.lo = line.lo<<4 | digit
			case line.field == 1 && digit < 16:
				line.hi = line.hi<<4 | digit
			case line.field == 2:
				line.writable = line.writable || c == 'w'
				line.private = line.private || c == 'p'
			case line.field == 5 && digit < 16:
				line.file |= digit
			}
		}
	}
}

// addWritable adds memory, without the process's own. What belongs to a file, pages are read of, so that they are copied.
func (v *heisenVault) addWritable(s, own heisenSpan, private, file bool) bool {
	if !private {
		return false
	}
	if s.lo < own.lo && own.lo < s.hi {
		return v.addWritable(heisenSpan{s.lo, own.lo}, own, private, file) && v.addWritable(heisenSpan{own.lo, s.hi}, own, private, file)
	}
	if own.lo <= s.lo && s.lo < own.hi {
		s.lo = min(own.hi, s.hi)
	}
	if s.lo == s.hi {
		return true
	}
	if v.numRanges == len(v.ranges) {
		return false
	}
	if file {
		for p := s.lo; p < s.hi; p += heisenPage {
			*(*byte)(unsafe.Pointer(&v.zero)) |= *(*byte)(unsafe.Pointer(p)) & 0
		}
	}
	v.ranges[v.numRanges] = s
	v.numRanges++
	return true
}

// populated returns the next parts of a span that have pages with something else, and where the search for more begins; ok is false
// if that is not known.
//
//go:nosplit
func (v *heisenVault) populated(s heisenSpan, with uint64) (found int, next uintptr, ok bool) {
	v.scan = heisenPageScan{
		size: uint64(unsafe.Sizeof(v.scan)), start: uint64(s.lo), end: uint64(s.hi),
		vec: uint64(uintptr(unsafe.Pointer(&v.regions))), vecLen: uint64(len(v.regions)),
		mask: with, anyOf: heisenPagePresent | heisenPageSwapped, returned: heisenPagePresent | heisenPageSwapped,
	}
	n, _, errno := linux.Syscall6(heisenSysIoctl, uintptr(v.pagemap), heisenPagemapScan, uintptr(unsafe.Pointer(&v.scan)), 0, 0, 0)
	next = uintptr(v.scan.walkEnd)
	return int(n), next, errno == 0 && next > s.lo
}

// heisenSave copies memory. If it cannot, numPages is 0.
func heisenSave() {
	v := (*heisenVault)(unsafe.Pointer(heisenRewind.vault))
	pages := uintptr(0)
	for _, s := range v.ranges[:v.numRanges] {
		for s.lo < s.hi {
			n, next, ok := v.populated(s, 0)
			if !ok {
				return
			}
			for _, r := range v.regions[:n] {
				if v.numRuns == len(v.runs)-1 {
					return
				}
				v.runs[v.numRuns] = heisenRun{r.heisenSpan, pages * heisenPage}
				v.numRuns++
				pages += (r.hi - r.lo) / heisenPage
			}
			s.lo = next
		}
	}
	if pages > heisenMostPages || pages > heisenMostUnguarded && v.protects < 0 {
		return
	}
	p := heisenMap(pages * heisenPage)
	if p == nil {
		return
	}
	v.pages, v.numPages, v.numMapped = uintptr(p), pages, 0
	for i := range v.numRuns {
		r := &v.runs[i]
		r.copies += v.pages
		memmove(unsafe.Pointer(r.copies), unsafe.Pointer(r.lo), r.hi-r.lo)
	}
	// From here on, only what is on the stack is written until the snapshot is taken.
	for i := range v.numRuns {
		r := &v.runs[i]
		protect := struct{ start, size, mode uint64 }{uint64(r.lo), uint64(r.hi - r.lo), heisenFaultProtects}
		if v.protects >= 0 && !heisenControls(v.protects, heisenFaultProtect, unsafe.Pointer(&protect)) {
			v.numPages = 0
			return
		}
	}
}

// guard prepares to protect pages against writing.
func (v *heisenVault) guard() {
	fd, _, errno := linux.Syscall6(heisenSysUserfaultfd, heisenUserModeOnly|_O_CLOEXEC, 0, 0, 0, 0, 0)
	if v.protects = -1; errno != 0 {
		return
	}
	api := struct{ version, features, ioctls uint64 }{heisenFaultAPIVersion, heisenFaultAsync, 0}
	ok := heisenControls(int32(fd), heisenFaultAPI, unsafe.Pointer(&api))
	for _, s := range v.ranges[:v.numRanges] {
		register := struct{ start, size, mode, ioctls uint64 }{uint64(s.lo), uint64(s.hi - s.lo), heisenFaultByWriting, 0}
		ok = ok && heisenControls(int32(fd), heisenFaultRegister, unsafe.Pointer(&register))
	}
	if !ok {
		closefd(int32(fd))
		return
	}
	v.protects = heisenMoveUp(int32(fd))
}

// heisenControls makes a request to a descriptor, and reports whether it was done.
func heisenControls(fd int32, request uintptr, arg unsafe.Pointer) bool {
	_, _, errno := linux.Syscall6(heisenSysIoctl, uintptr(fd), request, uintptr(arg), 0, 0, 0)
	return errno == 0
}

// heisenRestore copies memory back. It runs on a stack in the vault, with all signals blocked.
//
//go:nosplit
//go:nowritebarrierrec
func heisenRestore() {
	v := (*heisenVault)(unsafe.Pointer(heisenRewind.vault))
	for i := range v.numMapped {
		s := &v.mapped[i]
		linux.Syscall6(heisenSysMunmap, s.lo, s.hi-s.lo, 0, 0, 0, 0)
	}
	v.numMapped = 0
	with := uint64(0)
	if v.protects >= 0 {
		with = heisenPageWritten
	}
	run := 0
	for i := range v.numRanges {
		for s := v.ranges[i]; s.lo < s.hi; {
			n, next, ok := v.populated(s, with)
			if !ok {
				exit(2)
			}
			for k := range n {
				for p := v.regions[k].lo; p < v.regions[k].hi; p += heisenPage {
					for run < v.numRuns && v.runs[run].hi <= p {
						run++
					}
					if r := &v.runs[run]; run < v.numRuns && r.lo <= p {
						if copied := r.copies + p - r.lo; !memequal(unsafe.Pointer(p), unsafe.Pointer(copied), heisenPage) {
							memmove(unsafe.Pointer(p), unsafe.Pointer(copied), heisenPage)
						}
					} else if !memequal(unsafe.Pointer(p), unsafe.Pointer(&v.zero), heisenPage) { // what had no page was zero
						memclrNoHeapPointers(unsafe.Pointer(p), heisenPage)
					}
				}
			}
			s.lo = next
		}
	}
}

// heisenExecutionStarts notes the descriptors at the start of an execution.
func heisenExecutionStarts() {
	if heisenRewind.vault != 0 {
		v := (*heisenVault)(unsafe.Pointer(heisenRewind.vault))
		v.lowest, v.polls = heisenLowest(), netpollInited.Load() != 0
	}
}

// heisenEndExecution is called where the process would end with a status. It does not return if the process goes back instead.
// The program's output and the connection end here.
func heisenEndExecution(status int32) {
	if heisenRewind.vault != 0 {
		systemstack(func() { (*heisenVault)(unsafe.Pointer(heisenRewind.vault)).goBack(status) })
	}
}

// goBack goes back if only memory has changed.
func (v *heisenVault) goBack(status int32) {
	// No other thread takes signals, so from here on the monitor sleeps if it does now.
	var before sigset
	sigprocmask(_SIG_SETMASK, &sigset_all, &before)
	if r := &heisenRewind; r.spoiled || r.sender == 0 || atomic.Load(&v.wake) != 0 || sig.inuse || prof.hz.Load() != 0 {
		sigprocmask(_SIG_SETMASK, &before, nil)
		return
	}
	if netpollInited.Load() != 0 && !v.polls {
		heisenClosePoller()
	}
	// Calls that the hooks do not see, such as from assembly, are not many.
	if heisenUmask() != v.umask || heisenLowest() != v.lowest {
		exit(status)
	}
	if v.polls {
		heisenClosePoller()
	}
	closefd(heisen.to)
	for fd := range uintptr(2) { // standard input is empty: it takes the places of the others until the next execution
		linux.Syscall6(heisenSysDup3, 0, 1+fd, 0, 0, 0, 0)
	}
	ended := uint64(uint32(status))
	if heisenSendto(v.analyzer, unsafe.Pointer(&ended), unsafe.Sizeof(ended)) != int(unsafe.Sizeof(ended)) {
		exit(0)
	}
	heisenGoBack()
}

// heisenSpoil is called when something besides memory is about to change. The threads that were not needed before are started.
func heisenSpoil() {
	r := &heisenRewind
	r.spoiled = true
	sender := (*m)(unsafe.Pointer(atomic.Xchguintptr(&r.sender, 0)))
	if sender == nil {
		return
	}
	v := (*heisenVault)(unsafe.Pointer(r.vault))
	closefd(v.analyzer)
	v.close()
	lock(&sched.lock)
	sched.nmsys--
	unlock(&sched.lock)
	newm1(sender)
	heisenSenderStarts()
	v.wakeMonitor()
}

// heisenMonitorStarts is called first in the thread of the monitor. In a process that rewinds it sleeps there for now, and counts as
// a thread that monitors.
func heisenMonitorStarts() {
	if heisenRewind.vault == 0 {
		return
	}
	v := (*heisenVault)(unsafe.Pointer(heisenRewind.vault))
	var before sigset
	sigprocmask(_SIG_SETMASK, &sigset_all, &before)
	atomic.Store(&v.parked, 1)
	for atomic.Load(&v.wake) == 0 {
		futexsleep(&v.wake, 0, -1)
	}
	sigprocmask(_SIG_SETMASK, &before, nil)
	lock(&sched.lock)
	sched.nmsys--
	unlock(&sched.lock)
}

// heisenTemplateStarts is called first in the thread that is the template for others. In a process that rewinds it takes no signals.
func heisenTemplateStarts() {
	if heisenRewind.vault != 0 {
		sigprocmask(_SIG_SETMASK, &sigset_all, nil)
	}
}

// heisenSenderSleeps reports whether a process that rewinds does without the sender for now. Then it does all to start it but to
// start its thread, and messages are sent at once.
func heisenSenderSleeps() bool {
	if heisenRewind.vault == 0 {
		return false
	}
	acquirem()
	mp := allocm(nil, heisenSender, -1)
	mp.sigmask = initSigmask
	heisenRewind.sender = uintptr(unsafe.Pointer(mp))
	lock(&sched.lock)
	sched.nmsys++
	unlock(&sched.lock)
	releasem(getg().m)
	return true
}

// heisenThreadStarts is called before the runtime starts a thread.
//
//go:nosplit
func heisenThreadStarts() { heisenRewind.spoiled = true }

// heisenWakesMonitor is called in handlers of signals. The analyzer sends one if an execution takes long.
func heisenWakesMonitor(sig uint32) {
	if sig == sigPreempt && heisenRewind.vault != 0 {
		(*heisenVault)(unsafe.Pointer(heisenRewind.vault)).wakeMonitor()
	}
}

// heisenMapped is called after the runtime has mapped memory that was not mapped before. When it maps again what it has only
// reserved, that is zero.
//
//go:nosplit
func heisenMapped(p unsafe.Pointer, n uintptr) {
	r := &heisenRewind
	if r.vault == 0 {
		return
	}
	v := (*heisenVault)(unsafe.Pointer(r.vault))
	if v.numMapped == len(v.mapped) {
		r.spoiled = true
		return
	}
	v.mapped[v.numMapped] = heisenSpan{uintptr(p), uintptr(p) + n}
	v.numMapped++
}

// heisenUnmaps is called before the runtime gives up memory, or maps some that is not to be copied.
//
//go:nosplit
func heisenUnmaps() { heisenRewind.spoiled = true }

// heisenBeforeCall is called before a system call.
//
//go:nosplit
func heisenBeforeCall(trap, a1 uintptr) {
	if heisenRewind.sender != 0 && heisenChanges(trap, a1) {
		systemstack(heisenSpoil)
	}
}

// heisenBeforeC is called before C code is, which may change anything.
func heisenBeforeC() {
	if heisenRewind.sender != 0 {
		systemstack(heisenSpoil)
	}
}

// heisenChanges reports whether a system call may change something besides memory and what is printed, or have an answer that
// depends on descriptors. It is asked in processes that rewind.
//
//go:nosplit
func heisenChanges(trap, a1 uintptr) bool {
	if trap == heisenSysWrite {
		return a1 != 1 && a1 != 2
	}
	for _, harmless := range &heisenStill {
		if trap == harmless {
			return false
		}
	}
	return true
}

// heisenStill are such system calls: stat, lstat, access, getpid, uname, getcwd, readlink, gettimeofday, getrlimit,
// getrusage, sysinfo, getuid, getgid, geteuid, getegid, getppid, getpgrp, getgroups, gettid, sched_getaffinity, clock_gettime,
// newfstatat, readlinkat, faccessat, getrandom, statx, faccessat2.
var heisenStill = [...]uintptr{4, 6, 21, 39, 63, 79, 89, 96, 97, 98, 99, 102, 104, 107, 108, 110, 111, 115, 186, 204, 228, 262, 267, 269,
	318, 332, 439}

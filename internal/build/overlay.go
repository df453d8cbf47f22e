package build

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/internal/private"
	"github.com/heisen-go/heisen/internal/recorder"
)

// overlay is the set of files that replace files of GOROOT, or are added to it, by their path below
// GOROOT/src. A nil file is one that is removed.
type overlay map[string][]byte

// newOverlay makes the overlay for a toolchain from its own sources.
func newOverlay(t *Toolchain) (overlay, error) {
	o := overlay{}
	src := filepath.Join(t.Root, "src")
	read := sourceReader(src)

	// The recorder.
	injected, err := recorder.Sources(syscallPackage(src), recorder.Used())
	if err != nil {
		return nil, err
	}
	for name, text := range injected {
		o["runtime/heisen_"+name] = text
	}
	o["runtime/race.go"] = o["runtime/heisen_hooks.go"]
	delete(o, "runtime/heisen_hooks.go")
	assembly, err := filepath.Glob(filepath.Join(src, "runtime", "race_*.s"))
	if err != nil {
		return nil, err
	}
	for _, file := range assembly {
		o["runtime/"+filepath.Base(file)] = nil // calls the C library of the race detector
	}
	roots, err := stdRoots(src)
	if err != nil {
		return nil, err
	}
	o["runtime/heisen_std.go"] = roots

	// Its calls in the runtime and in the packages that synchronize.
	if err := o.patch(patches, read); err != nil {
		return nil, err
	}
	if err := o.addUnchecked(read); err != nil {
		return nil, err
	}
	if err := o.addMapKeys(read); err != nil {
		return nil, err
	}
	if err := o.addClock(read); err != nil {
		return nil, err
	}
	if err := o.addHashSeeds(read); err != nil {
		return nil, err
	}
	norace, err := read("internal/race/norace.go")
	if err != nil {
		return nil, err
	}
	if o["internal/race/race.go"], err = raceAnnotations(norace); err != nil {
		return nil, err
	}
	if err := o.emptyRace(src); err != nil {
		return nil, err
	}
	o["testing/heisen.go"] = []byte(testingTask)
	o["sync/heisen.go"] = []byte(onceMessages)
	o["internal/sync/heisen.go"] = []byte(syncMap)
	o["syscall/heisen_child_linux.go"] = []byte(syscallChild)
	o["syscall/heisen_child_other.go"] = []byte(syscallNoChild)
	if err := o.addAtomics(read); err != nil {
		return nil, err
	}
	return o, nil
}

// sourceReader returns a function that reads files below src, a GOROOT's.
func sourceReader(src string) func(path string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		text, err := os.ReadFile(filepath.Join(src, filepath.FromSlash(path)))
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w GOROOT: %w", ErrUnsupported, err)
		}
		return text, err
	}
}

// patch adds files with their patches made.
func (o overlay) patch(files []patchedFile, read func(string) ([]byte, error)) error {
	for _, p := range files {
		text, err := read(p.path)
		if err != nil {
			return err
		}
		if o[p.path], err = apply(p.path, text, p.patches...); err != nil {
			return err
		}
	}
	return nil
}

// onceMessages has the functions that the patches of sync.Once call. The message's object is the word
// of the mutex's semaphore, because the mutex itself is a lock.
const onceMessages = `package sync

import (
	"internal/race"
	"unsafe"
)

func heisenEndOnce(o *Once) {
	if race.Enabled {
		race.Send(unsafe.Add(unsafe.Pointer(&o.m), 4))
	}
	o.done.Store(true)
}

func heisenOnceDone(o *Once) {
	if race.Enabled {
		race.Receive(unsafe.Add(unsafe.Pointer(&o.m), 4))
	}
}
`

// syncMap has the function that the patch of sync.Map calls. A place without an entry is no point.
const syncMap = `package sync

import (
	"internal/race"
	"sync/atomic"
)

func heisenChild[K comparable, V any](place *atomic.Pointer[node[K, V]]) *node[K, V] {
	race.BeginStep(nil)
	n := place.Load()
	race.EndStep()
	if n != nil && n.isEntry {
		n = place.Load()
	}
	return n
}
`

// syscallChild has the function that the patches of package syscall call. A program that starts its
// own executable again, as tests do, has that recorded, too, whatever environment it gives it. Other
// programs are not told of heisen.
const syscallChild = `package syscall

import "internal/race"

func heisenForkEnv(path string, attr *ProcAttr, sys *SysProcAttr) []string {
	if sys.Chroot != "" { // it cannot connect
		return attr.Env
	}
	if attr.Dir != "" && path != "" && path[0] != '/' {
		path = attr.Dir + "/" + path
	}
	return heisenEnv(path, attr.Env, false)
}

// heisenCalls tells of a system call, and of signals that are sent. It runs in system calls.
//
//go:nosplit
//go:norace
func heisenCalls(trap, a1, a2, a3 uintptr) {
	race.SystemCall(trap, a1, a2, a3)
	const pidfdSendSignal = 424
	switch trap {
	case SYS_KILL, SYS_RT_SIGQUEUEINFO:
		race.Kills(a1, a2)
	case SYS_TGKILL:
		race.Kills(a1, a3)
	case SYS_TKILL, pidfdSendSignal: // a thread, a descriptor
		race.Kills(0, a2)
	}
}

func heisenEnv(path string, env []string, replaced bool) []string {
	variable := race.ChildEnv(replaced)
	if variable == "" {
		return env
	}
	var self, child Stat_t
	if Stat("/proc/self/exe", &self) != nil || Stat(path, &child) != nil || self.Dev != child.Dev || self.Ino != child.Ino {
		return env
	}
	return append(env[:len(env):len(env)], variable)
}
`

// syscallNoChild has these functions for systems on which a program does not know its own executable.
const syscallNoChild = `//go:build unix && !linux

package syscall

func heisenForkEnv(_ string, attr *ProcAttr, _ *SysProcAttr) []string { return attr.Env }

func heisenEnv(_ string, env []string, _ bool) []string { return env }
`

// patchedFile is a file of GOROOT, by its path below src, and the changes to it.
type patchedFile struct {
	path    string
	patches []patch
}

// patches are the changes to files of GOROOT, each tied to a declaration. The list is long because
// it is a table.
var patches = []patchedFile{
	{"runtime/proc.go", []patch{
		replaceCalls("findRunnable", "runqget(pp)", "heisenRunqget(pp)", 1),
		replaceCalls("findRunnable", "globrunqget()", "heisenGlobrunqget()", 1),
		replaceCalls("findRunnable", "netpoll(0)", "heisenNetpoll(0)", 1),
		replaceCalls("sysmon", "netpoll(0)", "heisenNetpoll(0)", 1),
		replaceCalls("sysmon", "retake(now)", "heisenRetaken(retake(now))", 1),
		replaceCalls("retake", "preemptone(pp)", "heisenPreempt(pp)", 1),
		atStart("retake", "if !heisenMayRetake() { return 0 }"),
		replaceCalls("startm", "mget()", "heisenMget()", 1),
		atStart("goschedImpl", "heisenGosched(gp, preempted)"),
		oneOf(atStart("exitsyscallNoP", "heisenBack(gp)"), atStart("exitsyscall0", "heisenBack(gp)")),
		atStart("entersyscallblock", "heisenWaits()"),
		atEnd("newproc", "heisenPoint(nil); heisenMakeRoom()"),
		atStart("LockOSThread", "heisenOutside(heisenByThread)"),
		atStart("goexit1", "heisenPointEnd()"),
		replaceCalls("main", "fn()", "heisenMain(fn)()", 1),
		variable("randomizeScheduler"),
		replaceStatements(`fatal("no goroutines (main called runtime.Goexit) - deadlock!")`,
			`heisenDeadlocked(); fatal("no goroutines (main called runtime.Goexit) - deadlock!")`, 1),
		replaceStatements(`fatal("all goroutines are asleep - deadlock!")`,
			`heisenDeadlocked(); fatal("all goroutines are asleep - deadlock!")`, 1),
		atStart("sysmon", "heisenMonitorStarts()"),
		atStart("templateThread", "heisenTemplateStarts()"),
		atStart("newm1", "heisenThreadStarts()"),
		inEndlessLoop("sysmon", "heisenPoll()"),
		// The monitor thread is about to sleep because the whole program is idle.
		replaceCalls("sysmon", "osRelax(true)", "heisenRelax()", 1),
		atStart("os_beforeExit", "heisenBeforeExit(exitCode)"),
		atStart("syscall_runtime_BeforeExec", "heisenBeforeExec()"),
		atStart("syscall_runtime_AfterExec", "heisenAfterExec()"),
	}},
	{"runtime/mheap.go", []patch{
		replaceCalls("mheap.grow", "h.pages.grow(v, nBase-v)", "heisenHeapGrows(h, v, nBase-v)", 1),
		replaceCalls("mheap.grow", "h.pages.grow(h.curArena.base, size)", "heisenHeapGrows(h, h.curArena.base, size)", 1),
		atStart("internal_weak_runtime_registerWeakPointer", "heisenMeasuring(heisenMeasuresFreed, true)"),
	}},
	{"runtime/malloc.go", []patch{
		replaceStatements(`throw("too many address space collisions for -race mode")`, "return heisenHeapFull(n)", 1),
		atStart("mallocgcLarge", "heisenBeforeLarge(size)"),
		// Heisen does without the layouts of address space that the race detector knows.
		replaceExpressions("mallocinit", "raceenabled && vmaSize != 39 && vmaSize != 48", "false", 1),
	}},
	// Code that is not instrumented calls functions for objects of one size (since Go 1.27; in 1.26 it was an experiment).
	// They do not tell the race detector of what they allocate.
	{"runtime/malloc_generated.go", []patch{
		delegated("(size uintptr, typ *_type, needzero bool)", "if raceenabled { return heisenMallocgc(size, typ, needzero) }"),
	}},
	{"runtime/mgc.go", []patch{
		atStart("GC", "heisenMeasuring(heisenMeasuresCollection, true)"),
		atStart("gcSweep", "heisenBarrier()"),
		atStart("gcTrigger.test", "if heisenPressed(t.kind) { return true }"),
		atStart("gcStart", "heisenBeforeCollection()"),
		replaceCalls("gcStart", "Gosched()", "heisenStay()", 1),
		replaceCalls("clearpools", "poolcleanup()", "heisenEmptyPools()", 1),
	}},
	{"runtime/mgcmark.go", []patch{
		replaceExpressions("scanframeworker", "isAsyncPreempt || isDebugCall", "isAsyncPreempt || isDebugCall || heisenStandsIn(frame.fn)", 1),
		replaceExpressions("scanframeworker", "state.conservative || isAsyncPreempt || isDebugCall",
			"state.conservative || isAsyncPreempt || isDebugCall || heisenStandsIn(frame.fn)", 1),
	}},
	// A goroutine that is stopped in a hook is scanned as if it was preempted, and has no registers to scan.
	{"runtime/preempt_xreg.go", []patch{ifAny("xRegScan", atStart("xRegScan", "if gp.xRegs.state == nil { return }"))}},
	// No memory is returned in the background, because that depends on real time.
	{"runtime/mgcscavenge.go", []patch{atStart("scavengerState.run", "if heisenSched.on { return 0, 0 }")}},
	{"runtime/chan.go", []patch{
		atStart("chansend", "heisenPointChannel(c); heisenSends(c)"),
		atStart("chanrecv", "heisenPointChannel(c); heisenReceives(c, block)"),
		atStart("closechan", "heisenPointChannel(c)"),
		// Record which element is next, and which goroutines could neither send nor receive. The
		// channel's lock is held, so state and order are exact.
		replaceCalls("chansend", "racenotify(c, c.sendx, nil)", "heisenNotify(c, c.sendx, nil, &c.sendx, false)", 1),
		replaceCalls("send", "racenotify(c, c.recvx, nil)", "heisenNotify(c, c.recvx, nil, &c.sendx, false)", 1),
		replaceCalls("send", "racenotify(c, c.recvx, sg)", "heisenNotify(c, c.recvx, sg, &c.recvx, sg.elem.get() != nil)", 1),
		replaceCalls("chanrecv", "racenotify(c, c.recvx, nil)", "heisenNotify(c, c.recvx, nil, &c.recvx, ep != nil)", 1),
		replaceCalls("recv", "racenotify(c, c.recvx, nil)", "heisenNotify(c, c.recvx, nil, &c.recvx, ep != nil)", 1),
		replaceCalls("recv", "racenotify(c, c.recvx, sg)", "heisenNotify(c, c.recvx, sg, &c.sendx, false)", 1),
		replaceCalls("closechan", "racerelease(c.raceaddr())", "heisenClosing(c)", 1),
		replaceCalls("closechan", "raceacquireg(gp, c.raceaddr())", "heisenClosed(gp, c)", 2),
		replaceCalls("chanrecv", "raceacquire(c.raceaddr())", "heisenClosed(getg(), c)", 2),
		replaceExpressions("chansend", "!block && c.closed == 0 && full(c)", "!block && !heisenKeeping() && c.closed == 0 && full(c)", 1),
		replaceExpressions("chanrecv", "!block && empty(c)", "!block && !heisenKeeping() && empty(c)", 1),
		inIf("chansend", "!block", "heisenTried(c)", 2),
		inIf("chanrecv", "!block", "heisenTried(c)", 2),
		inIf("chansend", "c.closed != 0", "heisenTried(c)", 1), // the panic may be recovered
		inIf("closechan", "c.closed != 0", "heisenTried(c)", 1),
		atStart("chanlen", "heisenPointLength(c); if c != nil && c.timer == nil && heisenKeeping() { return heisenLength(c) }"),
		atStart("timerchandrain", "heisenDrained(c)"),
	}},
	{"runtime/select.go", []patch{
		atStart("selectgo", "heisenPointSelect(cas0, nsends, nrecvs); heisenSelects(cas0, nsends, nrecvs, block)"),
		replaceExpressions("selectgo", "caseReleaseTime > 0", "heisenSelected(cas0, casi, nsends, nrecvs, block) || caseReleaseTime > 0", 1),
		replaceCalls("selectgo", "racenotify(c, c.sendx, nil)", "heisenNotify(c, c.sendx, nil, &c.sendx, false)", 1),
		replaceCalls("selectgo", "racenotify(c, c.recvx, nil)", "heisenNotify(c, c.recvx, nil, &c.recvx, cas.elem != nil)", 1),
		replaceCalls("selectgo", "raceacquire(c.raceaddr())", "heisenClosed(gp, c)", 1),
		inIf("selectgo", "!block", "heisenTriedAll(scases)", 1),
		inIf("selectgo", "c.closed != 0", "heisenTried(c)", 2),
		replaceCalls("selectgo", "cheaprandn(uint32(norder + 1))", "heisenPollOrder(uint32(norder + 1))", 1),
	}},
	{"runtime/time.go", []patch{
		replaceCalls("timer.maybeAdd", "cheaprand()", "heisenCheaprand()", 1),
		replaceCalls("time_runtimeNano", "nanotime()", "heisenNano()", 1),
		atStart("stopTimer", "heisenPoint(unsafe.Pointer(t))"),
		atStart("resetTimer", "heisenPoint(unsafe.Pointer(t))"),
		replaceCalls("stopTimer", "t.stop()", "heisenStopped(t, t.stop())", 1),
		atStart("timeSleep", "heisenUnsureHere(heisenUnsureTime); heisenBeforeSleep()"),
		atStart("goroutineReady", "heisenElapsed(arg.(*g), arg.(*g).bubble)"),
		replaceCalls("timer.unlockAndRun", "f(arg, seq, delay)", "heisenElapsed(nil, bubble); heisenFires(t, bubble); f(arg, seq, delay)", 1),
	}},
	{"runtime/sema.go", []patch{
		atStart("semacquire1", "heisenWaitsFor(unsafe.Pointer(addr)); heisenWaitsInBubble(addr, reason)"),
		atStart("notifyListWait", "heisenWaitsFor(unsafe.Pointer(l))"),
		atEnd("internal_sync_runtime_SemacquireMutex", "heisenTriesAgain()"),
		atStart("internal_sync_nanotime", "if heisenSched.on { return heisenSched.clock }"),
	}},
	{"runtime/iface.go", []patch{
		replaceCalls("typeAssert", "cheaprand()", "heisenCheaprand()", 2),
		replaceCalls("interfaceSwitch", "cheaprand()", "heisenCheaprand()", 2),
	}},
	{"runtime/slice.go", []patch{
		replaceStatements("racereadrangepc(fromPtr, size, callerpc, pc)",
			"if from, n := heisenCopied(fromPtr, toPtr, size); n != 0 { racereadrangepc(from, n, callerpc, pc) }", 1),
		// The goroutine may be stopped between the write barrier and the copy.
		replaceStatements("racereadrangepc(from, copymem, callerpc, pc)",
			"racereadrangepc(from, copymem, callerpc, pc); if et.Pointers() && copymem > 0 && writeBarrier.enabled { bulkBarrierPreWriteSrcOnly(uintptr(to), uintptr(from), copymem, et) }", 1),
	}},
	{"runtime/mbarrier.go", []patch{
		replaceStatements("racereadrangepc(srcPtr, uintptr(n)*typ.Size_, callerpc, pc)",
			"if from, n := heisenCopied(srcPtr, dstPtr, uintptr(n)*typ.Size_); n != 0 { racereadrangepc(from, n, callerpc, pc) }", 1),
	}},
	{"runtime/runtime.go", []patch{atStart("syscall_Exit", "heisenBeforeSyscallExit(code)")}},
	{"runtime/proflabel.go", []patch{atEnd("runtime_setProfLabel", "heisenSetsLabels(labels)")}},
	{"runtime/rand.go", []patch{atStart("rand", "if heisenDraws() { return heisenRandom() }")}},
	{"runtime/os_linux.go", []patch{atStart("syscall_runtime_doAllThreadsSyscall", "heisenStartAllPrepared()")}},
	{"runtime/env_posix.go", []patch{
		atStart("setenv_c", "if _cgo_setenv != nil { heisenBeforeC() }"),
		atStart("unsetenv_c", "if _cgo_unsetenv != nil { heisenBeforeC() }"),
	}},
	{"runtime/mem_linux.go", []patch{
		replaceReturns("sysAllocOS", "return p", "heisenMapped(p, n); return p", 1),
		replaceReturns("sysReserveOS", "return p", "heisenMapped(p, n); return p", 1),
		atStart("sysUnusedOS", "heisenUnmaps()"),
		atStart("sysFreeOS", "heisenUnmaps()"),
		atStart("sysFaultOS", "heisenUnmaps()"),
	}},
	{"runtime/vgetrandom_linux.go", []patch{atStart("vgetrandomGetState", "heisenUnmaps()")}},
	{"runtime/netpoll_epoll.go", []patch{
		atStart("netpollopen", "heisenPollOpen(fd, pd)"),
		atStart("netpollclose", "heisenPollClose(fd)"),
	}},
	// What the program measures of the runtime.
	{"runtime/mstats.go", []patch{
		atEnd("ReadMemStats", "heisenMeasuredMemory(m)"),
		atEnd("readGCStats", "heisenMeasuredPauses(*pauses)"),
	}},
	{"runtime/metrics.go", []patch{atEnd("readMetrics", "heisenMeasuredMetrics(samplesp, len)")}},
	{"runtime/mfinal.go", []patch{atStart("SetFinalizer", "heisenMeasuring(heisenMeasuresFreed, true)")}},
	{"runtime/mcleanup.go", []patch{atStart("AddCleanup", "heisenMeasuring(heisenMeasuresFreed, true)")}},
	{"runtime/debug.go", []patch{
		atStart("NumGoroutine", "heisenPointCount()"),
		oneOf(replaceCalls("NumGoroutine", "gcount(false)", "heisenMeasuredGoroutines(gcount(false))", 1),
			replaceCalls("NumGoroutine", "gcount()", "heisenMeasuredGoroutines(gcount())", 1)),
		atStart("GOMAXPROCS", "if heisenSched.on { return int(heisenSched.procs) }"),
		atStart("SetDefaultGOMAXPROCS", "if heisenSched.on { return }"),
		atStart("NumCPU", "if heisenSched.on { return int(heisenSched.procs) }"),
	}},
	{"runtime/sigqueue.go", []patch{atStart("sigsend", "heisenSignalled(s)")}},
	{"runtime/cgocall.go", []patch{
		atStart("cgocall", "if !heisenCallsSystem(fn) { heisenOutside(heisenByCgo); heisenBeforeC() }"),
		replaceCalls("cgocall", "raceacquire(unsafe.Pointer(&racecgosync))", "heisenAfterC(fn)", 1),
	}},
	{"runtime/panic.go", []patch{
		atStart("fatalthrow", "heisenAbort()"),
		atStart("fatalpanic", "heisenBeforePanic()"),
	}},
	{"runtime/signal_unix.go", []patch{
		atStart("dieFromSignal", "heisenAbort()"),
		atStart("sighandler", "heisenWakesMonitor(sig)"),
		atStart("os_sigpipe", "heisenBeforeSIGPIPE()"),
		replaceExpressions("sighandler", "flags&_SigKill != 0", "flags&_SigKill != 0 && !heisenEndsLater(sig)", 1),
		replaceCalls("sighandler", "mcount()", "heisenThreads()", 2),
		replaceExpressions("sighandler", "flags&(_SigThrow|_SigPanic) == 0", "flags&(_SigThrow|_SigPanic) == 0 || heisenLooksOnly(sig)", 1),
	}},
	{"runtime/atomic_pointer.go", []patch{
		dropDeclaration("sync_atomic_StoreUintptr"),
		dropDeclaration("sync_atomic_SwapUintptr"),
		dropDeclaration("sync_atomic_CompareAndSwapUintptr"),
		dropDeclaration("sync_atomic_StorePointer"),
		dropDeclaration("sync_atomic_SwapPointer"),
		dropDeclaration("sync_atomic_CompareAndSwapPointer"),
	}},
	{"internal/sync/mutex.go", []patch{
		atStart("Mutex.Lock", "if race.Enabled { race.Locking(unsafe.Pointer(m)) }"),
		atStart("Mutex.TryLock", "if race.Enabled { race.Trying(unsafe.Pointer(m)) }"),
		replaceReturns("Mutex.TryLock", "return false", "if race.Enabled { race.Observe(unsafe.Pointer(m)) }; return false", 2),
		// Whoever has just got a lock, and is to let another goroutine go first, has done nothing with it yet.
		replaceCalls("Mutex.Lock", "race.Acquire(unsafe.Pointer(m))", "if race.Locked(unsafe.Pointer(m)) { m.Unlock(); m.Lock() }", 1),
		replaceCalls("Mutex.lockSlow", "race.Acquire(unsafe.Pointer(m))", "if race.Locked(unsafe.Pointer(m)) { m.Unlock(); m.Lock() }", 1),
		replaceCalls("Mutex.TryLock", "race.Acquire(unsafe.Pointer(m))", "race.TryLocked(unsafe.Pointer(m))", 1),
		replaceCalls("Mutex.Unlock", "race.Release(unsafe.Pointer(m))", "race.Unlocking(unsafe.Pointer(m))", 1),
		replaceSelectors("atomic.CompareAndSwapInt32", "race.CompareAndSwapInt32"),
		replaceSelectors("atomic.AddInt32", "race.AddInt32"),
		dropImport("sync/atomic"),
	}},
	// A method of sync.Map is one step, and Range takes two for each entry. How many atomic operations it makes
	// depends on hashes of keys, and those of pointers on where objects are.
	{"internal/sync/hashtriemap.go", []patch{
		addImport("internal/race"),
		asOneStep("HashTrieMap[K, V].Load"),
		asOneStep("HashTrieMap[K, V].LoadOrStore"),
		asOneStep("HashTrieMap[K, V].Swap"),
		asOneStep("HashTrieMap[K, V].CompareAndSwap"),
		asOneStep("HashTrieMap[K, V].LoadAndDelete"),
		asOneStep("HashTrieMap[K, V].CompareAndDelete"),
		replaceCalls("HashTrieMap[K, V].iter", "i.children[j].Load()", "heisenChild(&i.children[j])", 1),
	}},
	// Code that runs a test, benchmark, fuzz target or example reports it. If it has a goroutine of
	// its own, it need not report the end.
	{"testing/testing.go", []patch{
		atStart("tRunner", "heisenTask(t.name); heisenBegin(&t.common)"),
		replaceCalls("common.FailNow", "runtime.Goexit()", "heisenStop(c, false)", 1),
		replaceCalls("common.SkipNow", "runtime.Goexit()", "heisenStop(c, true)", 1),
		atStart("common.Fail", "heisenUses(c); race.Fails()"),
		atStart("common.SkipNow", "heisenUses(c)"),
		oneOf(atStart("common.log", "heisenUses(c)"), atStart("common.logDepth", "heisenUses(c)")),
		atStart("common.Cleanup", "heisenUses(c)"),
		atStart("common.TempDir", "heisenUses(c)"),
		atStart("T.Run", "heisenUses(&t.common)"),
		replaceCalls("tRunner", "fn(t)", "fn(t); race.ClearStack()", 1),
		replaceCalls("tRunner", "t.report()", "race.ClearStack(); heisenEnd(&t.common); t.report()", 1),
		replaceCalls("M.before", "m.deps.StartTestLog(f)", "m.deps.StartTestLog(f); os.Getenv(heisenPassesEnv)", 1),
	}},
	{"testing/fuzz.go", []patch{
		atStart("fRunner", "heisenTask(f.name); heisenBegin(&f.common)"),
		replaceCalls("fRunner", "fn(f)", "fn(f); race.ClearStack()", 1),
		replaceCalls("fRunner", "f.report()", "race.ClearStack(); heisenEnd(&f.common); f.report()", 1),
		atStart("F.Fuzz", "if f.fstate.mode == fuzzWorker { race.FuzzWorker() }"),
		replaceCalls("F.Fuzz", "crashErr.CrashPath()", "heisenFailingInput(crashErr.CrashPath())", 1),
		addImport("internal/race"),
	}},
	{"testing/benchmark.go", []patch{
		atStart("B.runN", `heisenTask(b.name); defer heisenTask("")`),
		replaceCalls("PB.Next", "pb.globalN.Add(pb.grain)", "heisenHandOut(pb.globalN, pb.grain)", 1),
	}},
	{"testing/run_example.go", []patch{addImport("internal/race"), atStart("runExample", `heisenTask(eg.Name); defer heisenTask(""); race.PrologueEnds()`)}},
	{"context/context.go", []patch{
		addImport("internal/race"),
		addImport("unsafe"),
		atStart("cancelCtx.Err", "if race.Enabled { race.Looks(unsafe.Pointer(c)) }"),
	}},
	// To detectors that compare locks and follow messages, the end of a Once is a message to all that
	// rely on it.
	{"sync/once.go", []patch{
		atEnd("Once.Do", "heisenOnceDone(o)"),
		replaceCalls("Once.doSlow", "o.done.Store(true)", "heisenEndOnce(o)", 1),
	}},
	{"sync/waitgroup.go", []patch{
		atStart("WaitGroup.Add", "if race.Enabled { race.Counting(unsafe.Pointer(wg), delta); if delta >= 0 { race.Change(unsafe.Pointer(wg)) } }"),
		atStart("WaitGroup.Wait", "if race.Enabled { race.Synchronizing(unsafe.Pointer(wg)) }"),
	}},
	{"sync/cond.go", []patch{
		addImport("internal/race"),
		atStart("Cond.Wait", "if race.Enabled { race.Synchronizing(unsafe.Pointer(c)); race.Step(unsafe.Pointer(c)) }"),
		replaceCalls("Cond.Wait", "runtime_notifyListWait(&c.notify, t)",
			"if race.Enabled { race.Awaiting(unsafe.Pointer(c)) }; runtime_notifyListWait(&c.notify, t); if race.Enabled { race.Observe(unsafe.Pointer(c)) }", 1),
		atStart("Cond.Signal", "if race.Enabled { race.Synchronizing(unsafe.Pointer(c)); race.Step(unsafe.Pointer(c)) }"),
		atStart("Cond.Broadcast", "if race.Enabled { race.Synchronizing(unsafe.Pointer(c)); race.Step(unsafe.Pointer(c)) }"),
	}},
	{"sync/pool.go", []patch{
		atStart("Pool.Put", "if race.Enabled { race.Synchronizing(unsafe.Pointer(p)) }"),
		atStart("Pool.Get", "if race.Enabled { race.Synchronizing(unsafe.Pointer(p)) }"),
		replaceCalls("Pool.Get", "race.Acquire(poolRaceAddr(x))", "race.AcquireByChance(poolRaceAddr(x))", 1),
	}},
	{"syscall/exec_unix.go", []patch{
		atStart("forkExec", "defer func() { race.Forked(pid) }()"),
		addImport("internal/race"),
		replaceCalls("forkExec", "SlicePtrFromStrings(attr.Env)", "SlicePtrFromStrings(heisenForkEnv(argv0, attr, sys))", 1),
		replaceCalls("Exec", "SlicePtrFromStrings(envv)", `SlicePtrFromStrings(heisenEnv(argv0, envv, true))`, 1),
	}},
	{"syscall/syscall_linux.go", []patch{atStart("RawSyscall6", "heisenCalls(trap, a1, a2, a3)")}},
	{"syscall/syscall_unix.go", []patch{
		replaceCalls("Read", "race.Acquire(unsafe.Pointer(&ioSync))", "race.Input(unsafe.Pointer(&ioSync), fd)", 1),
		replaceCalls("Pread", "race.Acquire(unsafe.Pointer(&ioSync))", "race.Input(unsafe.Pointer(&ioSync), -1)", 1), // at a given offset
	}},
	{"syscall/syscall_windows.go", []patch{
		replaceCalls("ReadFile", "race.Acquire(unsafe.Pointer(&ioSync))", "race.Input(unsafe.Pointer(&ioSync), int(fd))", 1),
	}},
	{"internal/poll/fd_windows.go", []patch{
		replaceCalls("FD.Read", "race.Acquire(unsafe.Pointer(&ioSync))", "race.Input(unsafe.Pointer(&ioSync), int(fd.Sysfd))", 1),
	}},
	// Package crypto/rand on all systems. Package golang.org/x/sys/unix asks the runtime instead, see vgetrandom_linux.go.
	{"crypto/internal/sysrand/rand.go", []patch{addImport("internal/race"), atStart("Read", "if race.Enabled && race.Draw(b) { return }")}},
	// It runs on the little stack that is left below assembly, and writes only to memory that
	// belongs to its caller.
	{"reflect/makefunc.go", []patch{directed("moveMakeFuncArgPtrs", "//go:norace")}},
	{"sync/rwmutex.go", []patch{
		// The lock operations count as accesses. What remains of the reads is that a nil lock
		// panics before synchronization is disabled.
		atStart("RWMutex.Lock", "if race.Enabled { race.Locking(unsafe.Pointer(rw)) }"),
		atStart("RWMutex.TryLock", "if race.Enabled { race.Trying(unsafe.Pointer(rw)) }"),
		atStart("RWMutex.RLock", "if race.Enabled { race.Sharing(unsafe.Pointer(rw)) }"),
		atStart("RWMutex.TryRLock", "if race.Enabled { race.Trying(unsafe.Pointer(rw)) }"),
		replaceReturns("RWMutex.TryLock", "return false", "if race.Enabled { race.Observe(unsafe.Pointer(rw)) }; return false", 2),
		replaceReturns("RWMutex.TryRLock", "return false", "if race.Enabled { race.Observe(unsafe.Pointer(rw)) }; return false", 1),
		replaceStatements("race.Read(unsafe.Pointer(&rw.w))", "_ = rw.readerSem", 6),
		replaceStatements("race.Acquire(unsafe.Pointer(&rw.writerSem))", "", 2),
		replaceCalls("RWMutex.RLock", "race.Acquire(unsafe.Pointer(&rw.readerSem))", "if race.RLocked(unsafe.Pointer(rw)) { rw.RUnlock(); rw.RLock() }", 1),
		replaceCalls("RWMutex.TryRLock", "race.Acquire(unsafe.Pointer(&rw.readerSem))", "race.TryRLocked(unsafe.Pointer(rw))", 1),
		replaceCalls("RWMutex.RUnlock", "race.ReleaseMerge(unsafe.Pointer(&rw.writerSem))", "race.RUnlocking(unsafe.Pointer(rw))", 1),
		replaceCalls("RWMutex.Lock", "race.Acquire(unsafe.Pointer(&rw.readerSem))", "if race.WriteLocked(unsafe.Pointer(rw)) { rw.Unlock(); rw.Lock() }", 1),
		replaceCalls("RWMutex.TryLock", "race.Acquire(unsafe.Pointer(&rw.readerSem))", "race.TryLocked(unsafe.Pointer(rw))", 1),
		replaceCalls("RWMutex.Unlock", "race.Release(unsafe.Pointer(&rw.readerSem))", "race.Unlocking(unsafe.Pointer(rw))", 1),
	}},
}

// raceAnnotations turns the dummy functions of internal/race into declarations of the recorder's
// functions, and adds those that only the patched packages call.
func raceAnnotations(norace []byte) ([]byte, error) {
	const path = "internal/race/norace.go"
	s, err := parseSource(path, norace)
	if err != nil {
		return nil, err
	}
	enabled := false
	for _, d := range s.file.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			if s.printed(d) == "const Enabled = false" {
				s.replace(d, "const Enabled = true")
				enabled = true
			}
		case *ast.FuncDecl:
			if !slices.Contains(recorder.Annotations, d.Name.Name) {
				return nil, fmt.Errorf("%w GOROOT: %s: unknown function %s", ErrUnsupported, path, d.Name.Name)
			}
			s.replace(d, "//go:linkname "+d.Name.Name+"\n"+s.printed(&ast.FuncDecl{Name: d.Name, Type: d.Type}))
		}
	}
	if !enabled {
		return nil, fmt.Errorf("%w GOROOT: %s: no constant Enabled", ErrUnsupported, path)
	}
	for _, group := range s.file.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "//go:build ") {
				s.replace(c, "//go:build race")
			}
		}
	}
	// The linker wants to have this package if it is called as for the race detector. See emptyRace.
	s.insert(s.file.Name.End(), "\n\nimport _ \"runtime/race\"\n")
	var b strings.Builder
	for _, f := range recorder.AddedAnnotations {
		name, _, _ := strings.Cut(f, "(")
		fmt.Fprintf(&b, "\n//go:linkname %s\nfunc %s\n", name, f)
	}
	s.insert(s.file.FileEnd, b.String())
	return s.result()
}

// emptyRace removes everything from package runtime/race, which has the race detector, except for its comment.
func (o overlay) emptyRace(src string) error {
	const pkg = "runtime/race"
	dir := filepath.Join(src, filepath.FromSlash(pkg))
	_, err := os.Stat(filepath.Join(dir, "doc.go")) // else nothing would be left
	if err != nil {
		return fmt.Errorf("%w GOROOT: %w", ErrUnsupported, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("%w GOROOT: %w", ErrUnsupported, err)
	}
	for _, e := range entries {
		name := e.Name()
		if kind := filepath.Ext(name); kind == ".syso" || kind == ".go" && name != "doc.go" && !strings.HasSuffix(name, "_test.go") {
			o[pkg+"/"+name] = nil
		}
	}
	return nil
}

// syscallPackage returns the import path of the runtime's system call package, which differs
// between releases.
func syscallPackage(src string) string {
	const path = "internal/runtime/syscall"
	if _, err := os.Stat(filepath.Join(src, filepath.FromSlash(path), "linux")); err == nil {
		return path + "/linux"
	}
	return path
}

// stdRoots generates the list of the first elements of the standard library's package paths, by
// which the recorder recognizes code of the program.
func stdRoots(src string) ([]byte, error) {
	entries, err := os.ReadDir(src)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString("package runtime\n\nvar heisenStdRoots = [...]string{\n")
	for _, e := range entries {
		if name := e.Name(); e.IsDir() && name != "cmd" && name != "testdata" {
			fmt.Fprintf(&b, "\t%q,\n", name)
		}
	}
	b.WriteString("}\n")
	return []byte(b.String()), nil
}

// write stores the overlay's files in a private folder below dir that is named by their content. It
// returns the path of the description for "go build -overlay". Existing files are not written again,
// so concurrent builds share them. If the folder is new, those that nobody has used for long are removed.
func (o overlay) write(dir, goroot string) (string, error) {
	paths := make([]string, 0, len(o))
	for path := range o {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	hash := sha256.New()
	fmt.Fprintf(hash, "%s\n", goroot)
	for _, path := range paths {
		fmt.Fprintf(hash, "%s %d\n%s", path, len(o[path]), o[path])
	}
	cache := dir
	dir = filepath.Join(cache, hex.EncodeToString(hash.Sum(nil)[:8]))
	_, made := os.Stat(dir)
	if err := private.Folder(dir); err != nil {
		return "", err
	}
	private.Use(dir)
	if made != nil {
		removeUnused(cache)
	}

	var description struct{ Replace map[string]string }
	description.Replace = map[string]string{}
	for _, path := range paths {
		var file string // means to the go command that the file does not exist
		if o[path] != nil {
			file = filepath.Join(dir, strings.ReplaceAll(path, "/", "_"))
			if err := private.Put(file, o[path]); err != nil {
				return "", err
			}
		}
		description.Replace[filepath.Join(goroot, "src", filepath.FromSlash(path))] = file
	}
	text, err := json.MarshalIndent(description, "", "\t")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, private.Put(file, text)
}

// removeUnused removes from the cache what nobody has used for long: overlays, programs that were built again, what was left of
// such builds, and records of self-tests. Modules stay, which the go command keeps there if it has no other place.
func removeUnused(cache string) {
	private.RemoveUnused(cache, strings.Repeat("[0-9a-f]", 16), "rebuilt-*", "rebuild-*", "selftest-*")
}

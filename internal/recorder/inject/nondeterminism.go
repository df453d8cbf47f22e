//go:build heisen_inject

package runtime

import (
	"internal/abi"
	"internal/runtime/atomic"
	"unsafe"
)

// What comes from outside of a deterministic run, so that another may go otherwise.

const (
	heisenByInput   = iota // it was read from a file, a pipe or a connection
	heisenByNetwork        // the network, or a pipe, became ready
	heisenBySyscall        // a system call took long, and others went on meanwhile
	heisenBySignal
	heisenByCgo
	heisenByThread // the program wants threads of its own
	heisenInfluences
)

// heisenInfluence counts what came from outside in one way, and where first.
type heisenInfluence struct {
	count uint64
	first uint32 // as a text offset
}

// heisenInfluenced counts an influence at a place in the program, if any is known.
//
//go:nosplit
func heisenInfluenced(kind int, pc uintptr) {
	in := &heisenSched.influences[kind]
	atomic.Xadd64(&in.count, 1)
	if in.first == 0 {
		in.first = uint32(heisenPC(pc))
	}
}

// heisenOutside counts an influence on the current goroutine.
//
//go:nosplit
//go:noinline
func heisenOutside(kind int) {
	if gp := getg(); heisenSched.on && gp == gp.m.curg {
		if pc := heisenCaller(getcallerfp()); pc != 0 {
			heisenInfluenced(kind, pc)
		}
	}
}

// heisenSignalled is called, in a signal handler, for every signal.
//
//go:nosplit
func heisenSignalled(s uint32) {
	if heisenSched.on && s < uint32(32*len(sig.wanted)) && atomic.Load(&sig.wanted[s/32])&(1<<(s&31)) != 0 {
		heisenInfluenced(heisenBySignal, 0)
	}
}

// heisenBack is called when gp comes back from a system call and has lost its P: it is
// said where that was.
func heisenBack(gp *g) {
	if h := (*heisenG)(unsafe.Pointer(gp.racectx)); heisenSched.on && h != nil {
		h.task.fromSyscall = true
	}
}

// heisenWaits is called when the current goroutine gives up its P to wait for what is
// no goroutine.
//
//go:nosplit
func heisenWaits() {
	if h := (*heisenG)(unsafe.Pointer(getg().racectx)); heisenSched.on && h != nil {
		h.task.inRuntimeWait = true
	}
}

// heisenNetpoll takes the place of netpoll where the runtime's own scheduler polls: the
// pool is asked for that.
func heisenNetpoll(delay int64) (gList, int32) {
	if heisenSched.on {
		return gList{}, 0
	}
	return netpoll(delay)
}

// pollNetwork makes runnable who can go on, after waiting for them for at most the
// given time, and reports whether there are any.
func (s *heisenScheduler) pollNetwork(wait int64) bool {
	list, delta := netpoll(wait)
	if list.empty() {
		netpollAdjustWaiters(delta)
		return false
	}
	var ready gList // in the order in which they became so
	for !list.empty() {
		gp := list.pop()
		heisenInfluenced(heisenByNetwork, heisenCallerOn(gp, gp.sched.bp))
		ready.push(gp)
	}
	injectglist(&ready)
	netpollAdjustWaiters(delta)
	return true
}

// gathered reports whether somebody can go on.
func (s *heisenScheduler) anyRunnable() bool {
	return s.count > 0 || !runqempty(getg().m.p.ptr()) || !sched.runq.empty()
}

// away reports whether goroutines of the program are in system calls, or in C, and
// whether others wait in the runtime for what is no goroutine: for a signal, or for
// data of a profile. The one that waits for signals does not count, unless it is about
// to come back.
func (s *heisenScheduler) outsideWaits() (calls, waits bool) {
	// As in checkdead: the other threads that are not idle are in calls, mostly.
	lock(&sched.lock)
	run := mcount() - sched.nmidle - sched.nmidlelocked - sched.nmsys
	unlock(&sched.lock)
	if run <= 1 {
		return false, false
	}
	sleeping, runnable := uint32(0), 0
	forEachGRace(func(gp *g) {
		h := (*heisenG)(unsafe.Pointer(gp.racectx))
		if h == nil || !heisenInProgram(gp, h) {
			return
		}
		switch readgstatus(gp) &^ _Gscan {
		case _Gsyscall:
			if f := findfunc(gp.syscallpc); f.valid() && f.entry() == abi.FuncPCABIInternal(notetsleepg) {
				sleeping++
			} else {
				calls = true
			}
		case _Grunnable, _Grunning:
			runnable++
		}
	})
	if sig.state.Load() == sigReceiving && sleeping > 0 {
		sleeping--
	}
	// Those that do not stand in the pool are just coming back.
	return calls || runnable > s.count, sleeping > 0
}

// heisenRetaking is what the monitor thread knows of the P.
type heisenRetaking struct {
	tick  uint32 // of system calls
	since int64
}

// heisenPatience is how long a system call may take before others go on, in ns.
const heisenPatience = 50 * 1000 * 1000

// heisenAsking says that it is not known yet whether the run is to be deterministic.
var heisenAsking = true

// heisenMayRetake reports whether the monitor thread may look for a P to take away: if
// it has been in a system call for long. As long as it is not known whether the run is to
// be deterministic, it may not.
func heisenMayRetake() bool {
	if !heisenSched.on {
		return !heisenAsking
	}
	r := &heisenSched.retake
	pp := allp[0]
	now := nanotime1()
	if tick := atomic.Load(&pp.syscalltick); !heisenInSyscall(pp) || tick != r.tick {
		r.tick, r.since = tick, now
		return false
	}
	// The thread may just have no processor.
	return now-r.since >= heisenPatience && heisenSleeps(pp)
}

// heisenSleeps reports whether the thread that is in a system call with a P sleeps there,
// as far as the operating system says.
func heisenSleeps(pp *p) bool {
	mp := pp.m.ptr()
	for m := (*m)(atomic.Loadp(unsafe.Pointer(&allm))); mp == nil && m != nil; m = m.alllink {
		if m.oldp.ptr() == pp && m.curg != nil && readgstatus(m.curg)&^_Gscan == _Gsyscall {
			mp = m
		}
	}
	if mp == nil {
		return false
	}
	const before, after = "/proc/self/task/", "/stat\x00"
	var path [64]byte
	n := copy(path[:], before)
	var digits [20]byte
	n += copy(path[n:], itoa(digits[:], mp.procid))
	copy(path[n:], after)
	fd := open(&path[0], 0 /* O_RDONLY */, 0)
	if fd < 0 {
		return true
	}
	var text [256]byte
	got := read(fd, noescape(unsafe.Pointer(&text)), int32(len(text)))
	closefd(fd)
	// The state comes after the name, which is in parentheses.
	for i := int(got) - 3; i >= 0; i-- {
		if text[i] == ')' {
			return text[i+2] != 'R' && text[i+2] != 'D'
		}
	}
	return true
}

// heisenRetaken counts the Ps that the monitor thread has taken away.
func heisenRetaken(n uint32) uint32 {
	if heisenSched.on {
		atomic.Xadd64(&heisenSched.influences[heisenBySyscall].count, int64(n))
	}
	return n
}

// heisenPreempt takes the place of preemptone where a goroutine has had its time.
func heisenPreempt(pp *p) {
	if !heisenSched.on {
		preemptone(pp)
	}
}

// heisenInSyscall reports whether the thread of a P is in a system call. Before Go 1.26
// that was a status of the P, 2.
func heisenInSyscall(pp *p) bool {
	if atomic.Load(&pp.status) == 2 {
		return true
	}
	mp := pp.m.ptr()
	if mp == nil {
		return false
	}
	gp := mp.curg
	return gp != nil && readgstatus(gp)&^_Gscan == _Gsyscall
}

// Random numbers.

// heisenDraws reports whether the current goroutine's random numbers are those of the
// schedule.
//
//go:nosplit
func heisenDraws() bool {
	gp := getg()
	if !heisenSched.on || gp != gp.m.curg {
		return false
	}
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	return h != nil && h.task.kind != heisenIsRuntime
}

// heisenRandom is the next random number of the schedule.
//
//go:nosplit
func heisenRandom() (x uint64) {
	systemstack(func() { x = heisenSched.picker.Random() })
	return x
}

// heisenCheaprand takes the place of cheaprand where it decides what the program does.
//
//go:nosplit
func heisenCheaprand() uint32 {
	if heisenDraws() {
		return uint32(heisenRandom())
	}
	return cheaprand()
}

// heisenCheaprandn takes the place of cheaprandn there.
//
//go:nosplit
func heisenCheaprandn(n uint32) uint32 {
	if heisenDraws() {
		return uint32(heisenRandom() >> 32 * uint64(n) >> 32)
	}
	return cheaprandn(n)
}

// heisenGetrandom fills p as the operating system's source of random numbers would.
func heisenGetrandom(p []byte) {
	for i := range p {
		p[i] = byte(heisenRandom() >> 56)
	}
}

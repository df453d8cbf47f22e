//go:build heisen_inject

package runtime

import (
	"internal/abi"
	"internal/runtime/atomic"
	"unsafe"
)

// Influences on a deterministic run from outside, by which another run may differ: input, the
// network, system calls, signals, C and random numbers. Influences are counted and reported. The
// functions run where the runtime is patched to call them: on goroutines, in the scheduler, in the
// monitor thread (heisenMayRetake, heisenRetaken) and in signal handlers (heisenSignalled). So the
// ones that hooks and handlers call are nosplit and take no locks.

const (
	heisenByInput   = iota // read from a file, a pipe or a connection
	heisenByNetwork        // the network, or a pipe, became ready
	heisenBySyscall        // a system call took long and others continued
	heisenBySignal
	heisenByCgo
	heisenByThread  // the program wants threads of its own
	heisenByProcess // it has started a process
	heisenInfluences
)

// heisenInfluence is the number of influences of a kind, and the place of the first: the call of the program that has led there.
type heisenInfluence struct {
	count uint64
	first uint32 // as a text offset
}

// heisenInfluenced counts an influence at a place in the program, if one is known.
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
		if pc := heisenOutermost(gp, getcallerfp()); pc != 0 {
			heisenInfluenced(kind, pc)
		}
	}
}

// heisenSignalled is called, in a signal handler, for each signal.
//
//go:nosplit
func heisenSignalled(s uint32) {
	if heisenSched.on && s < uint32(32*len(sig.wanted)) {
		heisenSched.outside.received(s)
	}
	if heisenSched.on && s < uint32(32*len(sig.wanted)) && atomic.Load(&sig.wanted[s/32])&(1<<(s&31)) != 0 {
		heisenInfluenced(heisenBySignal, 0)
	}
}

// heisenBack is called when gp returns from a system call and has lost its P. The place is found
// later (route).
func heisenBack(gp *g) {
	if h := (*heisenG)(unsafe.Pointer(gp.racectx)); heisenSched.on && h != nil {
		h.task.fromSyscall = true
	}
}

// heisenWaits is called when the current goroutine gives up its P to wait for something that is no
// goroutine.
//
//go:nosplit
func heisenWaits() {
	if h := (*heisenG)(unsafe.Pointer(getg().racectx)); heisenSched.on && h != nil {
		h.task.inRuntimeWait = true
	}
}

// heisenNetpoll takes the place of netpoll where the runtime's own scheduler polls; the pool polls
// instead.
func heisenNetpoll(delay int64) (gList, int32) {
	if heisenSched.on {
		return gList{}, 0
	}
	return netpoll(delay)
}

// pollNetwork waits for the network, at most for the given time, and makes goroutines runnable. It
// reports whether there are any.
func (s *heisenScheduler) pollNetwork(wait int64) bool {
	list, delta := netpoll(wait)
	if list.empty() {
		netpollAdjustWaiters(delta)
		return false
	}
	var ready gList // in the order in which they became ready
	for !list.empty() {
		gp := list.pop()
		heisenInfluenced(heisenByNetwork, heisenOutermost(gp, gp.sched.bp))
		ready.push(gp)
	}
	injectglist(&ready)
	netpollAdjustWaiters(delta)
	s.outside.answered()
	return true
}

// outsideWaits reports two things: calls, whether goroutines of the program are in system calls or
// in C, or about to return from there; and waits, whether others wait in the runtime for data of a
// profile or for something else that is no goroutine. The goroutine that waits for signals does not
// count unless one has arrived.
func (s *heisenScheduler) outsideWaits() (calls, waits bool) {
	// As in checkdead: most of the other threads that are not idle are in calls.
	lock(&sched.lock)
	run := mcount() - sched.nmidle - sched.nmidlelocked - sched.nmsys
	unlock(&sched.lock)
	if run <= 1 {
		return false, false
	}
	runnable := 0
	forEachGRace(func(gp *g) {
		h := (*heisenG)(unsafe.Pointer(gp.racectx))
		if h == nil || !heisenInProgram(gp, h) {
			return
		}
		switch readgstatus(gp) &^ _Gscan {
		case _Gsyscall:
			switch f := findfunc(gp.syscallpc); {
			case !f.valid() || f.entry() != abi.FuncPCABIInternal(notetsleepg):
				calls = true
			case !heisenAwaitsSignals(gp):
				waits = true
			case sig.state.Load() != sigReceiving:
				calls = true // it has been woken
			}
		case _Grunnable, _Grunning:
			runnable++
		}
	})
	// Runnable goroutines outside of the pool are just returning.
	return calls || runnable > s.count, waits
}

// heisenRetaking is the state of the monitor thread: what it knows of the P.
type heisenRetaking struct {
	tick         uint32 // of system calls
	looked, took int64  // when the thread has looked the last time, and how long the system call has taken
}

// heisenPatience is the time that a system call may take before others continue, in ns.
const heisenPatience = 50 * 1000 * 1000

// The monitor thread looks at least every 10 ms. If it comes later than heisenTimely, in ns, it has waited for a processor, and
// so may the thread in the system call have done, even one that sleeps according to the operating system: where the whole
// machine stood still, nothing has woken it yet. This time counts as little, and as more than nothing, because a machine may
// always be as busy.
const (
	heisenTimely = 20 * 1000 * 1000
	heisenLate   = 1000 * 1000
)

// heisenAsking is true as long as it is not known whether the run is deterministic.
var heisenAsking = true

// heisenMayRetake reports whether the monitor thread may look for a P to take away: only if the P
// has been in a system call for long and the run is known to be deterministic or not.
func heisenMayRetake() bool {
	if !heisenSched.on {
		return !heisenAsking
	}
	r := &heisenSched.retake
	pp := allp[0]
	now := nanotime1()
	if tick := atomic.Load(&pp.syscalltick); !heisenInSyscall(pp) || tick != r.tick {
		r.tick, r.looked, r.took = tick, now, 0
		return false
	}
	// The thread may be waiting for a processor.
	passed := now - r.looked
	if passed > heisenTimely {
		passed = heisenLate
	}
	r.looked = now
	r.took += passed
	return r.took >= heisenPatience && heisenSleeps(pp)
}

// heisenSleeps reports whether the thread that is in a system call with a P sleeps there, according
// to the operating system.
func heisenSleeps(pp *p) bool {
	mp := pp.m.ptr()
	for m := (*m)(atomic.Loadp(unsafe.Pointer(&allm))); mp == nil && m != nil; m = m.alllink {
		if m.oldp.ptr() == pp && m.curg != nil && readgstatus(m.curg)&^_Gscan == _Gsyscall {
			mp = m
		}
	}
	return mp != nil && heisenThreadSleeps(mp.procid)
}

// heisenRetaken counts the Ps that the monitor thread has taken away.
func heisenRetaken(n uint32) uint32 {
	if heisenSched.on {
		atomic.Xadd64(&heisenSched.influences[heisenBySyscall].count, int64(n))
	}
	return n
}

// heisenPreempt takes the place of preemptone where a goroutine has used up its time.
func heisenPreempt(pp *p) {
	if !heisenSched.on {
		preemptone(pp)
	}
}

// heisenInSyscall reports whether the thread of a P is in a system call.
func heisenInSyscall(pp *p) bool {
	mp := pp.m.ptr()
	if mp == nil {
		return false
	}
	gp := mp.curg
	return gp != nil && readgstatus(gp)&^_Gscan == _Gsyscall
}

// Random numbers.

// heisenDraws reports whether the current goroutine's random numbers come from the schedule.
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

// heisenRandom returns the next random number of the schedule.
//
//go:nosplit
func heisenRandom() (x uint64) {
	x = heisenNextRandom()
	heisenUnsureHere(heisenUnsureRandom)
	return x
}

//go:nosplit
func heisenNextRandom() (x uint64) {
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

// heisenPollOrder takes the place of cheaprandn(n) where a select statement puts its nth channel among
// those before: at the place that is returned, and the one that was there last. The first ready one is
// taken. The same random numbers are drawn whether the schedule decides or not.
//
//go:nosplit
func heisenPollOrder(n uint32) uint32 {
	if !heisenDraws() {
		return cheaprandn(n)
	}
	switch h := (*heisenG)(unsafe.Pointer(getg().racectx)); {
	case !h.task.decided:
		return uint32(heisenRandom() >> 32 * uint64(n) >> 32)
	case h.task.first == 0: // at most one is ready
		return uint32(heisenNextRandom() >> 32 * uint64(n) >> 32)
	case n == h.task.first:
		heisenNextRandom()
		return 0
	}
	heisenNextRandom()
	return n - 1
}

// race_Draw fills p with random numbers where a deterministic run draws them, and reports whether it did.
//
//go:linkname race_Draw internal/race.Draw
func race_Draw(p []byte) bool {
	if !heisenDraws() {
		return false
	}
	heisenGetrandom(p)
	return true
}

// heisenGetrandom fills p as the operating system's source of random numbers would.
func heisenGetrandom(p []byte) {
	for i := range p {
		p[i] = byte(heisenRandom() >> 56)
	}
}

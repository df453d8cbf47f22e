//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	_ "unsafe"
)

// Time and the world outside. While something outside of a deterministic run can still answer, its clock
// is no faster than the real one: a child process takes the time that it takes, and a guard of 30
// virtual seconds is not to be over by then. What can answer is
//
//   - a process that the program has started, or one that such a process has left behind (processes.go);
//   - a signal that the program has sent to itself;
//   - a descriptor for which a goroutine waits, if its other end is not in this process (descriptors.go);
//   - a system call, or C code.
//
// If nothing of it answers for heisenSilence, the clock goes past the real one nevertheless, and the
// result of the run says so: what happens afterwards may only show that the program relies on an answer.
//
// The functions run in the scheduler, on the system stack, with a P and without locks, unless they say
// otherwise.

// heisenSilence is the real time that a program waits for answers without getting one, in ns, before its
// clock goes past the real one.
const heisenSilence = 3 * 1000 * 1000 * 1000

// heisenNothing means that nothing outside can answer. Otherwise an influence says what can.
const heisenNothing = -1

// heisenOutsideWorld is what the scheduler knows of the world outside.
type heisenOutsideWorld struct {
	processes heisenProcesses
	// sent are the signals that the program has sent to itself and not received yet, a bit for each.
	sent [len(sig.wanted)]uint32

	silent    int64  // real ns of waiting since the last answer
	overtaken uint64 // how often the clock has gone past the real one
	first     uint64 // what could have answered the first time, and the text offset of a place, shifted by 32

	// Where a busy program was last compared with the real clock; 0 after a jump.
	pacedReal, pacedClock int64

	// What the descriptors said after a number of choices. It is the same until the next choice.
	looked   uint64
	awaited  bool
	awaiting uint32 // as a text offset
}

// answering returns what outside of the program can still answer, as an influence, or heisenNothing, and
// the text offset of a place that says more, 0 if none does. Goroutines in system calls are left out.
func (s *heisenScheduler) answering() (by int, place uint32) {
	o := &s.outside
	if o.signalComes() {
		return heisenBySignal, s.influences[heisenBySignal].first
	}
	if o.processes.run() {
		return heisenByProcess, s.influences[heisenByProcess].first
	}
	if !netpollAnyWaiters() {
		return heisenNothing, 0
	}
	if steps := s.picker.Steps() + 1; o.looked != steps {
		gp := heisenAwaited()
		o.looked, o.awaited, o.awaiting = steps, gp != nil, 0
		if gp != nil {
			o.awaiting = uint32(heisenPC(heisenProgramCaller(gp, gp.sched.bp, false)))
		}
	}
	if o.awaited {
		return heisenByNetwork, o.awaiting
	}
	return heisenNothing, 0
}

// answered notes that something from outside has arrived.
func (o *heisenOutsideWorld) answered() { o.silent = 0 }

// wait notes that the program has waited for an answer for some real time. It reports whether the
// clock is no faster than the real one for that reason.
func (o *heisenOutsideWorld) wait(by int, place uint32, took int64) (paced bool) {
	if o.silent += took; o.silent < heisenSilence {
		return true
	}
	o.overtake(by, place)
	return false
}

// overtake notes that the clock goes past the real one although something can still answer.
func (o *heisenOutsideWorld) overtake(by int, place uint32) {
	if o.overtaken == 0 {
		o.first = uint64(by) | uint64(place)<<32
	}
	o.overtaken++
}

// pace is called now and then while the program seems to wait for the clock, which advances with its
// choices. It stops the program if the clock is too fast.
func (s *heisenScheduler) pace() {
	o := &s.outside
	now := nanotime1()
	if o.pacedReal == 0 {
		o.pacedReal, o.pacedClock = now, s.clock
		return
	}
	ahead := (s.clock - o.pacedClock) - (now - o.pacedReal)
	if ahead <= 0 {
		return
	}
	by, place := s.answering()
	if by == heisenNothing {
		if calls, _ := s.outsideWaits(); !calls {
			o.pacedReal = 0
			return
		}
		by = heisenBySyscall
	}
	if o.wait(by, place, ahead) {
		usleep(uint32(ahead / 1000))
	}
	o.pacedReal, o.pacedClock = nanotime1(), s.clock
}

// signalComes reports whether a signal is on its way to the program.
func (o *heisenOutsideWorld) signalComes() bool {
	if !sig.inuse {
		return false
	}
	if sig.delivering.Load() != 0 || sig.state.Load() == sigSending {
		return true
	}
	for i := range o.sent {
		if (atomic.Load(&o.sent[i])|atomic.Load(&sig.mask[i]))&atomic.Load(&sig.wanted[i]) != 0 {
			return true
		}
	}
	return false
}

// race_Kills is called before the program sends a signal to a process, a negative number for a process
// group. 0 stands for its own group, and for a process that is not known. It may run in a system call.
//
//go:linkname race_Kills internal/race.Kills
//go:nosplit
func race_Kills(pid, signal uintptr) {
	if heisen.leaks && pid == heisenGetpid() && signal < heisenNumSignals && heisenOnOrdinaryStack() {
		heisenBeforeOwnSignal(uint32(signal))
	}
	o := &heisenSched.outside
	if !heisenSched.on || signal == 0 || signal >= uintptr(32*len(o.sent)) || pid != 0 && pid != heisenGetpid() && -pid != heisenGetpid() {
		return
	}
	atomic.Or(&o.sent[signal/32], 1<<(signal&31))
}

// received notes, in a signal handler, that a signal has arrived.
//
//go:nosplit
func (o *heisenOutsideWorld) received(signal uint32) {
	atomic.And(&o.sent[signal/32], ^uint32(1<<(signal&31)))
}

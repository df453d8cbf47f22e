//go:build heisen_inject

package runtime

import "unsafe"

// The clock of deterministic runs. It advances a little with each choice, with the accesses of a
// goroutine that does nothing else, and whenever the program reads it, so that waiting for it ends.
// If no goroutine can continue, it advances to the next timer, but not past the real clock while something
// outside of the program can still answer (outside.go). A tick is short at first, so that the
// program's work takes no more time than in an ordinary run. After many ticks without a jump to a timer,
// the program seems to wait for the clock, and a tick is longer. idle runs in the scheduler, on the
// system stack, with a P and no locks; heisenNow and heisenNano run anywhere.

const (
	heisenClockStart = 1 << 60 // ns; later than all that the runtime has measured before
	heisenShortTick  = 100     // ns
	heisenLongTick   = 1000    // ns
	heisenShortTicks = 1 << 14 // after a jump
	heisenHookTime   = 10      // ns for an access
)

// tick advances the clock.
//
//go:nosplit
func (s *heisenScheduler) tick() {
	if s.slow {
		s.clock++
		return
	}
	if s.ticks < heisenShortTicks {
		s.ticks++
		s.clock += heisenShortTick
	} else {
		s.clock += heisenLongTick
	}
}

// heisenNow is the clock of package time.
//
//go:nosplit
func heisenNow() (sec int64, nsec int32, mono int64) {
	s := &heisenSched
	mono = heisenNano()
	wall := s.wallStart + mono - heisenClockStart
	return wall / 1e9, int32(wall % 1e9), mono
}

// heisenNano is the program's monotonic clock.
//
//go:nosplit
func heisenNano() int64 {
	s := &heisenSched
	if !s.on {
		return nanotime1()
	}
	gp := getg()
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	if gp == gp.m.curg && h != nil && heisenInProgram(gp, h) { // the collector reads it as well, whenever it runs
		s.tick()
		s.starved.clock = s.clock
		heisenUnsureHere(heisenUnsureTime)
	}
	return s.clock
}

// idle is called when no goroutine of the program can continue. It waits for events from outside,
// advances the clock to the next timer, or aborts the run.
func (s *heisenScheduler) idle(pp *p) {
	timers := &pp.timers
	if timers.zombies.Load() > 0 { // stopped timers are not worth waiting for
		timers.lock()
		timers.adjust(s.clock, true)
		timers.unlock()
	}
	when := heisenNextTimer(timers)
	if s.count > 0 && (when == 0 || when > s.until) { // the timer that those in the pool are held back for was stopped
		s.until = 0
		return
	}
	network := netpollAnyWaiters()
	calls, waits := s.outsideWaits()
	by, place := heisenNothing, uint32(0)
	if when == 0 || when > s.clock {
		by, place = s.answering()
	}
	if calls && by == heisenNothing {
		by = heisenBySyscall
	}
	switch {
	case when != 0 && when <= s.clock:
	case s.count > 0: // goroutines are held back until then, whatever answers
		if s.clock = when; by != heisenNothing {
			s.outside.overtake(by, place)
		}
	case network || calls || waits || when != 0 && by != heisenNothing:
		took, woken := s.waitOutside(network, when)
		if woken {
			return
		}
		switch {
		case when == 0:
			if !network && !calls && !sig.inuse && s.waited >= heisenDeadlockPatience {
				s.cannotGoOn(heisenDeadlock, heisenDeadlockMessage)
			}
			return
		case calls || by != heisenNothing && s.outside.wait(by, place, took): // calls end
			s.clock = min(s.clock+took, when)
		case by != heisenNothing || s.waited >= heisenNetworkPatience:
			// Usually the program itself would have to answer, and it has not.
			s.clock = when
		}
	case when != 0:
		s.clock = when
	case sig.inuse && s.ending.waiting == 0:
		usleep(heisenIdleWait / 1000) // a signal may arrive
	default:
		s.cannotGoOn(heisenDeadlock, heisenDeadlockMessage)
	}
	if s.clock >= s.maxClock {
		s.cannotGoOn(heisenStuckClock, "heisen: the program has reached the bound on its time")
	}
	if when != 0 && when <= s.clock {
		s.waited, s.ticks, s.outside.pacedReal = 0, 0, 0
		s.starved.clock = s.clock
		timers.check(s.clock, nil)
	}
}

// waitOutside waits for events from outside, which have their own time, and not longer than to the next
// timer. It returns how long that took, and whether a goroutine can go on.
func (s *heisenScheduler) waitOutside(network bool, when int64) (took int64, woken bool) {
	wait := int64(heisenIdleWait)
	if when != 0 {
		wait = min(wait, when-s.clock)
	}
	start := nanotime1()
	if network {
		s.pollNetwork(wait)
	} else {
		usleep(uint32(min(wait, 100*1000) / 1000))
	}
	took = nanotime1() - start
	s.waited += took
	if s.ending.waiting != 0 {
		s.ending.outside += took
	}
	if woken = !runqempty(getg().m.p.ptr()) || !sched.runq.empty(); woken {
		s.waited = 0
		s.outside.answered()
	}
	return took, woken
}

const (
	heisenIdleWait         = 1000 * 1000        // ns
	heisenNetworkPatience  = 10 * 1000 * 1000   // ns
	heisenDeadlockPatience = 1000 * 1000 * 1000 // ns

	heisenDeadlockMessage = "all goroutines are asleep - deadlock!" // the runtime's words
)

// heisenStarvation has the goroutine that could go on for the longest time and did not.
type heisenStarvation struct {
	time  int64 // ns
	id    uint32
	clock int64 // when the program has looked at the clock last, or a timer has fired
}

// noteStarved notes how long h has been in the pool since it had to wait for something.
func (s *heisenScheduler) noteStarved(h *heisenG) {
	h.task.held += s.clock - h.task.readyClock
	if h.task.held >= s.starved.time && !(heisenTasks.some && h.id == 0) { // the main goroutine of a test binary only waits
		s.starved.time, s.starved.id = h.task.held, h.id
	}
}

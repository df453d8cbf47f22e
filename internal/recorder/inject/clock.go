//go:build heisen_inject

package runtime

import _ "unsafe"

// The clock of deterministic runs. It advances a little with every choice, with the
// accesses of a goroutine that does nothing else, and whenever the program looks at it,
// so that waiting for it comes to an end, and, when no goroutine can go on, to the next
// timer.

const (
	heisenClockStart = 1 << 60 // ns; later than anything the runtime has noted before
	heisenTick       = 1000    // ns
	heisenHookTime   = 10      // ns, of an access
)

// heisenNow is what package time is told.
//
//go:nosplit
func heisenNow() (sec int64, nsec int32, mono int64) {
	s := &heisenSched
	mono = heisenNano()
	wall := s.wallStart + mono - heisenClockStart
	return wall / 1e9, int32(wall % 1e9), mono
}

// heisenNano is what the program is told of the monotonic clock.
//
//go:nosplit
func heisenNano() int64 {
	s := &heisenSched
	if !s.on {
		return nanotime1()
	}
	if gp := getg(); gp == gp.m.curg {
		s.clock += heisenTick
	}
	return s.clock
}

// idle is called when no goroutine of the program can go on: it waits for what is
// outside, lets the clock go to the next timer, or gives up.
func (s *heisenScheduler) idle(pp *p) {
	timers := &pp.timers
	if timers.zombies.Load() > 0 { // those that were stopped are none to wait for
		timers.lock()
		timers.adjust(s.clock, true)
		timers.unlock()
	}
	when := timers.wakeTime()
	network := netpollAnyWaiters()
	calls, waits := s.outsideWaits()
	switch {
	case when != 0 && when <= s.clock:
	case network || calls || waits:
		// What is outside has its own time. An answer from the network may take as
		// long as the next timer, too; but mostly it is the program that would answer
		// itself, and that it has not done.
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
		s.waited += nanotime1() - start
		if s.anyRunnable() {
			s.waited = 0
			return
		}
		if when == 0 {
			if !network && !calls && !sig.inuse && s.waited >= heisenDeadlockPatience {
				heisenAbortRun(heisenDeadlock, heisenDeadlockMessage)
			}
			return
		}
		if calls {
			s.clock = min(s.clock+nanotime1()-start, when)
		} else if s.waited >= heisenNetworkPatience {
			s.clock = when
		}
	case when != 0:
		s.clock = when
	case sig.inuse:
		usleep(heisenIdleWait / 1000) // a signal may come
	default:
		heisenAbortRun(heisenDeadlock, heisenDeadlockMessage)
	}
	if s.clock >= s.maxClock {
		heisenAbortRun(heisenStuckClock, "heisen: the program's time has come to its bound")
	}
	if when != 0 && when <= s.clock {
		s.waited = 0
		timers.check(s.clock, nil)
	}
}

const (
	heisenIdleWait         = 1000 * 1000        // ns
	heisenNetworkPatience  = 10 * 1000 * 1000   // ns
	heisenDeadlockPatience = 1000 * 1000 * 1000 // ns

	heisenDeadlockMessage = "all goroutines are asleep - deadlock!" // the runtime's words
)

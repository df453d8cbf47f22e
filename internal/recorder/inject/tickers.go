//go:build heisen_inject

package runtime

import "unsafe"

// Ticks that bring nothing new. A ticker whose channel has a tick that nobody has received yet drops the
// next ones. Go before 1.23, and programs with such a version in go.mod, have these tickers among their
// timers, also if nobody waits for them. Time does not advance for their sake: with a tick each
// nanosecond it would not get far, and a program in which nothing else can happen is deadlocked. The ticks
// that are due are dropped as ever, so that the next one that counts comes at its time.
//
// The functions run in the scheduler, on the system stack, with the P, or with the world stopped.

// heisenDropsTicks reports whether a timer is a ticker with a full channel.
func heisenDropsTicks(t *timer) bool {
	c := (*hchan)(unsafe.Pointer(heisenChannelOfTimer(t)))
	if t.period <= 0 || c == nil {
		return false
	}
	return c.dataqsiz > 0 && c.qcount == c.dataqsiz
}

// heisenNextTimer returns when the first timer fires that does not only drop a tick, 0 if there is none.
func heisenNextTimer(ts *timers) int64 {
	when := ts.wakeTime()
	if when == 0 || len(ts.heap) == 0 || !heisenDropsTicks(ts.heap[0].timer) {
		return when
	}
	return heisenFirstTimer(ts, heisenDropsTicks)
}

// heisenFirstTimer returns when the first timer fires that is not to be left out, 0 if there is none.
func heisenFirstTimer(ts *timers, leftOut func(*timer) bool) int64 {
	if when := ts.wakeTime(); ts.zombies.Load() > 0 || ts.minWhenModified.Load() != 0 {
		ts.lock()
		ts.adjust(when, true)
		ts.unlock()
	}
	return heisenFirstBelow(ts, 0, leftOut)
}

// heisenFirstBelow is heisenFirstTimer for the part of the heap below an index, in which no timer is earlier
// than the one there.
func heisenFirstBelow(ts *timers, i int, leftOut func(*timer) bool) (first int64) {
	if i >= len(ts.heap) {
		return 0
	}
	if !leftOut(ts.heap[i].timer) {
		return ts.heap[i].when
	}
	for child := range timerHeapN {
		if when := heisenFirstBelow(ts, i*timerHeapN+1+child, leftOut); when != 0 && (first == 0 || when < first) {
			first = when
		}
	}
	return first
}

const (
	heisenShortPeriod = 20 * 1000 // ns; ticks that are closer can be late without harm
	heisenSameTicks   = 1 << 10   // after so many ticks that change nothing, they come late
	heisenSameChoices = 8         // made after a tick that changes nothing, at most
)

// heisenShortTicker reports whether a timer is a ticker with a short period.
func heisenShortTicker(t *timer) bool { return 0 < t.period && t.period < heisenShortPeriod }

// heisenTicking counts ticks of short periods in a row that come while at most one goroutine can go on, and
// between which that one has made only few choices.
type heisenTicking struct {
	same  uint32
	steps uint64 // the choices that were made when the last one came
}

// heisenFires is called when a timer fires. Ticks in a row that change nothing come late after a while, as on
// a busy machine, which drops those between. Other timers do not.
func heisenFires(t *timer, bubble *synctestBubble) {
	s := &heisenSched
	if !s.on || bubble != nil || !heisenShortTicker(t) || heisenDropsTicks(t) {
		return
	}
	k := &s.ticking
	same := s.picker.Steps()-k.steps <= heisenSameChoices && s.oneGoesOn()
	k.steps = s.picker.Steps()
	if !same {
		k.same = 0
	} else if k.same++; k.same >= heisenSameTicks {
		late := s.clock + heisenShortPeriod
		if other := heisenFirstTimer(&getg().m.p.ptr().timers, heisenShortTicker); other != 0 && other < late {
			late = other
		}
		s.clock = max(s.clock, late)
	}
}

// oneGoesOn reports whether at most one goroutine of the program can go on.
func (s *heisenScheduler) oneGoesOn() bool {
	mp := getg().m
	others := s.count
	if mp.curg != nil {
		others++
	}
	return others <= 1 && runqempty(mp.p.ptr()) && sched.runq.empty()
}

//go:build heisen_inject

package runtime

// The end of a deterministic run. When main has returned, or the tests have, the goroutines that
// are left go on, until each has ended or waits, or a bound is reached. Then the program looks for
// those that wait for ever (leaks.go). A panic of one of them ends the program, as before. An exit
// does not: the program is ending already, with the status that it has chosen.
//
// A program that another goroutine ends than main, or an exit with another status than 0, ends at once: what main
// would do next does not happen. It looks for those that wait for ever before.
//
// The goroutine that ends the program parks meanwhile. The scheduler wakes it where it would
// otherwise abort the run.
//
// A run that reaches a bound before its end is searched, too: a goroutine can wait for ever beside others
// that never end, such as one with a ticker.

const (
	heisenEndTime  = 60 * 1000 * 1000 * 1000 // virtual ns that pass at most, unless goroutines wait for timers again and again
	heisenEndLong  = 12 * 60 * heisenEndTime // then
	heisenEndSteps = 20_000                  // choices that are made at most
	heisenEndWait  = 20 * 1000 * 1000        // real ns in which only the outside could go on, at most
)

// heisenEnding is the state of the end.
type heisenEnding struct {
	wanted  bool     // goroutines that are left go on
	exits   bool     // the program ends by os.Exit
	begun   bool     // a goroutine ends the program
	waiting guintptr // it, while the others go on
	over    bool     // they have come to rest
	rests   bool     // and nothing outside can answer
	clock   int64    // the bounds
	longest int64    // up to which clock is raised for goroutines that wait for timers
	steps   uint64
	outside int64 // ns of waiting for the outside
}

// heisenRunToEnd lets the other goroutines go on to their ends, and looks for leaks. It runs on the
// goroutine that ends the program, and on others that want to end it meanwhile, which block.
func heisenRunToEnd() {
	gp := getg()
	s := &heisenSched
	e := &s.ending
	if !e.wanted || !heisen.on {
		return
	}
	if e.begun {
		gopark(nil, nil, waitReasonPanicWait, traceBlockForever, 1)
	}
	if gp.goid != 1 { // main has not returned: this is the program's way to stop it
		heisenLookBeforeExit()
		return
	}
	e.begun = true
	e.clock = min(s.clock+heisenEndTime, s.maxClock)
	e.longest = s.clock + heisenEndLong
	e.steps = s.picker.Steps() + heisenEndSteps
	e.waiting.set(gp)
	gopark(nil, nil, waitReasonPanicWait, traceBlockForever, 1)
	if panicking.Load() == 0 {
		returned := !e.exits || heisenTasks.some // a test binary has run its tests
		systemstack(func() { heisenReportLeaks(gp, returned, returned && e.rests, heisenIsStranded) })
	}
}

// heisenLookBeforeExit looks for leaks on the goroutine that ends the program at once.
func heisenLookBeforeExit() {
	e := &heisenSched.ending
	if !e.wanted || !heisen.on || e.begun || panicking.Load() != 0 {
		return
	}
	e.begun = true
	gp := getg()
	systemstack(func() { heisenReportLeaks(gp, false, false, heisenIsLeft) })
}

// heisenReportLeaks reports those of the goroutines that wait for ever that are of concern, and those that nothing can stop. self ends
// the program, nil if none does. rests says that the program is at rest (atrest.go).
func heisenReportLeaks(self *g, returned, rests bool, concerns func(*g) bool) {
	if heisenFindLeaks(self, returned) {
		if rests {
			heisenLookFailed = !heisenStrandByLocks(self) || heisenLookFailed
		}
		heisenLookFailed = !heisenStrandBehindLocks(self) || heisenLookFailed
		heisenReportWaiting(heisenLeaked, concerns)
	}
	if heisenFindUnstoppable(self, returned) {
		heisenReportWaiting(heisenGoingOn, heisenGoesOn)
	}
	heisenReportFailedLook()
}

// woken returns the goroutine that ends the program if the others have come to rest or reached a
// bound, else nil.
func (e *heisenEnding) woken(s *heisenScheduler) *g {
	gp := e.waiting.ptr()
	if gp == nil || !e.over && !e.late(s) && s.picker.Steps() < e.steps && e.outside < heisenEndWait {
		return nil
	}
	e.waiting = 0
	casgstatus(gp, _Gwaiting, _Grunnable)
	return gp
}

// late reports whether the bound on the clock is reached. It is raised for goroutines that wait for timers again and again, until
// these have done so often enough to be found if nothing can stop them. They are found while they wait.
func (e *heisenEnding) late(s *heisenScheduler) bool {
	if s.clock < e.clock {
		return false
	}
	within, few := heisenInRounds()
	if few && e.clock < e.longest {
		e.clock = min(s.clock+heisenEndTime, e.longest)
		s.maxClock = max(s.maxClock, e.longest+1)
	}
	return !within && s.clock >= e.clock
}

// cannotGoOn aborts the run, unless the program is ending.
func (s *heisenScheduler) cannotGoOn(why uint32, message string) {
	if s.ending.waiting != 0 {
		s.ending.over = true
		by, _ := s.answering()
		s.ending.rests = why == heisenDeadlock && by == heisenNothing && !sig.inuse
		return
	}
	if why != heisenDeadlock && s.ending.wanted {
		heisenReportLeaks(nil, false, false, heisenIsStranded)
	}
	heisenAbortRun(why, message)
}

//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// When ordinary runs look for goroutines that wait for ever (leaks.go): at the end of each top-level
// test, for those that the test has started, directly or not, and at the end of the program for all
// (ends.go). The world is stopped meanwhile. At the end of a test of which no goroutine is blocked, nothing is
// searched. Each goroutine is reported once. The functions run on the goroutine that ends the test or
// the program, as ordinary Go code.

var heisenTests uint32 // top-level tests that have begun

const (
	heisenTestYields    = 10          // for the goroutines that a test has left, before the search
	heisenTestWait      = 1000 * 1000 // ns
	heisenDeadStack     = 64 << 10    // bytes below a stack pointer in which old pointers are cleared
	heisenDeadStackRoom = 256         // bytes directly below it that are left alone
)

// race_TestBegins is called by the goroutine of a top-level test: it and those that it starts belong to
// that test.
//
//go:linkname race_TestBegins internal/race.TestBegins
func race_TestBegins() {
	if h := (*heisenG)(unsafe.Pointer(getg().racectx)); heisen.leaks && h != nil {
		h.test = atomic.Xadd(&heisenTests, 1)
	}
}

// race_ClearStack clears what functions that have returned have left on the current goroutine's stack.
// Otherwise the search would take old pointers there for new ones, and miss leaks.
//
//go:linkname race_ClearStack internal/race.ClearStack
func race_ClearStack() {
	if !heisen.leaks {
		return
	}
	gp := getg()
	systemstack(func() {
		end := gp.sched.sp - heisenDeadStackRoom
		if start := max(gp.stack.lo, end-min(end, heisenDeadStack)); start < end {
			memclrNoHeapPointers(unsafe.Pointer(start), end-start)
		}
	})
}

// race_TestLeaks is called at the end of a top-level test, by its goroutine. It looks for goroutines of
// the test that wait for ever, and returns how many were reported.
//
//go:linkname race_TestLeaks internal/race.TestLeaks
func race_TestLeaks() int {
	gp := getg()
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	if !heisen.leaks || !heisen.open || h == nil || h.test == 0 {
		return 0
	}
	test := h.test
	heisenAwaitTest(gp, test)
	if !heisenTestIsBlocked(gp, test) {
		return 0
	}
	return heisenSearchLeaks(heisenLeakScope{test: test})
}

// heisenAwaitTest gives other goroutines of a test a moment to end or to block.
func heisenAwaitTest(gp *g, test uint32) {
	limit := nanotime() + heisenTestWait
	for i := 0; heisenTestRuns(gp, test) && nanotime() < limit; i++ {
		if i < heisenTestYields {
			Gosched()
		} else {
			notetsleepg(&heisenNap, heisenShortestNap)
		}
	}
}

// heisenTestRuns reports whether a goroutine of a test other than gp can run.
func heisenTestRuns(gp *g, test uint32) (runs bool) {
	forEachGRace(func(other *g) {
		h := (*heisenG)(unsafe.Pointer(other.racectx))
		if other == gp || h == nil || h.test != test {
			return
		}
		switch readgstatus(other) &^ _Gscan {
		case _Grunnable, _Grunning, _Gcopystack, _Gpreempted:
			runs = true
		}
	})
	return runs
}

// heisenTestIsBlocked reports whether a goroutine of a test other than gp waits and was not reported.
func heisenTestIsBlocked(gp *g, test uint32) (blocked bool) {
	forEachGRace(func(other *g) {
		h := (*heisenG)(unsafe.Pointer(other.racectx))
		if other != gp && h != nil && h.test == test && !h.task.leaked {
			blocked = blocked || heisenWaiting(other) && heisenBlocked(other.waitreason)
		}
	})
	return blocked
}

// heisenLeakScope says which goroutines a search concerns, and what may still run.
type heisenLeakScope struct {
	test     uint32 // only those of a top-level test; 0 for the whole program
	returned bool   // nothing follows on the goroutine that looks
	over     bool   // main or the tests have returned, or no goroutine runs
}

// heisenSearchLeaks looks for goroutines that wait for ever and were not reported yet. It returns how many of
// them the analyzer reports.
func heisenSearchLeaks(scope heisenLeakScope) (reported int) {
	gp := getg()
	found := 0
	if debug.asyncpreemptoff == 0 || !heisenOthersRun(gp) { // one that cannot be preempted would prevent that the world is stopped
		world := stopTheWorld(stwAllGoroutinesStack)
		systemstack(func() { found = heisenFindLeaksIn(gp, scope) })
		startTheWorld(world)
	}
	if scope.test == 0 {
		heisenEnd.unlimited()
	}
	if found > 0 {
		systemstack(func() { reported = heisenCountLeaked() })
	}
	return reported
}

// heisenFindLeaksIn looks for goroutines that wait for ever, sends those that were not reported yet, and
// returns their number. self looks, nil if no goroutine does. No goroutine runs.
func heisenFindLeaksIn(self *g, scope heisenLeakScope) (found int) {
	report := func(why uint32, are func(*g) bool) int {
		return heisenReportWaiting(why, func(gp *g) bool {
			h := (*heisenG)(unsafe.Pointer(gp.racectx))
			if gp == self || !are(gp) || h.task.leaked || scope.test != 0 && h.test != scope.test {
				return false
			}
			h.task.leaked = true
			return true
		})
	}
	heisenEnd.goesOn()
	if heisenFindLeaks(self, scope.returned) {
		if scope.over && (self == nil || heisenRests(self)) {
			heisenLookFailed = !heisenStrandByLocks(self) || heisenLookFailed
		}
		heisenLookFailed = !heisenStrandBehindLocks(self) || heisenLookFailed
		found = report(heisenLeaked, heisenIsLeft)
	}
	if heisenFindUnstoppable(self, scope.returned) {
		found += report(heisenGoingOn, heisenGoesOn)
	}
	heisenReportFailedLook()
	return found
}

// heisenCountLeaked returns how many of the goroutines that were sent the analyzer reports.
func heisenCountLeaked() (reported int) {
	r := &heisenReported
	heisenLock(&r.lock)
	if heisen.open && !r.ended {
		count, _ := heisenAskCount(heisenCountLeaks)
		reported = int(count)
	}
	heisenUnlock(&r.lock)
	return reported
}

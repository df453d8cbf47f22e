package build

import "github.com/heisen-go/heisen/internal/core/wire"

// testingTask has the functions that the patches of package testing call.
var testingTask = `package testing

import (
	"internal/race"
	"runtime"
	"sync/atomic"
	"unsafe"
)

// heisenPassesEnv is looked at by each test binary whose result the go command may reuse, and which tells it so.
const heisenPassesEnv = "` + wire.PassesEnv + `"

func heisenTask(name string) { race.Task(name) }

func heisenBegin(c *common) {
	race.Runs(unsafe.Pointer(c))
	if c.level == 1 && !c.isSynctest {
		race.TestBegins()
		race.PrologueEnds()
	}
}

// heisenStop ends the current goroutine, which has called FailNow or SkipNow of c. That no goroutine runs c
// is so for a T that a test has made itself.
func heisenStop(c *common, skips bool) {
	if c.runner != "" {
		race.Stops(unsafe.Pointer(c), skips)
	}
	runtime.Goexit()
}

// heisenEnd ends a test, all functions of which have returned. Nothing leads to these functions any
// more, so that they do not hide what they have leaked.
func heisenEnd(c *common) {
	defer race.Ends(unsafe.Pointer(c))
	c.mu.Lock()
	clear(c.cleanups[:cap(c.cleanups)])
	c.mu.Unlock()
	c.sub = nil
	if c.level != 1 || c.isSynctest {
		return
	}
	if n := race.TestLeaks(); n > 0 {
		if !c.Failed() {
			numFailed.Add(1)
		}
		c.Helper()
		c.Errorf("%d goroutine(s) of the test are left behind for ever", n)
	}
}

// heisenUses is called where something is done to a test that has no effect once the test has ended.
func heisenUses(c *common) { race.Uses(unsafe.Pointer(c)) }

func heisenFailingInput(path string) string {
	race.FailingInput(path)
	return path
}

// heisenHandOut distributes iterations of a parallel benchmark. Chance decides which goroutine gets
// which, so a benchmark must not rely on their order. If that order counted as happens-before, it
// would hide most races.
func heisenHandOut(handed *atomic.Uint64, n uint64) uint64 {
	race.HandingOut(true)
	last := handed.Add(n)
	race.HandingOut(false)
	return last
}
`

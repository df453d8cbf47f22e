package main

// known explains why tests differ from go test -race, by package, test and way.
var known = map[string]string{
	"net TestDialListenIPArgs explore":                       finalizer,
	"runtime  test":                                          "TestArenaCollision fails",
	"runtime TestArenaCollision explore":                     otherWords,
	"runtime TestArenaCollision test":                        otherWords,
	"runtime TestCPUMetricsSleep explore":                    background,
	"runtime TestCPUStats explore":                           background,
	"runtime TestParallelRWMutexReaders explore":             spins,
	"runtime TestPeriodicGC explore":                         background,
	"runtime TestPreemptionAfterSyscall explore":             spins,
	"runtime TestReadMetricsConsistency explore":             background,
	"runtime TestRuntimeLockMetricsAndProfile explore":       spins,
	"runtime TestScavenger explore":                          background,
	"runtime TestSchedLocalQueueEmpty explore":               spins,
	"runtime TestSchedPauseMetrics explore":                  background,
	"runtime TestSemaHandoff explore":                        handoff,
	"runtime TestSemaHandoff1 explore":                       handoff,
	"runtime TestWeakToStrongMarkTermination explore":        spins,
	"runtime TestUserArenaCloneString explore":               clobbers,
	"runtime TestUserArenaClonePointer explore":              clobbers,
	"runtime TestUserArenaCloneSlice explore":                clobbers,
	"testing TestTRun explore":                               "a subtest of it leaves a goroutine that waits for ever",
	"testing TestBenchmarkRace explore":                      otherProgram,
	"testing TestBenchmarkRaceBLoop explore":                 otherProgram,
	"testing TestBenchmarkSubRace explore":                   otherProgram,
	"testing TestDeepSubtestRace explore":                    otherProgram,
	"testing TestRaceBeforeParallel explore":                 otherProgram,
	"testing TestRaceBeforeTests explore":                    otherProgram,
	"testing TestRaceDuringParallelFailsAllSubtests explore": otherProgram,
	"testing TestRaceInCleanup explore":                      otherProgram,
	"testing TestRaceReports explore":                        otherProgram,
	"testing TestRaceSubReports explore":                     otherProgram,
	"time TestChan explore":                                  shortTicks,
}

const (
	otherProgram = "it starts itself in another process and expects a report of a race there; explore mode looks at one process"
	otherWords   = "it takes all addresses for the heap, and expects the words that -race has for that"
	background   = "it measures what the runtime does beside the program, or with several processors; a deterministic run has one, and a clock of its own"
	spins        = "it waits for another processor within package runtime, where a deterministic run cannot switch"
	handoff      = "it measures to whom a semaphore is handed; a deterministic run decides that by its schedule"
	clobbers     = "with collections and clobberfree=1, the sweeper overwrites an arena that is freed and must not be touched, as it does under -race"
	finalizer    = "with collections, the finalizer of a connection that the test leaves open reads the hook for close, beside the end of the tests, which resets it"
	shortTicks   = "a ticker of a nanosecond fires each time that anything waits, so virtual time passes in steps of a nanosecond"
)

package main

// known explains why tests differ from go test -race, by package, test and way.
var known = map[string]string{
	"runtime TestArenaCollision test":                        "it takes all addresses for the heap, and expects the words that -race has for that",
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
	shortTicks   = "a ticker of a nanosecond fires each time that anything waits, so virtual time passes in steps of a nanosecond"
)

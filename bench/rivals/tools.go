package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A tool is a column of the table.
type tool struct {
	name   string // as the flag -tools takes it
	title  string // what a user types, or the name of the library
	source string // which copy of the programs it runs
	heisen bool
	args   func(r request) []string // of the command: go, or heisen
	blind  string                   // what it cannot see by design
}

// A request is what a tool is asked to run.
type request struct {
	runs    int
	hang    time.Duration // a run of all these that takes longer hangs
	fuzz    time.Duration // the flag -time of heisen fuzz
	work    string        // a folder for files
	pattern string        // of tests
	pkg     string
}

// flags returns flags of go test, and then the package.
func (r request) flags(first ...string) []string {
	return append(first, "-vet=off", fmt.Sprint("-count=", r.runs), fmt.Sprint("-timeout=", r.hang), "-run="+r.pattern, r.pkg)
}

// The copies of the programs.
const (
	asTheyAre    = "plain"
	withGoleak   = "goleak"
	withDeadlock = "deadlock"
)

// tools are the columns of the table.
var tools = []tool{
	{
		name: "test", title: "go test", source: asTheyAre,
		args:  func(r request) []string { return r.flags("test") },
		blind: "all that does not make the test fail or hang in that run.",
	},
	{
		name: "race", title: "go test -race", source: asTheyAre,
		args:  func(r request) []string { return r.flags("test", "-race") },
		blind: "deadlocks, leaked goroutines, and wrong orders of correctly synchronized accesses; races whose accesses were ordered in that run.",
	},
	{
		name: "goleak", title: "goleak", source: withGoleak,
		args:  func(r request) []string { return r.flags("test") },
		blind: "data races and all other bugs after which no goroutine is left; why a goroutine is left: one that would end a second later is reported, too; tests that never end.",
	},
	{
		name: "go-deadlock", title: "go-deadlock", source: withDeadlock,
		args:  func(r request) []string { return r.flags("test") },
		blind: "everything but mutexes: channels, wait groups, conditions, data races; mutexes of packages whose source was not changed; goroutines that wait for a mutex for less than the timeout before the test ends.",
	},
	{
		name: "heisen", title: "heisen test", source: asTheyAre, heisen: true,
		args:  func(r request) []string { return r.flags("test") },
		blind: "what go test -race cannot see. Its default is a detector of data races.",
	},
	{
		name: "detect", title: "heisen test -detect fasttrack,leak,lockorder", source: asTheyAre, heisen: true,
		args:  func(r request) []string { return r.flags("test", "-detect=fasttrack,leak,lockorder") },
		blind: "wrong orders of correctly synchronized accesses; races and leaks that did not happen in that run.",
	},
	{
		name: "predict", title: "heisen test -predict", source: asTheyAre, heisen: true,
		args:  func(r request) []string { return r.flags("test", "-predict", "-schedules="+r.work) },
		blind: "bugs that need other events than those of the run, such as the other branch of a condition.",
	},
	{
		name: "fuzz", title: "heisen fuzz", source: asTheyAre, heisen: true,
		args: func(r request) []string {
			return []string{"fuzz", "-corpus=none", fmt.Sprint("-time=", r.fuzz), "-schedules=" + r.work, "-run=" + r.pattern, r.pkg}
		},
		blind: "schedules that it did not try in the time; effects of weak memory, since one goroutine runs at a time.",
	},
}

func toolNames() (names []string) {
	for _, t := range tools {
		names = append(names, t.name)
	}
	return names
}

// chooseTools returns the tools in a comma-separated list, or all if it is empty.
func chooseTools(list string) (chosen []tool, err error) {
	if list == "" {
		return tools, nil
	}
	names := strings.Split(list, ",")
	for _, name := range names {
		if !slices.Contains(toolNames(), name) {
			return nil, fmt.Errorf("no tool is called %q; there are %s", name, strings.Join(toolNames(), ", "))
		}
	}
	for _, t := range tools {
		if slices.Contains(names, t.name) {
			chosen = append(chosen, t)
		}
	}
	return chosen, nil
}

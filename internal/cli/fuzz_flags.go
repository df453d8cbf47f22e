package cli

import (
	"flag"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/heisen-go/heisen/internal/confirm"
	"github.com/heisen-go/heisen/report"
)

// newFuzzing returns a fuzzRun with the default values of the flags.
func (inv *invocation) newFuzzing(known *knownFindings) *fuzzRun {
	return &fuzzRun{
		invocation: inv, overlaps: &atomraceFlags{}, reports: &reports{}, known: known, strategy: "directed",
		parallel: runtime.NumCPU(), procs: 4, limit: time.Minute, virtual: 10 * time.Minute, wait: 100 * time.Millisecond, search: 10 * time.Second,
		walks: 2, depth: 3, minimize: 60, folder: schedulesFolder, from: 1, to: 10, part: 1, parts: 1,
		usual: map[*confirm.Program]confirm.Outcome{}, lateUse: map[*confirm.Program]bool{}, explained: map[*confirm.Program][]confirm.Outcome{},
		positions: map[*confirm.Suspect]int{}, reported: map[string]bool{}, told: map[string]bool{}, mistakes: map[string]bool{}, behaviors: map[behaviorOf]bool{},
		quiet: map[findingKey]bool{},
	}
}

// searches reports whether there is a time to spend, and a search.
func (f *fuzzRun) searches() bool { return f.search > 0 && f.strategy == "directed" }

// boundsSuspects reports whether the time bounds how often suspects are tried: not if the user has said
// which seeds to try, and nothing about time.
func (f *fuzzRun) boundsSuspects() bool {
	set := map[string]bool{}
	f.flags.Visit(func(one *flag.Flag) { set[one.Name] = true })
	return set["time"] || !set["seeds"]
}

// schedulesFolder is the default folder for schedules.
const schedulesFolder = "heisen-fuzz"

// check parses and checks the values of the flags.
func (f *fuzzRun) check() error {
	var err error
	if f.from, f.to, err = seedRange(f.seeds); err != nil {
		return err
	}
	if f.part, f.parts, err = shardOf(f.shard); err != nil {
		return err
	}
	switch {
	case !slices.Contains([]string{"directed", "walk", "pct", "pos"}, f.strategy):
		return misuse("unknown strategy %q; there are directed, walk, pct, pos", f.strategy)
	case f.parallel < 1 || f.procs < 1 || f.depth < 1:
		return misuse("-j, -procs and -depth are at least 1")
	case f.minimize < 0 || f.limit <= 0 || f.virtual <= 0 || f.wait < 0 || f.search < 0:
		return misuse("-minimize, -wait and -time are not negative, -limit and -virtual are more than 0")
	}
	return nil
}

// seedRange reads a:b, or a single seed.
func seedRange(s string) (from, to uint64, err error) {
	first, last, several := strings.Cut(s, ":")
	if !several {
		last = first
	}
	if from, err = strconv.ParseUint(first, 10, 64); err == nil {
		to, err = strconv.ParseUint(last, 10, 64)
	}
	if err != nil || to < from || to-from == math.MaxUint64 {
		return 0, 0, misuse("-seeds %s: not a range a:b of numbers", s)
	}
	return from, to, nil
}

// shardOf reads i/n.
func shardOf(s string) (part, parts int, err error) {
	i, n, ok := strings.Cut(s, "/")
	if ok {
		if part, err = strconv.Atoi(i); err == nil {
			parts, err = strconv.Atoi(n)
		}
	}
	if !ok || err != nil || part < 1 || part > parts {
		return 0, 0, misuse("-shard %s: not i/n with i from 1 to n", s)
	}
	return part, parts, nil
}

// isQuiet reports whether a finding is a suspect that was not confirmed, which only reports in JSON
// have.
func (f *fuzzRun) isQuiet(finding *report.Finding) bool {
	return f.quiet[findingKey{finding.Detector, finding.Fingerprint}]
}

// setQuiet notes whether a suspect is quiet. One of several equal ones that is not decides.
func (f *fuzzRun) setQuiet(finding *report.Finding, quiet bool) {
	key := findingKey{finding.Detector, finding.Fingerprint}
	if _, known := f.quiet[key]; !quiet || !known {
		f.quiet[key] = quiet
	}
}

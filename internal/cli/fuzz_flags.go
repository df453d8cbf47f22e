package cli

import (
	"flag"
	"math"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/heisen-go/heisen/internal/confirm"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/report"
)

// newFuzzing returns a fuzzRun with the default values of the flags.
func (inv *invocation) newFuzzing(known *knownFindings) *fuzzRun {
	f := &fuzzRun{
		invocation: inv, overlaps: &atomraceFlags{}, reports: &reports{}, known: known, strategy: "directed", depth: 3,
		reported: map[string]bool{}, quiet: map[string]bool{},
	}
	f.config = confirm.Config{
		Time: 10 * time.Second, Part: 1, Parts: 1, Walks: 2, Minimize: 60, Folder: schedulesFolder, Replay: inv.tool.Name + " replay ",
	}
	c := &f.config.Confirmer
	c.From, c.To, c.Parallel, c.Procs, c.Depth = 1, 10, runtime.NumCPU(), 4, uint64(f.depth)
	c.Limit, c.Virtual, c.Wait = time.Minute, 10*time.Minute, 100*time.Millisecond
	return f
}

// defineFlags defines the flags of heisen fuzz.
func (f *fuzzRun) defineFlags() {
	fs, c := f.flags, &f.config
	fs.StringVar(&f.seeds, "seeds", "1:10", "try each suspect with the seeds `a:b`")
	fs.StringVar(&f.shard, "shard", "1/1", "make only part `i/n` of the campaign, for i from 1 to n, or from 0; the parts are disjoint, and each\nhas the time of a whole one. A folder that -corpus names is read, and i-of-n in it is written")
	fs.IntVar(&c.Quota, "executions", 0, "search each test or program in at most `n` executions; without -time, nothing else bounds that, and\nsuspects are tried with all seeds")
	fs.StringVar(&f.strategy, "strategy", f.strategy, "how to choose the next goroutine: directed (at suspects), or without suspects\nwalk (at random), pct (by random priorities of goroutines) or pos (of operations)")
	fs.Uint64Var(&c.Walks, "walks", c.Walks, "also look for suspects in `n` executions with random choices")
	fs.IntVar(&f.depth, "depth", f.depth, "bug depth that pct assumes: the number of ordering constraints of a bug")
	fs.IntVar(&c.Parallel, "j", c.Parallel, "number of executions at a time")
	fs.IntVar(&c.Procs, "procs", c.Procs, "value of GOMAXPROCS in the programs")
	fs.DurationVar(&c.Time, "time", c.Time, "spend this time on each test or program; 0 tries each suspect with all seeds, and\nsearches for nothing else")
	fs.DurationVar(&c.Limit, "limit", c.Limit, "stop an execution after this time")
	fs.DurationVar(&c.Virtual, "virtual", c.Virtual, "stop an execution after this virtual time")
	fs.Uint64Var(&c.Patience, "patience", 0, "postpone a goroutine for at most so many steps (default 131072)")
	fs.DurationVar(&c.Wait, "wait", c.Wait, "postpone it for at most this virtual time while all others wait for timers")
	fs.IntVar(&c.Minimize, "minimize", c.Minimize, "shrink the schedule of a confirmed bug in at most `n` executions")
	fs.StringVar(&c.Folder, "schedules", c.Folder, "write schedules to `folder`")
	f.reports = f.reportFlag(reportUsage + ". Reports in json have all suspects,\nconfirmed or not")
	fs.BoolVar(&c.Unconfirmed, "unconfirmed", false, "also report suspects that were not confirmed, and failures that did\nnot happen again when their schedules were repeated")
	fs.BoolVar(&c.Timing, "timing", false, "also report failures that may only be assumptions: about time, if a goroutine\nwas held back while a timer fired, or about what the runtime measures")
	fs.BoolVar(&c.Predict, "predict", false, "suspect what mcm and syncp predict from the first executions, try that first, and report it\nin any case")
	f.causality = f.causalityFlag()
	fs.StringVar(&f.corpus, "corpus", "", "go on where earlier runs have ended, and remember this one in `folder`; with none, nothing is remembered\n(default: the value of "+corpusVariable+", or a folder in the user's cache)")
	fs.BoolVar(&f.known.newOnly, "new-only", false, "fail only if a finding is new or back, as -corpus knows it; what is known is mentioned, and\nthe corpus stays as it is")
	fs.BoolVar(&f.uncovered, "uncovered", false, "also list the go statements, cases of select and locks that no execution\nhas covered")
	fs.StringVar(&f.since, "since", "", "only execute tests that can reach what has changed since a `revision` of the git repository;\nwhat concerns all tests of a package, such as a file that is embedded, is named")
	fs.StringVar(&f.given, "findings", "", "first try the findings in `file`, and say which were not confirmed: those of this tool\nas JSON, SARIF, what go test -race has printed, or lines with two places such as\na.go:12 b.go:34")
	fs.BoolVar(&f.merges, "merge", false, "run nothing, but combine what shards have written to folders, also into the corpus, and files that\n-report json has written")
	fs.StringVar(&f.overlaps.sections, "sections", "", "also suspect the atomic sections in `file`")
}

// boundsSuspects reports whether the time bounds how often suspects are tried: not if the user has said
// which seeds to try, and nothing about time.
func (f *fuzzRun) boundsSuspects() bool {
	return f.isSet("time") || !f.isSet("seeds") && f.config.Quota == 0
}

// isSet reports whether the user has set a flag.
func (f *fuzzRun) isSet(name string) (set bool) {
	f.flags.Visit(func(one *flag.Flag) { set = set || one.Name == name })
	return set
}

// schedulesFolder is the default folder for schedules.
const schedulesFolder = "heisen-fuzz"

// strategyFlags are the values of -strategy for executions without suspects.
var strategyFlags = map[string]strategies.Strategy{"walk": strategies.RandomWalk, "pct": strategies.PCT, "pos": strategies.POS}

// check parses and checks the values of the flags, and completes the configuration.
func (f *fuzzRun) check() error {
	var err error
	c := &f.config
	if c.From, c.To, err = seedRange(f.seeds); err != nil {
		return err
	}
	if c.Part, c.Parts, err = shardOf(f.shard); err != nil {
		return err
	}
	if c.Causality, err = causality(*f.causality); err != nil {
		return err
	}
	c.Strategy, c.Any = strategyFlags[f.strategy]
	switch {
	case f.since != "" && (f.merges || f.line.verb != "test"):
		return misuse("-since concerns tests only, and cannot be combined with -merge")
	case f.known.newOnly && f.merges:
		return misuse("-new-only needs a corpus, and cannot be combined with -merge")
	case !c.Any && f.strategy != "directed":
		return misuse("unknown strategy %q; there are directed, walk, pct, pos", f.strategy)
	case c.Parallel < 1 || c.Procs < 1 || f.depth < 1:
		return misuse("-j, -procs and -depth are at least 1")
	case c.Minimize < 0 || c.Limit <= 0 || c.Virtual <= 0 || c.Wait < 0 || c.Time < 0 || c.Quota < 0:
		return misuse("-minimize, -wait, -time and -executions are not negative, -limit and -virtual are more than 0")
	case c.Quota > 0 && (c.Any || c.Time == 0):
		return misuse("-executions concerns the search, which there is not with -strategy and -time 0")
	}
	c.Depth, c.Bounded, c.Own, c.Quiet = uint64(f.depth), f.boundsSuspects(), len(f.pkgs) == 0, f.reports.includes(asJSON)
	if c.Quota > 0 && !f.isSet("time") {
		c.Time = untimed
	}
	return nil
}

// untimed is the time of tests that only a number of executions bounds.
const untimed = time.Hour

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

// maxShards bounds the parts of a campaign.
const maxShards = 1000

// shardOf reads i/n. Part 0 is the last one: so those who count from 0 have the same parts as those who count from 1.
func shardOf(s string) (part, parts int, err error) {
	i, n, ok := strings.Cut(s, "/")
	if ok {
		if part, err = strconv.Atoi(i); err == nil {
			parts, err = strconv.Atoi(n)
		}
	}
	switch {
	case !ok || err != nil || part < 0 || part > parts || parts < 1:
		return 0, 0, misuse("-shard %s: not i/n with i from 1 to n, or from 0 to n-1", s)
	case parts > maxShards:
		return 0, 0, misuse("-shard %s: there are at most %d parts", s, maxShards)
	case part == 0:
		part = parts
	}
	return part, parts, nil
}

// isQuiet reports whether a finding is a suspect that was not confirmed, or passes: only reports in JSON
// have it.
func (f *fuzzRun) isQuiet(finding *report.Finding) bool {
	return f.quiet[finding.Fingerprint] || f.known.passes(finding)
}

// setQuiet notes whether a suspect is quiet. One of several equal ones that is not decides.
func (f *fuzzRun) setQuiet(finding *report.Finding, quiet bool) {
	if _, known := f.quiet[finding.Fingerprint]; !quiet || !known {
		f.quiet[finding.Fingerprint] = quiet
	}
}

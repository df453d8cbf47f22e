package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/heisen-go/heisen/internal/confirm"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
)

var fuzzCommand = command{
	name: "fuzz", args: "[flags] [test | run] [arguments]",
	short: "make suspected bugs happen and show the harm that they do",
	intro: `The command line is that of $heisen test or $heisen run. Programs run with one
goroutine at a time, under schedules that make suspected bugs happen.

`,
	first: []brief{
		{"seeds", "try each suspect with these seeds (default 1:10)"},
		{"time", "spend this time on each test or program (default 10s)"},
		{"j", "number of executions at a time"},
		{"limit", "stop an execution after this time (default 1m)"},
		{"predict", "try what the detector mcm predicts first, and report it"},
		{"sections", "suspect the atomic sections in a file, too"},
		{"schedules", "where schedules for $heisen replay are written"},
		{"report", briefReport},
		{"baseline", "do not report the findings in a file"},
		{"suppress", "do not report findings that lines of a file match"},
	},
	long: `Programs run with one goroutine at a time. First each program runs a few times.
$heisen suspects what may race or deadlock in another schedule, or interleave with
an atomic section of -sections. Then it tries each suspect with several seeds. It
postpones a goroutine at one place of the suspect until another goroutine comes
to the other place with a conflicting access to the same memory. One of the two,
picked at random, goes first. If the first seed does not show the bug, and the
detector mcm predicts a schedule that leads to it, $heisen follows that one. Last,
each test is searched by itself: under all schedules that make a difference if
they are few, and otherwise under random ones of several kinds, until it shows
nothing new. Where it does what the first runs did not, $heisen looks for further
suspects, which the search tries.

All of this together takes the time of -time for each test or program. Suspects
have half of it, the most promising ones first. -seeds without -time tries them
with all seeds, however long that takes. At the end $heisen says what was not
covered: go statements that were not executed, cases of select that were not
chosen, and locks for which no goroutine had to wait. -uncovered lists them.

A reported bug has happened. The report says how the program ended, and names a
schedule for $heisen replay. The seed also decides select, the order of maps and
random numbers. Time is virtual: it jumps to the next timer when all goroutines
wait, but not while a child process, a signal or a descriptor can still answer. Each
execution has a folder for temporary files of its own. Goroutines that are left when main or the tests have returned go on. $heisen
also reports those that wait for ever, whether or not a test fails.

Several machines can share the work with -shard and -seeds. The suspects are the
same everywhere. -merge combines the files that their -report json has written.

The command line is that of $heisen test or $heisen run, with those flags of the go
command that concern a single execution and that a schedule can repeat.
` + baselineHelp,
	run: (*invocation).fuzz,
}

// fuzzRun has the flags of heisen fuzz and its results so far.
type fuzzRun struct {
	*invocation
	seeds, shard, strategy string
	given                  string // file of findings to try
	parallel, procs        int
	limit, virtual, wait   time.Duration
	search                 time.Duration // for each test or program, with all that is tried in it
	patience               uint64
	walks                  uint64
	depth                  int
	minimize               int
	folder                 string
	unconfirmed, predict   bool
	timing, uncovered      bool
	reports                *reports
	overlaps               *atomraceFlags
	known                  *knownFindings

	from, to    uint64 // seeds
	part, parts int    // shard part of parts, from 1
	origin      confirm.Origin
	resolver    *confirm.Resolver
	usual       map[*confirm.Program]confirm.Outcome // how programs end under the default schedule
	confirmer   *confirm.Confirmer
	surveys     *confirm.Survey // also for what the search shows
	panics      error           // of detectors
	found       *findings

	// Failures of programs without the suspected bug, and outcomes that a confirmed bug explains.
	unexplained []*confirm.Result
	explained   map[*confirm.Program][]confirm.Outcome
	bugs        []confirmedBug
	open        []*confirm.Result // suspects that were tried and not confirmed
	following   []followingRace
	told        map[string]bool  // races by their fingerprints: whether they do harm
	mistakes    map[string]bool  // races inside the standard library that were reported, as in atCalls
	suspected   []report.Finding // of the file -findings
	assumed     assumptions
	lateUse     map[*confirm.Program]bool // a test was used after its end
	failures    int                       // failures and observed bugs that were reported
	anyway      int                       // failures that come in every schedule
	predicted   int                       // predicted suspects that were not confirmed
	observed    confirm.Observations
	positions   map[*confirm.Suspect]int // in the order in which they are tried
	reported    map[string]bool          // fingerprints of the reported suspects
	quiet       map[findingKey]bool      // suspects that only reports in JSON have

	mu sync.Mutex // guards the rest

	stopped  int             // executions that reached a limit
	unseen   recorder.Unseen // what synchronizes in programs besides
	late     int             // runs that look for suspects, and took too long
	units    []*confirm.Unit // what is searched
	coverage confirm.Coverage
	searched int // executions of the search
	// behaviors are what the executions of the search have done.
	behaviors map[behaviorOf]bool

	suspects, judged, confirmed, harmful int
	followed                             int // of the confirmed ones, those that belong to the findings of others
	further                              int // of the suspects, those that the search has found
	untried, interrupted                 int // suspects for which there was no time, or not enough
	executions, tried                    int // planned, and made
	started                              time.Time
}

// fuzz is heisen fuzz.
func (inv *invocation) fuzz() (int, error) {
	inv.buildFlags()
	f := inv.newFuzzing(inv.baselineFlags())
	fs := inv.flags
	fs.StringVar(&f.seeds, "seeds", "1:10", "try each suspect with the seeds `a:b`")
	fs.StringVar(&f.shard, "shard", "1/1", "try only part `i/n` of the suspects; the parts are the same on every machine")
	fs.StringVar(&f.strategy, "strategy", f.strategy, "how to choose the next goroutine: directed (at suspects), or without suspects\nwalk (at random), pct (by random priorities of goroutines) or pos (of operations)")
	fs.Uint64Var(&f.walks, "walks", f.walks, "also look for suspects in `n` executions with random choices")
	fs.IntVar(&f.depth, "depth", f.depth, "bug depth that pct assumes: the number of ordering constraints of a bug")
	fs.IntVar(&f.parallel, "j", f.parallel, "number of executions at a time")
	fs.IntVar(&f.procs, "procs", f.procs, "value of GOMAXPROCS in the programs")
	fs.DurationVar(&f.search, "time", f.search, "spend this time on each test or program; 0 tries each suspect with all seeds, and\nsearches for nothing else")
	fs.DurationVar(&f.limit, "limit", f.limit, "stop an execution after this time")
	fs.DurationVar(&f.virtual, "virtual", f.virtual, "stop an execution after this virtual time")
	fs.Uint64Var(&f.patience, "patience", 0, "postpone a goroutine for at most so many steps (default 131072)")
	fs.DurationVar(&f.wait, "wait", f.wait, "postpone it for at most this virtual time while all others wait for timers")
	fs.IntVar(&f.minimize, "minimize", f.minimize, "shrink the schedule of a confirmed bug in at most `n` executions")
	fs.StringVar(&f.folder, "schedules", f.folder, "write schedules to `folder`")
	f.reports = inv.reportFlag(reportUsage + ". Reports in json have all suspects,\nconfirmed or not")
	fs.BoolVar(&f.unconfirmed, "unconfirmed", false, "also report suspects that were not confirmed, and failures that did\nnot happen again when their schedules were repeated")
	fs.BoolVar(&f.timing, "timing", false, "also report failures that may only be assumptions: about time, if a goroutine\nwas held back while a timer fired, or about what the runtime measures")
	fs.BoolVar(&f.predict, "predict", false, "suspect what mcm predicts from the first executions, try that first, and report it\nin any case")
	fs.BoolVar(&f.uncovered, "uncovered", false, "also list the go statements, cases of select and locks that no execution\nhas covered")
	fs.StringVar(&f.given, "findings", "", "first try the findings in `file`, and say which were not confirmed: those of this tool\nas JSON, SARIF, what go test -race has printed, or lines with two places such as\na.go:12 b.go:34")
	merge := fs.Bool("merge", false, "run nothing, but combine files that -report json has written for other seeds or shards")
	fs.StringVar(&f.overlaps.sections, "sections", "", "also suspect the atomic sections in `file`")
	if err := inv.verbLine(true); err != nil {
		return Misused, err
	}
	if err := f.check(); err != nil {
		return Misused, err
	}
	if len(inv.hide) > 0 {
		return Misused, misuse("-hide cannot be combined with controlled schedules")
	}
	if err := f.known.readFiles(); err != nil {
		return Failed, err
	}
	if err := f.reports.check(); err != nil {
		return Failed, err
	}
	if *merge {
		f.reports.foreign = true
		return f.merge()
	}
	if f.overlaps.sections != "" {
		if err := f.overlaps.readSections(); err != nil {
			return Failed, err
		}
	}
	if f.given != "" {
		if err := f.readGiven(); err != nil {
			return Failed, err
		}
	}
	ctx, stop := inv.interruptible()
	defer stop()
	f.found = newFindings(inv.resolver, f.printText(), f.known)
	f.found.again = f.sayHarmful
	err := f.run(ctx)
	interrupted := ctx.Err() != nil
	if interrupted {
		err = nil // whatever it has ended
	}
	err = errors.Join(err, f.panics)
	all, _ := f.found.all()
	err = errors.Join(err, f.reports.writeOutput(inv.Out, all, f.isQuiet, jsonTo(inv.Out)), f.reports.writeFiles(all, f.isQuiet))
	err = errors.Join(err, f.known.writeBaseline(f.found))
	if f.confirmer != nil { // the programs were built
		f.summary()
	}
	if interrupted {
		err = errors.Join(errInterrupted, err)
	}
	reported := f.confirmed+f.failures+f.predicted > 0 && f.found.count() > 0
	switch {
	case interrupted && reported:
		return Findings, err
	case err != nil:
		return Failed, err
	case reported:
		return Findings, nil
	case f.anyway > 0:
		return Failed, nil
	}
	return Clean, nil
}

// run builds the programs, looks for suspects in them and tries those.
func (f *fuzzRun) run(ctx context.Context) error {
	var err error
	if f.origin.Source, err = f.controlledSource(); err != nil {
		return err
	}
	if len(f.pkgs) == 0 && !f.predict { // executions are judged by all accesses
		f.origin.Patterns = []string{"all"}
	}
	programs, remove, err := f.build(ctx)
	if err != nil {
		return err
	}
	defer remove()
	f.newConfirmer()
	var units []*confirm.Unit
	if f.strategy == "directed" {
		units = confirm.Units(ctx, programs)
	}
	if f.searches() {
		f.confirmer.Budget = confirm.NewBudget(f.search, f.parallel, units, f.boundsSuspects())
	}
	suspects, failed := f.survey(ctx, programs)
	confirm.AddSuspects(suspects)
	err = errors.Join(failed, f.confirm(ctx, partOf(suspects, f.part, f.parts)))
	if err == nil && f.searches() {
		err = f.searchUnits(ctx, partOf(units, f.part, f.parts), len(suspects))
	}
	f.reportObserved(ctx)
	f.reportFollowing(ctx)
	f.reportUnexplained(ctx)
	f.coverage = confirm.CoverageOf(programs)
	return err
}

// newConfirmer sets f.confirmer.
func (f *fuzzRun) newConfirmer() {
	f.confirmer = &confirm.Confirmer{
		From: f.from, To: f.to, Parallel: f.parallel, Limit: f.limit, Virtual: f.virtual,
		Procs: f.procs, Patience: f.patience, Wait: f.wait, Resolver: f.resolver,
		Depth: uint64(f.depth),
	}
}

// build builds the programs, which remove gives up.
func (f *fuzzRun) build(ctx context.Context) (programs []*confirm.Program, remove func(), err error) {
	if err := f.tryInstallation(ctx); err != nil {
		return nil, nil, err
	}
	done := f.progress("building", time.Second)
	programs, with, remove, err := f.tool.Builds.Build(ctx, &f.origin.Source)
	done()
	if err != nil {
		return nil, nil, err
	}
	if len(programs) == 0 {
		err = fmt.Errorf("no tests in %s", strings.Join(f.origin.Packages, " "))
	} else {
		f.sayLeftOut(programs[0].LeftOut)
		f.resolver = confirm.NewResolver(f.invocation.resolver, with)
		f.standard = filepath.Join(with.Root, "src")
		f.origin.Version, f.origin.Platform = with.Version, with.GOOS+"/"+with.GOARCH
		f.origin.Folder, err = os.Getwd()
	}
	if err != nil {
		remove()
		return nil, nil, err
	}
	return programs, remove, nil
}

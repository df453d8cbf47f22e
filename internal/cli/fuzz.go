package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen/internal/confirm"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/observed"
	"github.com/heisen-go/heisen/internal/onepage"
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
		{"sections", "suspect the atomic sections in a file, too"},
		{"schedules", "where schedules for $heisen replay are written"},
		{"report", briefReport},
		{"new-only", "fail only if a finding is new or back"},
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

What a run finds out is kept for the next one in the folder of -corpus, or in the
user's cache. That tells what is known first, says what is new, back, fixed or not
seen, and goes on with other seeds. Nothing is kept, or read, with -corpus none,
-findings, -time 0, or a -strategy other than directed. With -new-only,
which is for pull requests, the exit status is 66 only if a finding is new or back.
What is known is mentioned, and nothing is kept, so that what is new stays new.

Several machines can share the work with -shard. Each makes the same survey, and tries other
suspects. As many tests as can be dealt out evenly are searched by one machine each, for as
long as all would take together, and the rest by all, with other seeds. Each reads the folder
of -corpus, and writes what it finds out to a folder in it, such as 2-of-4. -merge takes such
folders, on one machine: it reports their findings, and puts what they remember into the corpus.
It also combines files that -report json has written.

The command line is that of $heisen test or $heisen run, with those flags of the go
command that concern a single execution and that a schedule can repeat.
` + baselineHelp,
	run: (*invocation).fuzz,
}

// fuzzRun has the flags of heisen fuzz. It listens to a campaign.
type fuzzRun struct {
	*invocation
	config                        confirm.Config
	seeds, shard, strategy, given string
	since                         string
	corpus                        string // -corpus
	causality                     *string
	depth                         int
	merges, uncovered             bool
	reports                       *reports
	overlaps                      *atomraceFlags
	known                         *knownFindings

	campaign *confirm.Campaign // nil until the programs are built
	found    *findings
	flaky    []onepage.Flaky
	reported map[string]bool // fingerprints of the suspects with findings
	quiet    map[string]bool // fingerprints of suspects that only reports in JSON have
}

// fuzz is heisen fuzz.
func (inv *invocation) fuzz() (int, error) {
	inv.buildFlags()
	f := inv.newFuzzing(inv.baselineFlags())
	f.defineFlags()
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
	if f.merges {
		return f.merge()
	}
	if err := f.readInputs(); err != nil {
		return Failed, err
	}
	ctx, stop := inv.interruptible()
	defer stop()
	f.found = newFindings(inv.resolver, f.printText(), f.known)
	f.found.retell = f.sayMore
	err := f.run(ctx)
	interrupted := ctx.Err() != nil
	if interrupted {
		err = nil // whatever it has ended
	}
	var numbers confirm.Statistics
	if f.campaign != nil {
		err, numbers = errors.Join(err, f.campaign.Panics()), f.campaign.Statistics()
		f.noteFlaky(f.campaign.Flaky())
	}
	all, _ := f.found.all()
	f.reports.keepAll(all, f.isQuiet)
	err = errors.Join(err, f.reports.writeOutput(inv.Out, all, f.isQuiet, jsonTo(inv.Out)), f.reports.writeFiles(all, f.isQuiet))
	err = errors.Join(err, f.known.writeBaseline(f.found), f.writePart(all, &numbers))
	if f.campaign != nil {
		if !interrupted && err == nil && f.line.runsAll() && f.since == "" {
			f.known.could = f.couldFind
		}
		f.summary(&numbers)
	}
	if interrupted {
		err = errors.Join(errInterrupted, err)
	}
	return f.exitStatus(&numbers, interrupted, err)
}

// readInputs reads the files that flags name, and opens the corpus.
func (f *fuzzRun) readInputs() error {
	if f.overlaps.sections != "" {
		if err := f.overlaps.readSections(); err != nil {
			return err
		}
	}
	if f.given != "" {
		if err := f.readGiven(); err != nil {
			return err
		}
	}
	return f.openCorpus()
}

// exitStatus returns the exit status after a campaign.
func (f *fuzzRun) exitStatus(n *confirm.Statistics, interrupted bool, err error) (int, error) {
	reported := n.Confirmed+n.Failures+n.Predicted > 0 && f.found.count() > 0
	switch {
	case interrupted && reported:
		return Findings, err
	case err != nil:
		return Failed, err
	case reported:
		return Findings, nil
	case n.Anyway > 0:
		return Failed, nil
	}
	return Clean, nil
}

// couldFind reports whether the campaign could have found what an earlier one has found in the tests of the same packages.
func (f *fuzzRun) couldFind(known *report.Finding) bool {
	c := &f.config
	shown := known.Detector == controlled.DetectorName || known.Detector == observed.RaceDetector || known.Detector == observed.LeakDetector
	return shown && !c.Any && c.Parts == 1 && slices.ContainsFunc(c.Programs, func(p *controlled.Program) bool { return p.Tested() == known.Package })
}

// run builds the programs and makes a campaign.
func (f *fuzzRun) run(ctx context.Context) error {
	source, err := f.controlledSource()
	if err != nil {
		return err
	}
	if len(f.pkgs) == 0 && !f.config.Predict { // executions are judged by all accesses
		source.Patterns = []string{"all"}
	}
	if f.since != "" {
		if err := f.chooseSince(ctx, &source); err != nil || len(source.Packages) == 0 {
			return err
		}
	}
	giveUp, err := f.begin(ctx, source)
	if err != nil {
		return err
	}
	defer giveUp()
	return f.campaign.Run(ctx)
}

// begin builds the programs of a campaign, which giveUp gives up.
func (f *fuzzRun) begin(ctx context.Context, source controlled.Source) (giveUp func(), err error) {
	programs, with, giveUp, err := f.buildControlled(ctx, &source)
	if err != nil {
		return nil, err
	}
	folder, err := os.Getwd()
	if len(programs) == 0 {
		err = fmt.Errorf("no tests in %s", strings.Join(source.Packages, " "))
	}
	if err != nil {
		giveUp()
		return nil, err
	}
	f.sayLeftOut(programs[0].LeftOut)
	c := &f.config
	c.Unversioned = c.Folder == schedulesFolder // others may be meant to be kept
	if c.Predict && c.Causality != suspects.OrderCausality {
		if c.Lines, err = f.readUse(ctx, &source); err != nil {
			giveUp()
			return nil, err
		}
	}
	c.Programs, c.Resolver, c.Sections = programs, observed.NewResolver(f.resolver, with), f.overlaps.read
	c.Origin = controlled.Origin{Source: source, Version: with.Version, Platform: with.GOOS + "/" + with.GOARCH, Folder: folder}
	f.campaign = confirm.New(*c, f)
	return giveUp, nil
}

// Enter implements confirm.Listener: it shows how far a stage has come.
func (f *fuzzRun) Enter(s confirm.Stage) (leave func()) {
	return f.progressOf(string(s), func() string { return f.status(s) }, time.Second)
}

// Say implements confirm.Listener.
func (f *fuzzRun) Say(text string) { fmt.Fprintf(f.Err, "%s: %s\n", f.tool.Name, text) }

// Add implements confirm.Listener.
func (f *fuzzRun) Add(finding report.Finding, quiet bool) {
	f.setQuiet(&finding, quiet)
	f.found.add(finding)
	if finding.Trials != nil {
		f.reported[finding.Trials.Suspect] = true
	}
}

// Follow implements confirm.Listener.
func (f *fuzzRun) Follow(root string, race report.Following) bool { return f.found.follow(root, race) }

// LastMoment implements confirm.Listener.
func (f *fuzzRun) LastMoment(ctx context.Context) (context.Context, context.CancelFunc) {
	return f.lastMoment(ctx)
}

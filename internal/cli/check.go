package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/onepage"
	"github.com/heisen-go/heisen/internal/printable"
	"github.com/heisen-go/heisen/internal/ssaload"
	"github.com/heisen-go/heisen/internal/wording"
	"github.com/heisen-go/heisen/report"
)

var checkCommand = command{
	name: "check", args: "[flags] [packages] [flags] [-args arguments]",
	short: "look for bugs in all ways, and tell them on a page",
	intro: `The command line is that of go test. Its flags (go help testflag, go help build)
work except -race, -json and the like, and so do these, in any place:

`,
	first: []brief{
		{"time", "run the tests under other schedules for this time"},
		{"limit", "stop an execution after this time (default 1m)"},
		{"j", "number of executions at a time"},
		{"schedules", "where schedules for $heisen replay are written"},
		{"report", briefReport},
		{"baseline", "do not report the findings in a file"},
		{"write-baseline", "write a file for -baseline"},
		{"suppress", "do not report findings that lines of a file match"},
		{"pkgs", "record only these packages; work: the main module"},
		{"max-memory", "bound the memory that $heisen takes"},
	},
	long: `The tests run once as under $heisen test, which finds data races, goroutines that
wait for ever, and failures. Then the checks of go vet -vettool=$heisen look at the
source. Last, the tests run under other schedules, as under $heisen fuzz, which
also finds deadlocks and failures that need another schedule, and predicts them.
That takes the time of -time, for all tests together. Tests with suspects, and
packages that start goroutines, come first. A test that shows nothing new has less of
the time, and what tests leave goes to those that have shown something new last.

Findings are mentioned when they are found. In the end a page says what is certain,
what is suspected, what was not looked at, and which command to type next.

The exit status is 66 if a finding is certain, otherwise 1 if a test fails or
something went wrong, otherwise 0. Suspicions do not change it.
` + baselineHelp,
	run: (*invocation).check,
}

// checkRun is a run of heisen check.
type checkRun struct {
	*fuzzRun
	watched *observation
	source  *staticChecks
	named   map[string]bool // fingerprints of the findings that were mentioned
	failed  bool            // tests, in the ordinary run
	began   time.Time
}

// check is heisen check.
func (inv *invocation) check() (int, error) {
	c := inv.newChecking()
	if err := inv.testLine(); err != nil {
		return Misused, err
	}
	if err := c.prepare(); err != nil {
		return Failed, err // of a usageError, the status is Misused
	}
	release := inv.holdSignals()
	err := c.runTests()
	release()
	if err == nil {
		err = c.lookAtSource()
	}
	if err == nil {
		err = c.explore()
	}
	return c.conclude(err)
}

// newChecking defines the flags of heisen check.
func (inv *invocation) newChecking() *checkRun {
	inv.buildFlags()
	known := inv.baselineFlags()
	f := inv.newFuzzing(known)
	f.config.Within, f.config.Quiet = time.Minute, true
	inv.flags.DurationVar(&f.config.Within, "time", f.config.Within, "run the tests under other schedules for this time")
	inv.flags.DurationVar(&f.config.Limit, "limit", f.config.Limit, "stop an execution after this time")
	inv.flags.IntVar(&f.config.Parallel, "j", f.config.Parallel, "number of executions at a time")
	inv.flags.StringVar(&f.config.Folder, "schedules", f.config.Folder, "write schedules to `folder`")
	f.reports = inv.reportFlag(formatsUsage + ". Without a\nfile, all but text goes to standard output, in the place of the page. The flag may be\ngiven several times")
	filter := filtering(true)
	watched := &observation{
		detect: inv.newDetection(), filter: &filter, known: known, overlaps: f.overlaps, reports: f.reports, limits: inv.liveAllowanceFlag(),
	}
	watched.detect.add(leakName)
	return &checkRun{fuzzRun: f, watched: watched, named: map[string]bool{}, began: time.Now()}
}

// prepare checks the values of the flags, and reads the files that they name.
func (c *checkRun) prepare() error {
	if value, given := c.line.value("json"); given && value != "false" {
		return misuse("-json is for %s test; a report in JSON is -report json", c.tool.Name)
	}
	if len(c.hide) > 0 {
		return misuse("-hide cannot be combined with controlled schedules")
	}
	if c.config.Within <= 0 || c.config.Limit <= 0 || c.config.Parallel < 1 {
		return misuse("-time and -limit are more than 0, and -j at least 1")
	}
	if _, err := c.controlledSource(measuring...); err != nil { // before the first run
		return err
	}
	c.config.Own = len(c.pkgs) == 0
	return c.watched.prepare(c.invocation)
}

// stage says what is done.
func (c *checkRun) stage(text string) { fmt.Fprintf(c.Err, "%s check: %s\n", c.tool.Name, text) }

// runTests runs the tests once.
func (c *checkRun) runTests() error {
	c.stage("running the tests once")
	c.found = newFindings(c.resolver, c.mention, c.known)
	c.watched.found = c.found
	cmd, err := c.goTestCommand()
	if err != nil {
		return err
	}
	said := &firstLines{to: c.raw.Err}
	cmd.Stderr, cmd.WaitDelay = said, grace
	defer func() { adviseOnStack(c.Err, c.tool.Name+" check", string(said.kept)) }()
	guard := newLiveGuard(c.watched.limits.liveMemory())
	defer guard.stop()
	_, status, err := c.watched.observe(c.invocation, cmd, guard)
	c.failed = status != Clean
	if _, interrupted := c.interrupted(); interrupted {
		return errInterrupted
	}
	return err
}

// mention prints a finding on a line, when it is found.
func (c *checkRun) mention(f *report.Finding) error {
	if c.isQuiet(f) || c.named[f.Fingerprint] {
		return nil
	}
	c.named[f.Fingerprint] = true
	text := onepage.Subject(f)
	if len(f.Accesses) > 0 {
		if at := wording.Place(f.Accesses[0].Site); at != "" && !strings.HasSuffix(text, at) {
			text += ", at " + at
		}
	}
	c.stage(printable.Text("found: " + text))
	return nil
}

// lookAtSource runs the static checks.
func (c *checkRun) lookAtSource() error {
	ctx, stop := c.interruptible()
	defer stop()
	defer c.progress("looking at the source", time.Second)()
	var err error
	c.source, err = checkSource(ctx, ssaload.Source{Packages: c.line.packages(), Tags: c.line.tags(), Tests: true})
	if ctx.Err() != nil {
		return errInterrupted
	}
	if err != nil {
		return err
	}
	for i := range c.source.findings {
		c.found.add(c.source.findings[i].Finding)
	}
	return nil
}

// explore runs the tests under other schedules.
func (c *checkRun) explore() error {
	if len(c.source.tested) == 0 {
		return nil
	}
	c.stage(fmt.Sprintf("running the tests under other schedules, for %v", c.config.Within))
	source, err := c.controlledSource(measuring...)
	if err != nil {
		return err
	}
	if len(c.source.unread) > 0 { // the others can be built
		source.Packages = c.source.tested
	}
	if len(c.pkgs) == 0 { // executions are judged by all accesses
		source.Patterns = []string{"all"}
	}
	found, _ := c.found.all()
	for i := range found {
		if found[i].Kind == heisen.Race {
			c.config.Known = append(c.config.Known, found[i].EachPair()...)
		}
	}
	c.config.Certain = true
	ctx, stop := c.interruptible()
	defer stop()
	giveUp, err := c.begin(ctx, source)
	if err == nil {
		slices.SortStableFunc(c.campaign.Programs, c.source.byPromise)
		err = errors.Join(c.campaign.Run(ctx), c.campaign.Panics())
		giveUp()
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// conclude writes the page and the reports.
func (c *checkRun) conclude(failed error) (int, error) {
	if c.source != nil {
		for i := range c.source.findings {
			s := &c.source.findings[i]
			c.found.join(&s.Finding, s.happenedIn)
		}
	}
	if c.campaign != nil {
		c.noteFlaky(c.campaign.Flaky())
	}
	all, hidden := c.found.all()
	all = onepage.Once(all)
	c.known.summary(c.Err, hidden)
	c.reports.keepAll(all, c.isQuiet)
	page := c.page(all, failed)
	err := errors.Join(failed, c.reports.writeOutput(c.Out, all, c.isQuiet, jsonTo(c.Out)), c.reports.writeFiles(all, c.isQuiet),
		c.known.writeBaseline(c.found))
	if c.reports.shows(asText) {
		err = errors.Join(err, page.Write(c.Out))
	}
	switch {
	case len(page.Certain) > 0:
		return Findings, err
	case err != nil, c.failed:
		return Failed, err
	}
	return Clean, nil
}

// page returns the page about findings.
func (c *checkRun) page(all []report.Finding, failed error) *onepage.Page {
	folder, _ := os.Getwd()
	p := &onepage.Page{Tool: c.tool.Name, Folder: folder, Took: time.Since(c.began), TestsFailed: c.failed, Arguments: shellWords(append(texts(c.line.goFlags()), c.line.packages()...))}
	races := map[string]bool{} // by the identities of their variables
	for _, i := range wording.InOrder(all) {
		f := &all[i]
		races[f.Identity] = races[f.Identity] || f.Identity != "" && f.Kind == heisen.Race
		switch quiet := c.isQuiet(f); {
		case quiet && f.Kind == heisen.PotentialRace && races[f.Identity]: // some pairs of its accesses raced
		case quiet && f.Kind == heisen.PotentialRace:
			p.Unraced++
		case !quiet && wording.Certain(f):
			p.Certain = append(p.Certain, *f)
		default:
			p.Suspected = append(p.Suspected, *f)
		}
	}
	if c.source != nil {
		p.Untested, p.Unread = c.source.untested, c.source.unread
	}
	if errors.Is(failed, errInterrupted) {
		p.Interrupted = true
	}
	if c.campaign != nil {
		c.searched(p)
	}
	return p
}

// searched adds to a page what the executions under other schedules have covered.
func (c *checkRun) searched(p *onepage.Page) {
	n := c.campaign.Statistics()
	p.Tests, p.Executions, p.Unsurveyed = len(n.Units), n.Tried+n.Searched, n.Unsurveyed
	p.Untried = n.Untried + n.Interrupted
	for _, u := range n.Units {
		if u.Executions == 0 {
			p.Unsearched = append(p.Unsearched, unitName(u))
		}
	}
	p.Flaky = c.flaky
	p.Uncovered = uncoveredParts(&n.Coverage)
	p.Stopped = n.Stopped + n.Late
	p.Unseen = n.Unseen.Reasons()
}

// shellWords returns arguments as a shell takes them.
func shellWords(args []string) string {
	var words []string
	for _, arg := range args {
		if strings.ContainsFunc(arg, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-./:=,@%+", r)
		}) {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}

func unitName(u *controlled.Unit) string {
	if u.Test == "" {
		return u.Program.Package
	}
	return u.Program.Package + "." + u.Test
}

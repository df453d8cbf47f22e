package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm"
	"github.com/heisen-go/heisen/internal/private"
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
		{"time", "then search each test for this time (default 10s)"},
		{"j", "number of executions at a time"},
		{"limit", "stop an execution after this time (default 1m)"},
		{"predict", "try what the detector mcm predicts, too"},
		{"sections", "suspect the atomic sections in a file, too"},
		{"schedules", "where schedules for $heisen replay are written"},
		{"report", "text, or json with a suspect on each line"},
		{"baseline", "do not report the findings in a file"},
		{"suppress", "do not report findings that lines of a file match"},
	},
	long: `Programs run with one goroutine at a time. First each program runs a few times.
$heisen suspects what may race or deadlock in another schedule, or interleave with
an atomic section of -sections. Then it tries each suspect with several seeds. It
postpones a goroutine at one place of the suspect until another goroutine comes
to the other place with a conflicting access to the same memory. One of the two,
picked at random, goes first. Last, each test is searched by itself under random
schedules of several kinds, for the time of -time, or until it shows nothing new.

A reported bug has happened. The report says how the program ended, and names a
schedule for $heisen replay. The seed also decides select, the order of maps and
random numbers. Time is virtual: it jumps to the next timer when all goroutines
wait. Goroutines that are left when main or the tests have returned go on. $heisen
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
	parallel, procs        int
	limit, virtual, wait   time.Duration
	search                 time.Duration // for each test or program
	patience               uint64
	walks                  uint64
	depth                  int
	minimize               int
	folder                 string
	unconfirmed, predict   bool
	timing                 bool
	reports                *reports
	overlaps               *atomraceFlags
	known                  *knownFindings

	from, to    uint64 // seeds
	part, parts int    // shard part of parts, from 1
	origin      confirm.Origin
	resolver    *confirm.Resolver
	usual       map[*confirm.Program]confirm.Outcome // how programs end under the default schedule
	confirmer   *confirm.Confirmer
	found       *findings

	// Failures of programs without the suspected bug, and outcomes that a confirmed bug explains.
	unexplained []*confirm.Result
	explained   map[*confirm.Program][]confirm.Outcome
	bugs        []confirmedBug
	failures    int // failures and observed bugs that were reported
	predicted   int // predicted suspects that were not confirmed
	observed    confirm.Observations
	positions   map[*confirm.Suspect]int // in the order in which they are tried
	reported    map[string]bool          // fingerprints of the reported suspects
	silent      bool                     // the next finding is not for text

	mu sync.Mutex // guards the rest

	stopped  int             // executions that reached a limit
	units    []*confirm.Unit // what is searched
	searched int             // executions of the search

	suspects, judged, confirmed, harmful int
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
	fs.DurationVar(&f.search, "time", f.search, "after the suspects, search each test or program for this time, or not if it is 0")
	fs.DurationVar(&f.limit, "limit", f.limit, "stop an execution after this time")
	fs.DurationVar(&f.virtual, "virtual", f.virtual, "stop an execution after this virtual time")
	fs.Uint64Var(&f.patience, "patience", 0, "postpone a goroutine for at most so many steps (default 131072)")
	fs.DurationVar(&f.wait, "wait", f.wait, "postpone it for at most this virtual time while all others wait for timers")
	fs.IntVar(&f.minimize, "minimize", f.minimize, "shrink the schedule of a confirmed bug in at most `n` executions")
	fs.StringVar(&f.folder, "schedules", f.folder, "write schedules to `folder`")
	f.reports = inv.reportFlag(reportUsage + ". Reports in json have all suspects,\nconfirmed or not")
	fs.BoolVar(&f.unconfirmed, "unconfirmed", false, "also report suspects that were not confirmed")
	fs.BoolVar(&f.timing, "timing", false, "also report failures that only executions show in which a goroutine was\nheld back while a timer fired")
	fs.BoolVar(&f.predict, "predict", false, "also suspect what mcm predicts from the first executions, and try that first")
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
		return f.merge()
	}
	if f.overlaps.sections != "" {
		if err := f.overlaps.readSections(); err != nil {
			return Failed, err
		}
	}
	ctx, stop := inv.interruptible()
	defer stop()
	f.found = newFindings(inv.resolver, f.printText(), f.known)
	err := f.run(ctx)
	interrupted := ctx.Err() != nil
	if interrupted {
		err = nil // whatever it has ended
	}
	if f.reports.shows(asJSON) {
		err = errors.Join(err, f.found.writeAll(jsonTo(inv.Out)))
	}
	all, _ := f.found.all()
	err = errors.Join(err, f.reports.writeFiles(all))
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
	}
	return Clean, nil
}

// printText returns a function that prints findings as text while programs run, or nil.
func (f *fuzzRun) printText() func(*report.Finding) error {
	if !f.reports.shows(asText) {
		return nil
	}
	return func(finding *report.Finding) error {
		if f.silent {
			return nil
		}
		return report.WriteText(f.Err, finding)
	}
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
	var suspects []*confirm.Suspect
	failed := f.survey(ctx, programs, &suspects)
	all := suspects
	suspects = partOf(suspects, f.part, f.parts)
	err = errors.Join(failed, f.confirm(ctx, suspects))
	if err == nil && f.search > 0 && f.strategy == "directed" {
		err = f.searchUnits(ctx, programs, all)
	}
	f.reportObserved(ctx)
	f.reportUnexplained(ctx)
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

// build builds the programs into a folder, which remove removes.
func (f *fuzzRun) build(ctx context.Context) (programs []*confirm.Program, remove func(), err error) {
	dir, err := private.Temp("heisen-fuzz-")
	if err != nil {
		return nil, nil, err
	}
	remove = func() {
		for _, p := range programs {
			p.Close()
		}
		os.RemoveAll(dir)
	}
	done := f.progress("building", time.Second)
	programs, with, err := f.origin.Build(ctx, dir)
	done()
	if err == nil && len(programs) == 0 {
		err = fmt.Errorf("no tests in %s", strings.Join(f.origin.Packages, " "))
	}
	if err == nil {
		f.resolver = confirm.NewResolver(f.invocation.resolver, with)
		f.origin.Version, f.origin.Platform = with.Version, with.GOOS+"/"+with.GOARCH
		f.origin.Folder, err = os.Getwd()
	}
	if err != nil {
		remove()
		return nil, nil, err
	}
	return programs, remove, nil
}

// survey appends the suspects in the programs. It records failures of programs.
func (f *fuzzRun) survey(ctx context.Context, programs []*confirm.Program, suspects *[]*confirm.Suspect) error {
	survey := &confirm.Survey{
		Races: true, Own: len(f.pkgs) == 0, Deadlocks: true, Sections: f.overlaps.read, Violations: len(f.overlaps.read) > 0,
		Predict: f.predict, Walks: f.walks,
		Limit: f.limit, Virtual: f.virtual, Procs: f.procs, Resolver: f.confirmer.Resolver,
	}
	if f.strategy != "directed" {
		survey.Races, survey.Deadlocks, survey.Violations, survey.Predict = false, false, false, false
		survey.Walks = 0
	}
	return f.runSurvey(ctx, survey, programs, func(p *confirm.Program, found []*confirm.Suspect, runs []*confirm.Trial) {
		switch f.strategy {
		case "walk":
			found = []*confirm.Suspect{confirm.AnyFailure(p, confirm.Walk)}
		case "pct":
			s := confirm.AnyFailure(p, confirm.Priorities)
			s.Length = runs[0].Execution.Steps
			found = []*confirm.Suspect{s}
		case "pos":
			found = []*confirm.Suspect{confirm.AnyFailure(p, confirm.Sampling)}
		}
		*suspects = append(*suspects, found...)
		if f.part == 1 {
			f.unexplained = append(f.unexplained, confirm.SurveyFailures(p, runs)...)
			f.observed.AddSurvey(p, runs)
		}
	})
}

// runSurvey surveys the programs and calls surveyed with the suspects and the runs of each.
func (f *fuzzRun) runSurvey(ctx context.Context, survey *confirm.Survey, programs []*confirm.Program, surveyed func(*confirm.Program, []*confirm.Suspect, []*confirm.Trial)) error {
	var looked atomic.Int32
	done := f.progressOf("looking for suspects", func() string {
		return fmt.Sprintf("looking for suspects in %d of %d programs", looked.Load()+1, len(programs))
	}, time.Second)
	defer done()
	for _, p := range programs {
		found, skipped, runs, err := survey.Run(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.Package, err)
		}
		looked.Add(1)
		f.usual[p] = runs[0].Execution.Outcome
		for _, t := range runs {
			f.noteStopped(t)
		}
		for _, why := range skipped {
			fmt.Fprintf(f.Err, "%s: %s\n", f.tool.Name, why)
		}
		surveyed(p, found, runs)
	}
	return nil
}

// partOf returns the i-th of n parts, from 1.
func partOf[T any](all []T, i, n int) (mine []T) {
	for k, s := range all {
		if k%n == i-1 {
			mine = append(mine, s)
		}
	}
	return mine
}

// confirm tries the suspects.
func (f *fuzzRun) confirm(ctx context.Context, suspects []*confirm.Suspect) error {
	f.mu.Lock()
	f.suspects += len(suspects)
	for i, s := range suspects {
		f.positions[s] = i
		f.executions += int(f.confirmer.Executions(s))
	}
	f.started = time.Now()
	f.mu.Unlock()
	done := f.progressOf("trying suspects", f.status, time.Second)
	defer done()
	ready := make(chan *confirm.Result, len(suspects))
	f.confirmer.OnResult = func(v *confirm.Result) { ready <- v }
	f.confirmer.OnTrial = func(s *confirm.Suspect, t *confirm.Trial) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.tried++
		f.noteStopped(t)
		f.observed.Add(f.positions[s], s, t)
	}
	reported := make(chan struct{})
	go func() { // report complete results while other suspects are tried
		defer close(reported)
		for v := range ready {
			f.addResult(ctx, v)
		}
	}()
	verdicts, err := f.confirmer.Run(ctx, suspects)
	close(ready)
	<-reported
	for _, v := range verdicts {
		if v.Incomplete {
			f.addResult(ctx, v)
		}
	}
	return err
}

// status describes the progress of the trials.
func (f *fuzzRun) status() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	text := fmt.Sprintf("%d of %d suspects tried, %d confirmed", f.judged, f.suspects, f.confirmed)
	if f.tried > 0 && f.tried < f.executions {
		left := time.Since(f.started) / time.Duration(f.tried) * time.Duration(f.executions-f.tried)
		text += fmt.Sprintf(", about %v left", left.Round(time.Second))
	}
	return text
}

// addResult reports the result of a suspect.
func (f *fuzzRun) addResult(ctx context.Context, v *confirm.Result) {
	f.mu.Lock()
	f.judged++
	f.executions -= int(f.confirmer.Executions(v.Suspect)) - v.Tried
	f.mu.Unlock()
	usual := f.usual[v.Suspect.Program]
	f.unexplained = append(f.unexplained, v.Failures(usual)...)
	for _, e := range v.Endings {
		if e.Confirmed && v.Suspect.Finding.Kind != heisen.Failure {
			f.explained[v.Suspect.Program] = append(f.explained[v.Suspect.Program], e.Outcome)
		}
	}
	if v.Suspect.Finding.Kind == heisen.Failure {
		return
	}
	finding := v.Report(usual)
	if v.Confirmed > 0 {
		f.reproduce(ctx, v, &finding)
		f.bugs = append(f.bugs, confirmedBug{v.Suspect.Program, finding})
		f.mu.Lock()
		f.confirmed++
		if finding.Trials.Harmful {
			f.harmful++
		}
		f.mu.Unlock()
	}
	if v.Confirmed == 0 && v.Suspect.Predicted { // the prediction is reported nevertheless
		f.predicted++
	}
	wanted := v.Confirmed > 0 || v.Suspect.Predicted || f.unconfirmed
	if wanted || f.reports.includes(asJSON) {
		f.silent = !wanted
		f.found.add(finding)
		f.silent = false
		f.reported[v.Suspect.Finding.Fingerprint] = true
	}
}

// reportUnexplained reports the failures of programs that no confirmed bug explains, each once. Those
// that may only show an assumption about time come last, and are mentioned unless -timing asks for more.
func (f *fuzzRun) reportUnexplained(ctx context.Context) {
	slices.SortStableFunc(f.unexplained, func(a, b *confirm.Result) int {
		switch {
		case a.Timing == b.Timing:
			return 0
		case a.Timing:
			return 1
		}
		return -1
	})
	for _, v := range f.unexplained {
		p, outcome := v.Suspect.Program, v.Endings[0].Outcome
		explained := slices.ContainsFunc(f.explained[p], func(o confirm.Outcome) bool { return o.Same(outcome) })
		if explained {
			continue
		}
		f.explained[p] = append(f.explained[p], outcome)
		if v.Timing && !f.timing {
			fmt.Fprintf(f.Err, "%s: %s: a timing assumption (%v): it fails if a goroutine goes on only after a timer has fired; -timing reports it\n",
				f.tool.Name, p.Package, outcome)
			continue
		}
		finding := v.Report(confirm.Outcome{Class: confirm.Passed})
		f.reproduce(ctx, v, &finding)
		f.found.add(finding)
		f.failures++
	}
}

// reproduce adds to the finding of a confirmed suspect how to repeat it, and writes the schedule.
func (f *fuzzRun) reproduce(ctx context.Context, v *confirm.Result, finding *report.Finding) {
	repro, err := f.confirmer.Reproduce(ctx, v, f.minimize)
	if repro == nil && ctx.Err() != nil { // a schedule that was not shrunk is better than none
		last, stop := f.lastMoment(ctx)
		repro, err = f.confirmer.Reproduce(last, v, 0)
		stop()
	}
	if err != nil && (repro == nil || ctx.Err() == nil) {
		fmt.Fprintf(f.Err, "%s: %v\n", f.tool.Name, err)
	}
	if repro == nil || repro.Execution == nil {
		return
	}
	finding.Accesses, finding.Goroutines = repro.Finding.Accesses, repro.Finding.Goroutines
	finding.Witness = repro.Steps
	confirm.AddBlocked(finding, repro.Execution.Blocked)
	t := finding.Trials
	t.Replayed, t.Choices = repro.Replayed, len(repro.Execution.Choices)
	text, err := f.origin.Schedule(v.Suspect.Program, repro.Tests, repro.Schedule, repro.Execution).MarshalText()
	if err == nil {
		err = private.Open(f.folder)
	}
	name := filepath.Join(f.folder, finding.Fingerprint+".schedule")
	if err == nil {
		err = private.Replace(name, func(w io.Writer) error {
			_, err := w.Write(text)
			return err
		})
	}
	if err != nil {
		fmt.Fprintf(f.Err, "%s: cannot write the schedule of %s: %v\n", f.tool.Name, finding.Fingerprint, err)
		return
	}
	t.Endings[0].Schedule = name
	finding.Replay = f.tool.Name + " replay " + filepath.ToSlash(name)
}

// summary prints the numbers of suspects, confirmed bugs and executions.
func (f *fuzzRun) summary() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.found.summary(f.Err)
	if f.strategy == "directed" {
		fmt.Fprintf(f.Err, "%s: %d of %d suspects confirmed in %d executions, %d of them harmful\n", f.tool.Name, f.confirmed, f.suspects, f.tried, f.harmful)
		f.searchSummary()
	} else {
		fmt.Fprintf(f.Err, "%s: %d executions\n", f.tool.Name, f.tried)
	}
	if f.stopped > 0 {
		fmt.Fprintf(f.Err, "%s: %d executions were stopped at a limit: %v of real time (-limit), or %v of virtual time (-virtual)\n",
			f.tool.Name, f.stopped, f.limit, f.virtual)
	}
}

// noteStopped counts an execution that was stopped at a limit. That is no bug.
func (f *fuzzRun) noteStopped(t *confirm.Trial) {
	if t.Execution.Outcome.Class == confirm.Hung {
		f.stopped++
	}
}

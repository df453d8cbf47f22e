package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm"
	"github.com/heisen-go/heisen/report"
)

var fuzzCommand = command{
	name: "fuzz", args: "[test | run] [packages] [-- test flags | arguments]",
	short: "make suspected bugs happen and show the harm that they do",
	long: `Programs run with one goroutine at a time. First each program runs a few times.
heisen suspects what may race or deadlock in another schedule, or interleave with
an atomic section of -sections. Then it tries each suspect with several seeds. It
postpones a goroutine at one place of the suspect until another goroutine comes
to the other place with a conflicting access to the same memory. One of the two,
picked at random, goes first.

A reported bug has happened. The report says how the program ended, and names a
schedule for heisen replay. The seed also decides select, the order of maps and
random numbers. Time is virtual: it jumps to the next timer when all goroutines
wait.

Several machines can share the work with -shard and -seeds. The suspects are the
same everywhere. -merge combines the files that their -json has written.

Arguments after -- are flags for the tests or arguments of the program. The flags
of go test that concern a single execution are allowed.
` + baselineHelp,
	run: (*invocation).fuzz,
}

// fuzzRun has the flags of heisen fuzz and its results so far.
type fuzzRun struct {
	*invocation
	seeds, shard, strategy string
	parallel, procs        int
	limit, virtual, wait   time.Duration
	patience               uint64
	walks                  uint64
	depth                  int
	minimise               int
	folder                 string
	json, verbose, predict bool
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
	failures    int             // unexplained failures that were reported
	predicted   int             // predicted suspects that were not confirmed
	reported    map[string]bool // fingerprints of the reported suspects

	mu sync.Mutex // guards the rest

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
	fs.StringVar(&f.strategy, "strategy", f.strategy, "how to choose the next goroutine: directed (at suspects), or without suspects\nwalk (at random) or pct (by random priorities)")
	fs.Uint64Var(&f.walks, "walks", f.walks, "also look for suspects in `n` executions with random choices")
	fs.IntVar(&f.depth, "depth", f.depth, "bug depth that pct assumes: the number of ordering constraints of a bug")
	fs.IntVar(&f.parallel, "j", f.parallel, "number of executions at a time")
	fs.IntVar(&f.procs, "procs", f.procs, "value of GOMAXPROCS in the programs")
	fs.DurationVar(&f.limit, "limit", f.limit, "stop an execution after this time")
	fs.DurationVar(&f.virtual, "virtual", f.virtual, "stop an execution after this virtual time")
	fs.Uint64Var(&f.patience, "patience", 0, "postpone a goroutine for at most so many steps (default 131072)")
	fs.DurationVar(&f.wait, "wait", f.wait, "postpone it for at most this virtual time while all others wait for timers")
	fs.IntVar(&f.minimise, "minimise", f.minimise, "shrink the schedule of a confirmed bug in at most `n` executions")
	fs.StringVar(&f.folder, "o", f.folder, "write schedules to `folder`")
	fs.BoolVar(&f.json, "json", false, "print all suspects as lines of JSON on standard output, confirmed or not")
	fs.BoolVar(&f.verbose, "v", false, "also report suspects that were not confirmed")
	fs.BoolVar(&f.predict, "predict", false, "also suspect what mcm predicts from the first executions, and try that first")
	merge := fs.Bool("merge", false, "run nothing, but combine files that -json has written for other seeds or shards")
	fs.StringVar(&f.overlaps.sections, "sections", "", "also suspect the atomic sections in `file`")
	if err := inv.parse(); err != nil {
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
	live := textTo(inv.Err)
	if f.json {
		live = nil
	}
	f.found = newFindings(inv.resolver, live, f.known)
	err := f.run(ctx)
	interrupted := ctx.Err() != nil
	if interrupted {
		err = nil // whatever it has ended
	}
	if f.json {
		err = errors.Join(err, f.found.writeAll(jsonTo(inv.Out)))
	}
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

// newFuzzing returns a fuzzRun with the default values of the flags.
func (inv *invocation) newFuzzing(known *knownFindings) *fuzzRun {
	return &fuzzRun{
		invocation: inv, overlaps: &atomraceFlags{}, known: known, strategy: "directed",
		parallel: runtime.NumCPU(), procs: 4, limit: time.Minute, virtual: 10 * time.Minute, wait: 100 * time.Millisecond,
		walks: 2, depth: 3, minimise: 60, folder: schedulesFolder, from: 1, to: 10, part: 1, parts: 1,
		usual: map[*confirm.Program]confirm.Outcome{}, explained: map[*confirm.Program][]confirm.Outcome{},
		reported: map[string]bool{},
	}
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
	case !slices.Contains([]string{"directed", "walk", "pct"}, f.strategy):
		return misuse("unknown strategy %q; there are directed, walk, pct", f.strategy)
	case f.parallel < 1 || f.procs < 1 || f.depth < 1:
		return misuse("-j, -procs and -depth are at least 1")
	case f.minimise < 0 || f.limit <= 0 || f.virtual <= 0 || f.wait < 0:
		return misuse("-minimise and -wait are not negative, -limit and -virtual are more than 0")
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

// run builds the programs, looks for suspects in them and tries those.
func (f *fuzzRun) run(ctx context.Context) error {
	f.origin.Source = confirm.Source{Verb: "test", Packages: f.args, Patterns: f.pkgs, Args: f.rest}
	if len(f.args) > 0 && (f.args[0] == "test" || f.args[0] == "run") {
		f.origin.Verb, f.origin.Packages = f.args[0], f.args[1:]
	}
	if len(f.origin.Packages) == 0 {
		f.origin.Packages = []string{"."}
	}
	if f.origin.Verb == "test" {
		flags, err := confirm.TestFlags(f.rest)
		if err != nil {
			return misuse("%v", err)
		}
		f.origin.Args = flags
	}
	programs, remove, err := f.build(ctx)
	if err != nil {
		return err
	}
	defer remove()
	f.newConfirmer()
	var suspects []*confirm.Suspect
	failed := f.survey(ctx, programs, &suspects)
	suspects = part(suspects, f.part, f.parts)
	err = errors.Join(failed, f.confirm(ctx, suspects))
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
	dir, err := os.MkdirTemp("", "heisen-fuzz-")
	if err != nil {
		return nil, nil, err
	}
	remove = func() {
		for _, p := range programs {
			p.Close()
		}
		os.RemoveAll(dir)
	}
	if f.tags != "" {
		f.origin.Tags = strings.Split(f.tags, ",")
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

// survey appends the suspects in the programs. It notes failures of programs.
func (f *fuzzRun) survey(ctx context.Context, programs []*confirm.Program, suspects *[]*confirm.Suspect) error {
	survey := &confirm.Survey{
		Races: true, Deadlocks: true, Sections: f.overlaps.read, Violations: len(f.overlaps.read) > 0,
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
		}
		*suspects = append(*suspects, found...)
		if f.part == 1 {
			f.unexplained = append(f.unexplained, confirm.SurveyFailures(p, runs)...)
		}
	})
}

// runSurvey surveys the programs and calls told with the suspects and the runs of each.
func (f *fuzzRun) runSurvey(ctx context.Context, survey *confirm.Survey, programs []*confirm.Program, told func(*confirm.Program, []*confirm.Suspect, []*confirm.Trial)) error {
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
		for _, why := range skipped {
			fmt.Fprintf(f.Err, "%s: %s\n", f.tool.Name, why)
		}
		told(p, found, runs)
	}
	return nil
}

// part returns the i-th of n parts, from 1.
func part(all []*confirm.Suspect, i, n int) (mine []*confirm.Suspect) {
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
	for _, s := range suspects {
		f.executions += int(f.confirmer.Executions(s))
	}
	f.started = time.Now()
	f.mu.Unlock()
	done := f.progressOf("trying suspects", f.status, time.Second)
	defer done()
	ready := make(chan *confirm.Result, len(suspects))
	f.confirmer.OnResult = func(v *confirm.Result) { ready <- v }
	f.confirmer.OnTrial = func(*confirm.Suspect, *confirm.Trial) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.tried++
	}
	told := make(chan struct{})
	go func() { // report complete results while other suspects are tried
		defer close(told)
		for v := range ready {
			f.addResult(ctx, v)
		}
	}()
	verdicts, err := f.confirmer.Run(ctx, suspects)
	close(ready)
	<-told
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
		f.mu.Lock()
		f.confirmed++
		if finding.Trials.Harmful {
			f.harmful++
		}
		f.mu.Unlock()
	}
	if v.Confirmed == 0 && v.Suspect.Predicted { // the prediction is reported all the same
		f.predicted++
	}
	if v.Confirmed > 0 || v.Suspect.Predicted || f.json || f.verbose {
		f.found.add(finding)
		f.reported[v.Suspect.Finding.Fingerprint] = true
	}
}

// reportUnexplained reports the failures of programs that no confirmed bug explains, each once.
func (f *fuzzRun) reportUnexplained(ctx context.Context) {
	for _, v := range f.unexplained {
		p := v.Suspect.Program
		explained := slices.ContainsFunc(f.explained[p], func(o confirm.Outcome) bool { return o.Same(v.Endings[0].Outcome) })
		if explained {
			continue
		}
		f.explained[p] = append(f.explained[p], v.Endings[0].Outcome)
		finding := v.Report(confirm.Outcome{Class: confirm.Passed})
		f.reproduce(ctx, v, &finding)
		f.found.add(finding)
		f.failures++
	}
}

// reproduce adds to the finding of a confirmed suspect how to repeat it, and writes the schedule.
func (f *fuzzRun) reproduce(ctx context.Context, v *confirm.Result, finding *report.Finding) {
	repro, err := f.confirmer.Reproduce(ctx, v, f.minimise)
	if repro == nil && ctx.Err() != nil { // a schedule that was not shrunk is better than none
		last, stop := f.lastMoment(ctx)
		repro, err = f.confirmer.Reproduce(last, v, 0)
		stop()
	}
	if err != nil && ctx.Err() == nil {
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
		err = os.MkdirAll(f.folder, 0o777)
	}
	name := filepath.Join(f.folder, finding.Fingerprint+".schedule")
	if err == nil {
		err = os.WriteFile(name, text, 0o666)
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
	} else {
		fmt.Fprintf(f.Err, "%s: %d executions\n", f.tool.Name, f.tried)
	}
}

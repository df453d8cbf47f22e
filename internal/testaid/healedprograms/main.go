package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/heal"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/search"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/confirm/trials"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/enforce"
	"github.com/heisen-go/heisen/internal/observed"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
)

// batch is the number of programs that are compiled into one executable.
const batch = 20

func main() {
	n := flag.Int("n", 100, "`number` of programs")
	seed := flag.Uint64("seed", 1, "seed of the first program; the following programs have the following seeds")
	limit := flag.Duration("time", 20*time.Second, "time for the executions of each program, without locks and with them")
	parallel := flag.Int("j", 2, "`number` of executions at a time")
	flag.Parse()
	if flag.NArg() > 0 || *n < 1 || *parallel < 1 || *limit <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s := settings{programs: *n, seed: *seed, limit: *limit, parallel: *parallel, progress: os.Stderr}
	r, err := s.run(ctx)
	fmt.Println(r)
	if err != nil {
		fmt.Fprintln(os.Stderr, "healedprograms:", err)
	}
	if err != nil || len(r.wrong) > 0 {
		os.Exit(1)
	}
}

// settings are the parameters of a run of the command.
type settings struct {
	programs int
	seed     uint64
	limit    time.Duration // of the executions of each program
	parallel int
	progress io.Writer // may be nil
}

// result is what was found of some programs.
type result struct {
	programs int
	locks    int // variables that got one
	objects  int // those of which each object got one
	grouped  int // variables in groups, which have one
	promised int // pairs that the plans promise to keep atomic
	held     int // acquisitions that keep locks in order
	refused  int // variables that got no lock, and functions whose pairs are left out

	whole    [2]int // programs of which all executions were tried, without locks and with them
	made     [2]int // executions
	pairs    [2]int // of which something is promised, in these executions
	violated [2]int // programs with an execution that contradicts a promise
	stuck    [2]int // programs with a deadlock
	outcomes [2]int
	compared int // programs of which the model has all outcomes
	wrong    []string
}

func (r *result) String() string {
	return fmt.Sprintf("%d programs, %d variables with locks, %d of them with one for each object, %d in groups, %d pairs, %d acquisitions for the order of locks, %d refusals\n"+
		"without locks and with them: all executions of %v programs tried, %v executions, %v pairs in them, %v programs violate a pair, %v have a deadlock, %v outcomes\n"+
		"%d programs compared with all outcomes of their models, %d wrong",
		r.programs, r.locks, r.objects, r.grouped, r.promised, r.held, r.refused, r.whole, r.made, r.pairs, r.violated, r.stuck, r.outcomes, r.compared, len(r.wrong))
}

// The two variants of a program.
const (
	original = iota
	enforced
)

// run checks all programs.
func (s settings) run(ctx context.Context) (*result, error) {
	all := &result{}
	dir, err := os.MkdirTemp("", "healedprograms-")
	if err != nil {
		return all, err
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return all, err
	}
	from, err := os.Getwd()
	if err != nil {
		return all, err
	}
	defer os.Chdir(from)
	start := time.Now()
	for first := 0; first < s.programs; first += batch {
		b := &programs{settings: s, result: all, dir: filepath.Join(dir, fmt.Sprint(first)), plain: first/batch%2 == 1}
		for i := range min(batch, s.programs-first) {
			b.seeds = append(b.seeds, s.seed+uint64(first+i))
		}
		if err := b.check(ctx); err != nil {
			return all, err
		}
		if s.progress != nil {
			fmt.Fprintf(s.progress, "%v: %v\n", time.Since(start).Round(time.Second), all)
		}
		if err := os.RemoveAll(b.dir); err != nil {
			return all, err
		}
	}
	return all, nil
}

// programs are some programs that are compiled together.
type programs struct {
	settings
	*result
	dir   string
	seeds []uint64
	plain bool // the accesses of the variant with locks are plain ones

	of      map[string]*program  // by test
	claims  map[string]claims    // by test
	planned map[string]bool      // variables with locks
	groups  map[string]string    // names of groups, by variable
	seen    [2]map[string]*shown // by test
	profile *heal.Profile        // of the originals
	words   *report.Resolver
}

// shown is what the executions of a test have shown.
type shown struct {
	outcomes map[string]bool
	whole    bool // all executions were tried
	violated bool
	stuck    bool
}

// check checks the programs.
func (b *programs) check(ctx context.Context) (err error) {
	b.of, b.claims, b.planned = map[string]*program{}, map[string]claims{}, map[string]bool{}
	folders := [2]string{filepath.Join(b.dir, "original"), filepath.Join(b.dir, "enforced")}
	for way, folder := range folders {
		if err := b.write(folder, b.plain && way == enforced); err != nil {
			return err
		}
	}
	if b.words, err = report.NewResolver(); err != nil {
		return err
	}
	defer b.words.Close()
	executable, confirmer, giveUp, err := b.build(ctx, folders[original], "")
	if err != nil {
		return err
	}
	defer giveUp()
	if b.profile, err = b.profiled(ctx, folders[original], executable, confirmer); err != nil {
		return err
	}
	overlay, err := b.place(ctx, folders)
	if err != nil {
		return err
	}
	if b.seen[original], err = b.explore(ctx, original, executable, confirmer); err != nil {
		return err
	}
	defer b.compare()
	if overlay == "" {
		return nil
	}
	executable, confirmer, giveUp, err = b.build(ctx, folders[enforced], overlay)
	if err != nil {
		return err
	}
	defer giveUp()
	if b.seen[enforced], err = b.explore(ctx, enforced, executable, confirmer); err != nil {
		return err
	}
	return nil
}

// write writes the programs as a module.
func (b *programs) write(folder string, plain bool) error {
	files := map[string]string{
		"go.mod":       "module " + pkg + "\n\ngo 1.25\n",
		"note/note.go": noteSource,
	}
	for _, seed := range b.seeds {
		p := generate(seed, plain)
		b.of[p.test] = p
		files[p.file] = p.text
	}
	for name, text := range files {
		name = filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// build builds the tests of a module.
func (b *programs) build(ctx context.Context, folder, overlay string) (*controlled.Program, *trials.Confirmer, func(), error) {
	if err := os.Chdir(folder); err != nil {
		return nil, nil, nil, err
	}
	source := controlled.Source{Verb: "test", Packages: []string{"."}, Patterns: []string{pkg}, Overlay: overlay}
	if overlay != "" {
		source.Patterns = append(source.Patterns, enforce.LockPath)
	}
	var builds *controlled.Builds
	all, with, giveUp, err := builds.Build(ctx, &source)
	if err != nil {
		return nil, nil, nil, err
	}
	if len(all) != 1 {
		giveUp()
		return nil, nil, nil, fmt.Errorf("%d programs in %s", len(all), folder)
	}
	return all[0], &trials.Confirmer{
		From: 1, To: 1, Parallel: b.parallel, Limit: time.Minute, Virtual: time.Minute, Procs: 4, Resolver: observed.NewResolver(b.words, with),
	}, giveUp, nil
}

// tries bounds the executions of a program for its profile.
const tries = 10

// profiled returns the profile of executions of all programs that did not get stuck: one that switches only where a
// goroutine is blocked, and so has many atomic pairs, and up to two with random switches.
func (b *programs) profiled(ctx context.Context, folder string, executable *controlled.Program, c *trials.Confirmer) (*heal.Profile, error) {
	source, err := enforce.Load(ctx, folder, nil)
	if err != nil {
		return nil, err
	}
	var all *enforce.Profile
	for _, test := range slices.Sorted(maps.Keys(b.of)) {
		passed := 0
		for seed := uint64(0); seed < tries && passed <= b.of[test].number%3; seed++ {
			config := strategies.Config{Strategy: strategies.Replay}
			if seed > 0 {
				config = strategies.Config{Strategy: strategies.RandomWalk, Seed: seed}
			}
			var r *enforce.Recorder
			var observed *enforce.Profile
			e, err := executable.Execute(ctx, controlled.Plan{
				Schedule: &recorder.Schedule{Strategy: config, Procs: c.Procs, MaxVirtual: c.Virtual},
				Mode:     recorder.Everything, Tests: "^" + test + "$", Limit: c.Limit,
				Detect: func(symbols *heisen.Symbols) ([]heisen.Detector, error) {
					var err error
					r, err = source.NewRecorder(symbols)
					return []heisen.Detector{r}, err
				},
				Finish: func(*controlled.Execution, *heisen.Symbols) { observed, _, err = r.Finish() },
			}, c.Resolver)
			if err != nil {
				return nil, err
			}
			if e.Outcome.Class != controlled.Passed {
				continue
			}
			passed++
			if all == nil {
				all = observed
			} else {
				all.Merge(observed)
			}
		}
	}
	if all == nil {
		return nil, errors.New("no execution has passed")
	}
	current, stale, err := source.Current(all)
	if err == nil && len(stale) > 0 {
		err = fmt.Errorf("the profile is stale: %q", stale)
	}
	return current, err
}

// place places locks in the programs. It returns the name of a file for the go command's -overlay; none if there are no
// locks.
func (b *programs) place(ctx context.Context, folders [2]string) (overlay string, err error) {
	b.profile = b.profile.Rewrite(func(_ string, at heal.Location) (heal.Location, bool) {
		at.File = filepath.Join(folders[enforced], filepath.Base(at.File))
		return at, true
	})
	source, err := enforce.Load(ctx, folders[enforced], nil)
	if err != nil {
		return "", err
	}
	plan, err := source.Plan(ctx, b.profile)
	if err != nil {
		return "", err
	}
	statistics, err := plan.Statistics()
	if err != nil {
		return "", err
	}
	b.result.programs += len(b.seeds)
	b.result.locks += len(plan.Variables)
	b.result.refused += len(plan.Refused)
	b.result.held += statistics.Held[1]
	b.groups = groupsOf(plan)
	b.result.grouped += len(b.groups)
	for _, v := range plan.Variables {
		for _, name := range append(v.Members, v.Name) {
			b.planned[name] = true
		}
		if v.Objects {
			b.result.objects++
		}
	}
	for test, p := range b.of {
		b.claims[test] = claimsOf(filepath.Join(folders[enforced], p.file), b.profile, plan)
		b.result.promised += len(b.claims[test])
	}
	if len(plan.Variables) == 0 {
		return "", nil
	}
	return plan.Write(filepath.Join(b.dir, "healed"))
}

// explore explores each test, and checks its executions.
func (b *programs) explore(ctx context.Context, way int, executable *controlled.Program, c *trials.Confirmer) (map[string]*shown, error) {
	all := map[string]*shown{}
	units := controlled.Units(ctx, []*controlled.Program{executable}, nil)
	for _, u := range units {
		all[u.Test] = &shown{outcomes: map[string]bool{}}
	}
	if len(all) != len(b.of) {
		return nil, fmt.Errorf("%d tests of %d programs", len(all), len(b.of))
	}
	var failed error
	// The search has a quarter of the time for all executions.
	c.Budget = suspects.NewBudget(4*b.limit, c.Parallel, units, true)
	search := search.Search{Confirmer: c, OnTrial: func(u *controlled.Unit, _ *suspects.Suspect, trial *trials.Trial) {
		b.result.made[way]++
		if err := b.judge(way, u.Test, all[u.Test], trial.Execution); err != nil {
			failed = errors.Join(failed, err)
		}
	}}
	if _, err := search.Run(ctx, units); err != nil {
		return nil, err
	}
	for _, u := range units {
		s := all[u.Test]
		if s.whole = u.All > 0; s.whole {
			b.result.whole[way]++
		}
		if s.violated {
			b.result.violated[way]++
		}
		if s.stuck {
			b.result.stuck[way]++
		}
		b.result.outcomes[way] += len(s.outcomes)
	}
	return all, failed
}

// judge takes an execution of a test.
func (b *programs) judge(way int, test string, s *shown, e *controlled.Execution) error {
	switch e.Outcome.Class {
	case controlled.Passed:
		var outcome strings.Builder
		for line := range strings.Lines(string(e.Output)) {
			if strings.HasPrefix(line, "end: ") {
				outcome.WriteString(line)
			}
		}
		s.outcomes[outcome.String()] = true
	case controlled.Deadlocked:
		s.stuck = true
	case controlled.Hung: // there was no time left
		return nil
	default:
		return fmt.Errorf("%s ends with %v:\n%s", test, e.Outcome, e.Output)
	}
	if way == enforced {
		for _, f := range e.Observed {
			if f.Kind == heisen.Race {
				b.race(test, &f)
			}
		}
	}
	events, err := eventsIn(string(e.Output))
	if err != nil {
		return err
	}
	wrong, pairs := b.claims[test].violations(b.of[test].places, b.groups, events)
	b.result.pairs[way] += pairs
	if way == enforced && !s.violated {
		for _, pair := range wrong {
			b.fail(test, "a pair is not atomic: %+v, mode %v\n%s", pair, b.claims[test][pair], e.Output)
		}
	}
	s.violated = s.violated || len(wrong) > 0
	return nil
}

// race takes a race of a variant with locks.
func (b *programs) race(test string, f *report.Finding) {
	for _, a := range f.Accesses {
		for _, p := range b.of[test].places {
			if b.planned[p.variable] && len(a.Stack) > 0 && a.Stack[0].Line == p.line {
				b.fail(test, "a race on line %d, where %s is accessed", p.line, p.variable)
				return
			}
		}
	}
}

// fail notes something wrong, once.
func (b *programs) fail(test, format string, args ...any) {
	text := fmt.Sprintf("%s, plain=%v: "+format, append([]any{test, b.plain}, args...)...)
	if !slices.Contains(b.result.wrong, text) {
		b.result.wrong = append(b.result.wrong, text)
		if b.progress != nil {
			fmt.Fprintln(b.progress, text)
		}
	}
}

// compare compares what both variants of the programs have shown with what their models may show. The original must show
// nothing else either, or the model is wrong; and if all its executions were tried, it must show all of it.
func (b *programs) compare() {
	for _, test := range slices.Sorted(maps.Keys(b.of)) {
		texts, stuck, all := b.of[test].model.outcomes()
		if !all {
			continue
		}
		b.result.compared++
		for way, seen := range b.seen {
			of := seen[test]
			if of == nil {
				continue // no locks
			}
			if of.stuck && !stuck {
				b.fail(test, "with locks=%v: a deadlock that the model does not have", way == enforced)
			}
			for outcome := range of.outcomes {
				if !texts[outcome] {
					b.fail(test, "with locks=%v: an outcome that the model does not have:\n%s", way == enforced, outcome)
				}
			}
			if way == original && of.whole && (len(of.outcomes) != len(texts) || of.stuck != stuck) {
				b.fail(test, "the model has %d outcomes and deadlocks=%v; the executions have %d and %v", len(texts), stuck, len(of.outcomes), of.stuck)
			}
		}
	}
}

package confirm

import (
	"context"
	"errors"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
)

// Search executes tests and programs under schedules of many kinds, for a time.
type Search struct {
	Confirmer *Confirmer // its seeds, limits, number of executions at the same time, and budget
	// Survey looks for further suspects in executions that do what none did in which it has looked; nil
	// for none.
	Survey *Survey

	// OnTrial is called after each execution, by one goroutine at a time. It may be nil.
	OnTrial func(*Unit, *Suspect, *Trial)
}

// Unit is what is searched by itself: a test, or a program.
type Unit struct {
	Program *Program
	Test    string // the name of a test; empty for a program, or all tests together

	// Usual is how it ends under the default schedule.
	Usual Outcome
	// Exhausted is set if the search ended before its time, because further executions showed no
	// other order of operations. Then All is the number of different executions, if all of them were
	// made, and otherwise 0.
	Exhausted  bool
	All        int
	Executions int
	// Always is set if the search ended because all executions failed as the one with the default schedule did.
	Always bool

	enumeration enumeration
	usual       bool // Usual is known
	// alone is how it ended by itself under the default schedule in a survey, nil if it did not run so.
	alone    *Outcome
	differed bool // an execution has ended in another way

	targets []recorder.Target // the places of the suspects in the test
	portfolio
	further
	cut     bool          // an execution was stopped because there was no time left
	found   bool          // there may be a schedule to shrink
	used    time.Duration // by executions; see Budget
	results []*Result     // for each strategy that was used
}

// Units returns the tests and programs to search.
func Units(ctx context.Context, programs []*Program) (units []*Unit) {
	for _, p := range programs {
		tests := []string{""}
		if p.Test && !slices.ContainsFunc(p.Args, selectsTests) {
			if names := p.tests(ctx); len(names) > 0 {
				tests = names
			}
		}
		for _, test := range tests {
			u := &Unit{Program: p, Test: test}
			p.units, units = append(p.units, u), append(units, u)
		}
	}
	return units
}

// AddSuspects adds the suspects to the units in which they were seen. Goroutines can be stopped at their
// places in the search.
func AddSuspects(suspects []*Suspect) {
	for _, s := range suspects {
		if s.Program.suspected == nil {
			s.Program.suspected = map[string]bool{}
		}
		s.Program.suspected[s.key()] = true
		var tests *regexp.Regexp
		if s.Tests != "" {
			tests = regexp.MustCompile(s.Tests)
		}
		for _, u := range s.Program.units {
			if u.Test == "" || tests == nil || tests.MatchString(u.Test) {
				s.units = append(s.units, u)
				u.addTargets(s)
			}
		}
	}
}

// selectsTests reports whether an argument of a test binary says which tests run: only all of them
// together are what the user wants then.
func selectsTests(arg string) bool {
	return strings.HasPrefix(arg, "-test.run=") || strings.HasPrefix(arg, "-test.skip=")
}

// testName matches a line of a list of tests. A TestMain may print others.
var testName = regexp.MustCompile(`^(Test|Fuzz|Example)[\p{L}\p{N}_]*$`)

// listLimit is how long a test binary may take to list its tests.
const listLimit = time.Minute

// tests returns the names of the tests, examples and fuzz tests of a test binary. It returns none if the
// binary does not list them, for example because of its TestMain.
func (p *Program) tests(ctx context.Context) (names []string) {
	ctx, stop := context.WithTimeout(ctx, listLimit)
	defer stop()
	cmd := exec.CommandContext(ctx, p.Path, "-test.list="+testName.String())
	cmd.Dir, cmd.Env, cmd.WaitDelay = p.Dir, recorder.Environ(cmd.Environ()), time.Second
	out, err := cmd.Output()
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(out)) {
		if name := strings.TrimSpace(line); testName.MatchString(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// addTargets adds the places of a suspect. Goroutines can be stopped there, whatever the strategy.
func (u *Unit) addTargets(s *Suspect) {
	for _, t := range s.Targets {
		if len(u.targets) < recorder.MaxTargets {
			t.Roles |= strategies.First | strategies.Second
			u.targets = addTarget(u.targets, t)
		}
	}
}

// surveyed takes an execution of the unit alone. If that with the default schedule is too long to be
// enumerated, it is not made again.
func (u *Unit) surveyed(e *Execution, byDefault bool) {
	u.long = u.long || e.long()
	if byDefault {
		u.alone = &e.Outcome
	}
	if byDefault && e.Steps > maxEnumerated {
		u.Usual, u.usual, u.enumeration.over = e.Outcome, true, true
		u.length = e.Steps
	}
	u.yielded = u.yielded || e.Yielded > 0
}

// pattern returns the unit's test as -test.run takes it.
func (u *Unit) pattern() string {
	if u.Test == "" {
		return ""
	}
	return "^" + regexp.QuoteMeta(u.Test) + "$"
}

// Failures returns a result for each way in which the unit failed, unless all its executions have failed in that way: a test may need
// others that run before it. If only some have, the usual one counts as well, because it need not be that of a survey: the first execution
// has other random numbers, which decide the cases of select statements. A deadlock counts in any case: in a process that executes several
// tests, only the first one is seen.
func (u *Unit) Failures() (all []*Result) {
	usual := u.Usual
	if u.differed || usual.Class == Deadlocked {
		usual = Outcome{Class: Passed}
	}
	for _, v := range u.results {
		all = append(all, v.Failures(usual)...)
	}
	return all
}

// Run searches the units. Those that were searched for the shortest time go on first, so that an
// interrupted search has treated all alike. Run returns an error if ctx ends or an execution fails for
// a reason outside of the program.
func (s *Search) Run(ctx context.Context, units []*Unit) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var mu sync.Mutex
	idle := sync.NewCond(&mu)
	for _, u := range units {
		u.wanted = s.Survey != nil
	}
	var workers sync.WaitGroup
	for range max(s.Confirmer.Parallel, 1) {
		workers.Go(func() {
			defer idle.Broadcast()
			mu.Lock()
			defer mu.Unlock()
			for ctx.Err() == nil {
				u, busy := s.next(units)
				switch {
				case u == nil && !busy:
					return
				case u == nil:
					idle.Wait()
					continue
				}
				n, next := u.take()
				mu.Unlock()
				m, err := s.execute(ctx, u, next)
				mu.Lock()
				u.done(n, m)
				switch {
				case errors.Is(err, errNoTime):
					u.cut = s.Confirmer.Budget.left([]*Unit{u}, forSchedules) <= leastTime
					u.enumeration.over = true
				case err != nil:
					stop(err)
				case m.trial != nil:
					e := m.trial.Execution
					u.found = u.found || len(e.Observed) > 0 || e.Outcome.Class.Failed()
					if s.OnTrial != nil {
						s.OnTrial(u, m.suspect, m.trial)
					}
				}
				idle.Broadcast()
			}
		})
	}
	workers.Wait()
	for _, u := range units {
		u.judge()
	}
	return context.Cause(ctx)
}

// next returns the unit whose turn it is, nil if there is none at the moment. busy is set if executions
// are under way.
func (s *Search) next(units []*Unit) (u *Unit, busy bool) {
	for _, v := range units {
		busy = busy || v.running > 0
		part := forSchedules
		if v.found {
			part = forSearch
		}
		if v.Exhausted || v.cut || s.Confirmer.Budget.left([]*Unit{v}, part) == 0 {
			continue
		}
		if !v.planned() {
			if v.running > 0 {
				continue // what is next depends on what these show
			}
			v.judge()
			if v.Exhausted {
				continue
			}
			v.plan(s.Confirmer)
		}
		if u == nil || v.used < u.used {
			u = v
		}
	}
	return u, busy
}

// execute makes an execution of the unit.
func (s *Search) execute(ctx context.Context, u *Unit, next *plan) (m made, err error) {
	if next.looks {
		m.looked, err = s.look(ctx, u, next.schedule)
		return m, err
	}
	strategy := next.schedule.Strategy.Strategy
	if next.schedule.Explore {
		strategy = strategies.Replay
	}
	m.suspect = AnyFailure(u.Program, strategy)
	m.suspect.Tests, m.suspect.Targets, m.suspect.units = u.pattern(), next.schedule.Targets, []*Unit{u}
	m.trial, err = s.Confirmer.execute(ctx, m.suspect, next.schedule)
	if err == nil && next.schedule.Explore {
		m.trial.replayable()
	}
	return m, err
}

// addResult counts an execution among those of its strategy.
func (u *Unit) addResult(s *Suspect, t *Trial) {
	i := slices.IndexFunc(u.results, func(v *Result) bool { return v.Suspect.Strategy == s.Strategy })
	if i < 0 {
		i = len(u.results)
		u.results = append(u.results, &Result{Suspect: s, Finding: s.Finding})
	}
	u.results[i].add(t)
}

package confirm

import (
	"context"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
)

// Search executes tests and programs under schedules that aim at no suspect, for a time. All fields
// but OnTrial are required.
type Search struct {
	Confirmer *Confirmer    // its seeds, limits and number of executions at the same time
	Time      time.Duration // for each test or program, while as many are searched at the same time

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

	enumeration enumeration

	targets []recorder.Target // the places of the suspects in the test
	length  uint64            // steps of the longest execution
	orders  map[uint64]bool   // the orders of operations so far, by their hashes
	vain    int               // executions since the last new order
	running int
	used    time.Duration // by executions
	results []*Result     // for each strategy that was used
}

// Units returns the tests and programs to search. The suspects say which places matter.
func Units(ctx context.Context, programs []*Program, suspects []*Suspect) (units []*Unit) {
	for _, p := range programs {
		tests := []string{""}
		if p.Test && !slices.ContainsFunc(p.Args, selectsTests) {
			if names := p.tests(ctx); len(names) > 0 {
				tests = names
			}
		}
		for _, test := range tests {
			u := &Unit{Program: p, Test: test, orders: map[uint64]bool{}}
			for _, s := range suspects {
				if s.Program == p && (test == "" || s.Tests == "" || regexp.MustCompile(s.Tests).MatchString(test)) {
					u.addTargets(s)
				}
			}
			units = append(units, u)
		}
	}
	return units
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
			t.Roles = strategies.First | strategies.Second
			u.targets = addTarget(u.targets, t)
		}
	}
}

// pattern returns the unit's test as -test.run takes it.
func (u *Unit) pattern() string {
	if u.Test == "" {
		return ""
	}
	return "^" + regexp.QuoteMeta(u.Test) + "$"
}

// Failures returns a result for each way in which the unit failed, other than its usual one.
func (u *Unit) Failures() (all []*Result) {
	for _, v := range u.results {
		all = append(all, v.Failures(u.Usual)...)
	}
	return all
}

// portfolio are the strategies of a search. Executions use them in turn, after those of the enumeration,
// which begins with the default schedule.
var portfolio = []strategies.Config{
	{Strategy: strategies.POS},
	{Strategy: strategies.PCT, Depth: 2},
	{Strategy: strategies.RandomWalk},
	{Strategy: strategies.PCT, Depth: 3},
}

const (
	// maxPCTDepth is the greatest depth of PCT in a search. The depth grows by one whenever the whole
	// portfolio has been used depthGrowth times.
	maxPCTDepth = 8
	depthGrowth = 32
	// minVain is the number of executions without a new order after which a search ends. More are
	// made where there are many orders. Only executions with the first seed count: the random numbers
	// of the program are the same in them.
	minVain = 20
)

// schedule returns the schedule of execution number n of a unit. In half of the executions the random
// numbers of the program are those of the first seed, and only the choices differ. In half of each kind,
// goroutines can also be stopped at the accesses of suspects.
func (s *Search) schedule(u *Unit, n int) *recorder.Schedule {
	if !u.enumeration.over {
		return u.enumeration.schedule(s.Confirmer)
	}
	n -= u.enumeration.made - 1
	round := (n - 1) / len(portfolio)
	config := portfolio[(n-1)%len(portfolio)]
	config.Seed = s.Confirmer.From
	if round%2 == 0 {
		config.Variation = uint64(round / 2)
	} else {
		config.Seed += uint64(round/2) + 1
	}
	if config.Strategy == strategies.PCT {
		config.Depth = min(config.Depth+uint64(round/depthGrowth), maxPCTDepth)
		config.Steps = max(u.length, 1)
	}
	schedule := &recorder.Schedule{Strategy: config, Procs: s.Confirmer.Procs, MaxVirtual: s.Confirmer.Virtual}
	if round/2%2 == 0 {
		schedule.Targets = u.targets
	}
	return schedule
}

// Run searches the units. Those that were searched for the shortest time go on first, so that an
// interrupted search has treated all alike. Run returns an error if ctx ends or an execution fails for
// a reason outside of the program.
func (s *Search) Run(ctx context.Context, units []*Unit) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	parallel := max(s.Confirmer.Parallel, 1)
	limit := s.Time * time.Duration(max(parallel/max(len(units), 1), 1)) // of the executions together
	var mu sync.Mutex
	idle := sync.NewCond(&mu)
	take := func() (u *Unit, n int, schedule *recorder.Schedule) { // nil if all is done
		mu.Lock()
		defer mu.Unlock()
		for ctx.Err() == nil {
			busy := false
			for _, v := range units {
				busy = busy || v.running > 0
				if v.Exhausted || v.used >= limit || v.running > 0 && !v.enumeration.over {
					continue // an enumerated execution decides which one is next
				}
				if u == nil || v.used < u.used {
					u = v
				}
			}
			if u != nil {
				n = u.Executions + u.running
				u.running++
				return u, n, s.schedule(u, n)
			}
			if !busy {
				break
			}
			idle.Wait()
		}
		return nil, 0, nil
	}
	var workers sync.WaitGroup
	for range parallel {
		workers.Go(func() {
			for u, n, schedule := take(); u != nil; u, n, schedule = take() {
				strategy := schedule.Strategy.Strategy
				if schedule.Explore {
					strategy = strategies.Replay
				}
				suspect := AnyFailure(u.Program, strategy)
				suspect.Tests, suspect.Targets = u.pattern(), schedule.Targets
				trial, err := s.Confirmer.execute(ctx, suspect, schedule)
				mu.Lock()
				u.running--
				if err != nil {
					stop(err)
				} else {
					trial.number = uint64(n)
					u.add(suspect, trial, s.Confirmer.From, limit)
					if s.OnTrial != nil {
						s.OnTrial(u, suspect, trial)
					}
				}
				mu.Unlock()
				idle.Broadcast()
			}
			idle.Broadcast()
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}

// add takes an execution of the unit. first is the first seed, limit the time of the unit.
func (u *Unit) add(s *Suspect, t *Trial, first uint64, limit time.Duration) {
	if u.Executions == 0 {
		u.Usual = t.Execution.Outcome
	}
	u.Executions++
	u.used += t.Execution.Took
	u.length = max(u.length, t.Execution.Steps)
	i := slices.IndexFunc(u.results, func(v *Result) bool { return v.Suspect.Strategy == s.Strategy })
	if i < 0 {
		i = len(u.results)
		u.results = append(u.results, &Result{Suspect: s, Finding: s.Finding})
	}
	enumerated := t.Schedule.Explore
	if enumerated {
		u.enumeration.add(t.Execution, u.Program.Test, limit)
		if u.enumeration.complete {
			u.Exhausted, u.All = true, u.enumeration.explorer.Executions()
		}
		t.replayable()
	}
	u.results[i].add(t)
	if enumerated || t.Seed != first {
		return
	}
	u.vain++
	if order := t.Execution.Order; !u.orders[order] {
		u.orders[order], u.vain = true, 0
	}
	u.Exhausted = u.vain >= max(minVain, 2*len(u.orders))
}

package controlled

import (
	"context"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen/internal/recorder"
)

// Unit is what is searched by itself: a test, or a program.
type Unit struct {
	Program *Program
	Test    string // the name of a test; empty for a program, or all tests together

	// What a survey knows of it. Alone is how it ended by itself under the default schedule, after so many Steps; nil if it did
	// not run so. It is Long if there can only be few executions. Goroutines had to yield if Yielded is set. Targets are the
	// places of the suspects in it.
	Alone         *Outcome
	Steps         uint64
	Long, Yielded bool
	Targets       []recorder.Target

	// Used is the time of its executions, and Granted what it may use beyond what each unit may, see suspects.Budget. Stale is the number of
	// executions of the search since the last one that has shown something new.
	Used, Granted time.Duration
	Stale         int

	// Share is the part of its search that is made, and Quota the largest number of executions of that; with 0 there is no bound.
	Share Share
	Quota int

	// What a search knows of it. Usual is how it ends under the default schedule, if there were Executions. It is Exhausted if the
	// search ended before its time, because further executions showed no other order of operations. Then All is the number of
	// different executions, if all of them were made, and otherwise 0. Differed is set if an execution has ended in another way
	// than the usual one, and Always if the search ended because none did.
	Usual                       Outcome
	Executions, All             int
	Exhausted, Differed, Always bool

	// Earlier is what earlier searches of the same program have done, and with what this one has done once it has ended.
	Earlier Done
}

// Share is a part of a search, one of Of that are disjoint and together the whole: the I-th, from 0. The zero value is the whole.
type Share struct{ I, Of uint64 }

// Nth returns the number, in the whole, of the n-th of a part.
func (s Share) Nth(n uint64) uint64 { return n*s.Parts() + s.I }

// Enumerates reports whether this part tries all executions, if they are few. What is next in an enumeration depends on all before, so one
// part makes it.
func (s Share) Enumerates() bool { return s.I == 0 }

// Parts returns of how many parts this is one.
func (s Share) Parts() uint64 { return max(s.Of, 1) }

// Done is what the executions of a search have done, as hashes. An enumeration is made again whatever is done: its executions also say which
// failures have nothing to do with a race.
type Done struct{ Behaviors, Orders map[uint64]bool }

// Units returns the tests and programs to search. If chosen is not nil, it says which tests of which packages are executed at all; the
// empty name stands for all tests together, of a program that does not list them.
func Units(ctx context.Context, programs []*Program, chosen func(pkg, test string) bool) (units []*Unit) {
	for _, p := range programs {
		tests := []string{""}
		if p.Test && !slices.ContainsFunc(p.Args, selectsTests) {
			if names := p.tests(ctx); len(names) > 0 {
				tests = names
				if chosen != nil {
					tests = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !chosen(p.Package, name) })
				}
				p.some = len(tests) < len(names)
			}
		}
		for _, test := range tests {
			u := &Unit{Program: p, Test: test}
			p.Units, units = append(p.Units, u), append(units, u)
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

// Pattern returns the unit's test as -test.run takes it.
func (u *Unit) Pattern() string {
	if u.Test == "" {
		return ""
	}
	return "^" + regexp.QuoteMeta(u.Test) + "$"
}

// Pattern returns the tests of the program's units as -test.run takes them. It is empty if these are all tests.
func (p *Program) Pattern() string {
	if !p.some {
		return ""
	}
	names := make([]string, len(p.Units))
	for i, u := range p.Units {
		names[i] = regexp.QuoteMeta(u.Test)
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// Surveyed takes an execution of the unit alone.
func (u *Unit) Surveyed(e *Execution, byDefault bool) {
	u.Long, u.Yielded = u.Long || e.Long(), u.Yielded || e.Yielded > 0
	if byDefault {
		u.Alone, u.Steps = &e.Outcome, e.Steps
	}
}

// AlwaysTries is after how many executions with schedules of several kinds a failure that all of them have shown has nothing to do
// with schedules.
const AlwaysTries = 20

package controlled

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/observed"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/internal/testaid/tier"
	"github.com/heisen-go/heisen/report"
)

// TestForked: an execution in a forked process is that of a process that is started for it, for tests of many kinds and
// strategies: the choices, operations and times, what was printed, how it ended and what was found.
func TestForked(t *testing.T) {
	if testing.Short() {
		t.Skip("builds an instrumented program")
	}
	t.Chdir("testdata/forked")
	source := Source{Verb: "test", Packages: []string{"."}}
	programs, with, err := source.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(programs)
	words, err := report.NewResolver()
	if err != nil {
		t.Fatal(err)
	}
	resolver := observed.NewResolver(words, with)
	p := programs[0]
	if p.Prologue(0) == 0 {
		t.Fatal(p.forks.refuses)
	}
	seeds := tier.Pick[uint64](3, 6, 24, 300)
	for _, u := range Units(t.Context(), programs, nil) {
		t.Run(u.Test, func(t *testing.T) {
			before := p.forks.rewound
			defer func() {
				rewound := p.forks.rewound - before
				t.Logf("%d of %d processes were rewound", rewound, seeds)
				if slices.Contains(changingMemoryOnly, u.Test) && canRewind() && rewound == 0 {
					t.Error("no process was rewound")
				}
			}()
			for seed := range seeds {
				schedule := recorder.Schedule{Strategy: configs[seed%uint64(len(configs))], Prologue: p.Prologue(seed), Log: true}
				schedule.Strategy.Seed = seed
				mode := recorder.FindingsOnly
				if seed%4 == 3 {
					mode = recorder.Everything
				}
				plan := Plan{Schedule: &schedule, Mode: mode, Tests: u.Pattern(), Limit: time.Minute}
				fresh, err := p.executeAfresh(t.Context(), &receiver{plan: &plan, resolver: resolver, program: p})
				if err != nil {
					t.Fatal(err)
				}
				forked, err := p.forks.execute(t.Context(), &receiver{plan: &plan, resolver: resolver, program: p})
				if err != nil {
					t.Fatal(err)
				}
				if diff := gocmp.Diff(outline(fresh), outline(forked)); diff != "" && !fromOutside(fresh, forked) {
					t.Errorf("seed %d of strategy %v, a process of its own, and a forked one:\n%s", seed, schedule.Strategy.Strategy, diff)
				}
			}
		})
	}
}

// changingMemoryOnly are tests whose processes can go back to the start.
var changingMemoryOnly = []string{"TestCounter", "TestPingPong", "TestSelect", "TestDeadline", "TestMaps", "TestPool", "TestCollections", "TestFinalizers", "TestJSON"}

// canRewind reports whether processes are rewound on this machine: from Linux 6.7 on, on amd64.
func canRewind() bool {
	var name unix.Utsname
	if runtime.GOARCH != "amd64" || unix.Uname(&name) != nil {
		return false
	}
	var major, minor int
	fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor)
	return major > 6 || major == 6 && minor >= 7
}

// TestNotRepeated: what a process gets from the system's source of random numbers, or changes outside of its memory, is not
// repeated by the next execution of a process that was rewound.
func TestNotRepeated(t *testing.T) {
	if testing.Short() {
		t.Skip("builds an instrumented program")
	}
	t.Chdir("testdata/forked")
	source := Source{Verb: "test", Packages: []string{"."}, Tags: []string{"outside"}}
	programs, with, err := source.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(programs)
	words, err := report.NewResolver()
	if err != nil {
		t.Fatal(err)
	}
	resolver := observed.NewResolver(words, with)
	p := programs[0]
	for _, test := range []string{"TestSystemRandom", "TestMask", "TestKeepsFile", "TestRawFile"} {
		t.Run(test, func(t *testing.T) {
			printed, descriptors := map[string]bool{}, ""
			for seed := range uint64(6) {
				schedule := recorder.Schedule{Prologue: p.Prologue(0)}
				schedule.Strategy.Seed = seed
				plan := Plan{Schedule: &schedule, Mode: recorder.FindingsOnly, Tests: "^" + test + "$", Limit: time.Minute}
				e, err := p.Execute(t.Context(), plan, resolver)
				if err != nil {
					t.Fatal(err)
				}
				if e.Outcome.Class != Passed {
					t.Fatalf("execution %d: %v\n%s", seed, e.Outcome, e.Output)
				}
				if _, random, ok := bytes.Cut(e.Output, []byte("random ")); ok && printed[string(random)] {
					t.Errorf("execution %d has got random numbers of another one", seed)
				} else {
					printed[string(random)] = true
				}
				for line := range bytes.Lines(e.Output) {
					if text := string(line); strings.HasPrefix(text, "descriptor") {
						if descriptors = cmp.Or(descriptors, text); text != descriptors {
							t.Errorf("execution %d: %s, want %s", seed, text, descriptors)
						}
					}
				}
			}
		})
	}
}

var configs = []strategies.Config{
	{Strategy: strategies.POS},
	{Strategy: strategies.PCT, Depth: 3, Steps: 50},
	{Strategy: strategies.RandomWalk},
	{Strategy: strategies.Follow, ByDefault: true},
	{Strategy: strategies.Delay, Depth: 3, Steps: 50},
}

// outline returns what two equal executions have in common.
func outline(e *Execution) (lines []string) {
	lines = append(lines, fmt.Sprintf("steps %d, hash %x, order %x, virtual %v, yielded %d, delays %d, diverged %d", e.Steps, e.Hash, e.Order, e.Virtual, e.Yielded, e.Delays, e.Diverged))
	lines = append(lines, fmt.Sprint(e.Outcome.Class, e.Outcome.Message), fmt.Sprint(e.Choices), fmt.Sprint(e.Outside), e.Measured)
	var found []string
	for _, f := range e.Findings() {
		found = append(found, fmt.Sprint(f.Fingerprint, f.Message))
	}
	slices.Sort(found)
	lines = append(lines, found...)
	for line := range bytes.Lines(e.Output) {
		lines = append(lines, changing.ReplaceAllString(string(line), "*"))
	}
	return lines
}

// changing matches addresses, numbers of processes and ports, and real times, in what a program prints.
var changing = regexp.MustCompile(`0x[0-9a-f]+|\d+\.\d+s|127\.0\.0\.1:\d+|pid \d+`)

// fromOutside reports whether executions depend on something besides their schedules, such as the network.
func fromOutside(all ...*Execution) bool {
	return slices.ContainsFunc(all, func(e *Execution) bool { return len(e.Outside) > 0 || e.Measured != "" })
}

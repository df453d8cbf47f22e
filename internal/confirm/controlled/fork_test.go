package controlled

import (
	"bytes"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
	if runtime.GOOS != "linux" {
		t.Skip("processes are forked on Linux only")
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
	seeds := tier.Pick[uint64](3, 12, 300)
	for _, u := range Units(t.Context(), programs) {
		t.Run(u.Test, func(t *testing.T) {
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
				if diff := cmp.Diff(outline(fresh), outline(forked)); diff != "" && !fromOutside(fresh, forked) {
					t.Errorf("seed %d of strategy %v, a process of its own, and a forked one:\n%s", seed, schedule.Strategy.Strategy, diff)
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

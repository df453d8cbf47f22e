// Command schedule measures the cost of a scheduling step in an instrumented program: the processor
// time of a program with many steps, minus that with few steps, the least of several runs. A step is one
// choice of the strategy. Goroutines that yield to each other also switch, except when the strategy
// chooses the running goroutine again.
//
//	go run ./bench/schedule [-runs n] [-n operations]
//
// On a busy machine with two cores a step takes 0.19 to 0.32 µs with two goroutines and 0.19 to 0.68
// µs with a hundred, including the switch.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/results"
	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
)

// program is the package of the program.
const program = "github.com/heisen-go/heisen/bench/schedule/switches"

func main() {
	runs := flag.Int("runs", 5, "runs of each kind")
	n := flag.Int("n", 200_000, "`number` of operations in a run")
	format := results.Flag()
	flag.Parse()
	if flag.NArg() > 0 || *runs < 1 || *n < 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := measure(context.Background(), format.To(os.Stdout), *runs, *n); err != nil {
		fmt.Fprintln(os.Stderr, "schedule:", err)
		os.Exit(1)
	}
}

var compared = []struct {
	name   string
	config strategies.Config
}{
	{"random walk", strategies.Config{Strategy: strategies.RandomWalk}},
	{"PCT", strategies.Config{Strategy: strategies.PCT, Depth: 3, Steps: 100_000}},
	{"race-directed", strategies.Config{Strategy: strategies.RaceDirected}},
}

func measure(ctx context.Context, w io.Writer, runs, n int) error {
	dir, err := os.MkdirTemp("", "heisen-schedule-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	exe := filepath.Join(dir, "switches")
	b, err := build.New(ctx, "", "", build.MainModules)
	if err != nil {
		return err
	}
	if err := b.Build(ctx, "", exe, nil, program); err != nil {
		return err
	}
	if err := results.Conditions(w, "./bench/schedule"); err != nil {
		return err
	}
	fmt.Fprintf(w, "Nanoseconds of processor time per step, by what goroutines do: call runtime.Gosched, lock a mutex, change an atomic variable, or use a channel. Each is the least of %d runs with %d operations.\n\n", runs, n)
	hows := []string{"gosched", "lock", "atomic", "channel"}
	table := results.NewTable(append([]string{"strategy", "goroutines"}, hows...)...)
	for _, s := range compared {
		for _, goroutines := range []int{2, 100} {
			cells := []any{s.name, goroutines}
			for _, how := range hows {
				cost, err := step(ctx, runs, exe, how, goroutines, n, s.config)
				if err != nil {
					return err
				}
				cells = append(cells, fmt.Sprintf("%.0f", cost))
			}
			table.Add(cells...)
		}
	}
	return table.Print(w)
}

// step returns the cost of a step in nanoseconds.
func step(ctx context.Context, runs int, exe, how string, goroutines, n int, config strategies.Config) (float64, error) {
	var least [2]time.Duration // times of runs with few and with many steps
	var steps [2]uint64
	for i := range runs {
		config.Seed = uint64(i)
		for j, n := range []int{n / 10, n} {
			took, made, err := run(ctx, recorder.Schedule{Strategy: config}, exe,
				"-how", how, "-goroutines", strconv.Itoa(goroutines), "-n", strconv.Itoa(n))
			if err != nil {
				return 0, err
			}
			if i == 0 || took < least[j] {
				least[j], steps[j] = took, made
			}
		}
	}
	return float64(least[1]-least[0]) / float64(steps[1]-steps[0]), nil
}

// run runs the program and returns its processor time and its number of steps.
func run(ctx context.Context, schedule recorder.Schedule, exe string, args ...string) (took time.Duration, steps uint64, err error) {
	listener, err := recorder.Listen()
	if err != nil {
		return 0, 0, err
	}
	defer listener.Close()
	cmd := exec.CommandContext(ctx, exe, args...)
	cmd.Env = append(cmd.Environ(), listener.Env())
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	p, err := listener.Accept()
	if err != nil {
		return 0, 0, err
	}
	steps, err = consume(ctx, p, schedule)
	if err := errors.Join(err, p.Close(0), cmd.Wait()); err != nil {
		return 0, 0, err
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), steps, nil
}

func consume(ctx context.Context, p *recorder.Program, schedule recorder.Schedule) (steps uint64, err error) {
	stream, err := p.Open(recorder.Want{Mode: recorder.FindingsOnly, Schedule: &schedule})
	if err != nil {
		return 0, err
	}
	if _, err := heisen.Run(ctx, stream); err != nil {
		return 0, err
	}
	return stream.Execution().Steps, nil
}

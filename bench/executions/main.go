// Command executions measures what an execution of a test costs in each kind of process in which heisen fuzz makes it: one
// that is started for it, one that is forked where the tests begin, and the cheapest one, which may go back there and make the
// next execution. The tests are those with which the kinds are compared, in internal/confirm/controlled/testdata/forked.
//
//	go run ./bench/executions [-run pattern] [-executions n] [-rounds n]
//
// It must run in the folder of the module. For each test, the kinds take turns. A row has the executions per second by
// wall-clock time, one after another, and the processor time of each, of heisen and its processes together, in ms: medians of
// the rounds.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"

	"github.com/heisen-go/heisen/bench/measure"
	"github.com/heisen-go/heisen/bench/results"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/observed"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
)

func main() {
	run := flag.String("run", "", "tests, by a regular expression")
	executions := flag.Int("executions", 200, "executions of each test and kind in a round")
	rounds := flag.Int("rounds", 3, "rounds")
	format := results.Flag()
	flag.Parse()
	tests, err := regexp.Compile(*run)
	if flag.NArg() > 0 || *executions < 1 || *rounds < 1 || err != nil {
		flag.Usage()
		os.Exit(2)
	}
	out := format.To(os.Stdout)
	err = results.Conditions(out, "./bench/executions")
	table := results.NewTable("test", "started /s", "forked /s", "cheapest /s", "started ms", "forked ms", "cheapest ms")
	if err == nil {
		err = measureAll(tests, *executions, *rounds, table)
	}
	if err := errors.Join(err, table.Print(out)); err != nil {
		fmt.Fprintln(os.Stderr, "executions:", err)
		os.Exit(1)
	}
}

var kinds = []controlled.Process{controlled.Afresh, controlled.Forked, controlled.AnyProcess}

// measureAll adds a row for each test to a table.
func measureAll(tests *regexp.Regexp, executions, rounds int, table *results.Table) error {
	if err := os.Chdir("internal/confirm/controlled/testdata/forked"); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "heisen-executions-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	source := controlled.Source{Verb: "test", Packages: []string{"."}}
	programs, with, err := source.Build(ctx, dir)
	if err != nil {
		return err
	}
	for _, p := range programs {
		defer p.Close()
	}
	words, err := report.NewResolver()
	if err != nil {
		return err
	}
	m := measurer{program: programs[0], resolver: observed.NewResolver(words, with)}
	for _, u := range controlled.Units(ctx, programs, nil) {
		if !tests.MatchString(u.Test) {
			continue
		}
		rates, costs := make([][]float64, len(kinds)), make([][]float64, len(kinds))
		for range rounds {
			for i, kind := range kinds {
				rate, cost, err := m.round(ctx, u.Pattern(), kind, executions)
				if err != nil {
					return fmt.Errorf("%s: %w", u.Test, err)
				}
				rates[i], costs[i] = append(rates[i], rate), append(costs[i], cost)
			}
		}
		row := []any{u.Test}
		for i := range kinds {
			row = append(row, fmt.Sprintf("%.0f", measure.Median(rates[i])))
		}
		for i := range kinds {
			row = append(row, fmt.Sprintf("%.2f", measure.Median(costs[i])))
		}
		table.Add(row...)
	}
	return nil
}

// measurer makes executions of a program.
type measurer struct {
	program  *controlled.Program
	resolver *observed.Resolver
	seed     uint64
}

// round makes executions of tests in a kind of process, with random orders. It returns their number in a second, and the processor
// time of each in ms, with that of processes that are started first.
func (m *measurer) round(ctx context.Context, tests string, kind controlled.Process, executions int) (rate, cost float64, err error) {
	used, start := measure.ProcessorTimeWithChildren(), time.Now()
	for range executions {
		m.seed++
		schedule := recorder.Schedule{Prologue: m.program.Prologue(m.seed), Strategy: strategies.Config{Strategy: strategies.POS, Seed: m.seed}}
		plan := controlled.Plan{Schedule: &schedule, Mode: recorder.FindingsOnly, Tests: tests, Process: kind, Limit: time.Minute}
		if _, err := m.program.Execute(ctx, plan, m.resolver); err != nil {
			return 0, 0, err
		}
	}
	m.program.EndIdle()
	n := float64(executions)
	return n / time.Since(start).Seconds(), (measure.ProcessorTimeWithChildren() - used).Seconds() * 1000 / n, nil
}

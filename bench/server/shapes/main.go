// Command shapes measures servers of several shapes (bench/server/shapes/program), whose load is in the
// same process: without a race detector, with Go's, and with heisen's. It prints the requests per second of
// processor time and the peak of memory, medians of rounds in which the three take turns.
//
//	go run ./bench/server/shapes [-shapes list] [-requests n] [-rounds n] [-heisen program]
//
// It must run in the folder of the module. With -heisen, a program that heisen build has made earlier is
// measured as well, such as that of another version.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/heisen-go/heisen/bench/measure"
	"github.com/heisen-go/heisen/bench/results"
)

func main() {
	list := flag.String("shapes", "table,churn,scan,pool,pipeline,fanout,connections,cache,http", "comma-separated list of shapes")
	requests := flag.Int("requests", 20_000, "requests of each run")
	rounds := flag.Int("rounds", 3, "runs of each shape and detector")
	other := flag.String("heisen", "", "a further program to measure")
	format := results.Flag()
	flag.Parse()
	if flag.NArg() > 0 || *requests < 1 || *rounds < 1 {
		flag.Usage()
		os.Exit(2)
	}
	out := format.To(os.Stdout)
	err := results.Conditions(out, "./bench/server/shapes")
	table := results.NewTable("shape", "detector", "requests/s of CPU time", "MiB", "CPU of -race")
	if err == nil {
		err = measureAll(strings.Split(*list, ","), *requests, *rounds, *other, table)
	}
	if err := errors.Join(err, table.Print(out)); err != nil {
		fmt.Fprintln(os.Stderr, "shapes:", err)
		os.Exit(1)
	}
}

// variant is a program with or without a detector.
type variant struct{ name, exe string }

// measureAll adds a row for each shape and variant to a table.
func measureAll(shapes []string, requests, rounds int, other string, table *results.Table) error {
	dir, err := os.MkdirTemp("", "heisen-shapes-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	const program = "./bench/server/shapes/program"
	heisen := filepath.Join(dir, "heisen")
	variants := []variant{{"none", filepath.Join(dir, "plain")}, {"race", filepath.Join(dir, "race")}, {"heisen", filepath.Join(dir, "follow")}}
	for _, build := range [][]string{
		{"go", "build", "-o", variants[0].exe, program},
		{"go", "build", "-race", "-o", variants[1].exe, program},
		{"go", "build", "-o", heisen, "./cmd/heisen"},
		{heisen, "build", "-o", variants[2].exe, program},
	} {
		if out, err := exec.Command(build[0], build[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
	}
	if other != "" {
		variants = append(variants, variant{"heisen (-heisen)", other})
	}
	for _, shape := range shapes {
		cpu, memory := make([][]float64, len(variants)), make([][]float64, len(variants))
		for range rounds {
			for i, v := range variants {
				used, peak, err := run(v.exe, shape, requests)
				if err != nil {
					return err
				}
				cpu[i], memory[i] = append(cpu[i], used), append(memory[i], peak)
			}
		}
		race := measure.Median(cpu[1])
		for i, v := range variants {
			used := measure.Median(cpu[i])
			speed := float64(requests) / used
			table.Add(shape, v.name, results.Cell{Value: speed, Text: fmt.Sprintf("%.0f", speed)}, measure.Median(memory[i]), used/race)
		}
	}
	return nil
}

// run returns the processor time of a run in seconds, and its peak of memory in MiB.
func run(exe, shape string, requests int) (cpu, memory float64, err error) {
	cmd := exec.Command(exe, shape, fmt.Sprint(requests))
	cmd.Env = append(cmd.Environ(), "GORACE=atexit_sleep_ms=0") // otherwise it sleeps for a second at exit
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, 0, fmt.Errorf("%s: %w\n%s", shape, err, out)
	}
	state := cmd.ProcessState
	const mib = 1 << 20
	return (state.UserTime() + state.SystemTime()).Seconds(), float64(measure.PeakMemory(state)) / mib, nil
}

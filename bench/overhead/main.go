// Command overhead measures the cost of whole programs under heisen. It runs benchmarks of
// well-known modules as they are, under Go's race detector and under heisen. Tables show CPU time,
// wall time and memory relative to the plain run.
//
//	go run ./bench/overhead [-suite name] [-count n] [-scale x] [-run regexp] [-raw] [-profile dir]
//
// The modules come from the module proxy, in fixed versions. The time to build them does not count.
// Every run does a fixed number of iterations. The configurations take turns, and the tables show
// medians. CPU time is user and system time of all processes. Memory is the sum of their peaks: for
// heisen, those of the program, the analyzer, and the process that resolves program counters.
//
// The configurations are:
//
//   - plain
//   - race: go test -race
//   - record: heisen without detectors, that is the recorder, the transport and the merge
//   - fasttrack: what heisen test does by default
//   - focused: the same with -focus, under a plan that heisen infer makes of the module; what the module depends
//     on, and the standard library, are checked fully
//   - order: fasttrack without accesses, in no package: what is left is to follow the order of synchronizations. No plan
//     could cost less
//   - atomrace: without noise; the program detects overlaps itself and sends only those
//   - all: every detector that heisen test can run, except the exhaustive happens-before detector
//
// # Results
//
// Accesses of all packages are recorded, in both. Two cores, Go 1.26.8, nothing else on the machine,
// geometric means of medians of five, beside go test -race:
//
//	suite        CPU    wall   memory
//	structures   1.09   1.06   0.98
//	library      1.16   1.14   1.08
//
// By benchmark, the CPU time was between 0.48 times (library Compression) and 1.63 times (fasthttp
// ClientGetEndToEnd10Inmemory); above 1.5 was also xsync MPMCQueue (1.53). Programs in which most accesses
// repeat earlier ones cost less than under -race. Those in which most must be recorded, such as servers,
// cost more. Memory was between 0.58 and 2.14 times, which counts heisen's process, 7 to 9 MiB, from the time
// when it waits for findings. Earlier code took 1.02 and 1.12 times the CPU time on another machine with
// two cores.
//
// With -focus, under plans that heisen infer makes of the benchmark's module, the CPU time was 1.05 and 1.15
// times that of -race. Accesses of other modules and of the standard library are in no plan, and most
// variables of data structures may race if their callers are wrong. Without any accesses (order) it was 0.49
// and 0.41 times, between 0.15 (roaring) and 1.32 (ants), which is less than any plan can have.
//
// Where goroutines share words, single runs differ by up to a factor of three, under -race too,
// depending on how fast processors exchange cache lines. The counter of parallel benchmarks orders
// nothing for heisen, but counts as synchronization for -race. Without this difference it would be
// about 5 % more on the first suite.
//
// With -detect atomrace and without noise, the CPU time was 1.12 and 1.45 times that of -race, and the
// memory 0.51 and 0.71 times.
//
// With the build tag race, each process of pebble's benchmark would decide at random whether its
// values are in Go's heap, where races are detected, or elsewhere. Here they always are in the heap.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/bench/results"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == analyzerVerb {
		os.Exit(analyzerMain(os.Args[2], os.Args[3:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := measureMain(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "overhead:", err)
		os.Exit(1)
	}
}

func measureMain(ctx context.Context) error {
	count := flag.Int("count", 3, "runs of each configuration; the tables show their medians")
	scale := flag.Float64("scale", 1, "factor for the number of iterations")
	suite := flag.String("suite", "structures,library", "comma-separated `suites` to measure")
	only := flag.String("run", "", "measure the benchmarks that match `regexp`")
	skip := flag.String("skip", "all", "comma-separated `configurations` to leave out")
	raw := flag.Bool("raw", false, "print every run as JSON, one a line, instead of tables")
	profile := flag.String("profile", "", "write CPU profiles of the analyzer to `dir`")
	format := results.Flag()
	flag.Parse()
	w := format.To(os.Stdout)
	if flag.NArg() > 0 || *count < 1 || *scale <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	chosen := slices.DeleteFunc(slices.Clone(configurations), func(w configuration) bool {
		return slices.Contains(strings.Split(*skip, ","), w.name)
	})
	var selected [][]benchmark
	for _, name := range strings.Split(*suite, ",") {
		i := slices.IndexFunc(suites, func(s namedSuite) bool { return s.name == name })
		if i < 0 {
			return fmt.Errorf("no suite is called %q", name)
		}
		selected = append(selected, suites[i].benchmarks)
	}
	dir, err := os.MkdirTemp("", "heisen-overhead-")
	if err != nil {
		return err
	}
	defer removeAll(dir)

	if !*raw {
		if err := results.Conditions(w, "./bench/overhead"); err != nil {
			return err
		}
	}
	runner := &runner{dir: dir, profile: *profile, scale: *scale}
	for _, suite := range selected {
		if err := measureSuite(ctx, w, runner, suite, chosen, match, *count, *raw); err != nil {
			return err
		}
	}
	return nil
}

// measureSuite measures the benchmarks of a suite that match, and prints their costs: each run as JSON, or tables.
func measureSuite(ctx context.Context, w io.Writer, runner *runner, suite []benchmark, chosen []configuration, match *regexp.Regexp, count int, raw bool) (err error) {
	var rows []row
	defer func() {
		if !raw && len(rows) > 0 {
			err = errors.Join(err, printTables(w, chosen, rows)) // also after an error
		}
	}()
	for _, b := range suite {
		if !match.MatchString(b.String()) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s: building\n", b)
		if err := runner.build(ctx, b, chosen); err != nil {
			return fmt.Errorf("%s: %w", b, err)
		}
		r := row{bench: b, runs: map[string][]cost{}}
		for n := range count {
			for _, w := range chosen {
				c, err := runner.run(ctx, b, w)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", b, w.name, err)
				}
				r.runs[w.name] = append(r.runs[w.name], c)
				if raw {
					err := json.NewEncoder(os.Stdout).Encode(struct {
						Benchmark string `json:"benchmark"`
						Way       string `json:"way"`
						Run       int    `json:"run"`
						cost
					}{b.String(), w.name, n + 1, c})
					if err != nil {
						return err
					}
				}
			}
			fmt.Fprintf(os.Stderr, "%s: %d of %d\n", b, n+1, count)
		}
		rows = append(rows, r)
	}
	return nil
}

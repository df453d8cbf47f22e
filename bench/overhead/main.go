// Command overhead measures what it costs to watch programs: benchmarks of
// well-known modules run plainly, under Go's race detector and under heisen, and
// a table shows CPU time, wall time and memory of each against the plain run.
//
//	go run ./bench/overhead [-count n] [-scale x] [-run regexp] [-json] [-profile dir]
//
// The modules come through the module proxy, in fixed versions, and are compiled
// beforehand; building is not counted. Every run does the same work, a fixed
// number of iterations; the ways take turns, and medians are shown. CPU time is
// user and system time of all processes together, memory the sum of their peaks:
// for heisen that is the program, the analyser and the process that names the
// program's places.
//
// The ways are plain; race (go test -race); record (heisen without detectors:
// the program's side, transport and merge); fasttrack (what heisen test does);
// atomrace (without noise: the program looks for overlaps and sends only those);
// and all (every detector that heisen test can run, but for the reference).
//
// On eleven benchmarks of eight modules (two cores, Go 1.26.8), heisen test took 0.99 times the CPU and wall time
// of go test -race, and 1.08 times its memory (geometric means of medians of 15; in five runs with medians of
// five, CPU between 0.95 and 1.03 times, 0.98 in the middle). By benchmark, CPU was between 0.6 and 2 times, the
// most where thousands of goroutines wait; where goroutines share words, single runs differ by up to a factor of
// three, under -race too, with how quickly processors exchange them. Without the counter of parallel benchmarks,
// which orders nothing for heisen and is taken for synchronisation by -race, it would be some 5 % more. With
// -detect atomrace, without noise, it was as much CPU and wall time as with -race (one run, of earlier code; CPU
// between 0.5 and 1.6 times).
//
// Under the race build tag each process of pebble's benchmark would toss a coin: whether its values are in
// Go's heap, where races are looked for, or elsewhere. Here they always are.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == analyserVerb {
		os.Exit(analyserMain(os.Args[2], os.Args[3:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := measureMain(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "overhead:", err)
		os.Exit(1)
	}
}

func measureMain(ctx context.Context) error {
	count := flag.Int("count", 3, "runs of each way, of which the median is shown")
	scale := flag.Float64("scale", 1, "factor for the numbers of iterations")
	only := flag.String("run", "", "measure the benchmarks that match `regexp`")
	skip := flag.String("skip", "all", "comma-separated `ways` to leave out")
	asJSON := flag.Bool("json", false, "print every run as JSON, one a line, instead of tables")
	profile := flag.String("profile", "", "write CPU profiles of the analyser to `dir`")
	flag.Parse()
	if flag.NArg() > 0 || *count < 1 || *scale <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	chosen := slices.DeleteFunc(slices.Clone(ways), func(w way) bool {
		return slices.Contains(strings.Split(*skip, ","), w.name)
	})
	dir, err := os.MkdirTemp("", "heisen-overhead-")
	if err != nil {
		return err
	}
	defer removeAll(dir)

	runner := &runner{dir: dir, profile: *profile, scale: *scale}
	var rows []row
	defer func() {
		if !*asJSON {
			printTables(os.Stdout, chosen, rows) // those that there are
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
		for n := range *count {
			for _, w := range chosen {
				c, err := runner.run(ctx, b, w)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", b, w.name, err)
				}
				r.runs[w.name] = append(r.runs[w.name], c)
				if *asJSON {
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
			fmt.Fprintf(os.Stderr, "%s: %d of %d\n", b, n+1, *count)
		}
		rows = append(rows, r)
	}
	return nil
}

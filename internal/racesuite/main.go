package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	status, err := command(ctx)
	if err != nil {
		fmt.Fprintf(os.Stderr, "racesuite: %v\n", err)
	}
	os.Exit(status)
}

// plan is what to run.
type plan struct {
	functions   []function
	procs       []int // each function at each of these
	repetitions int
	parallel    int // processes at a time
}

// command reads the flags, runs the plan and prints the result.
func command(ctx context.Context) (status int, err error) {
	run := flag.String("run", "", "run only the functions that match `regexp`")
	file := flag.String("file", "", "run only the files that match `regexp`")
	count := flag.Int("count", 1, "run each function `n` times")
	procs := flag.String("procs", "1,0", "comma-separated `list` of GOMAXPROCS; 0 is all processors")
	parallel := flag.Int("parallel", runtime.NumCPU(), "run `n` processes at a time")
	tool := flag.String("tool", "heisen", "`name` of the race detector: heisen, or race for go test -race")
	data := flag.String("testdata", "", "`folder` of the test data, if not that of the Go installation")
	verbose := flag.Bool("v", false, "print what the functions that were wrong have printed")
	flag.Parse()
	if flag.NArg() > 0 {
		return 2, fmt.Errorf("argument %s is none of the flags", flag.Arg(0))
	}
	p := plan{repetitions: *count, parallel: *parallel}
	if p.procs, err = parseProcs(*procs); err != nil {
		return 2, err
	}
	if *count < 1 || *parallel < 1 {
		return 2, errors.New("-count and -parallel are at least 1")
	}
	if *tool != "heisen" && *tool != "race" {
		return 2, fmt.Errorf("unknown tool %q; there are heisen and race", *tool)
	}
	chosen, err := chooser(*run, *file)
	if err != nil {
		return 2, err
	}

	work, err := os.MkdirTemp("", "heisen-racesuite-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(work)
	started := time.Now()
	progress := terminal(os.Stderr)
	progress("building")
	s, err := buildSuite(ctx, *tool, *data, work)
	progress("")
	if err != nil {
		return 1, err
	}
	all, err := functions(s.data)
	if err != nil {
		return 1, err
	}
	for _, f := range all {
		if chosen(f) {
			p.functions = append(p.functions, f)
		}
	}
	if len(p.functions) == 0 {
		return 1, errors.New("no function matches")
	}
	built := time.Now()
	tallies := s.runAll(ctx, p, progress)
	if ctx.Err() != nil {
		return 1, errors.New("interrupted")
	}
	t := s.toolchain
	fmt.Printf("%s with %s %s/%s, %d runs of each function\n\n", *tool, t.Version, t.GOOS, t.GOARCH, *count)
	printTable(os.Stdout, tallies, p.procs)
	fmt.Println()
	wrong := printWrong(os.Stdout, tallies, *verbose)
	fmt.Printf("built in %.0f s, ran in %.0f s\n", built.Sub(started).Seconds(), time.Since(built).Seconds())
	if wrong > 0 {
		return 1, fmt.Errorf("%d wrong in scope", wrong)
	}
	return 0, nil
}

func parseProcs(list string) (procs []int, err error) {
	for _, text := range strings.Split(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("-procs: %q is no number of processors", text)
		}
		procs = append(procs, n)
	}
	return procs, nil
}

// chooser returns the condition that two regular expressions make.
func chooser(name, file string) (func(function) bool, error) {
	names, err := regexp.Compile(name)
	if err != nil {
		return nil, fmt.Errorf("-run: %w", err)
	}
	files, err := regexp.Compile(file)
	if err != nil {
		return nil, fmt.Errorf("-file: %w", err)
	}
	return func(f function) bool { return names.MatchString(f.name) && files.MatchString(f.file) }, nil
}

// runAll runs the plan and tells how far it is.
func (s *suite) runAll(ctx context.Context, p plan, progress func(string)) []*tally {
	var tallies []*tally
	for _, f := range p.functions {
		for _, n := range p.procs {
			tallies = append(tallies, &tally{function: f, procs: n, runs: make([]verdict, p.repetitions)})
		}
	}
	var (
		mu   sync.Mutex
		next int
		done int
		wg   sync.WaitGroup
	)
	total := len(tallies) * p.repetitions
	for range p.parallel {
		wg.Add(1)
		go func() {
			defer wg.Done()
			mu.Lock()
			defer mu.Unlock()
			for next < total && ctx.Err() == nil {
				t, i := tallies[next/p.repetitions], next%p.repetitions
				next++
				mu.Unlock()
				v := s.run(ctx, t.function, t.procs)
				mu.Lock()
				t.runs[i] = v
				done++
				progress(fmt.Sprintf("%d of %d runs", done, total))
			}
		}()
	}
	wg.Wait()
	progress("")
	return tallies
}

// terminal returns a function that shows a line of progress on f, if f is a
// terminal, and takes it away when the line is empty.
func terminal(f *os.File) func(string) {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return func(string) {}
	}
	return func(line string) {
		if line != "" {
			line = "racesuite: " + line
		}
		fmt.Fprintf(f, "\r\x1b[K%s", line)
	}
}

// Command healing measures what healing costs, and how often it fails. It prints tables in Markdown, beside those of
// Weeratunge, Zhang and Jagannathan, Accentuating the Positive (OOPSLA 2011).
//
//	go run ./bench/healing -table3 [-runs n] [-procs n]
//	go run ./bench/healing -table4 [-runs n] [-procs n] [program...]
//	go run ./bench/healing -many [-runs n] [-procs n]
//	go run ./bench/healing -modules [module...]
//	go run ./bench/healing [-live] [-runs n] [-procs n]
//
// With -table3, it profiles passing runs of the programs of examples/atomicity, places locks for the atomic pairs, and
// prints what table 3 of the paper has.
//
// With -table4, it profiles programs with the bugs of table 1 of the paper in runs with small inputs, and a public module
// in its tests, and prints what table 4 of the paper has for an overlay of locks that these runs call for: the time that
// realistic workloads take without and with the overlay, and how often locks are acquired. The module comes from the Go module
// proxy. Programs are named by the first column.
//
// With -many, it runs small programs with these bugs many times under noise: as they are, with such an overlay, and with
// the patch of heisen heal -patch. All runs of a program are made by one process, so 10,000 take about a second.
//
// With -modules, it profiles the tests of ten public modules, and prints how many of the pairs that were atomic without a lock get
// one, and why the others get none. Modules are named by a part of their paths.
//
// With -live, it builds the programs of examples/atomicity four times: with go build, with heisen build -heal (the live
// healing of section 5 of the AtomRace paper), with an overlay, and with heisen build, which looks for races. It runs them
// in turns and prints how many runs printed another result than the correct variant of the program, and the medians of
// the processor time. Sections that synchronize are not healed, or only in part, which heisen says when it builds a
// program.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/heisen-go/heisen/bench/results"
	"github.com/heisen-go/heisen/driver"
)

// programs are packages below examples/atomicity. The flag -fixed selects their correct variants.
var programs = []string{"closer", "counter", "desk", "lazy", "queue", "registry"}

// The ways to build a program, and their columns.
const (
	plain = iota
	healed
	overlay
	checked
	ways
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	runs := flag.Int("runs", 20, "runs of each program, in each way")
	procs := flag.Int("procs", 4, "GOMAXPROCS of the programs")
	table4 := flag.Bool("table4", false, "measure programs with placed locks, as table 4 of the paper; arguments select programs")
	modules := flag.Bool("modules", false, "count which atomic pairs of public modules get a lock; arguments select modules")
	tables := []struct {
		chosen *bool
		print  func(ctx context.Context, w io.Writer, dir string, runs, procs int) error
	}{
		{flag.Bool("live", false, "measure programs that heal themselves while they run (the default)"), measure},
		{flag.Bool("table3", false, "print profiles and placed locks, as table 3 of the paper"), placement},
		{table4, func(ctx context.Context, w io.Writer, dir string, runs, procs int) error {
			return overheads(ctx, w, dir, runs, procs, flag.Args())
		}},
		{modules, func(ctx context.Context, w io.Writer, dir string, _, _ int) error {
			return coverage(ctx, w, dir, flag.Args())
		}},
		{flag.Bool("many", false, "run the bugs of table 1 of the paper under noise, with placed locks and with a patch"), many},
	}
	format := results.Flag()
	flag.Parse()
	w := format.To(os.Stdout)
	what, chosen := measure, 0
	for _, t := range tables {
		if *t.chosen {
			what, chosen = t.print, chosen+1
		}
	}
	if flag.NArg() > 0 && !*table4 && !*modules || chosen > 1 || *runs < 1 || *procs < 1 {
		flag.Usage()
		os.Exit(2)
	}
	dir, err := os.MkdirTemp("", "heisen-healing-")
	if err == nil {
		err = results.Conditions(w, "./bench/healing")
	}
	if err == nil {
		err = what(ctx, w, dir, *runs, *procs)
	}
	os.RemoveAll(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "healing:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context, w io.Writer, dir string, runs, procs int) error {
	fmt.Fprintf(w, "Runs: %d each, in turns, with GOMAXPROCS=%d. Times: medians of processor time, in ms.\n\n", runs, procs)
	table := results.NewTable("program", "wrong results", "healed", "overlay", "time", "healed", "ratio", "overlay", "ratio", "looking for races", "ratio")
	for _, name := range programs {
		p := &program{name: name, procs: procs}
		if err := p.build(ctx, dir); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for range runs {
			for way := range ways {
				if err := p.run(ctx, way); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
		}
		base := median(p.times[plain])
		table.Add(name, p.wrong[plain], p.wrong[healed], p.wrong[overlay], milliseconds(base),
			milliseconds(median(p.times[healed])), ratio(median(p.times[healed]), base),
			milliseconds(median(p.times[overlay])), ratio(median(p.times[overlay]), base),
			milliseconds(median(p.times[checked])), ratio(median(p.times[checked]), base))
	}
	if err := table.Print(w); err != nil {
		return err
	}
	return publishedTable(w)
}

// publishedTable prints table 4 of the paper.
func publishedTable(w io.Writer) error {
	theirs := results.NewTable("published (table 4)", "workload", "speedup on 8 cores", "R acquisitions / program's", "X acquisitions / program's", "overhead")
	for _, row := range published {
		theirs.Add(row...)
	}
	return theirs.Print(w)
}

// published is table 4 of the paper without the numbers of instructions and of the programs' own
// acquisitions. Its programs are servers and tools in C and C++, healed by locks that were placed at
// compile time, in read mode (R) and exclusively (X).
var published = [][]any{
	{"aget", "download of 648 MB", "2.58", "0", "1.0", "0 %"},
	{"pbzip", "compression of 1.8 GB", "5.33", "2.0", "1.28", "1.4 %"},
	{"mozilla nszip", "extraction of 400,000 files", "3.76", "0", "2", "0.0 %"},
	{"apache", "2 million random requests", "4.2", "1.48", "2.04", "13.3 %"},
	{"spidermonkey", "constraint solver", "1.06", "0.0", "0.0", "2.1 %"},
	{"spidermonkey", "null script", "4.6", "0.11", "0.44", "17.3 %"},
	{"mysql", "sysbench-oltp with 10,000 rows", "4.34", "1.29", "0.57", "13.9 %"},
	{"mysql", "reduced tpcc", "1.74", "1.48", "0.61", "2.0 %"},
}

// program is a program with the results of its runs.
type program struct {
	name  string
	procs int
	right string // what the correct variant prints
	exe   [ways]string
	times [ways][]time.Duration
	wrong [ways]int
}

// build builds the program in all ways, in a folder.
func (p *program) build(ctx context.Context, dir string) error {
	for way := range ways {
		p.exe[way] = filepath.Join(dir, p.name+strconv.Itoa(way))
	}
	pkg := "./examples/atomicity/" + p.name
	for way, flags := range map[int][]string{
		healed:  {"-heal", filepath.Join("examples", "atomicity", p.name, "heisen.sections")},
		checked: nil,
	} {
		args := slices.Concat([]string{"build", "-pkgs", "work", "-o", p.exe[way]}, flags, []string{pkg})
		if status, err := driver.Run(ctx, args, nil, os.Stderr, os.Stderr); err != nil || status != driver.Clean {
			return fmt.Errorf("heisen build: status %d: %w", status, err)
		}
	}
	module := filepath.Join(dir, p.name)
	_, _, replaced, err := p.enforced(ctx, module)
	if err != nil {
		return err
	}
	return goBuild(ctx, module, "-overlay", replaced, "-o", p.exe[overlay])
}

// run runs the program as it was built in one way.
func (p *program) run(ctx context.Context, way int) error {
	out, used, err := p.execute(ctx, way)
	p.times[way] = append(p.times[way], used)
	if out != p.right {
		p.wrong[way]++
	}
	return err
}

// execute returns what the program prints, and the processor time that it uses.
func (p *program) execute(ctx context.Context, way int, args ...string) (string, time.Duration, error) {
	cmd := exec.CommandContext(ctx, p.exe[way], args...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(p.procs), "GORACE=exitcode=0")
	var out bytes.Buffer
	cmd.Stdout = &out
	err := cmd.Run()
	var failed *exec.ExitError
	if errors.As(err, &failed) && ctx.Err() == nil { // a wrong result
		err = nil
		fmt.Fprintln(&out, failed)
	}
	if err != nil {
		return "", 0, err
	}
	return strings.TrimSpace(out.String()), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func ratio(d, base time.Duration) float64 { return float64(d) / float64(max(base, 1)) }

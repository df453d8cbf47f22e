// Command noise measures how noise helps atomrace to find races that rarely show (table 2 of the
// AtomRace paper). It runs a server with several racy variables, without noise and with each of the
// three heuristics of section 3.3. It prints how many races a run found on average, and on how many
// distinct variables.
//
//	go run ./bench/noise [-runs n] [-requests n] [-procs list] [-long]
//
// Accesses are pending until the goroutine's next hook, as in the paper. With -long they are pending
// until its next release, as in heisen test, which finds more without noise.
//
// The locations and variables for the heuristics are those of all races that random noise finds in
// some runs before.
//
// Result, mean of 20 runs: without noise 5.7 overlaps on 1.4 of the five racy variables, with noise
// at every access to these variables 105 overlaps on 4.8.
package main

import (
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

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/results"
	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/infer"
	"github.com/heisen-go/heisen/internal/overlap"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
	"github.com/heisen-go/heisen/section"
)

// program is the package of the program.
const program = "github.com/heisen-go/heisen/examples/server"

// A setting is a heuristic with its strength and its waiting time in microseconds, and what the
// paper's table has for it on machines with 2, 4 and 8 processors. Its program had four racy variables.
type setting struct {
	noise          string
	strength, wait int
	published      [3]string
}

func (w setting) String() string {
	if w.noise == "none" {
		return w.noise
	}
	return fmt.Sprintf("%s %d/%d", w.noise, w.strength, w.wait)
}

// settings has the columns of table 2, without CT, which is another tool.
var settings = []setting{
	{"none", 0, 0, [3]string{"3.36 / 0.89", "1.58 / 0.37", "2.55 / 0.49"}},
	{"random", 50, 50, [3]string{"16.77 / 2.22", "11.07 / 2.27", "10.87 / 2.18"}},
	{"loc", 1000, 50, [3]string{"0.83 / 0.22", "11.38 / 1.71", "10.74 / 2.07"}},
	{"var", 500, 50, [3]string{"257.46 / 3.42", "261.38 / 3.63", "270.44 / 3.68"}},
	{"var", 500, 150, [3]string{"253.97 / 3.52", "271.05 / 3.73", "268.68 / 3.70"}},
	{"var", 750, 50, [3]string{"362.92 / 3.84", "387.91 / 3.82", "401.00 / 3.88"}},
	{"var", 1000, 50, [3]string{"674.35 / 3.34", "667.46 / 3.38", "666.79 / 3.25"}},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	runs := flag.Int("runs", 20, "runs of each heuristic")
	requests := flag.Int("requests", 4000, "`number` of requests in a run")
	long := flag.Bool("long", false, "keep accesses pending until the next release, as heisen test does")
	procs := flag.String("procs", "2", "comma-separated `list` of GOMAXPROCS")
	format := results.Flag()
	flag.Parse()
	if flag.NArg() > 0 || *runs < 1 || *requests < 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := measure(ctx, format.To(os.Stdout), *runs, *requests, !*long, strings.Split(*procs, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "noise:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context, w io.Writer, runs, requests int, brief bool, procs []string) error {
	dir, err := os.MkdirTemp("", "heisen-noise-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	resolver, err := report.NewResolver()
	if err != nil {
		return err
	}
	defer resolver.Close()
	e := &experiment{exe: filepath.Join(dir, "server"), requests: requests, brief: brief, resolver: resolver}
	b, err := build.New(ctx, "", "", build.MainModules)
	if err != nil {
		return err
	}
	if err := b.Build(ctx, "", e.exe, nil, program); err != nil {
		return err
	}
	if err := e.prepare(ctx); err != nil {
		return err
	}
	if err := results.Conditions(w, "./bench/noise"); err != nil {
		return err
	}
	fmt.Fprintf(w, "Races / racy variables in a run with %d requests, means of %d runs. Noise is given to %d locations and to %d accesses of their variables (%s).\n\n",
		requests, runs, len(e.locations), len(e.uses), strings.Join(e.names, ", "))
	columns := []string{"noise, strength/µs"}
	for _, n := range procs {
		if _, err := strconv.Atoi(n); err != nil {
			return fmt.Errorf("GOMAXPROCS %q", n)
		}
		columns = append(columns, "GOMAXPROCS "+n)
	}
	table := results.NewTable(append(columns, "published, 2 processors", "4 processors", "8 processors")...)
	for _, setting := range settings {
		row := []any{setting}
		for _, n := range procs {
			var races, variables int
			for i := range runs {
				r, err := e.run(ctx, e.noise(setting, uint64(i+1)), n)
				if err != nil {
					return fmt.Errorf("%v: %w", setting, err)
				}
				races += r.races
				variables += len(r.variables)
			}
			row = append(row, fmt.Sprintf("%.2f / %.2f", float64(races)/float64(runs), float64(variables)/float64(runs)))
		}
		for _, published := range setting.published {
			row = append(row, published)
		}
		table.Add(row...)
	}
	return table.Print(w)
}

// An experiment is a program with its known races.
type experiment struct {
	exe      string
	requests int
	brief    bool

	locations []section.Location // of races
	uses      []section.Location // of the variables of races
	names     []string           // of these

	resolver *report.Resolver
}

// An outcome is the result of a run.
type outcome struct {
	races     int
	variables map[string]bool
	accesses  []report.Access // of one race of each kind
}

// prepare finds races with random noise.
func (e *experiment) prepare(ctx context.Context) error {
	var of []infer.Access
	for seed := range uint64(10) {
		r, err := e.run(ctx, e.noise(setting{noise: "random", strength: 500, wait: 50}, seed+100), "2")
		if err != nil {
			return err
		}
		for _, a := range r.accesses {
			at := section.Location{File: a.Stack[0].File, Line: a.Stack[0].Line, Mode: section.Reads}
			if a.Op == heisen.Write.String() {
				at.Mode = section.Writes
			}
			if !slices.Contains(e.locations, at) {
				e.locations = append(e.locations, at)
				of = append(of, infer.Access{File: at.File, Line: at.Line, Expr: a.Variable})
			}
		}
		for name := range r.variables {
			if !slices.Contains(e.names, name) {
				e.names = append(e.names, name)
			}
		}
	}
	slices.Sort(e.names)
	if len(of) == 0 {
		return errors.New("random noise finds no race")
	}
	var err error
	e.uses, err = infer.Uses(ctx, infer.Source{Packages: []string{program}}, of...)
	if len(e.uses) > 0 && errors.Is(err, infer.ErrNoVariable) {
		err = nil // what a call returns
	}
	return err
}

func (e *experiment) noise(w setting, seed uint64) recorder.Noise {
	n := recorder.Noise{Strength: w.strength, For: time.Duration(w.wait) * time.Microsecond, Seed: seed, Budget: time.Minute}
	switch w.noise {
	case "loc":
		n.At = e.locations
	case "var":
		n.At = e.uses
	}
	return n
}

// run runs the program once.
func (e *experiment) run(ctx context.Context, noise recorder.Noise, procs string) (r outcome, err error) {
	listener, err := recorder.Listen()
	if err != nil {
		return r, err
	}
	defer listener.Close()
	cmd := exec.CommandContext(ctx, e.exe, "-requests", strconv.Itoa(e.requests))
	cmd.Env = append(cmd.Environ(), listener.Env(), "GOMAXPROCS="+procs)
	if err := cmd.Start(); err != nil {
		return r, err
	}
	r, err = e.consume(ctx, listener, noise)
	return r, errors.Join(err, cmd.Wait())
}

func (e *experiment) consume(ctx context.Context, listener *recorder.Listener, noise recorder.Noise) (r outcome, err error) {
	p, err := listener.Accept()
	if err != nil {
		return r, err
	}
	defer p.Close(0)
	stream, err := p.Open(recorder.Want{Mode: recorder.FindingsOnly, Live: &recorder.Live{Noise: noise, Brief: e.brief}})
	if err != nil {
		return r, err
	}
	r.variables = map[string]bool{}
	seen := map[[2]heisen.Site]string{} // the numbers of sites differ between streams
	stream.OnOverlap(func(o recorder.Overlap) {
		r.races++
		sites := [2]heisen.Site{o.Accesses[0].Site, o.Accesses[1].Site}
		name, known := seen[sites]
		if !known {
			f := e.resolver.Resolve(overlap.Race(o.Accesses[0], o.Accesses[1]), stream.Symbols())
			name = f.Variable[strings.LastIndexByte(f.Variable, '.')+1:]
			seen[sites] = name
			r.accesses = append(r.accesses, f.Accesses...)
		}
		if !strings.Contains(name, "(") { // what a call returns has no name of its own
			r.variables[name] = true
		}
	})
	_, err = heisen.Run(ctx, stream)
	return r, err
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/races"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/mcm"
	"github.com/heisen-go/heisen/report"
	"github.com/heisen-go/heisen/vclock"
)

// detectors has the constructors of the detectors that analyze a recording, by name. With nil the
// program itself always looks for races.
var detectors = map[string]func(heisen.Sink) heisen.Detector{
	"fasttrack": func(sink heisen.Sink) heisen.Detector { return must.Make(vclock.NewFastTrack(vclock.WithSink(sink))) },
	"hb": func(sink heisen.Sink) heisen.Detector {
		return must.Make(vclock.NewHappensBefore(vclock.WithSink(sink)))
	},
	"mcm":      predicted,
	"atomrace": nil,
}

// predicted returns a detector that also reports races of other orders than the observed one.
func predicted(sink heisen.Sink) heisen.Detector {
	d, err := mcm.NewDetector(mcm.WithSink(func(f heisen.Finding) {
		if f.Kind == heisen.Race {
			sink(f)
		}
	}))
	if err != nil {
		panic(err) // its option has no bounds
	}
	return d
}

// patience bounds the time of one run. The slowest function takes seconds.
const patience = 2 * time.Minute

// A verdict is the outcome of one run of a function.
type verdict struct {
	reported bool
	skipped  bool   // by the function itself
	problem  string // why the run is no verdict, or empty
	output   string // the reports and the program's output
}

// runAll runs the chosen functions as planned and reports its progress.
func (s *suite) runAll(ctx context.Context, p plan, progress func(string)) ([]*tally, error) {
	all, err := functions(s.data)
	if err != nil {
		return nil, err
	}
	var tallies []*tally
	for _, f := range p.of(all) {
		for _, n := range p.procs {
			tallies = append(tallies, &tally{function: f, procs: n, mayMiss: s.live != nil || s.detector == "mcm" && apart[f.name], runs: make([]verdict, p.repetitions)})
		}
	}
	if len(tallies) == 0 {
		return nil, errors.New("no function is chosen")
	}
	var (
		mu         sync.Mutex
		next, done int
		wg         sync.WaitGroup
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
				v := s.judge(ctx, t)
				mu.Lock()
				t.runs[i] = v
				done++
				progress(fmt.Sprintf("%d of %d runs", done, total))
			}
		}()
	}
	wg.Wait()
	progress("")
	return tallies, ctx.Err()
}

// of returns the functions that the plan selects.
func (p *plan) of(all []function) (selected []function) {
	parts, chosen := max(p.parts, 1), 0
	for _, f := range all {
		if !p.chosen(f) {
			continue
		}
		if chosen++; (chosen-p.part)%parts == 0 {
			selected = append(selected, f)
		}
	}
	return selected
}

// judge runs a function, and again where another order of its goroutines may have the race.
func (s *suite) judge(ctx context.Context, t *tally) (v verdict) {
	for range maxTries {
		v = s.run(ctx, t.function, t.procs)
		if v.reported || v.problem != "" || t.mayMiss || !scheduled[t.name] {
			break
		}
	}
	return v
}

// run runs a function once at the given GOMAXPROCS, or at all processors if procs is 0.
func (s *suite) run(ctx context.Context, f function, procs int) verdict {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	args := append(slices.Clone(s.emulator), s.exe, "-test.v", "-test.run=^"+f.name+"$")
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = s.data // some functions read their own source
	cmd.Env = environment(procs)
	cmd.WaitDelay = time.Second // programs that it has started may hold its output open
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out

	var v verdict
	var err error
	if s.tool == toolRace || s.alone {
		err = cmd.Run()
		v.reported = strings.Contains(afterStart(out.String()), "WARNING: DATA RACE")
	} else {
		v, err = s.observe(ctx, cmd)
	}
	v.output += out.String()
	v.skipped = strings.Contains(out.String(), "--- SKIP: "+f.name)
	switch {
	case ctx.Err() != nil:
		v.problem = "timeout"
	case !strings.Contains(out.String(), "=== RUN   "+f.name+"\n"):
		v.problem = "the function did not run"
	case v.problem != "":
	case err != nil && !s.expected(f, v):
		v.problem = err.Error()
	}
	return v
}

// harms has the messages with which a program ends because of its race.
var harms = []string{"\npanic: send on closed channel", "\nfatal error: concurrent map "}

// expected reports whether a run may exit with an error. A function with a race may if the race is
// reported. If the race is not reported, and the detector may miss races, the function may if the
// error is one of harms. If programs report races themselves, every run may fail, because the initialization
// of the test data's packages has a race.
func (s *suite) expected(f function, v verdict) bool {
	harmed := func(message string) bool { return strings.Contains(v.output, message) }
	return f.racy && (v.reported || s.live != nil && slices.ContainsFunc(harms, harmed)) ||
		s.tool == toolRace && strings.Contains(v.output, "race detected") || s.alone && strings.Contains(v.output, "WARNING: DATA RACE")
}

// environment returns the environment of a function's process, without the variables that would
// change its verdict.
func environment(procs int) []string {
	var env []string
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		switch name {
		case "GOMAXPROCS", "GODEBUG", "GORACE", "GOGC", "GOTRACEBACK":
		default:
			env = append(env, e)
		}
	}
	if procs > 0 {
		env = append(env, fmt.Sprint("GOMAXPROCS=", procs))
	}
	// Go's own test of the data sets this, too: report races with equal stacks or addresses.
	return append(env, "GORACE=suppress_equal_stacks=0 suppress_equal_addresses=0")
}

// afterStart returns the output from the start of the test on.
func afterStart(output string) string {
	_, after, _ := strings.Cut(output, "=== RUN")
	return after
}

// observe runs an instrumented command and receives its events. The error is that of the command.
func (s *suite) observe(ctx context.Context, cmd *exec.Cmd) (verdict, error) {
	listener, err := recorder.Listen()
	if err != nil {
		return verdict{problem: err.Error()}, nil
	}
	defer listener.Close()
	cmd.Env = append(cmd.Env, listener.Env())
	if err := cmd.Start(); err != nil {
		return verdict{problem: err.Error()}, nil
	}
	observed := make(chan verdict, 1)
	go func() {
		p, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			observed <- verdict{problem: "the program is not instrumented"}
		} else if err != nil {
			observed <- verdict{problem: err.Error()}
		} else {
			observed <- s.analyze(ctx, p)
		}
	}()
	err = cmd.Wait()
	listener.Stop()
	return <-observed, err
}

// analyze runs the detector over the events of a program.
func (s *suite) analyze(ctx context.Context, p *recorder.Program) (v verdict) {
	defer p.Close(0)
	stream, err := p.Open(recorder.Want{Mode: s.mode, Live: s.live})
	if err != nil {
		v.problem = err.Error()
		return v
	}
	var reports strings.Builder
	found, err := report.NewCollector(report.WithSymbols(stream.Symbols()), report.WithResolver(nil),
		report.WithOnFinding(func(f *report.Finding) { report.WriteText(&reports, f) }))
	if err != nil {
		v.problem = err.Error()
		return v
	}
	test := &gate{symbols: stream.Symbols(), detector: heisen.Tee()}
	if !s.inside() {
		test.detector = detectors[s.detector](func(f heisen.Finding) {
			if test.within(f) {
				found.Add(f)
			}
		})
	}
	stream.OnOverlap(func(o recorder.Overlap) {
		if !initializes(stream.Symbols(), o.Accesses) {
			found.Add(races.Unordered(s.detector, o.Accesses[0].Object, o.Accesses[0], o.Accesses[1]))
		}
	})
	_, err = heisen.Run(ctx, stream, test)
	started := test.open
	if s.inside() { // the program sends no events, but it sends which tests ran
		started = testStarted(stream.Symbols())
	}
	switch {
	case err != nil:
		v.problem = err.Error()
	case !started:
		v.problem = "the start of the test was not recorded"
	}
	v.reported = len(found.Findings()) > 0
	v.output = reports.String()
	return v
}

// initializes reports whether one of the accesses is made by the initialization of a package. The test
// data has a race there on purpose.
func initializes(symbols *heisen.Symbols, accesses []heisen.Access) bool {
	return slices.ContainsFunc(accesses, func(a heisen.Access) bool {
		return slices.ContainsFunc(symbols.Stack(a.Site, a.Context), func(f heisen.Frame) bool {
			return strings.HasSuffix(f.Func, "_test.init")
		})
	})
}

// testStarted reports whether a test has started: a program that detects races itself sends the site of
// the task then.
func testStarted(symbols *heisen.Symbols) bool {
	all, _ := symbols.Changes(heisen.Revision{})
	return slices.ContainsFunc(all.Sites, func(site heisen.SiteInfo) bool { return site.Task != "" })
}

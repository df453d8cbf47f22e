package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heisen-go/heisen/internal/recorder"
)

// built is the instrumented test data, which the tests share.
var built *suite

func TestMain(m *testing.M) {
	flag.Parse()
	os.Setenv("CGO_ENABLED", "0") // shares the standard library in the build cache with other packages' tests
	os.Exit(func() int {
		work, err := os.MkdirTemp("", "heisen-goracetests-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(work)
		s, _, _, err := parse(nil)
		if err == nil {
			err = s.build(context.Background(), work)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		built = s
		return m.Run()
	}())
}

// TestVerdicts runs every function in scope.
func TestVerdicts(t *testing.T) {
	p := plan{
		chosen:      func(f function) bool { return exceptions[f.name] == exception{} },
		procs:       []int{2},
		repetitions: 1,
		parallel:    runtime.NumCPU(),
	}
	tallies, err := built.runAll(t.Context(), p, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	races := 0
	for _, y := range tallies {
		v := y.runs[0]
		if y.skipped() {
			t.Errorf("%s: skipped", y.name)
		}
		for _, fault := range y.wrong() {
			t.Errorf("%s %s: %s\n%s", y.file, y.name, fault, v.output)
		}
		if y.racy {
			races++
		}
	}
	if races < 200 || len(tallies)-races < 100 {
		t.Errorf("only %d functions, %d with a race", len(tallies), races)
	}
}

// libraryPackage has functions whose racing accesses are in the standard library or in dependencies.
const libraryPackage = "github.com/heisen-go/heisen/internal/testaid/goracetests/testdata/library"

// TestLibrary runs every function of libraryPackage, under heisen and under Go's race detector. Both
// must agree with the names.
func TestLibrary(t *testing.T) {
	for _, tool := range []string{toolHeisen, toolRace} {
		t.Run(tool, func(t *testing.T) {
			s := &suite{tool: tool, detector: "fasttrack", mode: recorder.Races, pkg: libraryPackage}
			if err := s.build(t.Context(), t.TempDir()); err != nil {
				t.Fatal(err)
			}
			p := plan{chosen: func(function) bool { return true }, procs: []int{2}, repetitions: 1, parallel: runtime.NumCPU()}
			tallies, err := s.runAll(t.Context(), p, func(string) {})
			if err != nil {
				t.Fatal(err)
			}
			races := 0
			for _, y := range tallies {
				for _, fault := range y.wrong() {
					t.Errorf("%s %s: %s\n%s", y.file, y.name, fault, y.runs[0].output)
				}
				if y.racy {
					races++
				}
			}
			if races < 50 || len(tallies)-races < 50 {
				t.Errorf("only %d functions, %d with a race", len(tallies), races)
			}
		})
	}
}

// TestOverlaps runs every function in scope with atomrace and noise: no report is a false alarm,
// and many races are found.
func TestOverlaps(t *testing.T) {
	s := *built
	s.mode, s.live = recorder.FindingsOnly, &recorder.Live{Noise: recorder.Noise{Strength: 200, For: 50 * time.Microsecond, Seed: 1, Budget: 500 * time.Millisecond}}
	p := plan{
		chosen:      func(f function) bool { return exceptions[f.name] == exception{} },
		procs:       []int{2},
		repetitions: 1,
		parallel:    runtime.NumCPU(),
	}
	tallies, err := s.runAll(t.Context(), p, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	races := 0
	for _, y := range tallies {
		v := y.runs[0]
		for _, fault := range y.wrong() {
			t.Errorf("%s %s: %s\n%s", y.file, y.name, fault, v.output)
		}
		if y.racy && v.reported {
			races++
		}
	}
	if races < 100 {
		t.Errorf("%d races found in %d functions", races, len(tallies))
	}
}

// TestOracle inverts the expected verdicts: a correct verdict must be reported as wrong.
func TestOracle(t *testing.T) {
	all, err := functions(built.data)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"TestRaceMutex":   "false alarm in 1 of 1 runs",
		"TestNoRaceMutex": "missed in 1 of 1 runs",
		"TestGone":        "the function did not run",
	} {
		f := function{name: name}
		if i := slices.IndexFunc(all, func(f function) bool { return f.name == name }); i >= 0 {
			f = all[i]
			f.racy = !f.racy
		}
		y := tally{function: f, procs: 1, runs: []verdict{built.run(t.Context(), f, 1)}}
		if got := strings.Join(y.wrong(), ", "); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestExceptions: each exception names a function that exists and gives a reason. The functions of the other lists exist, too.
func TestExceptions(t *testing.T) {
	all, err := functions(built.data)
	if err != nil {
		t.Fatal(err)
	}
	for name, e := range exceptions {
		if e.class == "" || e.reason == "" {
			t.Errorf("%s: no reason", name)
		}
	}
	names := slices.AppendSeq(slices.AppendSeq(slices.Collect(maps.Keys(exceptions)), maps.Keys(apart)), maps.Keys(scheduled))
	for _, name := range names {
		if !slices.ContainsFunc(all, func(f function) bool { return f.name == name }) {
			t.Errorf("%s: no such function", name)
		}
	}
}

// TestProblems runs other programs than the test data.
func TestProblems(t *testing.T) {
	for _, test := range []struct{ script, want string }{
		{"exec sleep 600", "timeout"},
		{"echo '=== RUN   TestX'", "the program is not instrumented"},
		{"exit 1", "the function did not run"},
	} {
		exe := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(exe, []byte("#!/bin/sh\n"+test.script+"\n"), 0o777); err != nil {
			t.Fatal(err)
		}
		s := *built
		s.exe = exe
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		if test.want == "timeout" {
			cancel()
			ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
		}
		if v := s.run(ctx, function{name: "TestX"}, 1); v.problem != test.want {
			t.Errorf("%s: problem %q, want %q", test.script, v.problem, test.want)
		}
		cancel()
	}
}

func TestParse(t *testing.T) {
	for args, want := range map[string]string{
		"":                     "",
		"-count 3 -procs 1,2":  "",
		"-count 0":             "must be at least 1",
		"-parallel 0":          "must be at least 1",
		"-procs one":           `"one" is not a number of processors`,
		"-procs -1":            `"-1" is not a number of processors`,
		"-tool tsan":           `unknown tool "tsan"`,
		"-detect eraser":       `unknown detector "eraser"`,
		"-filter all":          `unknown filter "all"`,
		"-run (":               "-run: ",
		"-file (":              "-file: ",
		"TestRaceMutex":        "unexpected argument TestRaceMutex",
		"-detect hb -filter=x": `unknown filter "x"`,
	} {
		_, _, _, err := parse(strings.Fields(args))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %s", args, err, want)
		}
	}
	_, p, _, err := parse([]string{"-run", "Mutex", "-file", "^rw", "-procs", "1,0,1"})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.procs, []int{1, 0}) {
		t.Errorf("-procs is %v", p.procs)
	}
	if !p.chosen(function{name: "TestNoRaceRWMutex", file: "rwmutex_test.go"}) ||
		p.chosen(function{name: "TestNoRaceMutex", file: "mutex_test.go"}) ||
		p.chosen(function{name: "TestRaceChan", file: "rwmutex_test.go"}) {
		t.Error("-run and -file select the wrong functions")
	}
}

// TestHarm: a race that atomrace misses may end its function. No other failure is accepted.
func TestHarm(t *testing.T) {
	racy, right := function{name: "TestRaceA", racy: true}, function{name: "TestNoRaceA"}
	closed := "=== RUN   TestRaceA\n--- FAIL: TestRaceA (0.00s)\npanic: send on closed channel [recovered, repanicked]\n"
	overlaps := suite{tool: toolHeisen, live: new(recorder.Live)}
	for _, c := range []struct {
		s    suite
		f    function
		v    verdict
		want bool
	}{
		{overlaps, racy, verdict{output: closed}, true},
		{overlaps, racy, verdict{output: "=== RUN   TestRaceA\nfatal error: concurrent map writes\n"}, true},
		{overlaps, racy, verdict{output: "=== RUN   TestRaceA\nfatal error: unexpected signal\n"}, false},
		{overlaps, racy, verdict{output: "=== RUN   TestRaceA\npanic: runtime error: index out of range\n"}, false},
		{overlaps, racy, verdict{output: "SIGSEGV", reported: true}, true},
		{suite{tool: toolHeisen}, racy, verdict{output: closed}, false},
		{overlaps, right, verdict{output: closed}, false},
		{overlaps, right, verdict{output: closed, reported: true}, false},
		{suite{tool: toolRace}, right, verdict{output: "testing: race detected outside of test execution"}, true},
	} {
		if got := c.s.expected(c.f, c.v); got != c.want {
			t.Errorf("%s of %s, %+v: %t", c.s.tool, c.f.name, c.v, got)
		}
	}
}

func TestTable(t *testing.T) {
	ok, alarm := verdict{}, verdict{reported: true}
	tallies := []*tally{
		{function{"TestRaceA", "a_test.go", true}, 1, false, []verdict{alarm, alarm}},
		{function{"TestRaceA", "a_test.go", true}, 0, false, []verdict{alarm, ok}},
		{function{"TestNoRaceB", "a_test.go", false}, 1, false, []verdict{ok, ok}},
		{function{"TestNoRaceB", "a_test.go", false}, 0, false, []verdict{alarm, ok}},
		{function{"TestNoRaceC", "c_test.go", false}, 1, false, []verdict{ok, ok}},
		{function{"TestNoRaceC", "c_test.go", false}, 0, false, []verdict{ok, {problem: "exit status 2", output: "panic"}}},
		{function{"TestNoRaceCgoSync", "c_test.go", false}, 1, false, []verdict{alarm, alarm}},
		{function{"TestNoRaceCgoSync", "c_test.go", false}, 0, false, []verdict{ok, ok}},
		{function{"TestRaceSkip", "d_test.go", true}, 1, false, []verdict{{skipped: true}, {skipped: true}}},
		{function{"TestRaceSkip", "d_test.go", true}, 0, false, []verdict{{skipped: true}, {skipped: true}}},
	}
	var out strings.Builder
	printTable(&out, tallies, []int{1, 0})
	if n := printWrong(&out, tallies, false); n != 4 {
		t.Errorf("%d wrong in scope", n)
	}
	want := `
       file  Race (GOMAXPROCS=1)  NoRace  Race (all processors)  NoRace
  a_test.go                  1/1     1/1                    0/1     0/1
  c_test.go                  0/0     1/2                    0/0     1/2
   in scope                  1/1     2/2                    0/1     0/2
        cgo                  0/0     0/1                    0/0     1/1
        all                  1/1     2/3                    0/1     1/3
wrong: a_test.go TestRaceA (all processors): missed in 1 of 2 runs
wrong: a_test.go TestNoRaceB (all processors): false alarm in 1 of 2 runs
wrong: c_test.go TestNoRaceC (all processors): exit status 2
wrong: c_test.go TestNoRaceCgoSync (GOMAXPROCS=1): false alarm in 2 of 2 runs (cgo: ` + exceptions["TestNoRaceCgoSync"].reason + `)
skipped: d_test.go TestRaceSkip
`
	if got := "\n" + out.String(); got != want {
		t.Errorf("got%s\nwant%s", got, want)
	}
}

// TestNoData: a folder without test data gives an error that says so.
func TestNoData(t *testing.T) {
	s, _, _, err := parse([]string{"-testdata", t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.build(t.Context(), t.TempDir()); err == nil || !strings.HasPrefix(err.Error(), "no test data in ") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := built.runAll(ctx, plan{chosen: func(function) bool { return true }, procs: []int{1}, repetitions: 1, parallel: 1}, func(string) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestParts: the parts of a plan have each function once.
func TestParts(t *testing.T) {
	all, err := functions(built.data)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for i := range 7 {
		_, p, _, err := parse([]string{"-part", fmt.Sprint(i+1, "/7")})
		if err != nil {
			t.Fatal(err)
		}
		part := p.of(all)
		if n := len(part); n < len(all)/7 || n > len(all)/7+1 {
			t.Errorf("part %d has %d of %d functions", i+1, n, len(all))
		}
		for _, f := range part {
			counts[f.file+f.name]++
		}
	}
	for name, n := range counts {
		if n != 1 {
			t.Errorf("%s is in %d parts", name, n)
		}
	}
	if len(counts) != len(all) {
		t.Errorf("%d of %d functions", len(counts), len(all))
	}
	for _, wrong := range []string{"", "1", "0/2", "3/2", "x/2", "1/x", "1/2/3"} {
		if _, _, _, err := parse([]string{"-part", wrong}); err == nil {
			t.Errorf("-part %q is accepted", wrong)
		}
	}
}

// TestAlone runs some functions in programs that print their races themselves.
func TestAlone(t *testing.T) {
	s := *built
	s.alone = true
	_, p, _, err := parse([]string{"-part", "1/20", "-procs", "2"})
	if err != nil {
		t.Fatal(err)
	}
	p.chosen = func(f function) bool { return exceptions[f.name] == exception{} }
	tallies, err := s.runAll(t.Context(), p, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, y := range tallies {
		for _, fault := range y.wrong() {
			t.Errorf("%s %s: %s\n%s", y.file, y.name, fault, y.runs[0].output)
		}
	}
	if len(tallies) < 15 {
		t.Errorf("only %d functions", len(tallies))
	}
}

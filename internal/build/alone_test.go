package build

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/recorder"
)

var update = flag.Bool("update", false, "rewrite golden files")

// aloneDir is the folder of alonePrograms, which TestMain removes.
var aloneDir string

// alonePrograms are the programs of testdata/alone, by name, built once.
var alonePrograms = sync.OnceValues(func() (map[string]string, error) {
	dir, err := os.MkdirTemp("", "heisen-test-")
	if err != nil {
		return nil, err
	}
	aloneDir = dir
	ctx := context.Background()
	b, err := New(ctx, "testdata/alone", "")
	if err != nil {
		return nil, err
	}
	built := map[string]string{}
	names := []string{"report", "ends", "limits", "largedata"}
	if b.Toolchain.GOOS != "windows" {
		names = append(names, "left") // it makes system calls
	}
	for _, name := range names {
		built[name] = filepath.Join(dir, name)
		if err := b.Build(ctx, "testdata/alone", built[name], nil, "./"+name); err != nil {
			return nil, err
		}
	}
	built["stripped"] = filepath.Join(dir, "stripped")
	if err := b.Build(ctx, "testdata/alone", built["stripped"], []string{"-ldflags=-s -w", "-trimpath"}, "./report"); err != nil {
		return nil, err
	}
	built["tests"] = filepath.Join(dir, "tests.test")
	if err := b.BuildTest(ctx, "testdata/alone", built["tests"], nil, "./tests"); err != nil {
		return nil, err
	}
	for name, exe := range built {
		if built[name], err = runnable(exe, b.Toolchain); err != nil {
			return nil, err
		}
	}
	return built, nil
})

// alone runs a program without an analyzer, in an empty folder.
type alone struct {
	exe    string
	args   []string
	gorace string
	env    []string
}

// ended is what a program did.
type ended struct {
	status         int
	stdout, stderr string
	dir            string // in which it ran
}

func (a alone) run(t *testing.T) ended {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), a.exe, a.args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "GORACE="+a.gorace)
	cmd.Env = append(cmd.Env, a.env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return ended{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String(), cmd.Dir}
}

func aloneProgram(t *testing.T, name string) string {
	t.Helper()
	built, err := alonePrograms()
	if err != nil {
		t.Fatal(err)
	}
	return built[name]
}

// numReports returns how many reports there are in a text.
func numReports(text string) int { return strings.Count(text, "WARNING: DATA RACE\n") }

// TestVerdictsAlone runs the programs with a race and those without, and compares what they print
// with what a detector outside finds in the same program.
func TestVerdictsAlone(t *testing.T) {
	exe := program(t)
	list, err := exec.Command(exe).Output()
	if err != nil {
		t.Fatal(err)
	}
	for pair := range slices.Chunk(strings.Fields(string(list)), 2) {
		racy, name := pair[0] == "race", pair[1]
		t.Run(pair[0]+"/"+name, func(t *testing.T) {
			t.Parallel()
			got := alone{exe: exe, args: []string{name}}.run(t)
			if !racy {
				if got.status != 0 || numReports(got.stderr) != 0 {
					t.Errorf("status %d: %s", got.status, got.stderr)
				}
				return
			}
			found := fingerprint.FindAllStringSubmatch(got.stderr, -1)
			if got.status != 66 || len(found) == 0 || !strings.HasSuffix(got.stderr, fmt.Sprintf("\nFound %d data race(s)\n", len(found))) {
				t.Fatalf("status %d, %d fingerprints: %s", got.status, len(found), got.stderr)
			}
			rec := record(t, run{exe: exe, args: []string{name}, mode: recorder.Races})
			common := 0
			for _, f := range rec.races {
				for _, m := range found {
					if m[1] == f.Fingerprint(rec.syms) {
						common++
					}
				}
			}
			if common == 0 {
				t.Errorf("no race that another process finds, too: %s", got.stderr)
			}
		})
	}
}

var fingerprint = regexp.MustCompile(`(?m)^Found by fasttrack, fingerprint ([0-9a-f]{16})$`)

// masked replaces what differs between runs and machines: addresses, goroutine numbers, folders.
func masked(text string) string {
	for pattern, with := range map[string]string{
		`0x[0-9a-f]+`:         "0xADDRESS",
		`goroutine \d+`:       "goroutine N",
		`Goroutine \d+`:       "Goroutine N",
		`      /.*/testdata/`: "      /",
		`at /.*/testdata/`:    "at /",
	} {
		text = regexp.MustCompile(pattern).ReplaceAllString(text, with)
	}
	return text
}

// TestReportAlone compares a report with a golden file, also that of a stripped program.
func TestReportAlone(t *testing.T) {
	const golden = "testdata/alone/report.golden"
	got := alone{exe: aloneProgram(t, "report")}.run(t)
	if *update {
		if err := os.WriteFile(golden, []byte(masked(got.stderr)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), masked(got.stderr)); d != "" || got.status != 66 {
		t.Errorf("status %d (-want +got):\n%s", got.status, d)
	}
	one := alone{exe: aloneProgram(t, "report"), env: []string{"GOMAXPROCS=1"}}.run(t)
	if d := cmp.Diff(string(want), masked(one.stderr)); d != "" {
		t.Errorf("with one processor (-want +got):\n%s", d)
	}
	stripped := alone{exe: aloneProgram(t, "stripped")}.run(t)
	trimmed := strings.ReplaceAll(masked(stripped.stderr), "example.com/alone/", "/alone/")
	if d := cmp.Diff(string(want), trimmed); d != "" {
		t.Errorf("of the stripped program (-want +got):\n%s", d)
	}
}

// TestEndsAlone: the exit status is that of the program, or 66 instead of 0, and every race is
// reported however the program ends.
func TestEndsAlone(t *testing.T) {
	for _, test := range []struct {
		name    string
		status  int
		reports int
		last    string // of standard error
	}{
		{"none", 0, 0, ""},
		{"main", 66, 1, "Found 1 data race(s)\n"},
		{"init", 66, 1, "Found 1 data race(s)\n"},
		{"loop", 66, 1, "Found 1 data race(s)\n"},
		{"exit", 3, 1, "==================\n"},
		{"recovered", 66, 1, "Found 1 data race(s)\n"},
		{"goexit", 66, 1, "Found 1 data race(s)\n"},
		{"panic", 2, 1, ""},
		{"deadlock", 2, 1, ""},
	} {
		for _, procs := range []string{"1", "4"} {
			t.Run(test.name+"/"+procs, func(t *testing.T) {
				t.Parallel()
				got := alone{exe: aloneProgram(t, "ends"), args: []string{test.name}, env: []string{"GOMAXPROCS=" + procs}}.run(t)
				if got.status != test.status || numReports(got.stderr) != test.reports || !strings.HasSuffix(got.stderr, test.last) {
					t.Errorf("status %d: %s", got.status, got.stderr)
				}
				if test.status == 2 && !strings.Contains(got.stderr, "\ngoroutine ") {
					t.Errorf("no traceback: %s", got.stderr)
				}
			})
		}
	}
	child := alone{exe: aloneProgram(t, "ends"), args: []string{"child"}}.run(t)
	if child.status != 0 || numReports(child.stdout) != 1 || !strings.HasSuffix(child.stdout, "exit status 66\n") {
		t.Errorf("a program that it starts: status %d: %s", child.status, child.stdout)
	}
}

// TestOptions looks at the options of GORACE.
func TestOptions(t *testing.T) {
	run := func(gorace string) ended {
		return alone{exe: aloneProgram(t, "ends"), args: []string{"two"}, gorace: gorace}.run(t)
	}
	if got := run("history_size=5"); got.status != 66 || numReports(got.stderr) != 2 || strings.Contains(got.stderr, "GORACE") {
		t.Errorf("history_size: status %d: %s", got.status, got.stderr)
	}
	if got := run("exitcode=7,halt_on_error=0"); got.status != 7 || numReports(got.stderr) != 2 {
		t.Errorf("exitcode: status %d: %s", got.status, got.stderr)
	}
	if got := run("exitcode=0"); got.status != 0 || numReports(got.stderr) != 2 {
		t.Errorf("exitcode=0: status %d: %s", got.status, got.stderr)
	}
	if got := run("exitcode=7 halt_on_error=1"); got.status != 7 || numReports(got.stderr) != 1 || got.stdout != "" {
		t.Errorf("halt_on_error: status %d: %s%s", got.status, got.stdout, got.stderr)
	}
	if got := run("log_path=stdout"); got.stderr != "" || numReports(got.stdout) != 2 {
		t.Errorf("log_path=stdout: %s; %s", got.stdout, got.stderr)
	}
	if got := run("log_path=stderr"); numReports(got.stderr) != 2 {
		t.Errorf("log_path=stderr: %s", got.stderr)
	}
	if got := run("strip_path_prefix=/internal/build"); !strings.Contains(got.stderr, "\n      /testdata/alone/ends/main.go:") {
		t.Errorf("strip_path_prefix: %s", got.stderr)
	}

	got := run("log_path='races in Ö'")
	files, err := filepath.Glob(filepath.Join(got.dir, "races in Ö.[1-9]*"))
	if err != nil || len(files) != 1 || got.stderr != "" {
		t.Fatalf("log_path: files %q, error %v: %s", files, err, got.stderr)
	}
	text, err := os.ReadFile(files[0])
	if err != nil || numReports(string(text)) != 2 || !strings.HasSuffix(string(text), "Found 2 data race(s)\n") {
		t.Errorf("log_path: error %v: %s", err, text)
	}
	if got := run("log_path=none/races"); numReports(got.stderr) != 2 || strings.Count(got.stderr, "heisen: GORACE: log_path: cannot open none/races.") != 1 {
		t.Errorf("a log that cannot be written: %s", got.stderr)
	}

	for option, line := range map[string]string{
		"halt_on_errors=1":     "halt_on_errors=1: unknown option",
		"exitcode=x":           "exitcode=x: not a number from 0 to 255",
		"exitcode=256":         "exitcode=256: not a number from 0 to 255",
		"exitcode=":            "exitcode=: not a number from 0 to 255",
		"halt_on_error=maybe":  "halt_on_error=maybe: neither 0 nor 1",
		"atexit_sleep_ms=-1":   "atexit_sleep_ms=-1: not a number",
		"history_size=many":    "history_size=many: not a number",
		"log_path":             "log_path: no value",
		"log_path='races":      "log_path='races: no closing quotation mark",
		"atexit_sleep_ms=1e9":  "atexit_sleep_ms=1e9: not a number",
		"exitcode=99999999999": "exitcode=99999999999: not a number from 0 to 255",
	} {
		got := run(option + " exitcode=9")
		if strings.Contains(option, "'") {
			got.status = 9 // the rest belongs to the value
			line = "log_path='races exitcode=9: no closing quotation mark"
		}
		if got.status != 9 || strings.Count(got.stderr, "heisen: ") != 1 || !strings.HasPrefix(got.stderr, "heisen: GORACE: "+line+"\n") || numReports(got.stderr) != 2 {
			t.Errorf("%s: status %d: %s", option, got.status, got.stderr)
		}
	}
}

// TestManyRaces runs a program with a hundred races, in goroutines that race at the same time.
// Each report is in one piece.
func TestManyRaces(t *testing.T) {
	var text strings.Builder
	text.WriteString("package main\n\nimport \"sync\"\n\nvar x [100]struct{ n, _, _ int }\n\nvar writes = []func(){\n")
	for i := range 100 {
		fmt.Fprintf(&text, "\tfunc() { x[%d].n++ },\n", i)
	}
	text.WriteString("}\n\nfunc main() {\n\tvar wg sync.WaitGroup\n\tfor range 20 {\n\t\tfor _, write := range writes {\n\t\t\twg.Go(write)\n\t\t}\n\t}\n\twg.Wait()\n}\n")
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module many\n\ngo 1.25\n", "main.go": text.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	b, err := New(t.Context(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(dir, "many")
	if err := b.Build(t.Context(), dir, exe, nil, "."); err != nil {
		t.Fatal(err)
	}
	if exe, err = runnable(exe, b.Toolchain); err != nil {
		t.Fatal(err)
	}
	for _, procs := range []string{"1", "8"} {
		got := alone{exe: exe, env: []string{"GOMAXPROCS=" + procs}}.run(t)
		lines := map[string]bool{}
		for report := range strings.SplitSeq(got.stderr, "==================\nWARNING: DATA RACE\n") {
			if report == "" {
				continue
			}
			where := regexp.MustCompile(`(?m)^      .*/main.go:(\d+)$`).FindAllStringSubmatch(report, -1)
			if len(where) != 4 || where[0][1] != where[1][1] || strings.Count(report, "==================\n") != 1 {
				t.Fatalf("a report about several places, or none: %q", report)
			}
			lines[where[0][1]] = true
		}
		// A read and a write at a line are two races.
		if got.status != 66 || len(lines) != 100 || numReports(got.stderr) > 200 {
			t.Errorf("GOMAXPROCS=%s: status %d, races at %d lines, %d reports", procs, got.status, len(lines), numReports(got.stderr))
		}
	}
}

// TestTestsAlone: a race fails the test in which it was found.
func TestTestsAlone(t *testing.T) {
	for _, procs := range []string{"1", "4"} {
		got := alone{exe: aloneProgram(t, "tests"), args: []string{"-test.v"}, env: []string{"GOMAXPROCS=" + procs}}.run(t)
		if got.status != 1 || numReports(got.stderr) < 2 {
			t.Errorf("status %d: %s", got.status, got.stderr)
		}
		if !strings.Contains(got.stderr, "(TestRace) at 0x") || !strings.Contains(got.stderr, "(TestSub/racy) at 0x") {
			t.Errorf("the tests are not named: %s", got.stderr)
		}
		for _, line := range []string{
			"--- PASS: TestBefore", "--- FAIL: TestRace", "--- FAIL: TestSub", "    --- PASS: TestSub/quiet",
			"    --- FAIL: TestSub/racy", "--- FAIL: TestFirst", "--- FAIL: TestSecond", "--- PASS: TestAfter", "race detected during execution of test",
		} {
			if !strings.Contains(got.stdout, line) {
				t.Errorf("GOMAXPROCS=%s: no line %q:\n%s", procs, line, got.stdout)
			}
		}
	}
	got := alone{exe: aloneProgram(t, "tests"), args: []string{"-test.run=Before|After"}}.run(t)
	if got.status != 0 || got.stderr != "" || got.stdout != "PASS\n" {
		t.Errorf("tests without a race: status %d: %s%s", got.status, got.stdout, got.stderr)
	}
	left := alone{exe: aloneProgram(t, "tests"), args: []string{"-test.run=Left", "-left"}, gorace: noLimit}.run(t)
	if left.status != 66 || numReports(left.stderr) != 1 || left.stdout != "PASS\n" {
		t.Errorf("a goroutine that a test leaves behind: status %d: %s%s", left.status, left.stdout, left.stderr)
	}
	failed := alone{exe: aloneProgram(t, "tests"), args: []string{"-test.run=Left|Fails", "-left"}, gorace: noLimit}.run(t)
	if failed.status != 1 || numReports(failed.stderr) != 1 {
		t.Errorf("a goroutine that a test leaves behind, and a failed test: status %d: %s%s", failed.status, failed.stdout, failed.stderr)
	}
}

// TestAnalyzerGone: a program whose analyzer is gone prints the races that were found before and
// after, if it looked for races only.
func TestAnalyzerGone(t *testing.T) {
	for _, test := range []struct {
		mode    recorder.Mode
		status  int
		reports int
		line    string
	}{
		{recorder.Races, 66, 2, "heisen: the analyzer is gone; the program prints the races of this run itself\n"},
		{recorder.Everything, 0, 0, "heisen: the analyzer is gone; the rest of this run is not recorded\n"},
	} {
		listener, err := recorder.Listen()
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		cmd := exec.CommandContext(t.Context(), aloneProgram(t, "ends"), "two", "wait")
		cmd.Env = append(os.Environ(), listener.Env())
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		var stdout, stderr syncer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		p, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		stream, err := p.Open(recorder.Want{Mode: test.mode})
		if err != nil {
			t.Fatal(err)
		}
		found := make(chan bool)
		go func() {
			batch := make([]heisen.Record, 1024)
			stream.OnOverlap(func(recorder.Overlap) {})
			for {
				if _, err := stream.Next(batch); err != nil {
					close(found)
					return
				}
			}
		}()
		stdout.waitFor("between")
		p.Abandon() // the stream ends, and no later send succeeds
		<-found
		in.Close() // the program goes on
		cmd.Wait()
		if got := stderr.String(); cmd.ProcessState.ExitCode() != test.status || numReports(got) != test.reports || strings.Count(got, test.line) != 1 {
			t.Errorf("mode %d: status %d: %s", test.mode, cmd.ProcessState.ExitCode(), got)
		}
	}
}

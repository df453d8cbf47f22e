package scripts

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/focus"
	"github.com/heisen-go/heisen/internal/cli"
	"github.com/heisen-go/heisen/internal/testaid/tier"
	"github.com/heisen-go/heisen/report"
	"github.com/heisen-go/heisen/trace"
)

// fullReports is the environment variable with which heisen prints reports in full. Scripts have it unless they set it to nothing: most
// look at what is found, down to addresses.
const fullReports = "HEISEN_TEST_FULL"

// TestMain makes the test binary the heisen command of the scripts.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"heisen": func() {
			streams := cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
			os.Exit(cli.Main(context.Background(), cli.Tool{Full: os.Getenv(fullReports) != ""}, os.Args[1:], streams))
		},
	})
}

// TestScripts runs the scripts in testdata/script: the command as users and
// other programs see it. Beside the commands of testscript there are
//
//	exits N command...   the command ends with exit status N
//	trace file           write a binary trace, see writeTrace
//	cut file N           drop the last N bytes of a file
//	flip file N          flip a bit of byte N of a file; from its end if negative
//	corpus file          copy a trace of package trace's corpus
//	events file             check that a file is the output of go test -json
//	attributed race file    check that reports belong to the tests as in the output of go test -race -json
//	fingerprint a b      check that the reports in two files have the same fingerprints
//	fingerprints in out  extract the sorted fingerprints from findings in JSON
//	example name         copy a package of examples/racefuzz
//	append file          append what the latest command has printed
//	schedule folder out  copy the only file in a folder
//	same folder folder   check that both have the same files
//	plan out files       write a plan of files: nothing needs to be recorded on lines with // safe
//	alike test args      go and heisen do the same with these arguments, see alike
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		Setup:               setup(t),
		Condition:           condition,
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		Cmds:                commands,
	})
}

// commands are those of the scripts beside the commands of testscript, see TestScripts.
var commands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"exits":  exits,
	"trace":  writeTrace,
	"cut":    cut,
	"flip":   flip,
	"corpus": copyCorpus,
	"events": checkEvents,

	"attributed": sameAttribution,

	"fingerprint":  sameFingerprints,
	"fingerprints": fingerprints,
	"example":      copyExample,
	"append":       appendOutput,
	"schedule":     copySchedule,
	"same":         sameFolders,
	"plan":         writePlan,
	"alike":        alike,
}

// setup lets the scripts share the caches of the current user, and keeps the go command from the
// network.
func setup(t *testing.T) func(*testscript.Env) error {
	out, err := exec.Command("go", "env", "-json", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	var caches map[string]string
	if err := json.Unmarshal(out, &caches); err != nil {
		t.Fatal(err)
	}
	user, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	self, err := exec.LookPath("heisen")
	if err != nil {
		t.Fatal(err)
	}
	module, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return func(env *testscript.Env) error {
		env.Setenv("HEISEN_DIR", filepath.Dir(self))
		env.Setenv(fullReports, "1")
		env.Setenv("HEISEN_MODULE", module)
		for name, dir := range caches {
			env.Setenv(name, dir)
		}
		env.Setenv("XDG_CACHE_HOME", user)
		env.Setenv("HEISEN_CORPUS", "none") // what a script finds depends on no other run
		env.Setenv("GOPROXY", "off")
		env.Setenv("GOTOOLCHAIN", "local")
		env.Setenv("GOFLAGS", "")
		return nil
	}
}

// condition: rootmodule holds if there is a module in the root folder, a name such as go1.27.4 if that toolchain is
// there, or may be fetched, and ci and nightly in the tiers of the tests that have so much.
func condition(name string) (bool, error) {
	switch {
	case name == "ci":
		return tier.Of() >= tier.CI, nil
	case name == "nightly":
		return tier.Of() >= tier.Nightly, nil
	case name == "rootmodule":
		_, err := os.Stat("/go.mod")
		return err == nil, nil
	case strings.HasPrefix(name, "go1."):
		version := exec.Command("go", "version")
		version.Env = append(os.Environ(), "GOTOOLCHAIN="+name)
		return version.Run() == nil, nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

func noNegation(ts *testscript.TestScript, neg bool, args []string, n int, usage string) {
	if neg || len(args) < n {
		ts.Fatalf("usage: %s", usage)
	}
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	noNegation(ts, neg, args, 2, "exits status command...")
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	status := 0
	if errors.As(err, &exit) {
		status = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(status) != args[0] {
		ts.Fatalf("exit status %d, want %s", status, args[0])
	}
}

// writeTrace writes a binary trace of two races, the second in a block of its
// own: goroutines 1 and 2 write x at the sites first and second, and then y at
// third and fourth.
func writeTrace(ts *testscript.TestScript, neg bool, args []string) {
	noNegation(ts, neg, args, 1, "trace file")
	symbols := heisen.NewSymbols()
	at := func(text string) heisen.Site { return symbols.AddSite(heisen.SiteInfo{Text: text}) }
	const x, y = 0x200000, 0x200008
	symbols.SetName(x, "x")
	symbols.SetName(y, "y")
	blocks := [][]heisen.Record{
		{
			{Op: heisen.Fork, Thread: 0, Object: 1},
			{Op: heisen.Fork, Thread: 0, Object: 2},
			{Op: heisen.Write, Thread: 1, Object: x, Site: at("first")},
			{Op: heisen.Write, Thread: 2, Object: x, Site: at("second")},
		},
		{
			{Op: heisen.Write, Thread: 1, Object: y, Site: at("third")},
			{Op: heisen.Write, Thread: 2, Object: y, Site: at("fourth")},
		},
	}
	var out bytes.Buffer
	w, err := trace.NewWriter(&out, symbols)
	ts.Check(err)
	for _, block := range blocks {
		ts.Check(w.Write(block))
		ts.Check(w.Flush())
	}
	ts.Check(w.Close())
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), out.Bytes(), 0o666))
}

func writePlan(ts *testscript.TestScript, neg bool, args []string) {
	noNegation(ts, neg, args, 2, "plan out files")
	plan := focus.Plan{Files: map[string]focus.File{}}
	for _, name := range args[1:] {
		text := ts.ReadFile(name)
		var safe []int
		for i, line := range strings.Split(text, "\n") {
			if strings.HasSuffix(line, "// safe") {
				safe = append(safe, i+1)
			}
		}
		plan.Files[name] = focus.File{Hash: focus.HashOf([]byte(text)), Reads: focus.LinesOf(safe), Writes: focus.LinesOf(safe)}
	}
	var out bytes.Buffer
	ts.Check(plan.Encode(&out))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), out.Bytes(), 0o666))
}

func cut(ts *testscript.TestScript, neg bool, args []string) {
	noNegation(ts, neg, args, 2, "cut file bytes")
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	text := ts.ReadFile(args[0])
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text[:len(text)-n]), 0o666))
}

func flip(ts *testscript.TestScript, neg bool, args []string) {
	noNegation(ts, neg, args, 2, "flip file byte")
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	text := []byte(ts.ReadFile(args[0]))
	if n < 0 {
		n += len(text)
	}
	text[n] ^= 4
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), text, 0o666))
}

func copyCorpus(ts *testscript.TestScript, neg bool, args []string) {
	noNegation(ts, neg, args, 1, "corpus file")
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "trace", "testdata", "corpus", "std", args[0]))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), text, 0o666))
}

// checkEvents reads a file as strictly as readers of test2json's format do: each
// line is an event, of a known kind and with known fields but for heisen's own,
// and short enough for the usual buffer.
func checkEvents(ts *testscript.TestScript, neg bool, args []string) {
	noNegation(ts, neg, args, 1, "events file")
	actions := []string{"start", "run", "pause", "cont", "pass", "bench", "fail", "output", "skip"}
	lines := bufio.NewScanner(strings.NewReader(ts.ReadFile(args[0])))
	last := ""
	for lines.Scan() {
		var event struct {
			Time                          time.Time
			Action, Package, Test, Output string
			Elapsed                       float64
			FailedBuild, OutputType       string
			Finding                       json.RawMessage
		}
		dec := json.NewDecoder(strings.NewReader(lines.Text()))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&event); err != nil || !slices.Contains(actions, event.Action) || event.Package != "example.com/m" {
			ts.Fatalf("%v, error %v: %s", event, err, lines.Text())
		}
		if event.Test == "" && event.Action != "output" {
			last = event.Action
		}
	}
	ts.Check(lines.Err())
	if last != "fail" {
		ts.Fatalf("the package's last event is %q, want fail", last)
	}
}

// sameAttribution compares the output of heisen test -json with that of go test -race -json, event by event.
// Reports stand where their tests are running; which lines of the test they precede is left open, and so is
// how many there are in a row.
func sameAttribution(ts *testscript.TestScript, neg bool, args []string) {
	noNegation(ts, neg, args, 2, "attributed race file")
	want, got := attribution(ts, args[0]), attribution(ts, args[1])
	if !slices.ContainsFunc(want, func(event string) bool { return strings.HasPrefix(event, "report") }) {
		ts.Fatalf("no report in %s", args[0])
	}
	if !slices.Equal(want, got) {
		ts.Fatalf("go test -race:\n\t%s\nheisen test:\n\t%s", strings.Join(want, "\n\t"), strings.Join(got, "\n\t"))
	}
}

// attribution returns the events of tests and packages in a file, and the reports, each with its test.
func attribution(ts *testscript.TestScript, file string) (events []string) {
	for line := range strings.Lines(ts.ReadFile(file)) {
		var event struct {
			Action, Test, Output string
			Finding              json.RawMessage
		}
		ts.Check(json.Unmarshal([]byte(line), &event))
		text := event.Action + " " + event.Test
		switch {
		case event.Finding != nil, strings.HasPrefix(event.Output, "WARNING: "):
			text = "report " + event.Test
		case event.Action == "output" && !strings.HasPrefix(event.Output, "=== RUN"),
			event.Action == "pause", event.Action == "cont": // in any order
			continue
		}
		if n := len(events); n == 0 || events[n-1] != text {
			events = append(events, text)
		}
	}
	return events
}

// sameFingerprints compares the fingerprints of the reports in two files, in any order.
func sameFingerprints(ts *testscript.TestScript, neg bool, args []string) {
	noNegation(ts, neg, args, 2, "fingerprint a b")
	var found [2][]string
	for i := range found {
		for line := range strings.Lines(ts.ReadFile(args[i])) {
			if _, f, ok := strings.Cut(line, ", fingerprint "); ok {
				found[i] = append(found[i], f)
			}
		}
		slices.Sort(found[i])
	}
	if len(found[0]) == 0 || !slices.Equal(found[0], found[1]) {
		ts.Fatalf("%s has %q, %s has %q", args[0], found[0], args[1], found[1])
	}
}

func fingerprints(ts *testscript.TestScript, neg bool, args []string) {
	noNegation(ts, neg, args, 2, "fingerprints in out")
	var found []string
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		if strings.HasPrefix(line, "{") {
			findings, err := report.ReadJSON(strings.NewReader(line))
			ts.Check(err)
			found = append(found, findings[0].Fingerprint+"\n")
		}
	}
	slices.Sort(found)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(strings.Join(found, "")), 0o666))
}

func copyExample(ts *testscript.TestScript, neg bool, args []string) {
	noNegation(ts, neg, args, 1, "example name")
	ts.Check(os.CopyFS(ts.MkAbs(args[0]), os.DirFS(filepath.Join("..", "..", "..", "examples", "racefuzz", args[0]))))
}

func appendOutput(ts *testscript.TestScript, neg bool, args []string) {
	noNegation(ts, neg, args, 1, "append file")
	text := ts.ReadFile(args[0]) + ts.ReadFile("stdout")
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o666))
}

// readFolder returns the texts of the files in a folder, by name.
func readFolder(ts *testscript.TestScript, name string) map[string]string {
	entries, err := os.ReadDir(ts.MkAbs(name))
	ts.Check(err)
	files := map[string]string{}
	for _, e := range entries {
		files[e.Name()] = ts.ReadFile(filepath.Join(name, e.Name()))
	}
	return files
}

func copySchedule(ts *testscript.TestScript, neg bool, args []string) {
	noNegation(ts, neg, args, 2, "schedule folder out")
	files := readFolder(ts, args[0])
	if len(files) != 1 {
		ts.Fatalf("%d files in %s", len(files), args[0])
	}
	for _, text := range files {
		ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o666))
	}
}

func sameFolders(ts *testscript.TestScript, neg bool, args []string) {
	noNegation(ts, neg, args, 2, "same folder folder")
	if a, b := readFolder(ts, args[0]), readFolder(ts, args[1]); !maps.Equal(a, b) {
		ts.Fatalf("%s has %q, %s has %q", args[0], a, args[1], b)
	}
}

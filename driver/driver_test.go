package driver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/driver"
	"github.com/heisen-go/heisen/internal/cli"
	"github.com/heisen-go/heisen/internal/testaid/tier"
)

// newNothing makes a detector without findings.
func newNothing(*heisen.Symbols, heisen.Sink) (heisen.Detector, error) { return heisen.Tee(), nil }

func TestBadOptions(t *testing.T) {
	ok := driver.Detector{Name: "mine", Promise: "nothing", New: newNothing}
	with := func(change func(*driver.Detector)) driver.Option {
		d := ok
		change(&d)
		return driver.WithDetector(d)
	}
	for name, options := range map[string][]driver.Option{
		"empty name":      {with(func(d *driver.Detector) { d.Name = "" })},
		"name of a list":  {with(func(d *driver.Detector) { d.Name = "a,b" })},
		"name of a flag":  {with(func(d *driver.Detector) { d.Name = "-a" })},
		"name with dot":   {with(func(d *driver.Detector) { d.Name = "a.b" })},
		"module's name":   {with(func(d *driver.Detector) { d.Name = "fasttrack" })},
		"name twice":      {driver.WithDetector(ok), driver.WithDetector(ok)},
		"no promise":      {with(func(d *driver.Detector) { d.Promise = "" })},
		"long promise":    {with(func(d *driver.Detector) { d.Promise = "a\nb" })},
		"no New":          {with(func(d *driver.Detector) { d.New = nil })},
		"unknown default": {driver.WithDefault("mine"), driver.WithDetector(ok)},
		"empty tool name": {driver.WithName("")},
		"tool name":       {driver.WithName("my tool")},
		"no default":      {driver.WithDefault()},
		"nil option":      {nil},
	} {
		var out bytes.Buffer
		status, err := driver.Run(context.Background(), []string{"version"}, nil, &out, &out, options...)
		if !errors.Is(err, heisen.ErrOption) || status != driver.Misused || out.Len() > 0 {
			t.Errorf("%s: status %d, error %v, output %q", name, status, err, &out)
		}
	}
}

// TestStatuses checks that the constants are the statuses of the command.
func TestStatuses(t *testing.T) {
	for status, want := range map[int]int{driver.Clean: cli.Clean, driver.Failed: cli.Failed, driver.Misused: cli.Misused, driver.Findings: cli.Findings} {
		if status != want {
			t.Errorf("status %d, the command has %d", status, want)
		}
	}
}

// TestNewFails: an error of New, or a detector that is nil, ends the analysis with an error.
func TestNewFails(t *testing.T) {
	for want, answer := range map[string]error{
		"heisen analyze: detector mine: it rains":                  errors.New("it rains"),
		"heisen analyze: detector mine: its New has returned none": nil,
	} {
		var out, errs bytes.Buffer
		args := []string{"analyze", "-detect", "hb,mine", "-"}
		status, err := driver.Run(context.Background(), args, strings.NewReader("T0|w(x)|1\n"), &out, &errs,
			driver.WithDetector(driver.Detector{
				Name: "mine", Promise: "nothing",
				New: func(*heisen.Symbols, heisen.Sink) (heisen.Detector, error) { return nil, answer },
			}))
		if err != nil || status != driver.Failed || errs.String() != want+"\n" {
			t.Errorf("status %d, error %v, printed %q, want %q", status, err, &errs, want)
		}
	}
}

// TestNilStreams: nil streams are empty and discard.
func TestNilStreams(t *testing.T) {
	for args, want := range map[string]int{"version": driver.Clean, "analyze -": driver.Clean, "nonsense": driver.Misused} {
		status, err := driver.Run(context.Background(), strings.Fields(args), nil, nil, nil)
		if err != nil || status != want {
			t.Errorf("%s: status %d, error %v", args, status, err)
		}
	}
}

// lastWriter reports the last write to each variable.
type lastWriter struct {
	symbols *heisen.Symbols
	sink    heisen.Sink
	last    *heisen.Record
}

func (l *lastWriter) Handle(e heisen.Event) {
	if e.Op() == heisen.Write {
		r := *heisen.AsRecord(e)
		l.last = &r
	}
}

func (l *lastWriter) Flush() error {
	if l.last != nil {
		l.sink(heisen.Finding{
			Kind:     "last-write",
			Message:  "the last write is to " + l.symbols.Name(l.last.Object),
			Accesses: []heisen.Access{heisen.AccessOf(l.last, 0)},
		})
	}
	return nil
}

// A tool with a detector of its own has every subcommand and flag of heisen.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	trace := filepath.Join(dir, "trace.std")
	if err := os.WriteFile(trace, []byte("T0|w(x)|1\nT0|w(balance)|2\nT0|r(x)|3\n"), 0o666); err != nil {
		fmt.Println(err)
		return
	}

	mine := driver.Detector{
		Name:    "lastwriter",
		Promise: "the last write of an execution",
		New: func(symbols *heisen.Symbols, sink heisen.Sink) (heisen.Detector, error) {
			return &lastWriter{symbols: symbols, sink: sink}, nil
		},
	}
	// In a main function: os.Exit(driver.Main(driver.WithDetector(mine)))
	args := []string{"analyze", "-detect", "lastwriter,fasttrack", trace}
	status, err := driver.Run(context.Background(), args, nil, os.Stdout, os.Stderr, driver.WithDetector(mine))
	fmt.Println("exit status", status, err)
	// Output:
	// ==================
	// WARNING: LAST-WRITE
	// the last write is to balance
	// Found by lastwriter, fingerprint 9edc9f1db97c107c
	//
	// Write by T0 at balance:
	//   2
	//
	// In full: heisen show 9edc9f1db97c107c
	// ==================
	// Found 1 last-write finding(s)
	// exit status 66 <nil>
}

// TestVetTool runs the command as a tool of go vet.
func TestVetTool(t *testing.T) {
	tier.Need(t, tier.CI)
	tool := filepath.Join(t.TempDir(), "heisen")
	if out, err := exec.Command("go", "build", "-o", tool, "../cmd/heisen").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, test := range []struct {
		args string
		want string // part of the output; empty: the status is 0
	}{
		{"./examples/atomicity/closer", "stale check of s.closed: the test is of its value in line 41, but mu is released in between"},
		{"./examples/atomicity/desk", "lost update of d.left"},
		{"-stalecheck ./examples/atomicity/desk", ""},
		{"-lostupdate=false ./examples/atomicity/desk", ""},
		{"./examples/atomicity/lazy", ""},
		{"-stalecheck.atomics ./examples/atomicity/lazy", "stale check of s.client"},
		{"./examples/atomicity/testdata/accessors/correct", ""},
		{"-nothing ./examples/stock", "flag provided but not defined: -nothing"},
	} {
		cmd := exec.Command("go", append([]string{"vet", "-vettool=" + tool}, strings.Fields(test.args)...)...)
		cmd.Dir = ".."
		out, err := cmd.CombinedOutput()
		if (err == nil) != (test.want == "") || !strings.Contains(string(out), test.want) {
			t.Errorf("go vet %s: %v, want %q in\n%s", test.args, err, test.want, out)
		}
	}
}

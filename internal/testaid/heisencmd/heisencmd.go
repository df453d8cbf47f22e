// Package heisencmd helps to test what the heisen command reports about a program. It runs the
// command on the package in the working directory and normalizes the report, so that it is the same
// in every run.
package heisencmd

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/driver"
	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/testaid/diagramtest"
	"github.com/heisen-go/heisen/report"
)

// asCommand is an environment variable that makes a test binary act as the heisen command. The
// tests need no installed command, and the command is built from the same sources as the tests.
const asCommand = "HEISENTEST_COMMAND"

// Main runs the tests, or the heisen command with the given options if Run has started the test
// binary. It does not return. The TestMain of a package whose tests call Run must call it.
func Main(m *testing.M, options ...driver.Option) {
	byGo := len(os.Args) > 1 && os.Args[1] == "-toolexec" // the go command runs its tools by the command
	if os.Getenv(asCommand) == "" && !byGo {
		os.Setenv("HEISEN_CORPUS", "none") // what a test finds depends on no other one
		os.Exit(m.Run())
	}
	os.Unsetenv(asCommand)
	os.Exit(driver.Main(options...))
}

// A Result is the outcome of a run of the command.
type Result struct {
	Status   int              // exit status
	Out, Err string           // standard output and standard error of the command and its programs
	Findings []report.Finding // the findings in Out, if the arguments have -report json
}

// NeedInstrumentation skips a test if heisen instruments no programs for the port on which it runs.
func NeedInstrumentation(t *testing.T) {
	t.Helper()
	if port := runtime.GOOS + "/" + runtime.GOARCH; !slices.Contains(build.PortNames(build.Linked), port) {
		t.Skipf("heisen instruments no programs for %s", port)
	}
}

// Install returns a folder with an executable named heisen, which is the heisen command. The folder
// exists until the test ends.
func Install(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\n%s=1 exec '%s' \"$@\"\n", asCommand, self)
	if err := os.WriteFile(filepath.Join(dir, "heisen"), []byte(script), 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Run runs the heisen command with the given arguments.
func Run(t *testing.T, args ...string) Result {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(cmd.Environ(), asCommand+"=1")
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	r := Result{Status: cmd.ProcessState.ExitCode(), Out: stdout.String(), Err: stderr.String()}
	var found bytes.Buffer
	for line := range strings.Lines(r.Out) {
		if strings.HasPrefix(line, "{") {
			found.WriteString(line)
		}
	}
	if r.Findings, err = report.ReadJSON(&found); err != nil {
		t.Fatalf("heisen %s: %v", strings.Join(args, " "), err)
	}
	for i := range r.Findings {
		if err := diagramtest.Check(&r.Findings[i]); err != nil {
			t.Errorf("heisen %s: %v", strings.Join(args, " "), err)
		}
	}
	return r
}

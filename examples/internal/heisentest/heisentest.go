// Package heisentest is for tests of what the heisen command says about a
// program: it runs the command on the package in the working directory, and puts
// what the command says into a form that is the same for every run.
package heisentest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/driver"
	"github.com/heisen-go/heisen/report"
)

// asCommand is the environment variable that turns a test binary into the heisen
// command. So the command is that of the sources that the tests were built from.
const asCommand = "HEISENTEST_COMMAND"

// Main is for the TestMain of packages whose tests call Run. The options are
// those of the command.
func Main(m *testing.M, options ...driver.Option) {
	if os.Getenv(asCommand) == "" {
		os.Exit(m.Run())
	}
	os.Unsetenv(asCommand)
	os.Exit(driver.Main(options...))
}

// Result is how a run of the command ended.
type Result struct {
	Status   int
	Out, Err string           // what the command, and the programs it ran, printed
	Findings []report.Finding // those in Out, if -json was given
}

// Run runs the heisen command.
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
	if r.Findings, err = report.Decode(&found); err != nil {
		t.Fatalf("heisen %s: %v", strings.Join(args, " "), err)
	}
	return r
}

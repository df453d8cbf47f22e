package cli_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/heisen-go/heisen/internal/cli"
)

// TestLeavesNothingRunning: a run ends with all goroutines that it has started.
func TestLeavesNothingRunning(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Chdir(writeFiles(t, map[string]string{
		"go.mod":  "module example.com/m\n\ngo 1.25\n",
		"main.go": "package main\n\nvar n int\n\nfunc main() {\n\tgo func() { n++ }()\n\tn++\n}\n",
	}))
	if status, _, stderr := heisenCommand("run", "."); status != cli.Clean && status != cli.Findings {
		t.Errorf("exit status %d\n%s", status, stderr)
	}
	if status, _, stderr := heisenCommand("run", "./nosuch"); status != cli.Failed {
		t.Errorf("exit status %d\n%s", status, stderr)
	}
	goleak.VerifyNone(t, before)
}

package confirm_test

import (
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/confirm"
	"github.com/heisen-go/heisen/racefuzz"
)

// TestForeignSchedules: a schedule chooses neither flags of the go command nor code elsewhere.
func TestForeignSchedules(t *testing.T) {
	for _, test := range []struct {
		command, program string
		args             []string
		want             string // in the error; empty if there is none
	}{
		{"run", "./bank", []string{"-fixed", "-test.cpuprofile=x"}, ""},
		{"run", ".", nil, ""},
		{"run", "../bank", nil, ""}, // which must be in the main module
		{"run", "main.go", nil, ""},
		{"run", "cmd/main.go", nil, ""},
		{"test", "example.com/bank", []string{"-test.paniconexit0", "-test.v", "-test.timeout=0", "-test.run=^X$", "-test.skip", "Y", "-update", "x"}, ""},
		{"build", ".", nil, "neither test nor run"},
		{"", ".", nil, "neither test nor run"},
		{"run", "", nil, "names no program"},
		{"run", "-toolexec=/tmp/x", nil, "is a flag"},
		{"test", "--exec=x", nil, "is a flag"},
		{"run", "-", nil, "is a flag"},
		{"run", "/tmp/main.go", nil, "not in this folder"},
		{"run", "../main.go", nil, "not in this folder"},
		{"run", "a/../../main.go", nil, "not in this folder"},
		{"test", ".", []string{"-test.cpuprofile=x"}, "does not use"},
		{"test", ".", []string{"-test.v", "-own", "--test.outputdir", "x"}, "does not use"},
		{"test", ".", []string{"-test.run=X", "-test.fuzzcachedir=x"}, "does not use"},
		{"test", ".", []string{"-test.gocoverdir=x"}, "does not use"},
	} {
		s := &racefuzz.Schedule{Command: test.command, Program: test.program, Args: test.args, Strategy: "replay"}
		source, _, err := confirm.Restore(s, t.TempDir())
		switch {
		case test.want == "" && (err != nil || !source.Own):
			t.Errorf("%+v: %v", test, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%+v: error %v", test, err)
		}
	}
}

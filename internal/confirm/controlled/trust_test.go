package controlled_test

import (
	"path"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/confirm/controlled"
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
		source, _, err := controlled.Restore(s, t.TempDir())
		switch {
		case test.want == "" && (err != nil || !source.Own):
			t.Errorf("%+v: %v", test, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%+v: error %v", test, err)
		}
	}
}

// FuzzForeignSchedule: what a schedule asks for that is not refused is to build one package, or a file below
// the folder, and to run it with arguments that write no files. Errors are one line.
func FuzzForeignSchedule(f *testing.F) {
	const head, tail = "heisen schedule 1\n", "strategy pct depth=3\nseed 7\nchoices 1\n  3:1\nend\n"
	for _, lines := range []string{
		"command run ./bank\nargs -fixed -test.cpuprofile=x\n",
		"command run -toolexec=/tmp/x\n", "command run \"-o=x y\"\n", "command run a/../../main.go\n", "command run ../main.go\n",
		"command test .\nargs -test.run X -test.cpuprofile=victim\n", "command test .\nargs - --test.v -test.gocoverdir=x\n",
		"command test .\ntags -toolexec=x \"a b\"\npkgs \"\\n-o=x\"\n", "command build .\n",
		"command test .\ntarget first read \"x\\ny\" f\n", "command test .\ntarget first write /etc/passwd:1 f\n",
	} {
		f.Add(head + lines + tail)
	}
	// Flags of test binaries that neither write files nor read any, from package testing.
	harmless := map[string]bool{
		"v": true, "short": true, "failfast": true, "fullpath": true, "run": true, "skip": true, "count": true, "parallel": true,
		"shuffle": true, "paniconexit0": true, "timeout": true,
	}
	f.Fuzz(func(t *testing.T, text string) {
		var s racefuzz.Schedule
		if err := s.UnmarshalText([]byte(text)); err != nil {
			return
		}
		source, plan, err := controlled.Restore(&s, "/m")
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("an error of several lines: %q", err)
			}
			return
		}
		if source.Verb != "run" && source.Verb != "test" || len(source.Packages) != 1 || !source.Own || len(source.Flags) > 0 || source.Overlay != "" || plan == nil {
			t.Fatalf("%+v", source)
		}
		name := source.Packages[0]
		if name == "" || name[0] == '-' {
			t.Fatalf("a flag for the go command: %q", name)
		}
		if clean := path.Clean(name); strings.HasSuffix(name, ".go") && (path.IsAbs(name) || clean == ".." || strings.HasPrefix(clean, "../")) {
			t.Fatalf("a file elsewhere: %q", name)
		}
		if source.Verb == "run" {
			return
		}
		for _, arg := range source.Args { // package flag takes one or two dashes
			flag, is := strings.CutPrefix(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "test.")
			name, _, _ := strings.Cut(flag, "=")
			if is && arg[0] == '-' && !harmless[name] {
				t.Fatalf("a flag of the test binary: %q", arg)
			}
		}
	})
}

package scripts

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// alike runs go and heisen with the same arguments, which begin with test or run, and compares what
// they do. For tests: whether they fail, which test binaries run where with which arguments, and
// which tests run. For programs: whether they fail and what they print.
//
// heisen's own flags may be given after a word +, to stand before the others.
func alike(ts *testscript.TestScript, neg bool, args []string) {
	noNegation(ts, neg, args, 1, "alike (test | run) arguments... [+ flags of heisen...]")
	var own []string
	if i := slices.Index(args, "+"); i >= 0 {
		args, own = args[:i], args[i+1:]
	}
	want, got := behavior(ts, "go", args, nil), behavior(ts, "heisen", args, own)
	if want != got {
		ts.Fatalf("go:\n%s\nheisen:\n%s", want, got)
	}
	ts.Logf("%s", got)
}

// behavior describes what a command does that go and heisen should do alike.
func behavior(ts *testscript.TestScript, command string, args, own []string) string {
	log := ts.MkAbs("alike.log")
	ts.Check(os.WriteFile(log, nil, 0o666))
	words := []string{args[0]}
	args = args[1:]
	if len(args) > 1 && args[0] == "-C" { // it must be the first
		words, args = append(words, args[:2]...), args[2:]
	}
	if words[0] == "test" {
		words = append(words, "-exec="+sayer(ts)+" "+log)
	}
	err := ts.Exec(command, slices.Concat(words, own, args)...)
	var exit *exec.ExitError
	status := "succeeds\n"
	if errors.As(err, &exit) {
		status = "fails\n"
	} else {
		ts.Check(err)
	}
	if words[0] == "run" {
		return status + ts.ReadFile("stdout")
	}
	started := strings.SplitAfter(ts.ReadFile("alike.log"), "\n")
	slices.Sort(started) // packages are tested at the same time
	tests := regexp.MustCompile(`(?m)^ *(=== RUN +\S+|--- \w+: \S+|(ok|FAIL|\?)\s+\S+|(Test|Benchmark|Fuzz|Example)\w+)`)
	lines := tests.FindAllString(ts.ReadFile("stdout"), -1)
	return status + strings.Join(started, "") + strings.Join(lines, "\n")
}

// sayer returns the path of a script that appends its folder and arguments to a file and then runs
// the program. It leaves out the names of temporary files, and -test.count=1, with which heisen
// keeps go from showing cached results.
func sayer(ts *testscript.TestScript) string {
	path := ts.MkAbs("say.sh")
	ts.Check(os.WriteFile(path, []byte(`#!/bin/sh
log=$1
shift
line="in $(basename "$PWD"):"
program=$1
for word; do
	case $word in
	"$program" | */go-build* | -test.count=1 | -test.testlogfile=*) ;;
	*) line="$line [$word]" ;;
	esac
done
echo "$line" >>"$log"
exec "$@"
`), 0o777))
	return path
}

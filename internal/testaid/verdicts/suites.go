package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// suite is a column of the table.
type suite struct {
	name, title string
	ports       []string                   // for which it can be run
	command     func(p port) string        // of a shell, in the folder of the module
	verdict     func(output string) string // what stands in the cell; empty if the suite did not come to its end
}

// port is a row of the table, for each release.
type port struct {
	name     string
	emulator string // that runs programs; empty if the machine does
}

var ports = []port{
	{"linux/amd64", ""},
	{"linux/arm64", "qemu-aarch64-static"},
	{"linux/riscv64", "qemu-riscv64-static"},
	{"linux/386", ""},
	{"windows/amd64", "/usr/lib/wine/wine64"},
}

// arch returns the GOARCH of a port.
func (p port) arch() string { return p.name[strings.IndexByte(p.name, '/')+1:] }

var instrumented = []string{"linux/amd64", "linux/arm64", "linux/riscv64"}

// suites are the columns. The library has no programs that it instruments.
var suites = []suite{
	{"race", "race detector's test data", append(slices.Clip(instrumented), "windows/amd64"), raceTests(""), scores},
	{"library", "races in the standard library", instrumented, raceTests(" -package ./internal/testaid/goracetests/testdata/library"), scores},
	{"leaks", "leak profile's test data", instrumented[:1], func(port) string { return "go run ./internal/testaid/goleaktests -runs" }, leaks},
	{"samples", "self-test", instrumented[:1], func(port) string { return `go run ./internal/testaid/checkgoroot "$(go env GOROOT)"` }, selfTest},
	{"packages", "tests of the public packages", []string{"linux/amd64", "linux/386"}, func(p port) string {
		return "CGO_ENABLED=0 GOARCH=" + p.arch() + " go test $(go list ./... | grep -vE '/(internal|bench|examples|docs|cmd)(/|$)')"
	}, packages},
}

// raceTests returns a command that runs the test data of the race detector, or another one.
func raceTests(data string) func(port) string {
	return func(p port) string {
		if p.name == "windows/amd64" { // without a connection
			return "WINEDEBUG=-all go run -exec 'env GOOS=windows' ./internal/testaid/goracetests" + data + " -alone -exec " + p.emulator
		}
		if p.emulator == "" {
			return "go run ./internal/testaid/goracetests" + data
		}
		// An emulator needs gigabytes for address space that is only reserved, unless it is bounded.
		return "ulimit -v 33554432; go run -exec 'env GOARCH=" + p.arch() + "' ./internal/testaid/goracetests" + data + " -exec " + p.emulator
	}
}

// run runs a suite with a toolchain and returns what stands in the cell. It copies what the suite prints to w.
func (s *suite) run(ctx context.Context, p port, toolchain string, w io.Writer) (cell string, err error) {
	if p.emulator != "" {
		if _, err := exec.LookPath(p.emulator); err != nil {
			return "", err
		}
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", s.command(p))
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN="+toolchain)
	var output bytes.Buffer
	cmd.Stdout = io.MultiWriter(&output, w)
	cmd.Stderr = cmd.Stdout
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		return "", errors.Join(err, ctx.Err())
	}
	// Wrong verdicts make a command fail, and are a result.
	if cell = s.verdict(output.String()); cell == "" {
		return "", fmt.Errorf("no result: %v\n%s", err, &output)
	}
	return cell, nil
}

var scoreLine = regexp.MustCompile(`(?m)^\s*in scope((\s+\d+/\d+)+)\s*$`)

// scores returns for how many functions with a race, and without, the verdict was right, at all numbers of processors: the
// line of those that are not known to be out of scope.
func scores(output string) string {
	m := scoreLine.FindStringSubmatch(output)
	if m == nil {
		return ""
	}
	var right, all [2]int
	for i, field := range strings.Fields(m[1]) {
		before, after, _ := strings.Cut(field, "/")
		n, err := strconv.Atoi(before)
		of, err2 := strconv.Atoi(after)
		if err != nil || err2 != nil {
			return ""
		}
		if k := i % 2; i < 2 || n < right[k] {
			right[k], all[k] = n, of
		}
	}
	return fmt.Sprintf("%d of %d, none in %d of %d", right[0], all[0], right[1], all[1])
}

var leakLine = regexp.MustCompile(`(?m)^(\d+) programs, \d+ tries, all leaks found in (\d+); .* (\d+) not expected;`)

func leaks(output string) string {
	m := leakLine.FindStringSubmatch(output)
	if m == nil {
		return ""
	}
	return fmt.Sprintf("%s of %s, %s false", m[2], m[1], m[3])
}

func selfTest(output string) string {
	switch {
	case strings.Contains(output, "the self-test passes"):
		return "passes"
	case strings.Contains(output, "fails the self-test"):
		return "fails"
	}
	return ""
}

var testLine = regexp.MustCompile(`(?m)^(ok|FAIL)[ \t]+(\S+)\s`)

// packages counts the packages whose tests pass.
func packages(output string) string {
	passed := map[string]bool{}
	for _, m := range testLine.FindAllStringSubmatch(output, -1) {
		passed[m[2]] = m[1] == "ok"
	}
	right := 0
	for _, ok := range passed {
		if ok {
			right++
		}
	}
	if len(passed) == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d", right, len(passed))
}

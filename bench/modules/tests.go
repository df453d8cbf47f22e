package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/heisen-go/heisen/internal/processes"
)

// limit is how long the tests of a package may take, and twice that the go command.
const limit = 10 * time.Minute

// An outcome is what the tests of a module came to in one run.
type outcome struct {
	packages int             // with tests
	failed   map[string]bool // tests, as package.Test, or packages if no test of them failed
	races    int             // reports
	wall     time.Duration
	cpu      time.Duration
}

// tests runs the tests of the module in dir. command is go test -race, or heisen test.
func (m *module) tests(ctx context.Context, dir string, env, command []string, flags ...string) (*outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*limit)
	defer cancel()
	args := append(command[1:len(command):len(command)], "-short", "-count=1", "-vet=off", "-timeout="+limit.String())
	args = append(args, flags...)
	if args = append(args, m.packages...); len(m.packages) == 0 {
		args = append(args, "./...")
	}
	cmd := exec.CommandContext(ctx, command[0], args...)
	processes.BindGo(cmd)
	cmd.Dir, cmd.Env = dir, append(append(cmd.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod"), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	err := cmd.Run()
	wall := time.Since(start)
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || ctx.Err() != nil) {
		return nil, fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), errors.Join(err, ctx.Err()))
	}
	o, err := parse(out.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out.Bytes())
	}
	o.wall, o.cpu = wall, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
	return o, nil
}

var (
	packageLine = regexp.MustCompile(`^(ok  |FAIL|\?   |)\t(\S+)(?:\t| \[)`)
	failedTest  = regexp.MustCompile(`^--- FAIL: (\S+)`)
)

// parse reads what go test or heisen test has printed.
func parse(text []byte) (*outcome, error) {
	o := &outcome{failed: map[string]bool{}}
	var failed []string // in the present package
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "WARNING: DATA RACE") {
			o.races++
		}
		if t := failedTest.FindStringSubmatch(line); t != nil {
			failed = append(failed, t[1])
		}
		p := packageLine.FindStringSubmatch(line)
		if p == nil {
			continue
		}
		switch p[1] {
		case "ok  ":
			o.packages++
		case "FAIL":
			o.packages++
			for _, test := range failed {
				o.failed[p[2]+"."+test] = true
			}
			if len(failed) == 0 {
				o.failed[p[2]] = true
			}
		}
		failed = nil
	}
	if o.packages == 0 {
		return nil, errors.Join(errors.New("no package was tested"), lines.Err())
	}
	return o, lines.Err()
}

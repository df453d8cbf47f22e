package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/observed"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
)

// comparison is the state of a run of the command.
type comparison struct {
	out      io.Writer
	tests    string // pattern
	collect  int
	parallel int
	limit    time.Duration
	until    time.Time // no test begins later; zero: all do

	work     string // folder with the heisen command and what it builds
	heisen   string
	builder  *build.Builder
	sources  *report.Resolver
	resolver *observed.Resolver

	mu       sync.Mutex
	verdicts map[string]verdict
	order    []string // keys of this run
	file     *os.File
	stopped  bool
}

// prepare builds heisen.
func (c *comparison) prepare(ctx context.Context) (err error) {
	if c.work, err = os.MkdirTemp("", "gosuites-"); err != nil {
		return err
	}
	c.heisen = filepath.Join(c.work, "heisen")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", c.heisen, "github.com/heisen-go/heisen/cmd/heisen").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(c.work, "go.mod"), []byte("module work\n\ngo 1.26\n"), 0o666); err != nil {
		return err
	}
	if c.builder, err = build.New(ctx, c.work, ""); err != nil {
		return err
	}
	if c.sources, err = report.NewResolver(); err != nil {
		return err
	}
	c.resolver = observed.NewResolver(c.sources, c.builder.Toolchain)
	return nil
}

// compare runs the tests of a package in all ways.
func (c *comparison) compare(ctx context.Context, pkg string) error {
	if err := c.wholePackage(ctx, underRace, pkg, "go", "test", "-race"); err != nil {
		return err
	}
	if err := c.wholePackage(ctx, underTest, pkg, c.heisen, "test"); err != nil {
		return err
	}
	return c.explore(ctx, pkg)
}

// over reports whether no further test is to begin.
func (c *comparison) over(ctx context.Context) bool {
	if ctx.Err() != nil || !c.until.IsZero() && time.Now().After(c.until) {
		c.mu.Lock()
		c.stopped = true
		c.mu.Unlock()
		return true
	}
	return false
}

// wholePackage runs the tests of a package in one process, by a command that prints what go test -json does.
func (c *comparison) wholePackage(ctx context.Context, way, pkg string, command ...string) error {
	whole := verdict{Package: pkg, Way: way}
	if _, done := c.verdict(whole.key()); done {
		c.list(pkg, way)
		return nil
	}
	if c.over(ctx) {
		return nil
	}
	args := append(command[1:], "-short", "-json", "-count=1", "-timeout=20m", "-run="+c.tests, pkg)
	cmd := exec.CommandContext(ctx, command[0], args...)
	cmd.Dir = c.work
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		return errors.Join(err, ctx.Err())
	}
	printed := map[string]*strings.Builder{}
	for d := json.NewDecoder(&out); ; {
		var event struct{ Action, Test, Output string }
		if err := d.Decode(&event); err == io.EOF {
			break
		} else if err != nil {
			return fmt.Errorf("output of %s: %w\n%s", strings.Join(command, " "), err, &said)
		}
		test := event.Test
		if strings.Contains(test, "/") {
			if event.Action == "output" {
				test, _, _ = strings.Cut(test, "/")
			} else {
				continue // the test of which it is part has its verdict
			}
		}
		if printed[test] == nil {
			printed[test] = &strings.Builder{}
		}
		switch event.Action {
		case "output":
			printed[test].WriteString(event.Output)
		case "pass", "fail", "skip":
			if err := c.add(verdict{Package: pkg, Test: test, Way: way, Outcome: event.Action, Output: printed[test].String()}); err != nil {
				return err
			}
		}
	}
	if _, done := c.verdict(whole.key()); !done {
		whole.Outcome, whole.Output = "no verdict", said.String()
		if err := c.add(whole); err != nil {
			return err
		}
	}
	c.list(pkg, way)
	return nil
}

// list adds what is known of a package to the order.
func (c *comparison) list(pkg, way string) {
	for key, v := range c.verdicts {
		if v.Package == pkg && v.Way == way {
			c.order = append(c.order, key)
		}
	}
}

// verdict returns what is known of a test.
func (c *comparison) verdict(key string) (v verdict, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok = c.verdicts[key]
	return v, ok
}

// explore executes each test of a package alone, in explore mode.
func (c *comparison) explore(ctx context.Context, pkg string) error {
	exe := filepath.Join(c.work, strings.ReplaceAll(pkg, "/", "_")+".test")
	if err := c.builder.BuildTest(ctx, c.work, exe, nil, pkg); err != nil {
		return err
	}
	dir := filepath.Join(c.builder.Toolchain.Root, "src", filepath.FromSlash(pkg))
	cmd := exec.CommandContext(ctx, exe, "-test.list="+c.tests)
	cmd.Dir = dir
	listed, err := cmd.Output()
	if err != nil {
		return err
	}
	program := &controlled.Program{Package: pkg, Test: true, Path: exe, Dir: dir, Args: []string{"-test.short", "-test.v"}}
	var tests []string
	for _, name := range strings.Fields(string(listed)) {
		raced, _ := c.verdict(pkg + " " + name + " " + underRace)
		if !strings.HasPrefix(name, "Test") || raced.Outcome != "pass" {
			continue
		}
		v := verdict{Package: pkg, Test: name, Way: inExplore}
		c.order = append(c.order, v.key())
		if _, done := c.verdict(v.key()); !done {
			tests = append(tests, name)
		}
	}
	if c.collect == 0 {
		return c.exploreAll(ctx, program, tests)
	}
	// Where collections take all of a test's time, there are fewer of them.
	os.Setenv("GODEBUG", "clobberfree=1")
	defer os.Unsetenv("GODEBUG")
	defer os.Unsetenv(recorder.CollectEnv)
	for n := c.collect; len(tests) > 0 && n <= c.collect*fewest; n *= 100 {
		os.Setenv(recorder.CollectEnv, fmt.Sprint(n))
		if err := c.exploreAll(ctx, program, tests); err != nil {
			return err
		}
		tests = slices.DeleteFunc(tests, func(name string) bool {
			v, ok := c.verdict(pkg + " " + name + " " + inExplore)
			return !ok || !v.hung
		})
	}
	return nil
}

// fewest bounds by what factor there are fewer collections than asked for.
const fewest = 10_000

// exploreAll executes some tests, several at a time.
func (c *comparison) exploreAll(ctx context.Context, program *controlled.Program, tests []string) error {
	names := make(chan string)
	failed := make(chan error, c.parallel)
	var workers sync.WaitGroup
	for range c.parallel {
		workers.Go(func() {
			var wrong error
			for name := range names {
				if wrong == nil {
					if wrong = c.exploreTest(ctx, program, name); wrong != nil {
						failed <- wrong
					}
				}
			}
		})
	}
	for _, name := range tests {
		if len(failed) > 0 || c.over(ctx) {
			break
		}
		names <- name
	}
	close(names)
	workers.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return ctx.Err()
	}
}

// exploreTest executes a test.
func (c *comparison) exploreTest(ctx context.Context, program *controlled.Program, name string) error {
	e, err := program.Execute(ctx, controlled.Plan{
		Mode: recorder.Races, Tests: "^" + name + "$", Limit: c.limit,
		Schedule: &recorder.Schedule{Strategy: strategies.Config{Strategy: strategies.Follow, Seed: 1, ByDefault: true}, MaxTime: c.limit},
	}, c.resolver)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	v := verdict{Package: program.Package, Test: name, Way: inExplore}
	switch {
	case err != nil:
		v.Outcome, v.Output = "error", err.Error()
	case e.Outcome.Class == controlled.Passed && bytes.Contains(e.Output, []byte("\n--- SKIP: "+name+" ")):
		v.Outcome = "skip"
	case e.Outcome.Class == controlled.Passed:
		v.Outcome = "pass"
	default:
		v.hung = e.Outcome.Class == controlled.Hung
		v.Outcome, v.Output = "fail", fmt.Sprintf("%v: %s\n%s", e.Outcome.Class, e.Outcome.Message, e.Output)
	}
	if v.Outcome == "pass" && len(e.Observed) > 0 {
		v.Outcome, v.Output = "reported", e.Observed[0].Variable+": "+e.Observed[0].Message
	}
	return c.add(v)
}

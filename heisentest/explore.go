package heisentest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// An ExploreOption changes what [Explore] does.
type ExploreOption func(*exploreConfig)

type exploreConfig struct{ time time.Duration }

// WithTime sets how long a test is explored. The default is 2 seconds. Building the test and heisen, once
// after each change, does not count.
func WithTime(d time.Duration) ExploreOption {
	return func(c *exploreConfig) { c.time = d }
}

const (
	tool = "github.com/heisen-go/heisen/cmd/heisen"

	// inside is in the environment of the executions that Explore has started.
	inside = "HEISENTEST_EXPLORED"

	// margin is left of a test's time for its end, and grace for the end of heisen.
	margin = 5 * time.Second
	grace  = 2 * time.Second

	found = 66 // exit status of heisen if it has found something
)

// Explore runs f, and then the whole test that calls it under many schedules, by heisen fuzz. What heisen
// finds fails the test, with the report and the command that repeats it. Within an execution by heisen,
// Explore just runs f.
//
// If heisen is not a tool of the module, with -short, if f fails, or if too little is left of the time of
// go test, f runs once, and the log says why there is no more. The test must not depend on flags of its
// own or on what other tests leave behind. It should call Explore once; other calls explore it again.
func Explore(t *testing.T, f func(t *testing.T), opts ...ExploreOption) {
	t.Helper()
	f(t)
	if t.Failed() || t.Skipped() || isInside() {
		return
	}
	c := exploreConfig{time: 2 * time.Second}
	for _, o := range opts {
		if o != nil {
			o(&c)
		}
	}
	if why := c.explore(t); why != "" {
		t.Log("heisentest: the test ran under one schedule only: " + why)
	}
}

// isInside reports whether heisen runs the test: Explore has started it, or the binary is one of heisen's,
// which have the build tag race without the flag -race.
func isInside() bool {
	if os.Getenv(inside) != "" {
		return true
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return false
	}
	return hasTag(setting(info, "-tags"), "race") && setting(info, "-race") != "true"
}

func setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

func hasTag(tags, tag string) bool {
	for t := range strings.SplitSeq(tags, ",") {
		if t == tag {
			return true
		}
	}
	return false
}

// explore runs heisen fuzz on the test. If it cannot, it returns why.
func (c *exploreConfig) explore(t *testing.T) (why string) {
	t.Helper()
	if testing.Short() {
		return "-short"
	}
	ctx := t.Context()
	if deadline, ok := t.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-margin))
		defer cancel()
		if left := time.Until(deadline) - 2*margin; left < c.time {
			c.time = left
		}
	}
	if c.time <= 0 {
		return "too little is left of the time of go test (-timeout)"
	}
	heisen, why := findTool(ctx)
	if why != "" {
		return why
	}
	args := []string{"fuzz", "-corpus", "none", "-time", c.time.String(), "-run", pattern(t.Name())}
	if info, ok := debug.ReadBuildInfo(); ok && setting(info, "-tags") != "" {
		args = append(args, "-tags", setting(info, "-tags"))
	}
	out, err := command(ctx, heisen, append(args, ".")...).CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return ""
	case ctx.Err() != nil:
		return "heisen was not ready before the time of go test (-timeout) was over"
	case errors.As(err, &exit) && exit.ExitCode() == found:
		t.Errorf("heisentest: heisen fuzz has found something:\n%s", forTool(string(out)))
		return ""
	default:
		return fmt.Sprintf("heisen fuzz has failed: %v\n%s", err, out)
	}
}

// findTool returns the file of heisen, which the go command builds if it has not yet.
func findTool(ctx context.Context) (file, why string) {
	out, err := command(ctx, "go", "list", "tool").Output()
	if err != nil || !hasLine(out, tool) {
		return "", "heisen is not a tool of this module (go get -tool " + tool + ")"
	}
	var stderr bytes.Buffer
	cmd := command(ctx, "go", "tool", "-n", tool)
	cmd.Stderr = &stderr
	if out, err = cmd.Output(); err != nil {
		return "", fmt.Sprintf("heisen does not build: %v\n%s", err, &stderr)
	}
	return strings.TrimSpace(string(out)), ""
}

func hasLine(text []byte, line string) bool {
	for l := range bytes.Lines(text) {
		if string(bytes.TrimSpace(l)) == line {
			return true
		}
	}
	return false
}

// command returns a command that ends with the context, and knows that Explore runs it.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Cancel = func() error {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			return cmd.Process.Kill()
		}
		return nil
	}
	cmd.WaitDelay = grace
	return cmd
}

// pattern returns the argument of -run that selects just one test.
func pattern(test string) string {
	names := strings.Split(test, "/")
	for i, name := range names {
		names[i] = "^" + regexp.QuoteMeta(name) + "$"
	}
	return strings.Join(names, "/")
}

var commands = regexp.MustCompile(`(?m)^((?:Replay|In full): )(heisen (?:replay|show) )`)

// forTool returns a report with commands for a module that has heisen as a tool.
func forTool(report string) string {
	return commands.ReplaceAllString(report, "${1}go tool ${2}")
}

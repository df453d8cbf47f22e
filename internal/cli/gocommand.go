package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/recorder"
)

// excluded are flags of go test that would undo the instrumentation, run something else than the tests, or
// treat the recorder as part of the program.
var excluded = []string{"race", "msan", "asan", "overlay", "gcflags", "c", "exec", "n", "vet"}

// testFlags describes the flags of go test.
type testFlags struct {
	count  bool // -count is among them
	json   bool // -json is
	linked bool // -ldflags is
}

// goTestCommand returns go test on packages, with the recorder injected.
func (inv *invocation) goTestCommand(packages []string, flags testFlags) (*exec.Cmd, error) {
	// Vet would fail on the packages of the overlay.
	args := []string{"-vet=off"}
	args = append(args, inv.goFlags()...)
	if !flags.count { // a cached result has no events
		args = append(args, "-count=1")
	}
	ctx, stop := inv.interruptible()
	defer stop()
	b, err := build.New(ctx, "", "", inv.pkgs...)
	if err == nil {
		err = inv.hidePackages(ctx, b)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	inv.goCommand = true
	if inv.hidden != nil && !flags.linked { // go test strips symbols by default
		args = append(args, "-ldflags=-s=false")
	}
	args = slices.Concat(args, packages, inv.rest)
	return inv.attach(b.Command(inv.ctx, "test", args...)), nil
}

// checkTestFlags returns an error for excluded flags of go test, and describes the others.
func checkTestFlags(args []string) (flags testFlags, err error) {
	for _, flag := range args {
		if flag == "-args" || flag == "--args" {
			break
		}
		if !strings.HasPrefix(flag, "-") {
			continue
		}
		name, value, _ := strings.Cut(strings.TrimLeft(flag, "-"), "=")
		name = strings.TrimPrefix(name, "test.")
		if slices.Contains(excluded, name) {
			return flags, misuse("the go test flag -%s cannot be combined with heisen", name)
		}
		switch name {
		case "ldflags":
			flags.linked = true
		case "count":
			flags.count = true
		case "json":
			flags.json = value == "" || value == "true" || value == "1"
		}
	}
	return flags, nil
}

// programCommand builds a package, or the files of one. It returns the command that runs the program, and a
// function that removes the program.
func (inv *invocation) programCommand(packages []string) (cmd *exec.Cmd, remove func(), err error) {
	if len(packages) == 0 {
		packages = []string{"."}
	}
	switch {
	case strings.Contains(packages[0], "..."):
		return nil, nil, misuse("%s stands for several packages", packages[0])
	case len(packages) > 1 && !strings.HasSuffix(packages[0], ".go"):
		return nil, nil, misuse("more than one package; arguments of the program come after --")
	}
	dir, err := os.MkdirTemp("", "heisen-run-")
	if err != nil {
		return nil, nil, err
	}
	remove = func() { os.RemoveAll(dir) }
	program := filepath.Join(dir, programName(packages[0]))
	if err := inv.buildProgram(program, packages); err != nil {
		remove()
		return nil, nil, err
	}
	return inv.attach(exec.CommandContext(inv.ctx, program, inv.rest...)), remove, nil
}

func (inv *invocation) buildProgram(program string, packages []string) error {
	done := inv.progress("building", time.Second)
	defer done()
	ctx, stop := inv.interruptible()
	defer stop()
	b, err := build.New(ctx, "", "", inv.pkgs...)
	if err == nil {
		err = inv.hidePackages(ctx, b)
	}
	if err == nil {
		err = b.Build(ctx, "", program, inv.goFlags(), packages...)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	if info, err := os.Stat(program); err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		return fmt.Errorf("%s is not a main package", packages[0])
	}
	return nil
}

// programName returns the name that go build would give the program.
func programName(pkg string) string {
	name := filepath.Base(pkg)
	if abs, err := filepath.Abs(pkg); err == nil && (name == "." || name == "..") {
		name = filepath.Base(abs)
	}
	return strings.TrimSuffix(name, ".go")
}

func (inv *invocation) attach(cmd *exec.Cmd) *exec.Cmd {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inv.In, inv.Out, inv.Err
	return cmd
}

// goFlags returns those of heisen's flags that are passed on to the go command.
func (inv *invocation) goFlags() []string {
	if inv.tags == "" {
		return nil
	}
	return []string{"-tags=" + inv.tags}
}

// hidePackages builds the packages of -hide as hidden ones.
func (inv *invocation) hidePackages(ctx context.Context, b *build.Builder) error {
	if len(inv.hide) == 0 {
		return nil
	}
	hiding, err := b.Hide(ctx, "", inv.goFlags(), inv.hide...)
	if err != nil {
		return err
	}
	inv.hidden = &recorder.Hidden{Packages: hiding.Packages, Limit: inv.limit, Once: inv.once}
	inv.directives = map[string]string{}
	for _, r := range hiding.Reaches {
		inv.directives[r.Variable] = r.At
		inv.hidden.Variables = append(inv.hidden.Variables, r.Variable)
	}
	for _, c := range hiding.Constants {
		inv.directives[c.Variable] = c.At
		inv.hidden.Constants = append(inv.hidden.Constants, c.Variable)
	}
	return nil
}

// patterns is the value of a -pkgs or -hide flag.
type patterns []string

func (p *patterns) String() string { return strings.Join(*p, ",") }

func (p *patterns) Set(list string) error {
	*p = nil
	for _, pattern := range strings.Split(list, ",") {
		if pattern = strings.TrimSpace(pattern); pattern == "" {
			return misuse("an empty pattern")
		}
		*p = append(*p, pattern)
	}
	return nil
}

// buildFlags defines -pkgs, -tags and -hide.
func (inv *invocation) buildFlags() {
	inv.flags.StringVar(&inv.tags, "tags", "", "comma-separated `list` of build tags")
	inv.flags.Var(&inv.pkgs, "pkgs", "record accesses in packages that match one of the `patterns`; \"all\" is\neverything, with the standard library (default: the main module)")
	inv.flags.Var(&inv.hide, "hide", "do not record packages that match one of the `patterns`, but calls of their\nfunctions by other packages, with the objects that the calls may touch")
	inv.flags.BoolVar(&inv.once, "hide.once", false, "follow the pointers of an object only once, and again after the program has written\na pointer there: cheaper, but it misses pointers that only other code writes")
	inv.flags.IntVar(&inv.limit, "hide.limit", recorder.DefaultReach, "a hidden call that may touch more than so `many` objects counts as touching all")
}

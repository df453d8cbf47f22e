package cli

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen/internal/build"
)

var buildCommand = command{
	name: "build", args: "[-o output] [build flags] [packages]",
	short: "build programs that report their races themselves",
	long: `The programs run anywhere, without heisen. They look for races with the detector
fasttrack and print reports on standard error. If one has found a race and ends
with status 0, its exit status is 66. Other detectors need heisen run or heisen
test.

The programs take the options of go build -race from the variable GORACE:

  log_path=file        write reports to file.pid; also stdout, stderr
  exitcode=66          exit status if there are races
  halt_on_error=1      end with the first race
  strip_path_prefix=p  leave out what file names have up to and with p
  atexit_sleep_ms=1000 limit on the time for goroutines that can still run at the
                       end; nothing is waited for if there are none
  history_size=1       accepted without effect: no stack is forgotten

The flags and arguments of heisen build are those of go build, and so is what it
writes.
`,
}

func init() { buildCommand.run = (*invocation).build }

// Flags of go build that are passed on.
var (
	buildSwitches = []string{"a", "cover", "linkshared", "modcacherw", "trimpath", "v", "work", "x"}
	buildValues   = []string{"asmflags", "buildmode", "buildvcs", "compiler", "covermode", "coverpkg", "gccgoflags", "installsuffix",
		"ldflags", "mod", "modfile", "p", "pgo", "pkgdir", "tags", "toolexec"}
)

// buildRefused are flags of go build that would undo the instrumentation.
var buildRefused = []string{"race", "msan", "asan", "overlay", "gcflags"}

// build is heisen build.
func (inv *invocation) build() (int, error) {
	var args []string
	pass := func(name string) func(string) error {
		return func(value string) error {
			args = append(args, "-"+name+"="+value)
			return nil
		}
	}
	for _, name := range buildSwitches {
		inv.flags.BoolFunc(name, "of go build", pass(name))
	}
	for _, name := range buildValues {
		inv.flags.Func(name, "of go build: a `value`", pass(name))
	}
	dir := inv.flags.String("C", "", "change to `folder` first")
	inv.flags.Func("o", "write the program to this `file`, or the programs to this folder", pass("o"))
	inv.flags.Var(&inv.pkgs, "pkgs", "look for races in packages that match one of the `patterns`; \"all\" is\neverything, with the standard library (default: the main module)")
	detect := inv.flags.String("detect", fasttrackName, "the `detector`; there is only this one")
	for _, arg := range inv.args {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && slices.Contains(buildRefused, name) {
			return Misused, misuse("the go build flag -%s cannot be combined with heisen", name)
		}
	}
	if err := inv.parse(); err != nil {
		return Misused, err
	}
	if *detect != fasttrackName {
		return Misused, misuse("-detect %s: without heisen a program can only do the work of %s; use heisen run or heisen test for other detectors", *detect, fasttrackName)
	}
	return inv.goBuild(*dir, slices.Concat(args, inv.args, inv.rest))
}

// goBuild runs go build in a folder. What it prints comes at its end, since progress is shown meanwhile.
func (inv *invocation) goBuild(dir string, args []string) (int, error) {
	var printed bytes.Buffer
	status, err := func() (int, error) {
		defer inv.progress("building", time.Second)()
		b, err := build.New(inv.ctx, dir, "", inv.pkgs...)
		if err != nil {
			return Failed, err
		}
		cmd := b.Command(inv.ctx, "build", args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &printed, &printed
		return runAndWait(cmd)
	}()
	inv.Err.Write(printed.Bytes())
	return status, err
}

package cli

import (
	"bytes"
	"errors"
	"os/exec"
	"slices"
	"time"
)

var buildCommand = command{
	name: "build", args: "[-o output] [build flags] [packages]",
	short: "build programs that report their races themselves",
	long: `The programs run anywhere, without $heisen. They look for races with the detector
fasttrack and print reports on standard error. If one has found a race and ends
with status 0, its exit status is 66. Other detectors, leak among them, need
$heisen run or $heisen test.

The programs take the options of go build -race from the variable GORACE:

  log_path=file        write reports to file.pid; also stdout, stderr
  exitcode=66          exit status if there are races
  halt_on_error=1      end with the first race
  strip_path_prefix=p  leave out what file names have up to and with p
  atexit_sleep_ms=1000 limit on the time for goroutines that can still run at
                       the end; nothing is waited for if there are none
  history_size=1       accepted without effect: no stack is forgotten

The flags and arguments of $heisen build are those of go build, and so is what it
writes.
`,
	run: (*invocation).build,
}

// build is heisen build.
func (inv *invocation) build() (int, error) {
	inv.pkgsFlag()
	inv.focusFlag()
	detect := inv.flags.String("detect", fasttrackName, "the `detector`; there is only this one")
	if err := inv.buildLine(); err != nil {
		return Misused, err
	}
	if *detect != fasttrackName {
		return Misused, misuse("-detect %s: without %s a program can only do the work of %s; use %[2]s run or %[2]s test for other detectors", *detect, inv.tool.Name, fasttrackName)
	}
	return inv.goBuild()
}

// goBuild runs the go build of inv.line. What it prints comes at its end, since progress is shown
// meanwhile.
func (inv *invocation) goBuild() (int, error) {
	var printed bytes.Buffer
	status, err := func() (int, error) {
		defer inv.progress("building", time.Second)()
		ctx, stop := inv.interruptible()
		defer stop()
		b, err := inv.newBuilder(ctx)
		if err != nil {
			return Failed, err
		}
		args := slices.Concat(inv.line.tagFlags(), texts(inv.line.goFlags(handled...)), inv.line.packages())
		cmd := b.Command(ctx, "build", args...)
		cmd.Stdout, cmd.Stderr = &printed, &printed
		err = cmd.Run()
		var failed *exec.ExitError
		switch {
		case ctx.Err() != nil:
			return Failed, ctx.Err()
		case errors.As(err, &failed): // it has printed why
			return failed.ExitCode(), nil
		case err != nil:
			return Failed, err
		}
		return Clean, nil
	}()
	inv.Err.Write(printed.Bytes())
	return status, err
}

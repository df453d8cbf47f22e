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

With -heal, programs do not look for races, but suppress known ones. The file has
the findings of earlier runs, as -report json writes them, or atomic sections.
Goroutines are kept apart at accesses to their variables, to the end of the
section. That causes no deadlock: a goroutine waits for a bounded time, and no
longer than others synchronize.

With -field, a program is built for production: without instrumentation, with a
part that stops a goroutine now and then for a moment before it accesses a
variable. If another goroutine comes to access the variable meanwhile, and one of
the two writes, that is a race. It is printed on standard error, and the program
goes on. The variable HEISEN_FIELD=off switches it off. See docs/test-and-run.md.

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
	keep := &atomraceFlags{}
	inv.flags.StringVar(&keep.heal, "heal", "", "the program keeps goroutines apart at accesses to the variables of the findings or\nsections in `file`, wherever it runs, and looks for no races")
	inv.flags.StringVar(&keep.sections, "sections", "", "with -heal and findings: the atomic sections in `file`, instead of inferred ones;\nnone: no sections")
	field := inv.fieldFlags()
	if err := inv.buildLine(); err != nil {
		return Misused, err
	}
	if err := field.check(inv); err != nil {
		return Misused, err
	}
	switch {
	case field.on:
		return field.write(inv)
	case *detect != fasttrackName:
		return Misused, misuse("-detect %s: without %s a program can only do the work of %s; use %[2]s run or %[2]s test for other detectors", *detect, inv.tool.Name, fasttrackName)
	case keep.heal != "" && inv.plan != "":
		return Misused, errFocusHeal
	case keep.heal == "" && keep.sections != "":
		return Misused, misuse("-sections is for programs that heal: -heal file")
	case keep.heal == healAuto:
		return Misused, misuse("-heal auto needs a detector: use %s run or %[1]s test, and build with what it finds", inv.tool.Name)
	}
	inv.unchecked = keep.heal != "" // the program runs as it does without heisen
	return inv.goBuild(keep)
}

// goBuild runs the go build of inv.line. The program heals if keep says so. What go build prints comes at its end, since
// progress is shown meanwhile.
func (inv *invocation) goBuild(keep *atomraceFlags) (int, error) {
	ctx, stop := inv.interruptible()
	defer stop()
	done := inv.progress("preparing", time.Second)
	inv.standsAlone = true
	b, err := inv.newBuilder(ctx)
	done()
	if err != nil {
		return Failed, err
	}
	if keep.heal != "" {
		flag, err := keep.healingFlag(ctx, inv, b)
		if err != nil {
			return Failed, err
		}
		b.AddLinkerFlags(flag)
	}
	args := slices.Concat(inv.line.tagFlags(), texts(inv.line.goFlags(handled...)), inv.line.packages())
	cmd := b.Command(ctx, "build", args...)
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	built := inv.building()
	err = cmd.Run()
	built(err == nil)
	inv.Err.Write(printed.Bytes())
	adviseOnStack(inv.Err, inv.tool.Name+" build", printed.String())
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
}

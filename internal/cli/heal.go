package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen/internal/patch"
	"github.com/heisen-go/heisen/report"
)

var healCommand = command{
	name: "heal", args: "-patch|-profile f|-enforce f [flags] [test|run] [arguments]",
	short: "repair races by a patch, or enforce what passing runs show",
	intro: `$heisen heal -patch runs tests as $heisen test does, or a program after run, and prints
a diff with locks for data races and violated atomic sections. It changes no files.

$heisen heal -profile profiles passing runs, and -enforce writes an overlay with
locks that keep all runs as atomic.

`,
	first: []brief{
		{"patch", "print a patch for what the tests show"},
		{"profile", "add what passing runs show to a file"},
		{"seed", "profile a run in which goroutines take turns"},
		{"enforce", "write an overlay with locks for such a profile"},
		{"into", "the folder of the overlay"},
		{"try", "false: print a patch that was not tried"},
		{"findings", "repair the findings in a file or trace, or fingerprints"},
		{"detect", "detectors, such as fasttrack and atomrace"},
		{"sections", "check the atomic sections in a file"},
		{"pkgs", "record only these packages; work: the main module"},
	},
	long: `$heisen heal -patch runs tests as $heisen test does, or a program after the word run,
or takes the findings of -findings: a file that -report json has written, a recorded
trace, or fingerprints of what was reported before, as $heisen show takes them. For each variable with a data race, or with a
violated atomic section, it puts a lock around the accesses that lack one: the mutex
that other accesses hold, or a new one beside the variable. It prints the changes on
standard output, as a diff that git apply takes in the module's folder, and changes
no files. Reports and messages go to standard error.

A lock is held around no operation that may wait, such as those on channels, input
and output, and the locks that are added cannot deadlock with each other and with
those of the module, as far as its source shows. What a function reads, and then
writes because of it, stays in one critical section. Where anything in a section may
panic, the lock is given back by defer. A finding that cannot be repaired in this way
is named with its place and the reason. The exit status is 0 if everything that was
found is repaired, and 66 if a finding is left.

Before a patch is printed, it is tried: the module is built with it, the tests or the
program run again, and the tests that come to what is changed run under other
schedules, as $heisen fuzz does. A repair that does not pass is not printed, and the
reason is said. That takes about twice the time of the tests, and up to 10 seconds for
each repair; if something fails, each repair is tried by itself. -try=false tries
nothing.

All accesses in the module count. Those of other modules to its exported variables
do not.

$heisen heal -profile file runs tests, or a program after the word run, and finds
pairs of accesses to a variable that no other goroutine came between although no
lock keeps it out. It adds them to the file, so that several runs make one profile:
what was least atomic counts. Programs that fail are not profiled. An access is recorded
shortly before it happens, so another one may seem to have come in between. With
-seed this does not happen: goroutines take turns, which change at operations on
locks, channels and atomic variables.

$heisen heal -enforce file runs nothing. It writes copies of source files to the
folder -into, with locks that keep these pairs atomic in all runs and cannot
deadlock, and prints the name of a file for the go command's flag -overlay:

  $heisen heal -profile passing.profile ./...
  go test -overlay $$($heisen heal -enforce passing.profile) ./...

The files of the module stay as they are. Locks are held for single statements and
paths between them. Around operations that may wait for another goroutine they are
given up if somebody wants them; such waits between the two accesses of a pair are
named. A variable that cannot be protected is named with its place and the reason,
and so is a function that has changed since the profile was made; the exit status
is 66 if anything is named, and the rest works.
`,
	run: (*invocation).heal,
}

// heal is heisen heal.
func (inv *invocation) heal() (int, error) {
	inv.buildFlags()
	watch := &observation{
		limits: inv.liveAllowanceFlag(),
		detect: inv.detectFlag(), filter: inv.filterFlag(true), known: inv.baselineFlags(),
		overlaps: inv.atomraceFlags(), reports: &reports{tool: inv.tool.Name},
	}
	want := inv.flags.Bool("patch", false, "print a patch for the source, as a unified diff")
	try := inv.flags.Bool("try", true, "with -patch, build and run the patched module before the patch is printed; false prints what was\nnot tried")
	file := inv.flags.String("findings", "", "repair the findings in `file`: what -report json has written, or a recorded trace; or those\nwith the fingerprints in a comma-separated list that were reported before")
	profile := inv.flags.String("profile", "", "profile passing runs, and add what they show to the profile in `file`")
	enforced := inv.flags.String("enforce", "", "write an overlay that keeps atomic what the profile in `file` says, and run nothing")
	seed := inv.flags.Uint64("seed", 0, "with -profile, let one goroutine run at a time, and choose it at random by the seed `n`;\n0 lets them run freely")
	folder := inv.flags.String("into", "healed", "the `folder` for the overlay of -enforce")
	if err := inv.verbLine(true); err != nil {
		return Misused, err
	}
	switch chosen := count(*want, *profile != "", *enforced != ""); {
	case chosen == 0:
		return Misused, misuse("want -patch, -profile file or -enforce file")
	case chosen > 1:
		return Misused, misuse("-patch, -profile and -enforce exclude each other")
	case *profile != "" && inv.line.isTrue("c"):
		return Misused, misuse("with -c nothing runs, so nothing would be profiled")
	case *profile != "":
		return inv.profilePassing(*profile, *seed)
	case *seed != 0:
		return Misused, misuse("-seed is for -profile")
	case *enforced != "":
		return inv.enforceProfile(*enforced, *folder)
	}
	if value, given := inv.line.value("json"); given && value != "false" {
		return Misused, misuse("-json: standard output has the patch")
	}
	var found []report.Finding
	var err error
	began := time.Now()
	if *file != "" {
		found, err = inv.findingsOf(*file)
	} else {
		found, err = inv.findingsOfRun(watch)
	}
	if err != nil {
		return Failed, err
	}
	if len(found) == 0 && *file == "" {
		fmt.Fprintf(inv.Err, "%s: this run has found nothing to repair; -findings takes what was found before\n", inv.tool.Name)
	}
	return inv.printPatch(found, *try, *file != "", time.Since(began))
}

// findingsOf returns the findings in a file, or those in a trace.
func (inv *invocation) findingsOf(file string) ([]report.Finding, error) {
	found, wrong := findingsIn(file)
	if wrong == nil {
		return found, nil
	}
	var out, said bytes.Buffer
	streams := Streams{In: strings.NewReader(""), Out: &out, Err: &said}
	if status := inv.subcommand(inv.ctx, []string{"analyze", "-report", "json", file}, streams); status != Clean && status != Findings {
		return nil, wrong // it is no trace either
	}
	for line := range bytes.Lines(out.Bytes()) {
		var f report.Finding
		if err := json.Unmarshal(line, &f); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		found = append(found, f)
	}
	return found, nil
}

// findingsOfRun runs the tests or the program of the command line. What they print goes to standard error.
func (inv *invocation) findingsOfRun(watch *observation) ([]report.Finding, error) {
	if err := watch.overlaps.inferSections(inv, watch.detect); err != nil {
		return nil, err
	}
	if err := watch.prepare(inv); err != nil {
		return nil, err
	}
	defer inv.holdSignals()()
	cmd, remove, err := inv.goCommand()
	if err != nil {
		return nil, err
	}
	defer remove()
	cmd.Stdout = inv.raw.Err
	status, err := watch.run(inv, cmd)
	if err != nil {
		return nil, err
	}
	found, _ := watch.found.all()
	if status != Clean && status != Findings && inv.line.verb == "test" {
		return nil, fmt.Errorf("the tests ended with exit status %d", status)
	}
	if len(found) == 0 && inv.line.verb == "test" {
		if tested, err := inv.hasTests(); err == nil && !tested {
			return nil, fmt.Errorf("no package has tests: %s heal -patch run repairs what a program shows", inv.tool.Name)
		}
	}
	return found, nil
}

// hasTests reports whether a package of the command line has tests.
func (inv *invocation) hasTests() (bool, error) {
	args := append([]string{"list", "-f", "{{len .TestGoFiles}}{{len .XTestGoFiles}}"}, inv.line.listFlags()...)
	out, err := exec.CommandContext(inv.ctx, "go", append(args, inv.line.packages()...)...).Output()
	return strings.Trim(string(out), "0\r\n") != "", err
}

// printPatch prints the patch for findings, and what it does not repair. Unless try is false, the patch passes its trial first. given
// says that nothing has run: took is then no measure of the tests.
func (inv *invocation) printPatch(all []report.Finding, try, given bool, took time.Duration) (int, error) {
	var found []report.Finding // each pair of accesses needs its repair
	for i := range all {
		found = append(found, all[i].EachPair()...)
	}
	done := inv.progress("repairing", time.Second)
	ctx, stop := inv.interruptible()
	defer stop()
	root, err := patchedModule(ctx)
	var result *patch.Result
	if overlay, given := inv.line.value("overlay"); given && overlay != "" {
		return Misused, misuse("-overlay: a patch is for the files of the module")
	}
	switch {
	case err != nil:
	case try:
		result, err = inv.tried(ctx, root, found, given, took)
	default:
		result, err = patch.Make(ctx, root, inv.line.tags(), found)
	}
	done()
	if err != nil {
		return Failed, err
	}
	if err := result.WriteDiff(inv.Out); err != nil {
		return Failed, err
	}
	here, err := absolute(".")
	if err != nil {
		return Failed, err
	}
	for _, line := range slices.Concat(result.Repaired, result.Notes) {
		fmt.Fprintf(inv.Err, "%s: %s\n", inv.tool.Name, line)
	}
	for _, r := range result.Refused {
		if r.File != "" {
			r.File = relative(here, r.File)
		}
		fmt.Fprintf(inv.Err, "%s: %v\n", inv.tool.Name, r)
	}
	if result.Changed() > 0 {
		if !try {
			fmt.Fprintf(inv.Err, "%s: nothing was tried\n", inv.tool.Name)
		}
		if here != root {
			fmt.Fprintf(inv.Err, "%s: apply the patch in %s\n", inv.tool.Name, root)
		}
	}
	if len(result.Refused) > 0 {
		return Findings, nil
	}
	return Clean, nil
}

// tried makes a patch that has passed its trial.
func (inv *invocation) tried(ctx context.Context, root string, found []report.Finding, given bool, took time.Duration) (*patch.Result, error) {
	t, remove, err := inv.newTrial(root, found, took)
	if err != nil {
		return nil, err
	}
	defer remove()
	t.all, t.given = given && len(inv.line.packages()) == 0, given
	return t.repair(ctx)
}

// patchedModule returns the folder of the module that a patch is for: in a workspace, the one that the working directory is in.
func patchedModule(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	file := strings.TrimSpace(string(out))
	if file == "" || file == os.DevNull || filepath.Base(file) != "go.mod" {
		return moduleRoot(ctx)
	}
	return absolute(filepath.Dir(file))
}

// moduleRoot returns the folder of the main module.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the main module: %w", err)
	}
	all := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(all) != 1 || all[0] == "" {
		return "", errors.New("heal needs one main module: set GOWORK=off in a workspace")
	}
	return absolute(all[0])
}

// count returns how many of the conditions hold.
func count(conditions ...bool) (n int) {
	for _, c := range conditions {
		if c {
			n++
		}
	}
	return n
}

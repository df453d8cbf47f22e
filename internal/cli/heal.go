package cli

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/heisen-go/heisen/internal/patch"
	"github.com/heisen-go/heisen/report"
)

var healCommand = command{
	name: "heal", args: "-patch [flags] [packages] [flags] [-args arguments]",
	short: "repair the races in tests by a patch that adds locks",
	intro: `$heisen heal -patch runs tests as $heisen test does. For each variable with a data
race, or with a violated atomic section, it puts a lock around the accesses that
lack one. It prints the changes on standard output, as a diff that git apply takes,
and changes no files.

`,
	first: []brief{
		{"patch", "print a patch; there is no other output yet"},
		{"findings", "repair the findings in a file, and run nothing"},
		{"detect", "detectors, such as fasttrack and atomrace"},
		{"sections", "check the atomic sections in a file"},
		{"noise", "where atomrace delays goroutines, to see more"},
		{"noise-strength", "how often, from 0 to 1000"},
		{"pkgs", "record only these packages; work: the main module"},
		{"hide", "do not record these packages, only calls into them"},
		{"baseline", "do not repair the findings in a file"},
		{"suppress", "do not repair findings that lines of a file match"},
	},
	long: `$heisen heal -patch runs tests as $heisen test does, or takes the findings of -findings,
a file that -report json has written. For each variable with a data race, or with a
violated atomic section, it puts a lock around the accesses that lack one: the mutex
that other accesses hold, or a new one beside the variable. It prints the changes on
standard output, as a diff that git apply takes in the module's folder, and changes
no files. Reports and messages go to standard error.

A lock is held around no operation that may wait, such as those on channels, input
and output, and the locks that are added cannot deadlock with each other and with
those of the module. The locks of the module stay where they are. A finding that
cannot be repaired in this way is named with its place and the reason, and the exit
status is then 66.

All accesses in the module count. Those of other modules to its exported variables
do not.
`,
	run: (*invocation).heal,
}

// heal is heisen heal.
func (inv *invocation) heal() (int, error) {
	inv.buildFlags()
	watch := &observation{
		detect: inv.detectFlag(), filter: inv.filterFlag(true), known: inv.baselineFlags(),
		overlaps: inv.atomraceFlags(), reports: &reports{tool: inv.tool.Name},
	}
	want := inv.flags.Bool("patch", false, "print a patch for the source, as a unified diff")
	file := inv.flags.String("findings", "", "repair the findings in `file`, which -report json has written, and run nothing")
	if err := inv.testLine(); err != nil {
		return Misused, err
	}
	if !*want {
		return Misused, misuse("want -patch")
	}
	if value, given := inv.line.value("json"); given && value != "false" {
		return Misused, misuse("-json: standard output has the patch")
	}
	var found []report.Finding
	var err error
	if *file != "" {
		found, err = findingsIn(*file)
	} else {
		found, err = inv.findingsOfTests(watch)
	}
	if err != nil {
		return Failed, err
	}
	return inv.printPatch(found)
}

// findingsOfTests runs the tests of the command line. What they print goes to standard error.
func (inv *invocation) findingsOfTests(watch *observation) ([]report.Finding, error) {
	if err := watch.overlaps.inferSections(inv, watch.detect); err != nil {
		return nil, err
	}
	if err := watch.prepare(inv); err != nil {
		return nil, err
	}
	defer inv.holdSignals()()
	cmd, err := inv.goTestCommand()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = inv.raw.Err
	status, err := watch.run(inv, cmd)
	if err != nil {
		return nil, err
	}
	found, _ := watch.found.all()
	if status != Clean && status != Findings {
		return nil, fmt.Errorf("the tests ended with exit status %d", status)
	}
	return found, nil
}

// printPatch prints the patch for findings, and what it does not repair.
func (inv *invocation) printPatch(found []report.Finding) (int, error) {
	done := inv.progress("repairing", time.Second)
	ctx, stop := inv.interruptible()
	defer stop()
	root, err := moduleRoot(ctx)
	var result *patch.Result
	if err == nil {
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
	for _, line := range result.Repaired {
		fmt.Fprintf(inv.Err, "%s: %s\n", inv.tool.Name, line)
	}
	for _, r := range result.Refused {
		if r.File != "" {
			r.File = relative(here, r.File)
		}
		fmt.Fprintf(inv.Err, "%s: %v\n", inv.tool.Name, r)
	}
	if result.Changed() > 0 && here != root {
		fmt.Fprintf(inv.Err, "%s: apply the patch in %s\n", inv.tool.Name, root)
	}
	if len(result.Refused) > 0 {
		return Findings, nil
	}
	return Clean, nil
}

// moduleRoot returns the folder of the main module.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the main module: %w", err)
	}
	all := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(all) != 1 || all[0] == "" {
		return "", errors.New("-patch needs one main module: set GOWORK=off in a workspace")
	}
	return absolute(all[0])
}

package cli

import "github.com/heisen-go/heisen/internal/recorder"

var testCommand = command{
	name: "test", args: "[flags] [packages] [flags] [-args arguments]",
	short: "run tests and report the races in them",
	intro: `The command line is that of go test. Its flags (go help testflag, go help build)
work except -race and the like, and so do these, in any place:

`,
	first: []brief{
		{"detect", "detectors, such as fasttrack, leak and lockorder"},
		{"predict", "predict bugs in other schedules, and try these"},
		{"schedules", "where -predict writes schedules for $heisen replay"},
		{"report", briefReport},
		{"baseline", "do not report the findings in a file"},
		{"write-baseline", "write a file for -baseline"},
		{"suppress", "do not report findings that lines of a file match"},
		{"pkgs", "record only these packages; work: the main module"},
		{"hide", "do not record these packages, only calls into them"},
		{"sections", "check the atomic sections in a file"},
	},
	long: `The command line is that of go test: flags and packages, then flags of the tests'
own and arguments. $heisen's flags stand wherever those of go test may stand. Where
both have a flag of the same name, it is that of go test. The first -- ends
$heisen's flags. -vet has no effect. With -c nothing runs.

With -detect atomrace and without -sections, $heisen infers the atomic sections
of the tested packages, see $heisen sections -h. -sections none checks none.

The tests run under go test, with the recorder in the test binaries. A finding
fails them. A report names the tests whose goroutines made the accesses. The
detector leak looks for goroutines that wait for ever at the end of each test,
for those that the test has started, and at the end of the program.

Results of tests that pass are reused as those of go test are, if no detector
needs the events of the program, and without -noise. -count=1 runs them again.

With -predict, $heisen also reports bugs that other orders of the same events
show. It runs the tests again, one goroutine at a time, predicts from these runs,
and follows the predicted orders. $heisen replay repeats these executions.

With -json, the output is that of go test -json with the reports between its
lines, as output of the test to which they belong, or of the package if it is
over. With -report json, too, each finding is one such line at the end, in a
field called Finding.
` + baselineHelp,
	run: (*invocation).test,
}

// test is heisen test. It runs the tests under go test. Each test binary sends its events to
// heisen.
func (inv *invocation) test() (int, error) {
	watch := inv.watchFlags()
	predict := inv.flags.Bool("predict", false, "add the detectors mcm and syncp, which predict bugs in other schedules of the\nsame tests, and execute the tests under the predicted schedules")
	causal := inv.causalityFlag()
	folder := inv.flags.String("schedules", schedulesFolder, "write the schedules of -predict to `folder`")
	if err := inv.testLine(); err != nil {
		return Misused, err
	}
	var err error
	if watch.causality, err = causality(*causal); err != nil {
		return Misused, err
	}
	if *predict {
		watch.detect.add(mcmName)
		watch.detect.add(syncpName)
		watch.predictions = newFindings(inv.resolver, nil, watch.known)
		watch.folder = *folder
	}
	if err := watch.overlaps.inferSections(inv, watch.detect); err != nil {
		return Failed, err
	}
	if err := watch.prepare(inv); err != nil {
		return Failed, err
	}
	defer inv.holdSignals()()
	if watch.filter.mode(watch.detect)&recorder.FindingsOnly != 0 && watch.live == nil && !*predict && watch.known.newBaselineFile == "" && !inv.unconnected {
		inv.passes = inv.reusePasses()
	}
	cmd, err := inv.goTestCommand()
	if err != nil {
		return Failed, err
	}
	said := &firstLines{to: inv.raw.Err}
	cmd.Stderr, cmd.WaitDelay = said, grace
	defer func() { adviseOnStack(inv.Err, inv.tool.Name+" test", string(said.kept)) }()
	if inv.events {
		if err := watch.reports.fitsEvents(); err != nil {
			return Misused, err
		}
		watch.events = &testEvents{name: inv.tool.Name, w: inv.raw.Out}
		cmd.Stdout = watch.events
	}
	return watch.run(inv, cmd)
}

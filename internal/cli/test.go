package cli

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

With -predict, $heisen also reports bugs that other orders of the same events
show. It runs the packages with such predictions again, one goroutine at a time,
and follows the predicted orders. $heisen replay repeats these executions.

With -json, the output is that of go test -json with the reports between its
lines, as output of the package. With -report json, too, each finding is one such
line, in a field called Finding.
` + baselineHelp,
	run: (*invocation).test,
}

// test is heisen test. It runs the tests under go test. Each test binary sends its events to
// heisen.
func (inv *invocation) test() (int, error) {
	watch := inv.watchFlags()
	predict := inv.flags.Bool("predict", false, "add the detector mcm, which predicts bugs in other schedules of the same tests,\nand execute the tests under the predicted schedules")
	folder := inv.flags.String("schedules", schedulesFolder, "write the schedules of -predict to `folder`")
	if err := inv.testLine(); err != nil {
		return Misused, err
	}
	if *predict {
		watch.detect.add(mcmName)
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

package cli

var testCommand = command{
	name: "test", args: "[packages] [-- test flags]",
	short: "run tests and report the races in them",
	long: `The tests run under go test, with the recorder in the test binaries. A finding
fails them. A report names the tests whose goroutines made the accesses.

With -predict, heisen also reports bugs that other orders of the same events
show. It runs the packages with such predictions again, one goroutine at a time,
and follows the predicted orders. heisen replay repeats these executions.

With -json among the test flags, the output is that of go test -json with the
reports between its lines, as output of the package. If heisen's own -json is
given too, each finding is one such line, in a field called Finding.
` + baselineHelp,
	run: (*invocation).test,
}

// test is heisen test. It runs the tests under go test. Each test binary sends its events to heisen.
func (inv *invocation) test() (int, error) {
	watch := inv.watchFlags()
	predict := inv.flags.Bool("predict", false, "add the detector mcm, which predicts bugs in other schedules of the same tests,\nand execute the tests under the predicted schedules")
	folder := inv.flags.String("o", schedulesFolder, "write the schedules of -predict to `folder`")
	if err := inv.parse(); err != nil {
		return Misused, err
	}
	if *predict {
		watch.detect.add(mcmName)
		watch.predictions = newFindings(inv.resolver, nil, watch.known)
		watch.folder = *folder
	}
	if err := watch.prepare(inv); err != nil {
		return Failed, err
	}
	flags, err := checkTestFlags(inv.rest)
	if err != nil {
		return Misused, err
	}
	defer inv.holdSignals()()
	cmd, err := inv.goTestCommand(inv.args, flags)
	if err != nil {
		return Failed, err
	}
	if flags.json {
		watch.events = &testEvents{w: inv.Out}
		cmd.Stdout, cmd.WaitDelay = watch.events, grace
	}
	return watch.run(inv, cmd)
}

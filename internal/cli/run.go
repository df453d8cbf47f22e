package cli

var runCommand = command{
	name: "run", args: "[package | files] [-- arguments]",
	short: "run a program and report the races in it",
	long: `heisen reports races on standard error while the program runs.
` + baselineHelp,
	run: (*invocation).runProgram,
}

// runProgram is heisen run.
func (inv *invocation) runProgram() (int, error) {
	watch := inv.watchFlags()
	if err := inv.parse(); err != nil {
		return Misused, err
	}
	if err := watch.prepare(inv); err != nil {
		return Failed, err
	}
	defer inv.holdSignals()()
	cmd, remove, err := inv.programCommand(inv.args)
	if err != nil {
		return Failed, err
	}
	defer remove()
	return watch.run(inv, cmd)
}

package cli

var runCommand = command{
	name: "run", args: "[flags] [package | files] [arguments]",
	short: "run a program and report the races in it",
	intro: `The command line is that of go run. Its flags (go help run, go help build) work
except -race and the like, and so do these, in front of the package:

`,
	first: []brief{
		{"detect", "detectors, such as fasttrack, leak and lockorder"},
		{"report", briefReport},
		{"baseline", "do not report the findings in a file"},
		{"write-baseline", "write a file for -baseline"},
		{"suppress", "do not report findings that lines of a file match"},
		{"pkgs", "record only these packages; work: the main module"},
		{"hide", "do not record these packages, only calls into them"},
		{"sections", "check the atomic sections in a file"},
		{"noise", "random: make goroutines wait, for -detect atomrace"},
		{"filter", "none: record redundant accesses, too"},
	},
	long: `The command line is that of go run: flags, a package or files of one ("." without
them), and arguments of the program. The flags of go run, among them those of go
build, stand in front of the package. A first argument -- is left out. Where both
have a flag of the same name, it is that of go run.

$heisen reports races on standard error while the program runs. The detector leak
looks for goroutines that wait for ever before the program ends, whatever ends it,
and at SIGQUIT, after which the program goes on.
` + baselineHelp,
	run: (*invocation).runProgram,
}

// runProgram is heisen run.
func (inv *invocation) runProgram() (int, error) {
	watch := inv.watchFlags()
	field := inv.fieldFlags()
	if err := inv.runLine(); err != nil {
		return Misused, err
	}
	if err := field.check(inv); err != nil {
		return Misused, err
	}
	if field.on {
		return field.runProgram(inv)
	}
	if watch.overlaps.heal == healAuto { // single accesses apart do not make n++ one step
		if err := watch.overlaps.inferSections(inv, watch.detect); err != nil {
			return Failed, err
		}
	}
	if err := watch.prepare(inv); err != nil {
		return Failed, err
	}
	defer inv.holdSignals()()
	cmd, remove, err := inv.programCommand()
	if err != nil {
		return Failed, err
	}
	defer remove()
	return watch.run(inv, cmd)
}

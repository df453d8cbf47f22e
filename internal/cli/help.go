package cli

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

// commands returns the subcommands, in the order of the help text. Each is in the file of its name.
func commands() []command {
	return []command{
		testCommand,
		runCommand,
		buildCommand,
		fuzzCommand,
		replayCommand,
		recordCommand,
		analyzeCommand,
		traceCommand,
		sectionsCommand,
		versionCommand,
	}
}

// baselineHelp is about the flags of knownFlags.
const baselineHelp = `
A baseline is a file of findings, as -json prints them. Findings with the same
fingerprints are neither reported nor counted. A suppressions file has lines like

  package example.com/old/...   # why
  function main.(*cache).get    # why
  variable c.hits               # why

for findings with an access in the package, in the function or a function literal
within it, or to the variable. The reason after the number sign is mandatory.
`

func (t Tool) usage(w io.Writer) {
	fmt.Fprintf(w, "%s finds concurrency bugs in Go programs.\n\nusage: %[1]s <command> [flags] [arguments]\n\ncommands:\n", t.Name)
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-9s %s\n", c.name, c.short)
	}
	fmt.Fprintf(w, "\nFor more about a command, run %s help <command>.\n", t.Name)
}

// help prints the help text of a subcommand. Its flags have been defined.
func (c command) help(inv *invocation) {
	fmt.Fprintf(inv.Out, "usage: %s\n\n%s.\n", strings.TrimSpace(inv.tool.Name+" "+c.name+" "+c.args), strings.ToUpper(c.short[:1])+c.short[1:])
	if c.long != "" {
		fmt.Fprintf(inv.Out, "\n%s", c.long)
	}
	defined := false
	inv.flags.VisitAll(func(*flag.Flag) { defined = true })
	if defined {
		fmt.Fprint(inv.Out, "\nflags:\n")
		inv.flags.SetOutput(inv.Out)
		inv.flags.PrintDefaults()
	}
	if f := inv.flags.Lookup("detect"); f != nil && c.name != buildCommand.name {
		fmt.Fprint(inv.Out, "\ndetectors:\n")
		for _, d := range inv.tool.detectors() {
			fmt.Fprintf(inv.Out, "  %-10s %s\n", d.Name, d.Promise)
		}
	}
	fmt.Fprint(inv.Out, `
exit status: 0 nothing found, 66 findings of any kind, 2 wrong usage, 1 any other
error, even after findings. If the program fails, its own status is passed on.
`)
}

package cli

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

func commands() []command {
	return []command{
		{
			name: "test", args: "[packages] [-- test flags]",
			short: "run tests and report the races in them",
			long: `The tests run under go test with the recorder inside. A race that is found
fails them, and names the tests whose goroutines made the accesses.

With -predict, what other orders of the same events would show is found too. The
packages in which there is something run again, one goroutine at a time, and the
orders that are predicted are followed; heisen replay repeats what comes of it.

With -json among the test flags the output is that of go test -json, and what
is found stands between its lines, as output of the package; with heisen's -json
too, each finding is such a line, with the finding in its field Finding.
` + knownHelp,
			run: (*invocation).test,
		},
		{
			name: "run", args: "[package | files] [-- arguments]",
			short: "run a program and report the races in it",
			long: `Races are reported as they are found, on standard error.
` + knownHelp,
			run: (*invocation).runProgram,
		},
		{
			name: "fuzz", args: "[test | run] [packages] [-- test flags | arguments]",
			short: "make suspected bugs happen, and see whether they do harm",
			long: `Programs run with one goroutine at a time. First each runs a few times, and what may
race in another schedule, or deadlock, or come into an atomic section of -sections, is
suspected. Then each suspect is tried under several seeds: a goroutine that comes
to one of its places is kept back until another comes to the other place with a
conflicting access to the same memory; one of the two goes first, by chance. What
is reported has happened, together with how the program took it, and a schedule
that heisen replay does again. The seed decides about select, the order of
maps and random numbers too, and time is virtual: it jumps to the next timer
when nothing else can go on.

Suspects and seeds are independent of each other. With -shard and -seeds several
machines share the work: the suspects are the same everywhere. With -merge, what their
-json has written is put together.

Flags after -- are for the tests, or arguments of the program; of go test's flags
those are allowed that concern a single execution.
` + knownHelp,
			run: (*invocation).fuzz,
		},
		{
			name: "replay", args: "file.schedule",
			short: "do the execution of a schedule again",
			long: `The program is built from the sources as they are, in the folder in which heisen fuzz
ran, and executed once under the schedule; its output is shown. If it goes another way
than the schedule says, that is said too. The name - is standard input.
`,
			run: (*invocation).replay,
		},
		{
			name: "record", args: "-o trace.heisen (test | run) [packages] [-- arguments]",
			short: "record a program's events, to be analysed later",
			long: `The trace can be read while it is written. A command that starts several
instrumented programs, as go test does, makes a trace of each: t.heisen,
t-2.heisen and so on. With -filter tree accesses are left out that make no
difference to detectors that follow happens-before.
`,
			run: (*invocation).record,
		},
		{
			name: "analyze", args: "trace...",
			short: "report the races in recorded traces",
			long: `Traces are in heisen's binary format or in the STD text format; the name - is
standard input. What is complete before a damaged place is analysed. With
-filter tree detectors go without accesses that say nothing new to them: that
pays for hb, which is slow, and where the same races are found again and again.
` + knownHelp,
			run: (*invocation).analyze,
		},
		{
			name: "trace", args: "(stat | validate | convert | print) trace...",
			short: "look at traces",
			long: `  stat       count what is in traces
  validate   check that traces can be those of executions
  convert    write a trace in the other format: -o file [-to std|binary] trace
  print      print the events of traces, one a line

The name - is standard input.
`,
			run: (*invocation).trace,
		},
		{
			name: "sections", args: "(infer | refine) [packages] [-- test flags]",
			short: "obtain atomic sections from source, and prune them by runs of tests",
			long: `A section is accesses to one variable that are meant to be atomic. There are
patterns of code for which that is likely:

  load-and-store   a variable is written with what was made of its value: x++
  test-and-use     it is used in a branch that a test of it decides on:
                   if p != nil { p.f() }
  consecutive      it is accessed twice, and no order of whole accesses explains
                   what others may see: candidates, to be refined by runs

Left out are variables that no other goroutine can reach, as far as can be seen
in one package, and sections around which one lock is held, which is to say by
the same function. Names of source files are relative to the folder of the file
that is written. Nothing is run; what the packages import is compiled if it has to be.

refine runs the tests a number of times with the sections of -sections watched,
and takes out what a run breaks whose tests pass; tests that fail prove nothing.
It ends after -calm such runs that break nothing new, drops what was never seen,
and writes what is left. Noise makes it see more.
`,
			run: (*invocation).sections,
		},
		{
			name:  "version",
			short: "print the version of heisen and what it supports",
			run:   (*invocation).version,
		},
	}
}

// knownHelp is about the flags of knownFlags.
const knownHelp = `
A baseline is a file of findings as -json prints them. Equal ones, by
fingerprint, are neither reported nor counted. A suppressions file has lines like

  package example.com/old/...   # why
  function main.(*cache).get    # why
  variable c.hits               # why

for findings one of whose accesses is made in the package, in the function or a
literal in it, or to the variable.
`

func (t Tool) usage(w io.Writer) {
	fmt.Fprintf(w, "%s finds concurrency bugs in Go programs.\n\nusage: %[1]s <command> [flags] [arguments]\n\ncommands:\n", t.Name)
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-9s %s\n", c.name, c.short)
	}
	fmt.Fprintf(w, "\n%s help <command> tells more of a command.\n", t.Name)
}

// help prints what there is to know of a subcommand, whose flags have been
// defined.
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
	if inv.flags.Lookup("detect") != nil {
		fmt.Fprint(inv.Out, "\ndetectors:\n")
		for _, d := range inv.tool.detectors() {
			fmt.Fprintf(inv.Out, "  %-10s %s\n", d.Name, d.Promise)
		}
	}
	fmt.Fprint(inv.Out, `
exit status: 0 nothing found, 66 findings of any kind, 2 wrong usage, 1 anything
else, also if there are findings before it; a program's own failure is passed on.
`)
}

// Package cli is the heisen command: its subcommands, flags, exit statuses and
// what it prints. The work is done in the packages below.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Exit statuses.
const (
	Clean    = 0  // nothing found
	Failed   = 1  // anything that went wrong
	Misused  = 2  // unknown flags or arguments
	Findings = 66 // something was found; the status of Go's own race detector
)

// Streams are the standard streams of the command.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
}

// A command is a subcommand.
type command struct {
	name  string
	args  string // for the usage line
	short string // what it does, on one line
	run   func(*invocation) (int, error)
}

func commands() []command {
	return []command{
		{"test", "[packages] [-- test flags]", "run tests and report the races in them", (*invocation).test},
		{"run", "[package | files] [-- arguments]", "run a program and report the races in it", (*invocation).runProgram},
		{"record", "-o trace.heisen (test | run) ...", "record a program's events, to be analysed later", (*invocation).record},
		{"analyze", "trace...", "report the races in recorded traces", (*invocation).analyze},
		{"trace", "(stat | validate | convert | print) trace...", "look at traces", (*invocation).trace},
	}
}

// invocation is one run of a subcommand.
type invocation struct {
	Streams
	ctx   context.Context
	name  string        // of the subcommand
	args  []string      // what follows it, up to "--"
	rest  []string      // what follows "--"
	dash  bool          // whether there was a "--"
	flags *flag.FlagSet // for the subcommand to fill and parse
}

// usageError is a mistake in the command line.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func misuse(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// Main runs the command with the given arguments, without the program's name,
// and returns its exit status. It prints to the given streams only and leaves
// nothing running.
func Main(ctx context.Context, args []string, std Streams) int {
	if len(args) == 0 {
		usage(std.Err)
		return Misused
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		usage(std.Out)
		return Clean
	}
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool { return c.name == args[0] })
	if i < 0 {
		fmt.Fprintf(std.Err, "heisen: unknown command %q; see heisen help\n", args[0])
		return Misused
	}
	return all[i].invoke(ctx, args[1:], std)
}

func (c command) invoke(ctx context.Context, args []string, std Streams) int {
	inv := &invocation{Streams: std, ctx: ctx, name: c.name, args: args}
	if i := slices.Index(args, "--"); i >= 0 {
		inv.args, inv.rest, inv.dash = args[:i:i], args[i+1:], true
	}
	inv.flags = flag.NewFlagSet("heisen "+c.name, flag.ContinueOnError)
	inv.flags.SetOutput(io.Discard) // errors are printed below, once
	status, err := c.run(inv)
	var wrong *usageError
	switch {
	case err == nil:
	case errors.Is(err, flag.ErrHelp):
		c.help(inv)
		return Clean
	case errors.As(err, &wrong):
		fmt.Fprintf(std.Err, "heisen %s: %v; see heisen %s -h\n", c.name, err, c.name)
		return Misused
	default:
		fmt.Fprintf(std.Err, "heisen %s: %v\n", c.name, err)
		if status == Clean {
			status = Failed
		}
	}
	return status
}

func (c command) help(inv *invocation) {
	fmt.Fprintf(inv.Out, "usage: heisen %s [flags] %s\n\n%s\n\nflags:\n", c.name, c.args, strings.ToUpper(c.short[:1])+c.short[1:]+".")
	inv.flags.SetOutput(inv.Out)
	inv.flags.PrintDefaults()
	if c.name == "test" || c.name == "run" || c.name == "analyze" {
		fmt.Fprint(inv.Out, "\ndetectors for -detect:\n")
		for _, d := range detectors {
			fmt.Fprintf(inv.Out, "  %-10s %s\n", d.name, d.promise)
		}
	}
	fmt.Fprint(inv.Out, "\nexit status: 0 nothing found, 66 findings, 2 wrong usage, 1 anything else;\na program's own failure is passed on.\n")
}

func usage(w io.Writer) {
	fmt.Fprint(w, "heisen finds concurrency bugs in Go programs.\n\nusage: heisen <command> [flags] [arguments]\n\ncommands:\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-9s %s\n", c.name, c.short)
	}
	fmt.Fprint(w, "\nheisen <command> -h tells more of a command.\n")
}

// parse reads the flags that a subcommand has defined and leaves the other
// arguments in inv.args.
func (inv *invocation) parse() error {
	if err := inv.flags.Parse(inv.args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return misuse("%v", err)
	}
	inv.args = inv.flags.Args()
	for _, a := range inv.args {
		if strings.HasPrefix(a, "-") && a != "-" {
			return misuse("flag %s after the first argument: heisen's flags come first, those of the program or of go test after --", a)
		}
	}
	return nil
}

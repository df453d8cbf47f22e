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

	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
)

// Exit statuses.
const (
	Clean    = 0  // nothing found
	Failed   = 1  // anything that went wrong
	Misused  = 2  // unknown flags or arguments
	Findings = 66 // something was found; the status of Go's own race detector
)

// A command is a subcommand.
type command struct {
	name  string
	args  string // for the usage line
	short string // what it does, on one line
	long  string // what else there is to know, in lines
	run   func(*invocation) (int, error)
}

// Tool is the command as a main function makes it. The zero Tool is heisen.
type Tool struct {
	Name      string     // what it calls itself; "heisen" if empty
	Detectors []Detector // that -detect can name beside the command's own
	Detect    []string   // those that run without -detect; FastTrack if empty
}

// invocation is one run of a subcommand.
type invocation struct {
	Streams
	tool     Tool
	ctx      context.Context
	args     []string // what follows it, up to "--"
	rest     []string // what follows "--"
	resolver *report.Resolver
	flags    *flag.FlagSet // for the subcommand to fill and parse
	pkgs     patterns      // in which accesses are recorded
	tags     string        // with which the program is built
	hide     patterns      // of packages that are hidden
	limit    int           // of what a hidden call reaches
	once     bool          // that is looked at once

	hidden     *recorder.Hidden  // those packages, once the program is built; nil if there are none
	directives map[string]string // by variable that a directive names, where it stands
}

// Main runs the command with the given arguments, without the program's name,
// and returns its exit status. It prints to the given streams only and leaves
// nothing running.
func Main(ctx context.Context, tool Tool, args []string, std Streams) int {
	std = std.shared()
	if tool.Name == "" {
		tool.Name = "heisen"
	}
	if len(args) == 0 {
		tool.usage(std.Err)
		return Misused
	}
	name, args := args[0], args[1:]
	switch name {
	case "-h", "-help", "--help":
		tool.usage(std.Out)
		return Clean
	case "help":
		if len(args) == 0 {
			tool.usage(std.Out)
			return Clean
		}
		name, args = args[0], append(slices.Clone(args[1:]), "-h")
	}
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool { return c.name == name })
	if i < 0 {
		fmt.Fprintf(std.Err, "%s: unknown command %q; see %[1]s help\n", tool.Name, name)
		return Misused
	}
	resolver, err := report.NewResolver()
	if err != nil {
		printError(std.Err, tool.Name, err)
		return Failed
	}
	defer resolver.Close()
	return all[i].invoke(&invocation{Streams: std, tool: tool, ctx: ctx, args: args, resolver: resolver})
}

func (c command) invoke(inv *invocation) int {
	args := inv.args
	if i := slices.Index(args, "--"); i >= 0 {
		inv.args, inv.rest = args[:i:i], args[i+1:]
	}
	inv.flags = flag.NewFlagSet(inv.tool.Name+" "+c.name, flag.ContinueOnError)
	inv.flags.SetOutput(io.Discard) // errors are printed below, once
	status, err := c.run(inv)
	var wrong *usageError
	switch {
	case err == nil:
	case errors.Is(err, flag.ErrHelp):
		c.help(inv)
		return Clean
	case errors.As(err, &wrong):
		fmt.Fprintf(inv.Err, "%s %s: %v; see %[1]s help %[2]s\n", inv.tool.Name, c.name, err)
		return Misused
	default:
		printError(inv.Err, inv.tool.Name+" "+c.name, err)
		if status == Clean {
			status = Failed
		}
	}
	return status
}

// parseFlags reads the flags that a subcommand has defined and leaves the other
// arguments in inv.args.
func (inv *invocation) parseFlags() error {
	err := inv.flags.Parse(inv.args)
	inv.args = inv.flags.Args()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		err = misuse("%v", err)
	}
	return err
}

// noFlags refuses flags among the arguments, where nobody would read them.
func (inv *invocation) noFlags() error {
	for _, a := range inv.args {
		if strings.HasPrefix(a, "-") && a != stdStream {
			return misuse("flag %s after the first argument: heisen's flags come first, those of the program or of go test after --", a)
		}
	}
	return nil
}

// parse is parseFlags for subcommands whose arguments are only names.
func (inv *invocation) parse() error {
	if err := inv.parseFlags(); err != nil {
		return err
	}
	return inv.noFlags()
}

// parseFiles is parse for subcommands that take files, after "--" too.
func (inv *invocation) parseFiles() (files []string, err error) {
	if err := inv.parse(); err != nil {
		return nil, err
	}
	files = append(inv.args, inv.rest...)
	if len(files) == 0 {
		return nil, misuse("no trace")
	}
	return files, nil
}

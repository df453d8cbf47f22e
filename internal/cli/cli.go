// Package cli is the heisen command: its subcommands, flags, exit statuses and output. The packages below
// do the work.
//
// Each subcommand is in the file of its name: its help text, its flags and the function that runs it.
// heisen trace and heisen sections have subcommands of their own, such as sections_infer.go. Flags that
// several subcommands share are in files of their own:
//
//	-pkgs, -tags, -hide...                      gocommand.go
//	-detect and the flags of custom detectors   detect.go
//	-filter                                     filter.go
//	-baseline, -write-baseline, -suppress       baseline.go
//	-sections, -noise..., -from                 atomraceflags.go
//	-window, -budget, -j                        mcmflags.go
//
// The flags and the exit statuses are stable. So is the JSON form of findings, which package report
// defines.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

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

// command is a subcommand.
type command struct {
	name  string
	args  string // for the usage line
	short string // what it does, on one line
	long  string // the rest of the help text, in lines
	run   func(*invocation) (int, error)
}

// Tool configures the command. The zero Tool is heisen.
type Tool struct {
	Name      string     // name of the command; "heisen" if empty
	Detectors []Detector // detectors that -detect can name besides heisen's own
	Detect    []string   // names of the detectors that run without -detect; FastTrack if empty
}

// invocation is one run of a subcommand.
type invocation struct {
	Streams
	tool     Tool
	ctx      context.Context
	args     []string // arguments after the subcommand, up to "--"
	rest     []string // arguments after "--"
	resolver *report.Resolver
	flags    *flag.FlagSet // for the subcommand to fill and parse
	pkgs     patterns      // packages in which accesses are recorded
	tags     string        // build tags
	hide     patterns      // hidden packages
	limit    int           // bound on the objects that a hidden call reaches
	once     bool          // objects are followed once

	ending     time.Time         // of what is done after that; zero at first
	goCommand  bool              // the command that is run is go
	hidden     *recorder.Hidden  // the hidden packages, after the program was built; nil if there are none
	signal     atomic.Int32      // that has ended the command; 0 if none
	directives map[string]string // position of the directive that names a variable, by variable
}

// Main runs the command with the given arguments, without the program's name, and returns its exit status.
// It prints to the given streams only. No goroutine and no program is left running.
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
	if ended, ok := inv.interrupted(); ok && status == Failed {
		return ended
	}
	return status
}

// parseFlags parses the flags that a subcommand has defined and leaves the other arguments in inv.args.
func (inv *invocation) parseFlags() error {
	err := inv.flags.Parse(inv.args)
	inv.args = inv.flags.Args()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		err = misuse("%v", err)
	}
	return err
}

// noFlags refuses flags among the other arguments, where they would have no effect.
func (inv *invocation) noFlags() error {
	for _, a := range inv.args {
		if strings.HasPrefix(a, "-") && a != stdStream {
			return misuse("flag %s after the first argument: heisen's flags come first, those of the program or of go test after --", a)
		}
	}
	return nil
}

// parse is parseFlags and noFlags.
func (inv *invocation) parse() error {
	if err := inv.parseFlags(); err != nil {
		return err
	}
	return inv.noFlags()
}

// parseFiles is parse for subcommands whose arguments are files, before and after "--".
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

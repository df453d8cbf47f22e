// Package cli is the heisen command: its subcommands, flags, exit statuses and output. The packages
// below do the work.
//
// Each subcommand is in the file of its name: its help text, its flags and the function that runs
// it. heisen trace and heisen sections have subcommands of their own, such as sections_infer.go.
// The command lines of those that run the go command have its form. parts.go takes them apart, with
// the tables of goflags.go.
//
// Flags that several subcommands share are in files of their own:
//
//	-pkgs, -hide...                             gocommand.go
//	-report                                     reports.go, color.go, keep.go
//	-detect and the flags of custom detectors   detect.go
//	-filter                                     filter.go
//	-baseline, -write-baseline, -suppress       baseline.go
//	-transactions                               atomicityflags.go
//	-focus                                      focus.go
//	-sections, -noise..., -from                 atomraceflags.go
//	-window, -budget, -j                        mcmflags.go
//	-max-memory, -max-time                      allowance.go, guard.go, liveguard.go
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
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/heisen-go/heisen/focus"
	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/internal/repository"
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
	args  string  // for the usage line
	short string  // what it does, on one line; texts are those of Tool.named
	long  string  // the rest of the help text, in paragraphs
	intro string  // the help text before first, in paragraphs
	first []brief // the flags in the help text without -all; all flags if nil
	run   func(*invocation) (int, error)

	// foreign means that it reports on files that may come from anybody. Then reports show lines of the
	// sources in the repository only.
	foreign bool
}

// Tool configures the command. The zero Tool is heisen.
type Tool struct {
	Name      string     // name of the command; "heisen" if empty
	Detectors []Detector // detectors that -detect can name besides heisen's own
	Detect    []string   // names of the detectors that run without -detect; FastTrack if empty
	Full      bool       // text reports are in full, as with -report full

	// Builds keeps what heisen fuzz and heisen replay build, if it is not nil. The sources must not change.
	Builds *controlled.Builds
}

// invocation is one run of a subcommand.
type invocation struct {
	Streams           // what heisen prints: it cannot control a terminal; see package printable
	raw       Streams // what programs print, and data
	tool      Tool
	all       []command // that the tool has
	ctx       context.Context
	help      helpKind
	args      []string    // arguments after the subcommand; after parse, those without flags and up to "--"
	rest      []string    // after parse, arguments after "--"
	line      commandLine // of the go command
	resolver  *report.Resolver
	replaced  map[string]string // the files of -overlay that stand for others; nil until it was read
	flags     *flag.FlagSet     // for the subcommand to fill and parse
	pkgs      patterns          // packages in which accesses are recorded
	hide      patterns          // hidden packages
	calls     bool              // calls of functions are transactions
	module    string            // path of the main module, if calls are
	unchecked bool              // pointer arithmetic is not checked
	standard  string            // folder of the standard library's source, when the go command is known
	plan      string            // file of the plan of -focus; empty if none
	proved    *focus.Plan       // what it says, if it is about the source that runs
	needsAll  bool              // a detector needs accesses that the plan proves safe, too

	events      bool                          // the output of go test is that of -json
	ending      time.Time                     // of what is done after that; zero at first
	runsGo      bool                          // the command that is run is go
	pairs       bool                          // calls of hidden packages are recorded
	hidden      *recorder.Hidden              // the hidden packages whose calls are recorded, after the program was built; nil if there are none
	unrecorded  []string                      // import paths of the hidden packages
	signal      atomic.Int32                  // that has ended the command; 0 if none
	builder     atomic.Pointer[build.Builder] // of the programs; nil until it is prepared
	quitLooks   atomic.Bool                   // SIGQUIT does not end the command at the moment, see session
	guard       *guard                        // of the files that the command reads; nil if there is none
	standsAlone bool                          // the programs find and print by themselves all that is asked for
	unconnected bool                          // they do so, because they do not connect
	passes      *passes                       // which results of tests the go command may reuse; nil if none
}

// Main runs the command with the given arguments, without the program's name, and returns its exit
// status. It prints to the given streams only. No goroutine and no program is left running.
func Main(ctx context.Context, tool Tool, args []string, std Streams) int {
	std = std.shared()
	safe, printed := std.printable()
	if tool.Name == "" {
		tool.Name = "heisen"
	}
	status, failed := printed.status(tool.main(ctx, args, std, safe))
	if failed != nil && status == Failed {
		fmt.Fprintf(safe.Err, "%s: not everything could be printed: %v\n", tool.Name, failed)
	}
	return status
}

// main is Main. Programs print to std, heisen to safe.
func (tool Tool) main(ctx context.Context, args []string, std, safe Streams) int {
	if len(args) == 0 {
		tool.usage(safe.Err)
		return Misused
	}
	name, args := args[0], args[1:]
	help := noHelp
	switch name {
	case "-h", "-help", "--help":
		tool.usage(safe.Out)
		return Clean
	case toolexec:
		return tool.runTool(ctx, args, std)
	case "help":
		help, args = helpArgs(args)
		if len(args) == 0 {
			tool.usage(safe.Out)
			return Clean
		}
		name, args = args[0], args[1:]
	}
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool { return c.name == name })
	if i < 0 {
		fmt.Fprintf(safe.Err, "%s: unknown command %q; see %[1]s help\n", tool.Name, name)
		return Misused
	}
	return all[i].start(&invocation{Streams: safe, raw: std, tool: tool, all: all, ctx: ctx, help: help}, args)
}

// subcommand runs another subcommand of the tool, with other streams.
func (inv *invocation) subcommand(ctx context.Context, args []string, std Streams) int {
	std = std.shared()
	safe, _ := std.printable()
	i := slices.IndexFunc(inv.all, func(c command) bool { return c.name == args[0] })
	return inv.all[i].start(&invocation{Streams: safe, raw: std, tool: inv.tool, all: inv.all, ctx: ctx}, args[1:])
}

// start runs a subcommand with its arguments.
func (c command) start(inv *invocation, args []string) int {
	args, restore, err := changeFolder(args)
	if err != nil {
		printError(inv.Err, inv.tool.Name+" "+c.name, err)
		return Failed
	}
	defer restore()
	options := []report.ResolverOption{report.WithReplacements(inv.sourceOf)}
	if c.foreign {
		folder, err := os.Getwd()
		if err != nil {
			printError(inv.Err, inv.tool.Name, err)
			return Failed
		}
		options = append(options, report.WithSources(repository.Find(folder).Contains))
	}
	resolver, err := report.NewResolver(options...)
	if err != nil {
		printError(inv.Err, inv.tool.Name, err)
		return Failed
	}
	defer resolver.Close()
	inv.args, inv.resolver = args, resolver
	return c.invoke(inv)
}

// sourceOf returns the name of the file that the program was built from in the place of one: -overlay may say so.
func (inv *invocation) sourceOf(name string) string {
	overlay, given := inv.line.value("overlay")
	if !given || overlay == "" {
		return name
	}
	if inv.replaced == nil {
		inv.replaced = map[string]string{}
		all, err := build.Replacements(overlay)
		if err != nil {
			return name // the build fails because of that
		}
		for of, by := range all {
			if of, err := filepath.Abs(of); err == nil {
				inv.replaced[of] = by
			}
		}
	}
	if by, ok := inv.replaced[name]; ok {
		return by
	}
	return name
}

// changeFolder carries out the flag -C, which must come first, as for the go command. restore
// returns to the folder before.
func changeFolder(args []string) (rest []string, restore func(), err error) {
	nothing := func() {}
	if len(args) == 0 {
		return args, nothing, nil
	}
	_, name, dir, hasValue := syntax(args[0])
	switch {
	case name != "C" || !hasValue && len(args) == 1:
		return args, nothing, nil
	case hasValue:
		rest = args[1:]
	default:
		dir, rest = args[1], args[2:]
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, nil, err
	}
	if err := os.Chdir(dir); err != nil {
		return nil, nil, err
	}
	return rest, func() { os.Chdir(here) }, nil
}

func (c command) invoke(inv *invocation) int {
	inv.flags = flag.NewFlagSet(inv.tool.Name+" "+c.name, flag.ContinueOnError)
	inv.flags.SetOutput(io.Discard) // errors are printed below, once
	status, err := c.run(inv)
	var wrong *usageError
	switch {
	case err == nil:
	case errors.Is(err, flag.ErrHelp):
		c.printHelp(inv)
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

// asked returns flag.ErrHelp if the help text is wanted instead of a run.
func (inv *invocation) asked() error {
	if inv.help != noHelp {
		return flag.ErrHelp
	}
	return nil
}

// parse parses flags and then other arguments, for subcommands that do not run the go command.
func (inv *invocation) parse() error {
	if err := inv.asked(); err != nil {
		return err
	}
	g := &grammar{own: inv.flags}
	args, err := g.flags(inv.args)
	if err != nil {
		return err
	}
	if err := g.set(); err != nil {
		return err
	}
	inv.args = args
	if i := slices.Index(args, "--"); i >= 0 {
		inv.args, inv.rest = args[:i:i], args[i+1:]
	}
	for _, a := range inv.args {
		if strings.HasPrefix(a, "-") && a != stdStream {
			return misuse("flag %s after the first argument", a)
		}
	}
	return nil
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

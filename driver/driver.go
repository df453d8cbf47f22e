// Package driver runs the heisen command from another program, which can add detectors. Such a program
// has every subcommand and flag of heisen, and detectors of its own in addition to heisen's.
//
//	func main() { os.Exit(driver.Main(driver.WithDetector(mine))) }
//
// Main runs the command with the arguments and the streams of the process. Run takes them as
// arguments. The command heisen is Main without options. The package example is a complete tool
// that analyzes a trace, and examples/handoff is a tool with a detector for running programs.
//
// The flags, the exit statuses and the JSON form of findings are stable. The text for people may
// change.
//
// Several Runs may go on at the same time. Each handles interrupts of the process while it works.
// The exception is a Run with the flag -C: until it returns, the working directory of the process
// is another one.
package driver

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/cli"
	"github.com/heisen-go/heisen/internal/option"
	"github.com/heisen-go/heisen/vet"
)

// Exit statuses of the command. A program's own failure is passed on.
const (
	Clean    = 0  // nothing found
	Failed   = 1  // anything that went wrong, even if there are findings before it
	Misused  = 2  // unknown flags or arguments
	Findings = 66 // something was found, as with go test -race
)

// Detector describes a detector that the tool's -detect flag can name.
type Detector struct {
	// Name is its name in the -detect flag: lower-case letters, digits and dashes, beginning with
	// a letter. Findings without a Detector get it.
	Name string
	// Promise says on one line what the detector finds, for the help text. It must not be empty.
	Promise string
	// Unrepeated is set if leaving out repeated accesses does not change the detector's findings. An
	// access is repeated if it has the same goroutine, instruction, kind and bytes as an earlier one,
	// and the goroutine has published nothing in between.
	//
	// If all detectors that run are Unrepeated, such accesses are left out unless the user gives
	// -filter none. Usually the program itself leaves them out, which costs far less than recording
	// them. A detector that counts accesses, or depends on their order within a goroutine, needs
	// all of them. heisen's detectors that follow happens-before do not.
	Unrepeated bool
	// Flags defines flags of the detector, which users give as -name.flag. It is called once in
	// each run of the command, before New. It may be nil.
	Flags func(*flag.FlagSet)
	// New makes a detector for one stream of events: a program or a trace. A command may read
	// several streams at the same time, each on its own goroutine, so the detectors must not
	// share state. The detector calls sink with its findings, on the goroutine that handles the
	// events. symbols resolves the numbers in events. It grows while the stream is read, and may
	// be used only during calls of the detector. An error ends the analysis of the stream. New must
	// not be nil.
	New func(symbols *heisen.Symbols, sink heisen.Sink) (heisen.Detector, error)
}

// Option is an option of Main and Run.
type Option func(*config) error

type config struct{ tool cli.Tool }

// detectors returns the names that -detect knows.
func (c *config) detectors() []string {
	names := cli.DetectorNames()
	for _, d := range c.tool.Detectors {
		names = append(names, d.Name)
	}
	return names
}

// WithDetector adds a detector. It runs if -detect or WithDefault names it.
func WithDetector(d Detector) Option {
	return func(c *config) error {
		switch {
		case !isName(d.Name):
			return option.Errorf("WithDetector: %q is not a detector's name", d.Name)
		case slices.Contains(c.detectors(), d.Name):
			return option.Errorf("WithDetector: there are two detectors called %s", d.Name)
		case d.Promise == "" || strings.Contains(d.Promise, "\n"):
			return option.Errorf("WithDetector: detector %s has no Promise of one line", d.Name)
		case d.New == nil:
			return option.Errorf("WithDetector: detector %s has no New", d.Name)
		}
		added := cli.Detector{Name: d.Name, Promise: d.Promise, Flags: d.Flags, New: d.New}
		if d.Unrepeated {
			added.Filter = cli.RecorderFiltered
		}
		c.tool.Detectors = append(c.tool.Detectors, added)
		return nil
	}
}

// WithDefault sets the detectors that run without the -detect flag, at least one. The default is
// fasttrack. Names that WithDetector adds must come from an earlier option.
func WithDefault(names ...string) Option {
	return func(c *config) error {
		if len(names) == 0 {
			return option.Errorf("WithDefault: no detectors, want at least one")
		}
		known := c.detectors()
		for _, name := range names {
			if !slices.Contains(known, name) {
				return option.Errorf("WithDefault: there is no detector called %q", name)
			}
		}
		c.tool.Detect = slices.Clone(names)
		return nil
	}
}

// WithName sets the name of the command in its help texts and messages. It consists of lower-case letters, digits
// and dashes, and begins with a letter. The default is "heisen".
func WithName(name string) Option {
	return func(c *config) error {
		if !isName(name) {
			return option.Errorf("WithName: %q is not a command's name", name)
		}
		c.tool.Name = name
		return nil
	}
}

// isName reports whether s consists of lower-case letters, digits and dashes, and begins with a
// letter.
func isName(s string) bool {
	for i, r := range s {
		letter := 'a' <= r && r <= 'z'
		if !letter && (i == 0 || r != '-' && (r < '0' || r > '9')) {
			return false
		}
	}
	return s != ""
}

// Main runs the command with the arguments and standard streams of the process, and returns the
// status to exit with. It prints a wrong option and returns Misused. If the module in the working directory needs a newer
// Go release than the one that has built the command, Main builds the command again and runs that one instead. If the arguments are those by which
// go vet -vettool starts a tool, Main runs the analyzers of package vet on one package and ends the process.
func Main(options ...Option) int {
	name := nameOf(options)
	if err := renew(name, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		return Failed
	}
	if isVetTool(os.Args[1:]) {
		unitchecker.Main(vet.Analyzers()...)
	}
	status, err := Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, options...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return Misused
	}
	return status
}

// nameOf returns the name of the command that options choose. Run reports those that are wrong.
func nameOf(options []Option) string {
	var c config
	if option.Apply("driver.Main", &c, options) != nil || c.tool.Name == "" {
		return "heisen"
	}
	return c.tool.Name
}

// isVetTool reports whether arguments are those of a tool of go vet: it asks for the version and for the flags,
// and then has each package analyzed, which a file describes.
func isVetTool(args []string) bool {
	if len(args) == 0 {
		return false
	}
	last := args[len(args)-1]
	return len(args) == 1 && (last == "-V=full" || last == "-flags") || strings.HasSuffix(last, ".cfg") && !slices.ContainsFunc(args[:len(args)-1], func(arg string) bool { return !strings.HasPrefix(arg, "-") })
}

// Run runs the command with the given arguments, the first of which is a subcommand, and returns
// its exit status. It prints to the given streams only, and programs that it starts get the same
// streams. A nil stream is empty or discards. Run returns when all goroutines and programs that it
// has started have ended. While a program runs it handles interrupts and requests to terminate like
// the command does. When ctx ends, Run stops early: it kills the program that it runs, and reports
// what was found so far. The status is then what it is for a program that somebody kills: 137, the
// program's own, for the subcommand run. An error is about a wrong option or a nil ctx and wraps
// heisen.ErrOption; the command has not run then.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, options ...Option) (status int, err error) {
	if ctx == nil {
		return Misused, fmt.Errorf("driver.Run: %w", option.Errorf("the context is nil"))
	}
	var c config
	if err := option.Apply("driver.Run", &c, options); err != nil {
		return Misused, err
	}
	if stdin == nil {
		stdin = strings.NewReader("")
	}
	if stdout == nil {
		stdout = io.Discard
	}
	if stderr == nil {
		stderr = io.Discard
	}
	return cli.Main(ctx, c.tool, args, cli.Streams{In: stdin, Out: stdout, Err: stderr}), nil
}

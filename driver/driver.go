// Package driver is the heisen command for other tools' main functions: all
// that the command does (test, run, record, analyze, trace, with every flag),
// with detectors of the tool's own beside those of the module.
//
//	func main() { os.Exit(driver.Main(driver.WithDetector(mine))) }
//
// The command heisen is this without an option; examples/handoff is a whole
// tool.
package driver

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/cli"
)

// Exit statuses of the command. A program's own failure is passed on.
const (
	Clean    = cli.Clean    // 0: nothing found
	Failed   = cli.Failed   // 1: anything that went wrong, even if there are findings before it
	Misused  = cli.Misused  // 2: unknown flags or arguments
	Findings = cli.Findings // 66: something was found, as with go test -race
)

// ErrOption is the cause of every error about an Option.
var ErrOption = errors.New("driver: bad option")

// Detector describes a detector that the tool's -detect flag can name.
type Detector struct {
	// Name is what -detect calls it: lower-case letters, digits and dashes,
	// beginning with a letter. Findings whose Detector is empty get it.
	Name string
	// Promise is what it finds, on one line, for the help text.
	Promise string
	// Unrepeated says that the detector finds the same without accesses that repeat
	// one of the same goroutine: the same instruction, kind and bytes, and nothing
	// that the goroutine did in between has become known to others without the
	// repetition. Unless the user gives -filter none, such accesses are then left
	// out, mostly in the program itself, which costs far less than recording them.
	// Detectors that count accesses, or look at their order within a goroutine, are
	// to get all of them. It makes no difference unless all detectors that run say
	// so; those of the module that follow happens-before do.
	Unrepeated bool
	// Flags defines flags of its own, which users give as -name.flag. It is
	// called once for each run of the command, before New, and may be nil.
	Flags func(*flag.FlagSet)
	// New makes a detector for one stream of events: a program or a trace. A
	// command may have several streams at the same time, each on a goroutine of
	// its own, so what New returns must not be shared. Findings go to sink, on
	// the goroutine that handles the events. symbols says what the numbers in
	// events stand for; it is filled while the stream is read, and valid in
	// calls of the detector only. An error ends the analysis of that stream.
	New func(symbols *heisen.Symbols, sink heisen.Sink) (heisen.Detector, error)
}

// An Option changes what the command is. Errors wrap ErrOption.
type Option func(*tool) error

type tool = cli.Tool

// WithDetector adds a detector. It runs where -detect names it; see WithDefault.
func WithDetector(d Detector) Option {
	return func(t *tool) error {
		known := cli.DetectorNames()
		for _, other := range t.Detectors {
			known = append(known, other.Name)
		}
		switch {
		case !isName(d.Name):
			return fmt.Errorf("%w: %q is not a detector's name", ErrOption, d.Name)
		case slices.Contains(known, d.Name):
			return fmt.Errorf("%w: there are two detectors called %s", ErrOption, d.Name)
		case d.Promise == "" || strings.Contains(d.Promise, "\n"):
			return fmt.Errorf("%w: detector %s has no promise of one line", ErrOption, d.Name)
		case d.New == nil:
			return fmt.Errorf("%w: detector %s has no New", ErrOption, d.Name)
		}
		added := cli.Detector{Name: d.Name, Promise: d.Promise, Flags: d.Flags, New: d.New}
		if d.Unrepeated {
			added.Filter = cli.RecorderFiltered
		}
		t.Detectors = append(t.Detectors, added)
		return nil
	}
}

// WithDefault sets which detectors run where there is no -detect flag, in place
// of fasttrack. Options before it must have added those that are not of the
// module.
func WithDefault(names ...string) Option {
	return func(t *tool) error {
		known := cli.DetectorNames()
		for _, d := range t.Detectors {
			known = append(known, d.Name)
		}
		for _, name := range names {
			if !slices.Contains(known, name) {
				return fmt.Errorf("%w: there is no detector called %q", ErrOption, name)
			}
		}
		t.Detect = slices.Clone(names)
		return nil
	}
}

// WithName sets what the command calls itself in its messages: "heisen" without.
func WithName(name string) Option {
	return func(t *tool) error {
		if !isName(name) {
			return fmt.Errorf("%w: %q is not a command's name", ErrOption, name)
		}
		t.Name = name
		return nil
	}
}

// isName reports whether s can be typed as a name: lower-case letters, digits
// and dashes, beginning with a letter.
func isName(s string) bool {
	for i, r := range s {
		letter := 'a' <= r && r <= 'z'
		if !letter && (i == 0 || r != '-' && (r < '0' || r > '9')) {
			return false
		}
	}
	return s != ""
}

// Main runs the command for a main function: with the process's arguments and
// standard streams. It returns the status to exit with, Misused for a bad option,
// which it prints.
func Main(options ...Option) int {
	status, err := Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, options...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return Misused
	}
	return status
}

// Run runs the command with the given arguments, the first of which is a
// subcommand, and returns its exit status. It prints to the given streams only,
// which programs that it starts get too, and leaves nothing running. While a
// program runs it handles interrupts and requests to terminate as the command
// does. The end of ctx ends what it does. An error is one in the options; nothing
// has happened then.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, options ...Option) (status int, err error) {
	var t tool
	for _, option := range options {
		if err := option(&t); err != nil {
			return Misused, err
		}
	}
	return cli.Main(ctx, t, args, cli.Streams{In: stdin, Out: stdout, Err: stderr}), nil
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/heisen-go/heisen/internal/build"
)

// usageError is a mistake in the command line.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func misuse(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// errInterrupted is the error of work that a signal has ended.
var errInterrupted = errors.New("interrupted")

// printError prints err on one line, or a line for each of several joined errors. It prints a
// compiler's messages as the go command does, and then a line of heisen's own.
func printError(w io.Writer, command string, err error) {
	var failed *build.Error
	if errors.As(err, &failed) && strings.Contains(failed.Output, "\n") {
		fmt.Fprintln(w, failed.Output)
		adviseOnStack(w, command, failed.Output)
		err = errors.New("the program does not build")
	}
	if errors.Is(err, context.Canceled) {
		err = errInterrupted
	}
	last := ""
	for line := range strings.Lines(err.Error()) {
		// Print an error that ended two things once.
		if line = strings.TrimSpace(line); line != "" && line != last {
			fmt.Fprintf(w, "%s: %s\n", command, shortened(line))
			last = line
		}
	}
}

// maxErrorLine bounds a line of an error, in bytes: a file may have words of any length, which an error quotes.
const maxErrorLine = 4096

// shortened returns a line of an error without the middle of what nobody reads.
func shortened(line string) string {
	if len(line) <= maxErrorLine {
		return line
	}
	const half = maxErrorLine / 2
	return strings.ToValidUTF8(line[:half], "") + " ... " + strings.ToValidUTF8(line[len(line)-half:], "")
}

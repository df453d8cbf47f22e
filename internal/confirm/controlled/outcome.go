package controlled

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/internal/processes"
	"github.com/heisen-go/heisen/report"
)

// latePanics matches the message of a panic because of a late use.
var latePanics = regexp.MustCompile(`^((Log|Fail) in goroutine|(Output|Write) called) after .*has completed`)

// OfLateUse reports whether a program has ended because a test was used after its end.
func OfLateUse(o Outcome) bool { return o.Class == Panicked && latePanics.MatchString(o.Message) }

// Class is a way in which an execution ends.
type Class string

const (
	Passed     Class = "passed"      // status 0
	TestFailed Class = "test failed" // as package testing reports
	Panicked   Class = "panic"       // of a goroutine, not recovered
	Deadlocked Class = "deadlock"    // all goroutines are blocked
	Fatal      Class = "fatal error" // the runtime stops the program, such as for concurrent map writes
	Exited     Class = "exit"        // any other status
	Killed     Class = "signal"      // a signal ended it
	Hung       Class = "hang"        // it was stopped at a limit
)

// Failed reports whether the execution has shown a failure. One that was stopped at a limit has not.
func (c Class) Failed() bool { return c != Passed && c != Hung }

// EndsEarly reports whether the process ended before it had run all its tests, if it has several.
func (c Class) EndsEarly() bool { return c != Passed && c != TestFailed }

// Outcome is how an execution has ended.
type Outcome struct {
	Class   Class
	Message string // the program's message, on one line, or the name of the failed test
	// Waits says of a deadlock why and where the goroutines wait: sorted lines, each once. It is empty if that is not known.
	Waits string
	// Place is equal for failures at the same place of the program, see placeOfFailing. It is empty if the place is not
	// known.
	Place string

	// Raced is the identity of the variable on which calls race, as package sync says by a panic. They are one bug wherever it notices
	// that. It is empty for other outcomes.
	Raced string

	OwnText bool   // the message of a panic is a value of the program
	Tests   string // all tests that failed, each on a line of its own, if Class is TestFailed
}

// Includes reports whether an execution with the outcome o has also ended for the reason of another one, which may have had
// only some of its tests.
func (o Outcome) Includes(other Outcome) bool {
	return o.Same(other) || o.Class == TestFailed && other.Class == TestFailed && contains(o.Tests, other.Message)
}

// waitsOf returns Outcome.Waits. A place is a function and a line counted from where it begins, as in all fingerprints. Names of what
// goroutines wait for are no part of it, because they depend on what is known of the source.
func waitsOf(blocked []report.Blocked) string {
	var waits []string
	for i := range blocked {
		waits = append(waits, blocked[i].Reason+", "+waitPlace(&blocked[i]))
	}
	slices.Sort(waits)
	return strings.Join(slices.Compact(waits), "\n")
}

// waitPlace returns where a goroutine is blocked; an empty text if that is not known.
func waitPlace(g *report.Blocked) string {
	if len(g.Stack) == 0 {
		return ""
	}
	f := &g.Stack[0]
	if g.Start > 0 && f.Line > 0 {
		return fmt.Sprintf("%s +%d", f.Func, f.Line-g.Start)
	}
	return fmt.Sprintf("%s %s:%d", f.Func, path.Base(f.File), f.Line)
}

// String returns the outcome on one line.
func (o Outcome) String() string {
	if o.Message == "" {
		return string(o.Class)
	}
	return string(o.Class) + ": " + o.Message
}

// Same reports whether two executions seem to have ended for the same reason. If the places of both are known, they are
// equal; a panic may then have any text. Otherwise the messages are equal but for numbers and addresses. In deadlocks the
// goroutines wait at the same places; there may be more of them in one of the two.
func (o Outcome) Same(other Outcome) bool {
	if o.Class != other.Class {
		return false
	}
	if o.Place != "" && other.Place != "" {
		return o.Place == other.Place && o.kind() == other.kind()
	}
	return withoutNumbers(o.Message) == withoutNumbers(other.Message) && (contains(o.Waits, other.Waits) || contains(other.Waits, o.Waits))
}

// kind returns what tells failures at the same place apart: the message, but for numbers and addresses. A panic with a value
// of the program may have any text.
func (o Outcome) kind() string {
	if o.OwnText || o.Raced != "" {
		return ""
	}
	return withoutNumbers(o.Message)
}

func withoutNumbers(message string) string { return numbers.ReplaceAllString(message, "#") }

// Identity returns the outcome without what may differ where executions end for the same reason: numbers, and the tests that failed besides.
func (o Outcome) Identity() Outcome {
	o.Message, o.Tests = withoutNumbers(o.Message), ""
	return o
}

// contains reports whether all lines of b are in a.
func contains(a, b string) bool {
	lines := strings.Split(a, "\n")
	return b == "" || !slices.ContainsFunc(strings.Split(b, "\n"), func(line string) bool { return !slices.Contains(lines, line) })
}

var numbers = regexp.MustCompile(`\b(0x[0-9a-fA-F]+|[0-9]+(\.[0-9]+)?)\b`)

// recovered matches the runtime's remark about a panic that was recovered before another one.
var recovered = regexp.MustCompile(` \[recovered(, repanicked)?\]$`)

// ending is how a process has ended: with an exit status, or by a signal.
type ending struct {
	code int
	by   processes.Signal // 0 if none
}

// endingOf returns how a process that was waited for has ended.
func endingOf(state *os.ProcessState) ending {
	return ending{state.ExitCode(), processes.EndedBy(state)}
}

// outcomeOf returns the outcome of a process that ended by itself and printed the given output.
func outcomeOf(ended ending, printed []byte) Outcome {
	if ended.by != 0 {
		return Outcome{Class: Killed, Message: ended.by.String()}
	}
	code := ended.code
	if code == 0 {
		return Outcome{Class: Passed}
	}
	for line := range bytes.Lines(printed) {
		text := strings.TrimRight(string(line), "\r\n")
		switch {
		case strings.HasPrefix(text, "fatal error: all goroutines are asleep"):
			return Outcome{Class: Deadlocked, Message: "all goroutines are asleep"}
		case strings.HasPrefix(text, "fatal error: "):
			return Outcome{Class: Fatal, Message: oneLine(text[len("fatal error: "):])}
		case strings.HasPrefix(text, "panic: ") && code == 2:
			return Outcome{Class: Panicked, Message: oneLine(recovered.ReplaceAllString(text[len("panic: "):], ""))}
		}
	}
	if failed := FailedTests(printed); len(failed) > 0 {
		test := failed[0]
		for _, name := range failed { // its subtests come after it
			if strings.HasPrefix(name, test+"/") {
				test = name
			}
		}
		return Outcome{Class: TestFailed, Message: test, Tests: strings.Join(failed, "\n")}
	}
	return Outcome{Class: Exited, Message: fmt.Sprintf("status %d", code)}
}

// FailedTests returns the tests that have failed as package testing has printed it, in that order.
func FailedTests(printed []byte) (all []string) {
	for line := range bytes.Lines(printed) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "--- FAIL: "); ok {
			name, _, _ = strings.Cut(name, " ")
			all = append(all, name)
		}
	}
	return all
}

// maxMessage bounds the message of an outcome, in bytes.
const maxMessage = 300

func oneLine(s string) string {
	s = strings.ToValidUTF8(strings.Join(strings.Fields(s), " "), "?")
	if len(s) > maxMessage {
		s = strings.ToValidUTF8(s[:maxMessage], "") + "…"
	}
	return s
}

// Harm orders outcomes from harmless to bad.
func (c Class) Harm() int {
	return slices.Index([]Class{Passed, Hung, TestFailed, Exited, Panicked, Fatal, Killed, Deadlocked}, c)
}

// Plain reports whether an outcome is a failure that a schedule need not have caused. For goroutines that wait for ever, a report
// says why they do.
func (o Outcome) Plain() bool {
	return o.Class == TestFailed || o.Class == Panicked || o.Class == Fatal || o.Class == Exited
}

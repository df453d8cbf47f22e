package racefuzz

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Schedule is the text form of an execution of a program and its outcome. It can be pasted into a
// bug report, where the lines may be indented:
//
//	heisen schedule 1
//	go go1.26.8 linux/amd64
//	command test ./bank
//	args -test.run TestTransfer
//	procs 4
//	strategy race-directed
//	seed 42
//	target first read bank.go:31 bank.(*Account).Withdraw
//	target second write bank.go:44 bank.(*Account).Deposit
//	outcome panic "negative balance"
//	steps 3104
//	hash 9f01c2437ab0de55
//	choices 5
//	  17:3 120:0 1:2*3
//	end
//
// A schedule of the strategy follow has turns before its choices; see [Turn]. Its version is 2:
//
//	turns 3
//	  0:12+1 4:3+8 0:17+0
//
// So is that of an execution that was stopped when some virtual time had passed, or after a number of
// steps:
//
//	virtual 10m0s
//	stop 2000000
//
// and of one in which goroutines could go on for longer than by default before they had to yield:
//
//	spin 1048576
//
// Version 3 has the number of a prologue, if the steps count from the first test, or from main:
//
//	prologue 1
//
// Each line has a key and words. A word that is empty or contains blanks, quotes or unprintable
// characters is quoted as in Go. Keys without a value are left out.
//
// A choice is the number of steps after the previous choice (the first one: after step 0), a colon,
// and the ID of a task, or "wait" if no task continued before a timer fired; /n adds the case of a
// select statement, and *n repeats a choice n times. A turn is the ID of a task, a colon, and the sequence number at which it ends: the number
// of synchronizations, a plus, and the number of accesses since. The number of choices or turns
// stands before them, and "end" after the choices, so that a truncated text is recognized.
//
// The format is stable: later versions of this package read all schedules of earlier versions.
//
// To save an execution of a model, copy Seed, Outcome, Message, Steps, Hash and Choices from its
// Result. To repeat it, run the model with Replay of the Choices and with the Seed.
type Schedule struct {
	Go       string // Go release, such as go1.26.8
	Platform string // operating system and architecture, such as linux/amd64

	Command  string   // how the program is run: test or run
	Program  string   // its package
	Args     []string // its arguments
	Tags     []string // build tags
	Packages []string // patterns of the instrumented packages, if not the default
	Procs    int      // the value that runtime.GOMAXPROCS reports to the program, 0 for the real one
	// Virtual is the virtual time after which the execution was stopped, or 0 if it was not.
	Virtual time.Duration
	// Stop is the number of steps after which the execution was stopped, or 0 if it was not.
	Stop uint64
	// Spin is how often in a row a goroutine continued, or how many accesses it made, before it had to
	// yield, or 0 for the default.
	Spin int
	// Prologue decides about random numbers before the first test, or before main.main, where the program runs by the default order.
	// Steps, turns and choices count from there. It is 0 if they count from the start of the program.
	Prologue uint64

	Strategy string // name and parameters: fmt.Sprint of a Strategy of this package
	Seed     uint64
	Targets  []Target
	Outcome  string // kind of outcome
	Message  string // its text; must be empty if Outcome is

	// Steps and Hash are those of the execution, to compare a replay with it, or 0.
	Steps, Hash uint64
	// Turns are the turns of the strategy follow.
	Turns []Turn
	// Choices are the deviations, by ascending step.
	Choices []Choice
}

// Target is a place of a Schedule and its roles.
type Target struct {
	Roles Roles  // at least one
	Mode  string // the operation: read, write or lock
	Place string // file and line; the path is relative to the root of the module
	Func  string // function that makes the operation; if it is empty, any function on the line
	// Above, for the role Entry, says which function the section belongs to: the one that is this
	// many calls up the stack, from 0 to 255. The section ends at the latest when that function
	// returns.
	Above int
}

// ScheduleError is the error of Schedule.UnmarshalText.
type ScheduleError struct {
	Line int // from 1; one after the last line if the text is truncated
	Err  error
}

// Error implements error.
func (e *ScheduleError) Error() string {
	return fmt.Sprintf("schedule, line %d: %v", e.Line, e.Err)
}

// Unwrap returns the error without the line.
func (e *ScheduleError) Unwrap() error {
	return e.Err
}

// Errors that the methods of Schedule wrap.
var (
	// ErrSchedule means that MarshalText cannot write a schedule: the steps of its choices do not
	// ascend, it has more than MaxChoices choices or turns, or another field has a wrong value.
	ErrSchedule = errors.New("invalid schedule")
	// ErrNoSchedule means that a text does not start as a schedule does.
	ErrNoSchedule = errors.New("not a heisen schedule")
	// ErrVersion means that a schedule has a version that this package does not know.
	ErrVersion = errors.New("unknown version of schedules")
	// ErrTruncated means that a schedule ends too early: the text lacks the line "end". Every part
	// that a schedule begins with has this error.
	ErrTruncated = errors.New("the schedule is truncated")
	// ErrTooManyChoices means that a schedule has more choices or turns than its text announces or
	// than MaxChoices.
	ErrTooManyChoices = errors.New("too many choices or turns")
)

const (
	scheduleHeader   = "heisen schedule"
	scheduleVersions = 3 // the last one
	lineLength       = 76
)

// sinceVersion returns the version in which a key was introduced.
func sinceVersion(key string) uint64 {
	switch key {
	case "turns", "virtual", "stop", "spin":
		return 2
	case "prologue":
		return 3
	}
	return 1
}

// MaxChoices bounds the number of choices and the number of turns of a Schedule.
const MaxChoices = 1 << 22

// MarshalText implements encoding.TextMarshaler. The error wraps ErrSchedule.
func (s *Schedule) MarshalText() ([]byte, error) {
	var b bytes.Buffer
	version := 1
	switch {
	case s.Prologue > 0:
		version = 3
	case len(s.Turns) > 0 || s.Virtual > 0 || s.Stop > 0 || s.Spin > 0:
		version = 2
	}
	fmt.Fprintf(&b, "%s %d\n", scheduleHeader, version)
	line := func(key string, words ...string) {
		b.WriteString(key)
		for _, w := range words {
			b.WriteString(" " + quoted(w))
		}
		b.WriteString("\n")
	}
	list := func(key string, words []string) {
		if len(words) > 0 {
			line(key, words...)
		}
	}
	number := func(key string, n uint64) {
		if n != 0 {
			line(key, strconv.FormatUint(n, 10))
		}
	}
	switch {
	case s.Procs < 0 || s.Procs > math.MaxInt32:
		return nil, fmt.Errorf("%w: %d processors", ErrSchedule, s.Procs)
	case s.Spin < 0 || s.Spin > math.MaxInt32:
		return nil, fmt.Errorf("%w: a goroutine yields after %d choices", ErrSchedule, s.Spin)
	case s.Virtual < 0:
		return nil, fmt.Errorf("%w: %v of virtual time", ErrSchedule, s.Virtual)
	case s.Outcome == "" && s.Message != "":
		return nil, fmt.Errorf("%w: a message without an outcome", ErrSchedule)
	}
	if s.Go != "" || s.Platform != "" {
		line("go", s.Go, s.Platform)
	}
	if s.Command != "" || s.Program != "" {
		line("command", s.Command, s.Program)
	}
	list("args", s.Args)
	list("tags", s.Tags)
	list("pkgs", s.Packages)
	number("procs", uint64(s.Procs))
	if s.Virtual > 0 {
		line("virtual", s.Virtual.String())
	}
	number("stop", s.Stop)
	number("spin", uint64(s.Spin))
	number("prologue", s.Prologue)
	if s.Strategy != "" {
		line("strategy", s.Strategy)
	}
	number("seed", s.Seed)
	for _, t := range s.Targets {
		words, err := t.words()
		if err != nil {
			return nil, err
		}
		line("target", words...)
	}
	if s.Outcome != "" {
		outcome := []string{s.Outcome, s.Message}
		if s.Message == "" {
			outcome = outcome[:1]
		}
		line("outcome", outcome...)
	}
	number("steps", s.Steps)
	if s.Hash != 0 {
		line("hash", fmt.Sprintf("%016x", s.Hash))
	}
	if len(s.Turns) > 0 {
		line("turns", strconv.Itoa(len(s.Turns)))
		if err := writeTurns(&b, s.Turns); err != nil {
			return nil, err
		}
	}
	line("choices", strconv.Itoa(len(s.Choices)))
	if err := writeChoices(&b, s.Choices); err != nil {
		return nil, err
	}
	b.WriteString("end\n")
	return b.Bytes(), nil
}

// words returns the words of a target's line.
func (t *Target) words() ([]string, error) {
	roles, err := rolesText(t.Roles)
	if err != nil {
		return nil, err
	}
	if t.Above < 0 || t.Above > math.MaxUint8 {
		return nil, fmt.Errorf("%w: a section %d calls above", ErrSchedule, t.Above)
	}
	words := []string{roles, t.Mode, t.Place, t.Func}
	if t.Above > 0 {
		words = append(words, strconv.Itoa(t.Above))
	}
	return words, nil
}

func rolesText(roles Roles) (string, error) {
	if roles == 0 || roles>>len(roleNames) != 0 {
		return "", fmt.Errorf("%w: a target of roles %#x", ErrSchedule, uint8(roles))
	}
	return roles.String(), nil
}

// columns writes words in lines of at most lineLength columns.
type columns struct {
	b  *bytes.Buffer
	at int // column; 0 at the start of the first line
}

const indent = "  "

func (c *columns) write(word string) {
	switch {
	case c.at == 0:
		c.at = len(indent)
		c.b.WriteString(indent)
	case c.at+1+len(word) > lineLength:
		c.at = len(indent)
		c.b.WriteString("\n" + indent)
	default:
		c.at++
		c.b.WriteString(" ")
	}
	c.b.WriteString(word)
	c.at += len(word)
}

func (c *columns) end() {
	if c.at > 0 {
		c.b.WriteString("\n")
	}
}

// waiting stands for NoTask in a choice.
const waiting = "wait"

// writeChoices writes lines of choices. Repeated choices are one word.
func writeChoices(b *bytes.Buffer, choices []Choice) error {
	if len(choices) > MaxChoices {
		return fmt.Errorf("%w: %d choices", ErrSchedule, len(choices))
	}
	out, last := columns{b: b}, uint64(0)
	for i := 0; i < len(choices); {
		c := choices[i]
		if i > 0 && c.Step <= last {
			return fmt.Errorf("%w: choice %d is of step %d, after one of step %d", ErrSchedule, i, c.Step, last)
		}
		delta, n := c.Step-last, 1
		if c.Case > 0 && c.ID == NoTask {
			return fmt.Errorf("%w: choice %d is a case of no task", ErrSchedule, i)
		}
		for last = c.Step; i+n < len(choices) && choices[i+n].ID == c.ID && choices[i+n].Case == c.Case && choices[i+n].Step-last == delta && delta > 0; n++ {
			last = choices[i+n].Step
		}
		i += n
		word := fmt.Sprintf("%d:%d", delta, c.ID)
		if c.ID == NoTask {
			word = fmt.Sprintf("%d:%s", delta, waiting)
		}
		if c.Case > 0 {
			word += fmt.Sprintf("/%d", c.Case)
		}
		if n > 1 {
			word += fmt.Sprintf("*%d", n)
		}
		out.write(word)
	}
	out.end()
	return nil
}

// writeTurns writes lines of turns.
func writeTurns(b *bytes.Buffer, turns []Turn) error {
	if len(turns) > MaxChoices {
		return fmt.Errorf("%w: %d turns", ErrSchedule, len(turns))
	}
	out := columns{b: b}
	for _, t := range turns {
		if t.ID == NoTask {
			return fmt.Errorf("%w: a turn of NoTask", ErrSchedule)
		}
		out.write(fmt.Sprintf("%d:%d+%d", t.ID, t.Until>>32, t.Until&math.MaxUint32))
	}
	out.end()
	return nil
}

// quoted returns the word as it stands in a line.
func quoted(word string) string {
	plain := word != "" && strings.IndexFunc(word, func(r rune) bool {
		return r == '"' || r == unicode.ReplacementChar || !unicode.IsGraphic(r) || unicode.IsSpace(r)
	}) < 0
	if plain {
		return word
	}
	return strconv.Quote(word)
}

package section

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/words"
)

// Modes is a set of ways to access a variable. Section 3.2 of the paper attaches such a set A to each
// end of an atomic section: what other threads may do to the variable while a thread is between the
// section's entry and this end.
type Modes uint8

const (
	// Reads allows others to read the variable, plainly or atomically.
	Reads Modes = 1 << iota
	// Writes allows others to write it, plainly or atomically.
	Writes
)

// String returns the set as sections files write it: "{}", "{read}", "{write}" or "{read,write}".
func (m Modes) String() string {
	var names []string
	if m&Reads != 0 {
		names = append(names, "read")
	}
	if m&Writes != 0 {
		names = append(names, "write")
	}
	return "{" + strings.Join(names, ",") + "}"
}

// Location stands for all accesses of one mode in one line of a program's source.
type Location struct {
	// File is a path with slashes. A relative path is relative to the folder of the sections file,
	// or to Locator.Folder.
	File string
	Line int // from 1
	// Mode is Reads or Writes. An atomic read-modify-write counts as Writes.
	Mode Modes
}

// String returns the location as sections files write it, such as "bank.go:31 read".
func (l Location) String() string {
	return words.Quote(fmt.Sprintf("%s:%d", l.File, l.Line)) + " " + strings.Trim(l.Mode.String(), "{}")
}

func compareLocations(a, b Location) int {
	return cmp.Or(
		strings.Compare(a.File, b.File),
		cmp.Compare(a.Line, b.Line),
		cmp.Compare(a.Mode, b.Mode),
	)
}

// End is one of the ends of a Section.
type End struct {
	At Location
	// Allow is what other threads may do to the variable between the entry and this end. An end that
	// allows everything cannot be violated.
	Allow Modes
	// In are functions. If there are any, an access at At that is made in none of their calls gives
	// the section up without a check. Accessors need this: a get and a put belong together where a
	// function tests what it got before it puts, and not where another function calls both.
	In []Lines
}

// String returns the end as sections files write it, such as "bank.go:33 write {read}".
func (e End) String() string {
	out := fmt.Sprintf("%v %v", e.At, e.Allow)
	for _, l := range e.In {
		out += fmt.Sprintf(" in %v", l)
	}
	return out
}

// Lines stands for a function, by the lines of its source.
type Lines struct {
	File        string // as in Location
	First, Last int    // from 1
}

// String returns the lines as sections files write them, such as "bank.go:31-40".
func (l Lines) String() string {
	return words.Quote(fmt.Sprintf("%s:%d-%d", l.File, l.First, l.Last))
}

func compareLines(a, b Lines) int {
	return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.First, b.First), cmp.Compare(a.Last, b.Last))
}

// Section is an atomic section over one variable (section 3.2 of the paper). After a thread has made
// the access at Entry, and until it has made an access to the same variable at one of the Ends, other
// threads should access that variable only as the End allows.
//
// A section is given up without a check when the function that made the access at the entry returns
// or panics. This is the paper's atomExit on every path that leads to no end. Another access at Entry
// begins the section anew, unless it is Recursive or Circular.
type Section struct {
	// Variable is the name of the variable as reports write it, such as "a.balance", or a pattern of
	// path.Match for such names; see Covers. An empty Variable stands for any variable that is
	// accessed at the entry. The name only selects accesses at the locations; within a section, the
	// variable is identified by its address.
	Variable string
	Entry    Location
	Ends     []End

	// Circular means that a later access at the entry ends the section (section 3.2). The entry is
	// then listed in Ends.
	Circular bool
	// Recursive means that entries nest: the section ends after as many ends as there were entries.
	Recursive bool
	// Above says which return gives the section up: that of the Above-th caller of the entry's
	// function; of that function itself if Above is 0.
	Above int

	// Pattern names the reason why the accesses belong together: "load-and-store", "test-and-use",
	// "consecutive" (the access interleaving invariants of section 4.2), or any other word of
	// letters and dashes. It has no effect.
	Pattern string

	// Comment is free text. Lines are separated by line feeds. It has no effect.
	Comment string
}

// Covers reports whether the section is about a variable of this name: whether Variable is empty, is
// equal to the name, or is a pattern of path.Match that matches the name. A malformed pattern is only
// equal to itself.
func (s *Section) Covers(variable string) bool {
	if s.Variable == "" || s.Variable == variable {
		return true
	}
	ok, err := path.Match(s.Variable, variable)
	return ok && err == nil
}

// compareSections is the order in which Encode writes sections.
func compareSections(a, b Section) int {
	return cmp.Or(compareLocations(a.Entry, b.Entry), strings.Compare(a.Variable, b.Variable))
}

// ModeOf returns Writes for an op that may change a variable's value, such as an atomic
// read-modify-write, and Reads for any other access.
func ModeOf(op heisen.Op) Modes {
	if op.IsWrite() {
		return Writes
	}
	return Reads
}

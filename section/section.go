package section

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/heisen-go/heisen"
)

// Modes is a set of ways to access a variable: the set A that section 3.2
// attaches to an end of an atomic section, of what other threads may do to the
// variable while a thread is between the section's entry and this end.
type Modes uint8

const (
	// Reads allows others to read the variable, plainly or atomically.
	Reads Modes = 1 << iota
	// Writes allows others to write it, plainly or atomically.
	Writes
)

// String returns the set as it stands in a sections file: "{}", "{read}",
// "{write}" or "{read,write}".
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

// Location is an access in a program's source: every access of the given mode in
// the line.
type Location struct {
	// File is a path with slashes. One that is not absolute is relative to the
	// folder of the sections file, or to whatever the user of a Section says.
	File string
	Line int // from 1
	// Mode is Reads or Writes. An atomic read-modify-write counts as Writes.
	Mode Modes
}

// String returns the location as it stands in a sections file, such as
// "bank.go:31 read".
func (l Location) String() string {
	return word(fmt.Sprintf("%s:%d", l.File, l.Line)) + " " + strings.Trim(l.Mode.String(), "{}")
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
	// Allow is what other threads may do to the variable before this end. An end
	// that allows everything can never be violated.
	Allow Modes
}

// Section is an atomic section over one variable (section 3.2 of the paper): once
// a thread has made the access at Entry, no other thread should access the same
// variable, except as an End allows, until the thread has made an access at one
// of the Ends. A section ends without a check when the function returns, or
// panics, in which the entry was made, which is the paper's atomExit on every path
// that leads to no end. Making the access at Entry again before an end begins the
// section anew, unless it is Recursive.
type Section struct {
	// Variable names the variable as reports name it, such as "a.balance", or is a
	// pattern of path.Match with such names; see Covers. It is empty for any variable
	// that is accessed at the entry. The variable itself is known by its address.
	Variable string
	Entry    Location
	Ends     []End

	// Circular says that the entry is an end too, but not on its first occurrence
	// (section 3.2); it is listed in Ends.
	Circular bool
	// Recursive says that an entry within the section nests: the section ends with as
	// many ends as there were entries.
	Recursive bool
	// Above is how many calls above that of the entry the section lives: it is
	// given up when the function returns that is so many callers above the one in
	// which the entry stands. 0 is that function itself.
	Above int

	// Pattern says why these accesses are thought to belong together: "load-and-store",
	// "test-and-use", "consecutive" (the access interleaving invariants of section
	// 4.2), or whatever its author writes, in letters and dashes. It decides nothing.
	Pattern string

	// Comment is what its author says of it, in lines without a last line end. It
	// decides nothing.
	Comment string
}

// Covers reports whether the section is about a variable of this name: if its
// Variable is empty, the name itself, or a pattern that the name matches. A
// Variable that is no pattern in the sense of path.Match stands for itself only.
func (s *Section) Covers(variable string) bool {
	if s.Variable == "" || s.Variable == variable {
		return true
	}
	ok, err := path.Match(s.Variable, variable)
	return ok && err == nil
}

// compareSections orders sections as they stand in a file.
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

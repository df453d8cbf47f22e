package report

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Suppression is a line of a suppressions file. It names findings that are not to be reported, and
// the reason.
//
//	# Empty lines and lines that begin with a number sign are ignored.
//	package example.com/old/...      # rewritten this spring
//	function main.(*cache).get       # the race is benign: all writers agree
//	variable c.hits                  # statistics may be a little off
//	variable "m[\" # \"]"            # quoted as in Go where the name asks for it
//
// A package suppresses findings with an access in the package or, with /..., in a package below it.
// The path is that of the function names in reports, so the path of a program is main. A function
// suppresses findings with an access in the function or in a function literal within it. A variable
// suppresses findings with an access to that expression, or to an object of that name. Expressions
// are found in the source text and say nothing about types: a variable a.bal suppresses findings
// about the field bal of everything that is called a somewhere. An access that several expressions
// of its line fit has no variable. An access is in the innermost function that does not belong to the
// packages which implement synchronization.
// The reason, after the number sign, is mandatory.
//
// ReadSuppressions makes Suppressions. The zero Suppression matches nothing.
type Suppression struct {
	File   string // the suppressions file
	Line   int    // in the file, from 1
	Kind   string // package, function or variable
	Name   string
	Reason string
}

// maxSuppression bounds a line, in bytes.
const maxSuppression = 64 << 10

// ReadSuppressions reads a suppressions file to its end. file is its name. An error names the file
// and the line. A line may have up to 64 KiB. If r is nil, the error wraps heisen.ErrOption.
func ReadSuppressions(file string, r io.Reader) (all []Suppression, err error) {
	if r == nil {
		return nil, noReader("report.ReadSuppressions")
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxSuppression)
	n := 0
	for lines.Scan() {
		n++
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		s, err := parseSuppression(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n, err)
		}
		s.File, s.Line = file, n
		all = append(all, s)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("%s:%d: a line of more than %d bytes", file, n+1, maxSuppression)
	case err != nil:
		return nil, fmt.Errorf("%s:%d: %w", file, n+1, err)
	}
	return all, nil
}

func parseSuppression(line string) (s Suppression, err error) {
	kind, rest, _ := strings.Cut(line, " ")
	switch kind {
	case "package", "function", "variable":
	default:
		return s, fmt.Errorf("%q is none of package, function, variable", kind)
	}
	rest = strings.TrimSpace(rest)
	name, reason, _ := strings.Cut(rest, "#")
	if quoted, err := strconv.QuotedPrefix(rest); err == nil && quoted[0] != '\'' {
		var found bool
		if name, reason, found = strings.Cut(rest[len(quoted):], "#"); strings.TrimSpace(name) != "" || !found && rest != quoted {
			return s, fmt.Errorf("%q after the quoted name", strings.TrimSpace(name))
		}
		if name, err = strconv.Unquote(quoted); err != nil {
			return s, err
		}
	} else {
		name = strings.TrimSpace(name)
	}
	reason = strings.TrimSpace(reason)
	switch {
	case name == "":
		return s, fmt.Errorf("%s without a name", kind)
	case reason == "":
		return s, errors.New("no reason: it stands after a # at the end of the line")
	}
	return Suppression{Kind: kind, Name: name, Reason: reason}, nil
}

// Matches reports whether the suppression suppresses f.
func (s *Suppression) Matches(f *Finding) bool {
	if f == nil {
		return false
	}
	for i := range f.Accesses {
		a := &f.Accesses[i]
		var match bool
		switch function := userFrame(a.Stack).Func; s.Kind {
		case "package":
			match = function != "" && s.matchesPackage(packageOf(function))
		case "function":
			match = function == s.Name || strings.HasPrefix(function, s.Name+".func") || strings.HasPrefix(function, s.Name+".gowrap")
		case "variable":
			match = a.Variable == s.Name || a.Object == s.Name
		}
		if match {
			return true
		}
	}
	return false
}

func (s *Suppression) matchesPackage(path string) bool {
	tree, below := strings.CutSuffix(s.Name, "/...")
	return path == tree || below && strings.HasPrefix(path, tree+"/")
}

// packageOf returns the import path in a function's name. The linker escapes the dots in the last
// element of the path.
func packageOf(function string) string {
	slash := strings.LastIndexByte(function, '/') + 1
	last, _, _ := strings.Cut(function[slash:], ".")
	return function[:slash] + strings.ReplaceAll(last, "%2e", ".")
}

// String returns the suppression's place, kind and name.
func (s Suppression) String() string {
	return fmt.Sprintf("%s:%d: %s %s", s.File, s.Line, s.Kind, s.Name)
}

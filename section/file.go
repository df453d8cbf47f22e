package section

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/words"
)

// ErrInvalid is wrapped by all errors about invalid sections, whether they come from a file or not.
var ErrInvalid = errors.New("invalid atomic sections")

// header is the first line of a sections file. The number is the version of the format. Later versions
// of this package can read files of earlier versions of the format.
const (
	headerWords = "heisen sections"
	header      = headerWords + " 1"
)

// Decode reads a sections file and returns the sections in the order of the file. The format is text
// that people write by hand and version control compares by lines:
//
//	heisen sections 1
//
//	# The balance is written back as it was read.
//	section bank.go:31 read
//		variable a.balance
//		pattern load-and-store
//		end bank.go:33 write {read}
//		end bank.go:36 write {}
//
// The first line has the format and its version. A line "section PLACE MODE" begins a Section and has
// its Entry: a file and a line, then read or write. The lines that follow belong to the section. Their
// order is free:
//
//	end PLACE MODE ALLOW   an End; ALLOW is {}, {read}, {write} or {read,write};
//	                       "in FILE:FIRST-LAST" may follow, more than once, for In
//	variable NAME          Variable
//	pattern NAME           Pattern
//	circular               Circular
//	recursive              Recursive
//	above N                Above
//
// All lines but end appear at most once in a section. Words are separated by blanks. A word that contains
// blanks or begins with # or " is quoted as in Go; a place is quoted with its line: "my bank.go:31".
// Blank lines and indentation have no effect. A # where a word could begin starts a comment, which
// ends with the line. A comment on a line of a section, or on the lines directly above such a line,
// becomes part of the section's Comment. Other comments are ignored.
//
// If anything in the file is invalid, or if Check refuses the sections, Decode returns no section and an
// error that wraps ErrInvalid and names the first invalid line. An error of r is returned as it is,
// with the line. Cost and memory are proportional to the file. If r is nil, the error wraps
// heisen.ErrOption.
func Decode(r io.Reader) ([]Section, error) {
	if r == nil {
		return nil, fmt.Errorf("section.Decode: %w: the reader is nil", heisen.ErrOption)
	}
	p := parser{}
	for in := bufio.NewReader(r); ; {
		line, err := in.ReadString('\n')
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("reading sections: line %d: %w", p.line+1, err)
		}
		if line != "" {
			p.line++
			if err := p.parse(strings.TrimSpace(line)); err != nil {
				return nil, fmt.Errorf("%w: line %d: %w", ErrInvalid, p.line, err)
			}
		}
		if err == io.EOF {
			break
		}
	}
	if p.line == 0 {
		return nil, fmt.Errorf("%w: line 1: %w", ErrInvalid, errHeader)
	}
	if i, err := checkAll(p.sections); err != nil {
		return nil, fmt.Errorf("%w: line %d: %w", ErrInvalid, p.starts[i], err)
	}
	return p.sections, nil
}

var errHeader = fmt.Errorf("the first line must be %q", header)

type parser struct {
	sections []Section
	line     int             // number of the line, from 1
	starts   []int           // the first line of each section
	once     map[string]bool // keywords of the current section that must not come again
	comments []string        // of the current section
	above    []string        // comments on the lines directly above
}

// parse takes in the next line, without the space around it.
func (p *parser) parse(line string) error {
	if p.line == 1 {
		return parseHeader(line)
	}
	if line == "" {
		p.above = nil
		return nil
	}
	parts, comment, err := words.Split(line)
	if err != nil {
		return err
	}
	if len(parts) == 0 {
		p.above = append(p.above, comment)
		return nil
	}
	what, arguments := parts[0], parts[1:]
	switch {
	case what == "section":
		s, err := parseSection(arguments)
		if err != nil {
			return err
		}
		p.sections = append(p.sections, s)
		p.starts = append(p.starts, p.line)
		p.once, p.comments = map[string]bool{}, nil
	case len(p.sections) == 0:
		return fmt.Errorf("%q comes before the first section", what)
	case p.once[what]:
		return fmt.Errorf("%q appears twice in one section", what)
	default:
		p.once[what] = what != "end"
		if err := parsePart(&p.sections[len(p.sections)-1], what, arguments); err != nil {
			return err
		}
	}
	p.comments = append(p.comments, p.above...)
	if comment != "" {
		p.comments = append(p.comments, comment)
	}
	p.above = nil
	p.sections[len(p.sections)-1].Comment = strings.Join(p.comments, "\n")
	return nil
}

func parseHeader(line string) error {
	version, ok := strings.CutPrefix(line, headerWords+" ")
	switch {
	case line == header:
		return nil
	case ok:
		return fmt.Errorf("unknown version %q of the format, want 1", version)
	}
	return errHeader
}

func parseSection(words []string) (s Section, err error) {
	if len(words) != 2 {
		return s, errors.New("want the form: section FILE:LINE MODE")
	}
	s.Entry, err = parseLocation(words[0], words[1])
	return s, err
}

// parsePart takes in a line of a section that begins with the keyword what.
func parsePart(s *Section, what string, words []string) (err error) {
	arguments := map[string]int{"end": 3, "variable": 1, "pattern": 1, "above": 1, "circular": 0, "recursive": 0}
	n, known := arguments[what]
	switch {
	case !known:
		return fmt.Errorf("%q is none of section, end, variable, pattern, circular, recursive, above", what)
	case what == "end" && (len(words) < n || len(words)%2 == 0):
		return errors.New("want the form: end FILE:LINE MODE ALLOW [in FILE:FIRST-LAST]")
	case what == "end":
	case len(words) != n:
		return fmt.Errorf("%q takes %d words, got %d", what, n, len(words))
	}
	switch what {
	case "end":
		var end End
		if end.At, err = parseLocation(words[0], words[1]); err != nil {
			return err
		}
		if end.Allow, err = parseAllow(words[2]); err != nil {
			return err
		}
		if end.In, err = parseIn(words[3:]); err != nil {
			return err
		}
		s.Ends = append(s.Ends, end)
	case "variable":
		s.Variable = words[0]
	case "pattern":
		s.Pattern = words[0]
	case "circular":
		s.Circular = true
	case "recursive":
		s.Recursive = true
	case "above":
		s.Above, err = parseNumber(words[0])
	}
	return err
}

func parseLocation(place, mode string) (l Location, err error) {
	colon := strings.LastIndexByte(place, ':')
	if colon <= 0 {
		return l, fmt.Errorf("%q is not a place, want FILE:LINE", place)
	}
	if l.Line, err = parseNumber(place[colon+1:]); err != nil {
		return l, fmt.Errorf("%q is not a place: %w", place, err)
	}
	l.File = path.Clean(place[:colon])
	switch mode {
	case "read":
		l.Mode = Reads
	case "write":
		l.Mode = Writes
	default:
		return l, fmt.Errorf("mode %q is neither read nor write", mode)
	}
	return l, nil
}

// parseIn takes in the functions of an end.
func parseIn(words []string) (in []Lines, err error) {
	for i := 0; i+1 < len(words); i += 2 {
		if words[i] != "in" {
			return nil, fmt.Errorf("%q where \"in\" is wanted", words[i])
		}
		text := words[i+1]
		colon := strings.LastIndexByte(text, ':')
		first, last, ok := strings.Cut(text[colon+1:], "-")
		if colon <= 0 || !ok {
			return nil, fmt.Errorf("%q does not name a function, want FILE:FIRST-LAST", text)
		}
		l := Lines{File: path.Clean(text[:colon])}
		if l.First, err = parseNumber(first); err == nil {
			l.Last, err = parseNumber(last)
		}
		if err != nil {
			return nil, fmt.Errorf("%q does not name a function: %w", text, err)
		}
		in = append(in, l)
	}
	return in, nil
}

func parseAllow(text string) (Modes, error) {
	for m := range Reads | Writes + 1 {
		if text == m.String() {
			return m, nil
		}
	}
	return 0, fmt.Errorf("%q is none of {}, {read}, {write}, {read,write}", text)
}

// parseNumber accepts only the canonical form of a number, so that a file has one form of each place.
func parseNumber(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || strconv.Itoa(n) != text {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return n, nil
}

// Encode writes sections as a file that Decode reads. The file depends only on the set of sections: they
// are ordered by entry and variable, and their ends by place. Encode does not change its argument. If
// Check refuses the sections, it writes nothing and returns that error, which wraps ErrInvalid.
// Otherwise the error is that of w. If w is nil, it wraps heisen.ErrOption.
func Encode(w io.Writer, sections []Section) error {
	if w == nil {
		return fmt.Errorf("section.Encode: %w: the writer is nil", heisen.ErrOption)
	}
	if err := Check(sections); err != nil {
		return err
	}
	sorted := slices.Clone(sections)
	slices.SortFunc(sorted, compareSections)
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, header)
	for i := range sorted {
		writeSection(out, &sorted[i])
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing sections: %w", err)
	}
	return nil
}

func writeSection(w io.Writer, s *Section) {
	fmt.Fprintln(w)
	if s.Comment != "" {
		for line := range strings.SplitSeq(s.Comment, "\n") {
			fmt.Fprintln(w, strings.TrimRightFunc("# "+line, unicode.IsSpace))
		}
	}
	fmt.Fprintf(w, "section %v\n", s.Entry)
	if s.Variable != "" {
		fmt.Fprintf(w, "\tvariable %s\n", words.Quote(s.Variable))
	}
	if s.Pattern != "" {
		fmt.Fprintf(w, "\tpattern %s\n", s.Pattern)
	}
	if s.Circular {
		fmt.Fprintf(w, "\tcircular\n")
	}
	if s.Recursive {
		fmt.Fprintf(w, "\trecursive\n")
	}
	if s.Above != 0 {
		fmt.Fprintf(w, "\tabove %d\n", s.Above)
	}
	ends := slices.Clone(s.Ends)
	slices.SortFunc(ends, func(a, b End) int { return compareLocations(a.At, b.At) })
	for _, e := range ends {
		e.In = slices.Clone(e.In)
		slices.SortFunc(e.In, compareLines)
		fmt.Fprintf(w, "\tend %v\n", e)
	}
}

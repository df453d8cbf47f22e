package section

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Check returns an error that wraps ErrInvalid and names the first invalid section, or nil. In a valid
// section
//
//   - the entry and the ends have a file as path.Clean writes it, a line from 1, and one mode, Reads
//     or Writes;
//   - there is at least one end, and no location is an end twice;
//   - the functions of an end have a file as path.Clean writes it and lines from 1, and none is listed
//     twice;
//   - the entry is among the ends if and only if the section is Circular;
//   - Circular and Recursive are not both set, because a nested entry would have two meanings;
//   - Above is not negative, and Pattern consists of letters and dashes.
//
// Two sections that may concern the same variable have different entries. Section 3.2 of the paper
// lets sections of a variable overlap only where one ends and another begins, so two such sections
// are to be written as one, with the ends of both. Check cannot find overlaps that depend on the paths
// that a program takes.
func Check(sections []Section) error {
	if i, err := checkAll(sections); err != nil {
		return fmt.Errorf("%w: section %d, %v: %w", ErrInvalid, i+1, sections[i].Entry, err)
	}
	return nil
}

// check returns what is wrong and the index of the section that has it.
func checkAll(sections []Section) (index int, err error) {
	entries := map[Location][]int{}
	for i := range sections {
		s := &sections[i]
		if err := s.check(); err != nil {
			return i, err
		}
		for _, j := range entries[s.Entry] {
			if other := &sections[j]; s.Covers(other.Variable) || other.Covers(s.Variable) {
				return i, errors.New("another section of the variable has the same entry: make them one section")
			}
		}
		entries[s.Entry] = append(entries[s.Entry], i)
	}
	return 0, nil
}

func (s *Section) check() error {
	if err := s.Entry.check(); err != nil {
		return fmt.Errorf("entry: %w", err)
	}
	if len(s.Ends) == 0 {
		return errors.New("the section has no end")
	}
	ends := make(map[Location]bool, len(s.Ends))
	for _, e := range s.Ends {
		if err := e.At.check(); err != nil {
			return fmt.Errorf("end %v: %w", e.At, err)
		}
		if e.Allow > Reads|Writes {
			return fmt.Errorf("end %v: Allow is %d, want a set of Reads and Writes", e.At, e.Allow)
		}
		if ends[e.At] {
			return fmt.Errorf("end %v is listed twice", e.At)
		}
		ends[e.At] = true
		for i, in := range e.In {
			if err := in.check(); err != nil {
				return fmt.Errorf("end %v: %w", e.At, err)
			}
			if slices.Contains(e.In[:i], in) {
				return fmt.Errorf("end %v: %v is listed twice", e.At, in)
			}
		}
	}
	switch {
	case s.Circular && !ends[s.Entry]:
		return errors.New("circular, but its entry is not among its ends")
	case !s.Circular && ends[s.Entry]:
		return errors.New("its entry is among its ends, but it is not circular")
	case s.Circular && s.Recursive:
		return errors.New("both circular and recursive")
	case s.Above < 0:
		return fmt.Errorf("above is %d, want at least 0", s.Above)
	case strings.Trim(s.Pattern, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-") != "":
		return fmt.Errorf("pattern %q has characters other than letters and dashes", s.Pattern)
	}
	return nil
}

func (l Lines) check() error {
	switch {
	case l.File == "":
		return errors.New("no file of a function")
	case l.File != path.Clean(l.File):
		return fmt.Errorf("file is %q, want %q", l.File, path.Clean(l.File))
	case l.First < 1 || l.Last < l.First:
		return fmt.Errorf("a function from line %d to line %d", l.First, l.Last)
	}
	return nil
}

func (l Location) check() error {
	switch {
	case l.File == "":
		return errors.New("no file")
	case l.File != path.Clean(l.File):
		return fmt.Errorf("file is %q, want %q", l.File, path.Clean(l.File))
	case l.Line < 1:
		return fmt.Errorf("line is %d, want at least 1", l.Line)
	case l.Mode != Reads && l.Mode != Writes:
		return errors.New("the mode is neither read nor write")
	}
	return nil
}

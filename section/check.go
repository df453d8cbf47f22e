package section

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// Check returns what is wrong with sections, or nil. The error wraps
// ErrInvalid and names the section. Each must have
//
//   - an entry and ends that are places: a file, in the shortest form that
//     path.Clean knows, a line from 1, and one mode, Reads or Writes;
//   - at least one end, and none twice;
//   - its entry among the ends if it is Circular, and only then; and it cannot be
//     both Circular and Recursive, for then an entry within it would mean two
//     things;
//   - an Above that is not negative and a Pattern of letters and dashes.
//
// Sections of one variable overlap nowhere but where one ends and another begins
// (section 3.2), so no two that may be of one variable have the same entry: they
// are one section with the ends of both. Whether code runs into an entry while it
// is in another section cannot be seen from the places alone.
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
		return errors.New("section without an end")
	}
	ends := make(map[Location]bool, len(s.Ends))
	for _, e := range s.Ends {
		if err := e.At.check(); err != nil {
			return fmt.Errorf("end %v: %w", e.At, err)
		}
		if e.Allow > Reads|Writes {
			return fmt.Errorf("end %v: what it allows, %d, is no set of Reads and Writes", e.At, e.Allow)
		}
		if ends[e.At] {
			return fmt.Errorf("end %v stands twice", e.At)
		}
		ends[e.At] = true
	}
	switch {
	case s.Circular && !ends[s.Entry]:
		return errors.New("circular, but its entry is not among its ends")
	case !s.Circular && ends[s.Entry]:
		return errors.New("its entry is among its ends, but it is not circular")
	case s.Circular && s.Recursive:
		return errors.New("both circular and recursive")
	case s.Above < 0:
		return fmt.Errorf("above %d: that is negative", s.Above)
	case strings.Trim(s.Pattern, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-") != "":
		return fmt.Errorf("pattern %q is not of letters and dashes", s.Pattern)
	}
	return nil
}

func (l Location) check() error {
	switch {
	case l.File == "":
		return errors.New("no file")
	case l.File != path.Clean(l.File):
		return fmt.Errorf("file %q is to be written %q", l.File, path.Clean(l.File))
	case l.Line < 1:
		return fmt.Errorf("line %d: lines are counted from 1", l.Line)
	case l.Mode != Reads && l.Mode != Writes:
		return errors.New("its mode is neither read nor write")
	}
	return nil
}

package focus

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Lines is a set of lines of a source file: ranges in increasing order, with at least one line between
// each two.
type Lines []LineRange

// LineRange has the lines from First to Last, both included. Lines are counted from 1.
type LineRange struct{ First, Last int }

// LinesOf returns the set of the given lines, which may have any order and appear several times. Lines
// below 1 are left out. The slice is not changed.
func LinesOf(lines []int) Lines {
	sorted := slices.Compact(slices.Sorted(slices.Values(lines)))
	var set Lines
	for _, line := range sorted {
		switch last := len(set) - 1; {
		case line < 1:
		case last >= 0 && set[last].Last == line-1:
			set[last].Last = line
		default:
			set = append(set, LineRange{line, line})
		}
	}
	return set
}

// Contains reports whether a line belongs to the set. It costs a binary search.
func (s Lines) Contains(line int) bool {
	i, _ := slices.BinarySearchFunc(s, line, func(r LineRange, line int) int { return cmp.Compare(r.Last, line) })
	return i < len(s) && s[i].First <= line
}

// String returns the ranges with blanks between them, such as "3-7 9".
func (s Lines) String() string {
	words := make([]string, len(s))
	for i, r := range s {
		words[i] = strconv.Itoa(r.First)
		if r.Last != r.First {
			words[i] += "-" + strconv.Itoa(r.Last)
		}
	}
	return strings.Join(words, " ")
}

// parseLines reads what String has written. The result may be invalid, see check.
func parseLines(words []string) (Lines, error) {
	s := make(Lines, len(words))
	for i, word := range words {
		first, last, several := strings.Cut(word, "-")
		if !several {
			last = first
		}
		var errs [2]error
		s[i].First, errs[0] = strconv.Atoi(first)
		s[i].Last, errs[1] = strconv.Atoi(last)
		if errs[0] != nil || errs[1] != nil {
			return nil, fmt.Errorf("%q is not a range of lines such as 3-7", word)
		}
	}
	return s, s.check()
}

func (s Lines) check() error {
	end := 0
	for _, r := range s {
		if r.First <= end || r.First == end+1 && end > 0 || r.Last < r.First {
			return fmt.Errorf("the lines %d-%d are not in order", r.First, r.Last)
		}
		end = r.Last
	}
	return nil
}

package heisentest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/report"
)

// Describe says of each finding what does not depend on the schedule, one line
// for each side of it, sorted and without repetition:
//
//	race on c.n
//		read of c.n in main.work at "c.n++" holding mu (write)
//		write of c.n in main.work at "c.n++" holding nothing
//
// The text in quotes is that of the source line of the innermost frame, read
// from the file.
func Describe(t *testing.T, findings []report.Finding) string {
	t.Helper()
	var described []string
	for _, f := range findings {
		var sides []string
		for _, a := range f.Accesses {
			if len(a.Stack) == 0 {
				t.Fatalf("no stack of an access to %s", a.Object)
			}
			held := []string{}
			for _, l := range a.Locks {
				held = append(held, fmt.Sprintf("%s (%s)", l.Variable, l.Mode))
			}
			if len(held) == 0 {
				held = []string{"nothing"}
			}
			sides = append(sides, fmt.Sprintf("\t%s of %s in %s at %q holding %s\n",
				a.Op, a.Variable, a.Stack[0].Func, sourceLine(t, a.Stack[0]), strings.Join(held, ", ")))
		}
		slices.Sort(sides)
		described = append(described, fmt.Sprintf("%s on %s\n%s", f.Kind, f.Variable, strings.Join(sides, "")))
	}
	slices.Sort(described)
	return strings.Join(slices.Compact(described), "")
}

// sourceLine returns the code on a frame's line, without a comment after it.
func sourceLine(t *testing.T, f report.Frame) string {
	t.Helper()
	text, err := os.ReadFile(f.File)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	if f.Line < 1 || f.Line > len(lines) {
		t.Fatalf("%s has no line %d", f.File, f.Line)
	}
	code, _, _ := strings.Cut(lines[f.Line-1], "//")
	return strings.TrimSpace(code)
}

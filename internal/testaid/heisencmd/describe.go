package heisencmd

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/report"
)

// Describe describes findings without what depends on the schedule. Each finding has a line of its
// own and a line for each of its accesses. Findings and accesses are sorted, and equal findings
// appear once:
//
//	race on c.n
//		read of c.n in main.work at "c.n++" holding mu (write)
//		write of c.n in main.work at "c.n++" holding nothing
//
// The text in quotes is the source line of the innermost frame, read from the file.
func Describe(t *testing.T, findings []report.Finding) string {
	t.Helper()
	var described []string
	for _, f := range eachPair(findings) {
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

// eachPair returns findings with one pair of accesses each.
func eachPair(findings []report.Finding) (all []report.Finding) {
	for i := range findings {
		all = append(all, findings[i].EachPair()...)
	}
	return all
}

// sourceLine returns the source line of a frame without its comment.
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

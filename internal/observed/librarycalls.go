package observed

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/filename"
	"github.com/heisen-go/heisen/internal/source"
	"github.com/heisen-go/heisen/report"
)

// A race inside the standard library is a mistake of the program: two calls that must not be made at the same time,
// such as those of methods of the same bytes.Buffer. The calls may race on several variables of the library. That is
// one finding, about the two calls.
//
// If one of the two sides is a goroutine of the library itself, the mistake is that the program still uses what it has
// handed back, such as an http.ResponseWriter after the end of its handler. Then all calls of a goroutine of the program
// are the same mistake, however many they are.

// libraryCall is the call of the standard library that leads to an access inside of it.
type libraryCall struct {
	callee string
	site   string // in the program; empty if the library itself has started the goroutine
}

// AtCalls makes a race inside the standard library one of the calls that have led there. standard is the folder of
// the library. It returns what such races have in common if they are the same mistake, and an empty text for any
// other finding.
func AtCalls(f *report.Finding, standard string) (mistake string) {
	if f.Kind != heisen.Race || len(f.Accesses) != 2 || standard == "" {
		return ""
	}
	var calls [2]libraryCall
	for i := range calls {
		var inside bool
		if calls[i], inside = callIn(f.Accesses[i].Stack, standard); !inside {
			return ""
		}
	}
	if calls[0].site == "" && calls[1].site == "" {
		return ""
	}
	f.Message = fmt.Sprintf("%s races with earlier %s", calls[1].callee, calls[0].callee)
	f.Variable = ""
	ends := []string{f.Detector, f.Package}
	for i, c := range calls {
		end := c.callee
		if c.site != "" {
			f.Accesses[i].Site = c.site
			if end += " " + c.site; calls[1-i].site == "" {
				end = startOf(f, i, standard)
			}
		}
		ends = append(ends, end)
	}
	slices.Sort(ends[2:])
	return strings.Join(ends, "\n")
}

// callIn returns the outermost call of the standard library of a stack, and whether the access is inside of it.
func callIn(stack []report.Frame, standard string) (c libraryCall, inside bool) {
	for _, frame := range stack {
		switch {
		case frame.File == "" || c.callee == "" && source.Synchronizes(frame.Func):
		case inLibrary(frame, standard):
			if c.callee == "" || !strings.Contains(frame.Func, ".gowrap") {
				c.callee = frame.Func
			}
		case c.callee == "":
			return c, false
		default:
			c.site = fmt.Sprintf("%s:%d", frame.File, frame.Line)
			return c, true
		}
	}
	return c, c.callee != ""
}

// startOf says which goroutine of the program made an access: by the place where the program has started it, or else
// by the outermost function of the program in the access's stack.
func startOf(f *report.Finding, i int, standard string) string {
	a := &f.Accesses[i]
	outermost := ""
	for _, frame := range a.Stack {
		if !inLibrary(frame, standard) {
			outermost = frame.Func
		}
	}
	for _, g := range f.Goroutines {
		if g.Thread == a.Thread && len(g.Stack) > 0 && !inLibrary(g.Stack[0], standard) {
			return fmt.Sprintf("started at %s:%d", g.Stack[0].File, g.Stack[0].Line)
		}
	}
	return "in " + outermost
}

// inLibrary reports whether a frame is in the standard library, or of code without a file.
func inLibrary(frame report.Frame, standard string) bool {
	return frame.File == "" || filename.Below(standard, frame.File)
}

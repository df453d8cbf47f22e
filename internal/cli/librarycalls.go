package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/source"
	"github.com/heisen-go/heisen/report"
)

// A race inside the standard library is a mistake of the program: two calls that must not be made at the same time,
// such as those of methods of the same bytes.Buffer. The calls may race on several variables of the library. That is
// one finding, about the two calls.

// libraryCall is the call of the standard library that leads to an access inside of it.
type libraryCall struct {
	callee string
	site   string // in the program; empty if the library itself has started the goroutine
}

// atCalls makes a race inside the standard library one of the calls that have led there. standard is the folder of
// the library. It returns what such races have in common if they are the same mistake, and an empty text for any
// other finding.
func atCalls(f *report.Finding, standard string) (mistake string) {
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
		if c.site != "" {
			f.Accesses[i].Site = c.site
		}
		ends = append(ends, c.callee+" "+c.site)
	}
	slices.Sort(ends[2:])
	return strings.Join(ends, "\n")
}

// callIn returns the outermost call of the standard library of a stack, and whether the access is inside of it.
func callIn(stack []report.Frame, standard string) (c libraryCall, inside bool) {
	for _, frame := range stack {
		switch {
		case frame.File == "" || c.callee == "" && source.Synchronizes(frame.Func):
		case strings.HasPrefix(frame.File, standard+string(filepath.Separator)):
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

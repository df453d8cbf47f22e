package observed

import (
	"crypto/sha256"
	"encoding/hex"
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
	from   report.Frame // in the program; zero if the library itself has started the goroutine
}

// AtCalls makes a race inside the standard library one of the calls that have led there. standard is the folder of the library; empty if it is
// not known. It is about the variable of the program to whose value both calls are applied, or else about the type in the library. If that is
// not known either, the two calls alone are the bug.
func AtCalls(f *report.Finding, standard string, sources *report.Resolver) {
	if f.Kind != heisen.Race || len(f.Accesses) != 2 || standard == "" {
		return
	}
	var calls [2]libraryCall
	for i := range calls {
		var inside bool
		if calls[i], inside = callIn(f.Accesses[i].Stack, standard); !inside {
			return
		}
	}
	if calls[0].from.File == "" && calls[1].from.File == "" {
		return
	}
	f.Message = fmt.Sprintf("%s races with earlier %s", calls[1].callee, calls[0].callee)
	f.Variable = ""
	ends := []string{"calls"}
	for i, c := range calls {
		end := c.callee
		if c.from.File != "" {
			f.Accesses[i].Site = fmt.Sprintf("%s:%d", c.from.File, c.from.Line)
			if end += " " + place(c.from); calls[1-i].from.File == "" {
				end = startOf(f, i, standard)
			}
		}
		ends = append(ends, end)
	}
	slices.Sort(ends[1:])
	if f.Inside == "" {
		f.Inside = f.PairFingerprint()
	}
	sum := sha256.Sum256([]byte(strings.Join(ends, "\n")))
	f.Identity, f.Pair, f.Fingerprint = "", "", hex.EncodeToString(sum[:8])
	f.Identify(appliedTo(calls, sources), f.Fingerprint)
}

// appliedTo returns the identity of the variable to whose value both calls are applied, or of what such a value is in the library; an empty
// text if that is not known.
func appliedTo(calls [2]libraryCall, sources *report.Resolver) string {
	var variables, types [2]string
	for i, c := range calls {
		if c.from.File == "" {
			return ""
		}
		method := c.callee[strings.LastIndexByte(c.callee, '.')+1:]
		variables[i], types[i] = sources.Receiver(c.from, method), receiverType(c.callee)
	}
	switch {
	case variables[0] != "" && variables[0] == variables[1]:
		return variables[0]
	case types[0] != "" && types[0] == types[1]:
		return types[0]
	}
	return ""
}

// receiverType returns the identity of the values of the type of which a function is a method; an empty text if it is none.
func receiverType(function string) string {
	of, _, isMethod := strings.Cut(function, ").")
	pkg, name, isPointer := strings.Cut(of, ".(*")
	if !isMethod || !isPointer {
		return ""
	}
	name, _, _ = strings.Cut(name, "[")
	return pkg + ".*" + name
}

// place returns a place of a function without the folder of its file.
func place(at report.Frame) string {
	return fmt.Sprintf("%s %s:%d", at.Func, at.File[strings.LastIndexByte(at.File, '/')+1:], at.Line)
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
			c.from = frame
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
			return "started in " + place(g.Stack[0])
		}
	}
	return "in " + outermost
}

// inLibrary reports whether a frame is in the standard library, or of code without a file.
func inLibrary(frame report.Frame, standard string) bool {
	return frame.File == "" || filename.Below(standard, frame.File)
}

package section

import (
	"path"
	"strconv"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/filename"
)

// Locator translates the site and context numbers of a stream for sections. Detectors and trackers
// remember the answers, so each function is called about once per number, not once per event. A
// detector that several goroutines drive calls the functions from any of them, one call at a time.
type Locator struct {
	// Site returns the file (with slashes) and the line of a site, and the name of the variable
	// that is accessed there. An empty file means that the place is unknown. An empty variable
	// means that the variable is unknown: the access then belongs to every section of the place,
	// except where sections with different Variable fields share the place. There it belongs to
	// none of the sections that have a Variable, unless the Locator is Permissive.
	Site func(heisen.Site) (file string, line int, variable string)

	// Permissive makes an access to an unknown variable belong to every section of its place. It
	// serves analyses that collect suspects and would rather have too many than too few.
	Permissive bool

	// Folder is the folder of relative paths, both those that Site returns and those of the
	// sections.
	Folder string

	// Depth returns the number of calls on the stack of a context. It serves streams whose records
	// have contexts. It is nil for streams with Call and Return events.
	Depth func(heisen.Context) int

	// Stack returns the frames on the stack of an access, innermost first, for End.In. If it is nil,
	// or returns none, then no access is known to be outside of the functions of an end.
	Stack func(heisen.Context, heisen.Site) []heisen.Frame
}

// LocateIn returns a Locator for a stream with the given symbols. It locates a site by its innermost
// frame or, in text traces, by a text that ends in a colon and a line number. Depth is the length of
// the context's call path. Variables stay unknown. For folder see Locator. Nil symbols locate
// nothing.
func LocateIn(symbols *heisen.Symbols, folder string) Locator {
	if symbols == nil {
		symbols = heisen.NewSymbols()
	}
	return Locator{
		Site: func(s heisen.Site) (file string, line int, variable string) {
			info := symbols.Site(s)
			if len(info.Frames) > 0 {
				file, line = info.Frames[0].File, info.Frames[0].Line
			} else if at := strings.LastIndexByte(info.Text, ':'); at > 0 {
				n, err := strconv.Atoi(info.Text[at+1:])
				if err != nil {
					return "", 0, ""
				}
				file, line = info.Text[:at], n
			}
			return file, line, ""
		},
		Folder: folder,
		Depth:  func(c heisen.Context) int { return len(symbols.Calls(c)) },
		Stack: func(c heisen.Context, site heisen.Site) (stack []heisen.Frame) {
			if c == 0 {
				return nil
			}
			stack = append(stack, symbols.Site(site).Frames...)
			for _, call := range symbols.Calls(c) {
				stack = append(stack, symbols.Site(call).Frames...)
			}
			return stack
		},
	}
}

// Inside reports whether an access is made in a call of one of the functions of an end, as far as
// that is known. It costs a walk of the stack if the end has functions.
func (l *Locator) Inside(end *End, access heisen.Access) bool {
	if end == nil || len(end.In) == 0 || l.Stack == nil {
		return true
	}
	stack := l.Stack(access.Context, access.Site)
	for _, frame := range stack {
		at := l.location(frame.File, frame.Line, 0)
		for _, in := range end.In {
			if in.First <= at.Line && at.Line <= in.Last && at.File == l.location(in.File, in.First, 0).File {
				return true
			}
		}
	}
	return len(stack) == 0
}

// location returns the location in the one form under which an Index knows it: with an absolute or
// Folder-relative path, cleaned.
func (l *Locator) location(file string, line int, mode Modes) Location {
	if !filename.IsAbs(file) {
		file = path.Join(l.Folder, file)
	}
	return Location{path.Clean(file), line, mode}
}

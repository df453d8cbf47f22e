package goroutines

import (
	"runtime"
	"strconv"
	"strings"
)

// A Goroutine is one in a dump of the stacks of all goroutines.
type Goroutine struct {
	ID     uint64
	Reason string // for what it waits, in the words of the runtime, such as "chan send", or what it does
	Leaked bool   // the last profile of leaked goroutines had it
	Stack  []Frame

	Creator Frame  // the go statement, if known
	Parent  uint64 // the goroutine that has executed it, 0 if not known
}

// A Frame is a function in a dump.
type Frame struct {
	Function string
	File     string
	Line     int
}

// Callers returns the part of the stack that begins outside of the runtime and package sync.
func (g *Goroutine) Callers() []Frame {
	for i, f := range g.Stack {
		if !waits(f.Function) {
			return g.Stack[i:]
		}
	}
	return nil
}

// waits reports whether a function belongs to those that make goroutines wait.
func waits(function string) bool {
	return strings.HasPrefix(function, "runtime.") || strings.HasPrefix(function, "sync.") || strings.HasPrefix(function, "internal/")
}

// largestDump bounds the text of a dump, in bytes. What does not fit is left out.
const largestDump = 64 << 20

// Dump returns the goroutines of this process. No goroutine runs while their stacks are written, which takes some
// microseconds for each of them.
func Dump() []Goroutine {
	for size := 1 << 20; ; size *= 4 {
		text := make([]byte, min(size, largestDump))
		if n := runtime.Stack(text, true); n < len(text) || n == largestDump {
			return parseDump(string(text[:n]))
		}
	}
}

func parseDump(text string) (all []Goroutine) {
	for part := range strings.SplitSeq(text, "\n\n") {
		lines := strings.Split(strings.TrimSuffix(part, "\n"), "\n")
		if g, ok := parseHeader(lines[0]); ok {
			g.addFrames(lines[1:])
			all = append(all, g)
		}
	}
	return all
}

// parseHeader reads a line such as "goroutine 7 [chan send (leaked), 3 minutes, locked to thread]:".
func parseHeader(line string) (g Goroutine, ok bool) {
	rest, isGoroutine := strings.CutPrefix(line, "goroutine ")
	number, rest, _ := strings.Cut(rest, " ")
	id, err := strconv.ParseUint(number, 10, 64)
	_, rest, isOpen := strings.Cut(rest, "[")
	words, _, isClosed := strings.Cut(rest, "]")
	if !isGoroutine || err != nil || !isOpen || !isClosed {
		return g, false
	}
	g.ID = id
	reason, _, _ := strings.Cut(words, ", ") // minutes may follow, which begin before it waits
	g.Reason, g.Leaked = strings.CutSuffix(reason, " (leaked)")
	return g, true
}

// addFrames reads the lines of functions, each of which is followed by that of its place, which is indented.
func (g *Goroutine) addFrames(lines []string) {
	for i := 0; i+1 < len(lines); i++ {
		if strings.HasPrefix(lines[i], "\t") || !strings.HasPrefix(lines[i+1], "\t") {
			continue
		}
		function, created := strings.CutPrefix(lines[i], "created by ")
		if created {
			name, parent, _ := strings.Cut(function, " in goroutine ")
			g.Parent, _ = strconv.ParseUint(parent, 10, 64)
			g.Creator = frameAt(name, lines[i+1])
			return
		}
		if arguments := strings.LastIndexByte(function, '('); arguments > 0 {
			function = function[:arguments]
		}
		g.Stack = append(g.Stack, frameAt(function, lines[i+1]))
	}
}

// frameAt reads a place such as "\t/home/gopher/main.go:16 +0x1d".
func frameAt(function, place string) Frame {
	place = strings.TrimPrefix(place, "\t")
	if offset := strings.LastIndex(place, " +0x"); offset >= 0 {
		place = place[:offset]
	}
	file, number := place, ""
	if colon := strings.LastIndexByte(place, ':'); colon >= 0 {
		file, number = place[:colon], place[colon+1:]
	}
	line, _ := strconv.Atoi(number)
	return Frame{Function: function, File: file, Line: line}
}

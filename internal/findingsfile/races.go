package findingsfile

import (
	"regexp"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/report"
)

// header matches the line above the calls of an access, as Go's race detector and heisen print it: "Previous write at 0xc000012345 by
// goroutine 7:", "Concurrent read by goroutine 9 (TestGet) at 0x867ec8:", "Write by main goroutine, holding no locks:".
var header = regexp.MustCompile(`^(?i:(?:previous |concurrent )?(atomic )?(read|write|update))\b.* by (?:main goroutine|goroutine \d+|cleanup \d+|a goroutine that has done nothing yet)\b.*:$`)

// place matches the line below a function: its file and line, and perhaps an offset.
var place = regexp.MustCompile(`^ {6}(\S.*):(\d+)(?: \+0x[0-9a-f]+)?$`)

// call matches a call on one line, as heisen's short reports have it: "  store/store.go:12  example.org/store.(*db).get()".
var call = regexp.MustCompile(`^  (\S.*:\d+)  (\S.*)\(\)$`)

// races returns the races in a text, which may have anything between them.
func races(text []byte) (found []report.Finding) {
	var accesses []report.Access
	inReport := false
	end := func() {
		if inReport && len(accesses) == 2 {
			found = append(found, complete(report.Finding{Kind: heisen.Race, Message: "data race", Accesses: accesses}))
		}
		accesses, inReport = nil, false
	}
	lines := strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		switch {
		case strings.HasPrefix(line, "WARNING: DATA RACE"), strings.HasPrefix(line, "WARNING: POTENTIAL DATA RACE"):
			end()
			inReport = true
		case strings.HasPrefix(line, "WARNING: "), line != "" && strings.Trim(line, "=") == "":
			end()
		case inReport:
			if m := header.FindStringSubmatch(line); m != nil {
				var stack []report.Frame
				stack, i = frames(lines, i+1)
				if len(stack) > 0 {
					accesses = append(accesses, access(opOf(m[1] != "", strings.ToLower(m[2])), stack...))
				}
			}
		}
	}
	end()
	return once(found)
}

// frames returns the calls that stand from a line on, and the last line that belongs to them.
func frames(lines []string, i int) (stack []report.Frame, last int) {
	for ; i+1 < len(lines); i++ {
		function := strings.TrimRight(lines[i], " ")
		if !strings.HasPrefix(function, "  ") {
			break
		}
		if m := call.FindStringSubmatch(function); m != nil {
			if file, line, ok := cutPlace(m[1]); ok {
				stack = append(stack, report.Frame{Func: m[2], File: file, Line: line})
			}
		} else if m := place.FindStringSubmatch(lines[i+1]); m != nil {
			name := strings.TrimSpace(function)
			if open := strings.LastIndexByte(name, '('); open > 0 {
				name = name[:open]
			}
			if file, line, ok := cutPlace(m[1] + ":" + m[2]); ok {
				stack = append(stack, report.Frame{Func: name, File: file, Line: line})
			}
			i++
		} // else a line of source, or of locks
	}
	return stack, i - 1
}

func opOf(atomic bool, op string) string {
	switch {
	case op == "read" && atomic:
		return heisen.AtomicRead.String()
	case op == "read":
		return heisen.Read.String()
	case op == "update":
		return heisen.AtomicUpdate.String()
	case atomic:
		return heisen.AtomicWrite.String()
	}
	return heisen.Write.String()
}

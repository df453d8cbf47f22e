// Package findingsfile reads findings that any tool has written: the JSON lines of heisen, SARIF, what Go's race detector and heisen
// print, also within the output of go test -json, and pairs of lines that somebody has typed.
package findingsfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/report"
)

// ErrNone means that a file has no findings with places.
var ErrNone = errors.New("no findings")

// Read returns the findings in a file. Names of files in them that are not absolute are relative to the working folder, and become
// absolute. What is not known is empty: the operation of an access of which only the line is known, and all but the places of findings
// of other tools. A race with several pairs of accesses is a finding for each of them. The error of a file without findings is [ErrNone]; other errors have the line.
func Read(name string) ([]report.Finding, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	found, err := parse(text)
	switch {
	case err != nil && !errors.Is(err, ErrNone):
		return nil, fmt.Errorf("%s:%w", name, err)
	case err != nil || len(found) == 0:
		return nil, fmt.Errorf("%s: %w", name, ErrNone)
	}
	var all []report.Finding
	for i := range found {
		all = append(all, found[i].EachPair()...)
	}
	return all, nil
}

// ReadOwn returns the findings in a file that heisen has written as JSON. There may be none.
func ReadOwn(name string) ([]report.Finding, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	found, err := ours(text)
	if err != nil {
		err = fmt.Errorf("%s:%w", name, err)
	}
	return found, err
}

// parse returns the findings in a text. Its errors begin with the line.
func parse(text []byte) ([]report.Finding, error) {
	var s sarif
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) && json.Unmarshal(text, &s) == nil && s.Runs != nil {
		return s.findings()
	}
	found, err := ours(text)
	if err != nil || len(found) > 0 {
		return found, err
	}
	plain := outputOf(text)
	if found = races(plain); len(found) > 0 {
		return found, nil
	}
	if reports := bytes.Contains(plain, []byte("WARNING:")); reports || !bytes.Equal(plain, text) {
		return nil, ErrNone
	}
	return pairs(plain)
}

// ours returns the findings of heisen's own JSON. There may be other lines, such as those of the program.
func ours(text []byte) (found []report.Finding, err error) {
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		start := strings.Index(line, `{"detector":`)
		if start < 0 {
			continue
		}
		next, err := report.ReadJSON(strings.NewReader(line[start:]))
		if err != nil {
			return nil, fmt.Errorf("%d: %w", n, err)
		}
		found = append(found, next...)
	}
	return found, nil
}

// outputOf returns what programs have printed if text is the output of go test -json, and otherwise the text.
func outputOf(text []byte) []byte {
	var printed bytes.Buffer
	for line := range bytes.Lines(text) {
		var event struct{ Action, Output string }
		if json.Unmarshal(line, &event) == nil && event.Action == "output" {
			printed.WriteString(event.Output)
		}
	}
	if printed.Len() == 0 {
		return text
	}
	return printed.Bytes()
}

// pairs returns the races of a file with two places on each line. Empty lines, and what follows a #, do not count.
func pairs(text []byte) (found []report.Finding, err error) {
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line, _, _ = strings.Cut(line, "#")
		fields := strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\r' || r == '\n' })
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 2 {
			return nil, fmt.Errorf("%d: want two places, such as a.go:12 b.go:34", n)
		}
		f := report.Finding{}
		for _, field := range fields {
			file, at, ok := cutPlace(field)
			if !ok {
				return nil, fmt.Errorf("%d: %q is not a place, such as a.go:12", n, field)
			}
			if _, err := os.Stat(file); err != nil {
				return nil, fmt.Errorf("%d: %w", n, err)
			}
			f.Accesses = append(f.Accesses, access("", report.Frame{File: file, Line: at}))
		}
		found = append(found, complete(f))
	}
	return found, nil
}

// access returns an access of which only the calls are known, and perhaps the operation.
func access(op string, stack ...report.Frame) report.Access {
	for i := range stack {
		if stack[i].File != "" {
			stack[i].File = absolute(stack[i].File)
		}
	}
	return report.Access{Op: op, Stack: stack, Site: fmt.Sprintf("%s:%d", stack[0].File, stack[0].Line), LocksUnknown: true}
}

// absolute returns the absolute name of a file.
func absolute(file string) string {
	if abs, err := filepath.Abs(file); err == nil {
		return abs
	}
	return file
}

// complete fills in what every finding has. A finding of two accesses is a suspected race unless its kind is known.
func complete(f report.Finding) report.Finding {
	if f.Kind == "" {
		f.Kind = heisen.PotentialRace
	}
	if f.Message == "" {
		f.Message = "two accesses that a file of findings names"
	}
	f.Count = max(f.Count, 1)
	if f.Fingerprint == "" {
		var places []string
		for i := range f.Accesses {
			places = append(places, f.Accesses[i].Op+" "+f.Accesses[i].Site)
		}
		slices.Sort(places)
		sum := sha256.Sum256([]byte(string(f.Kind) + "\n" + strings.Join(places, "\n")))
		f.Fingerprint = hex.EncodeToString(sum[:8])
	}
	return f
}

// once returns findings each once.
func once(found []report.Finding) (all []report.Finding) {
	for _, f := range found {
		if !slices.ContainsFunc(all, func(known report.Finding) bool { return known.Fingerprint == f.Fingerprint }) {
			all = append(all, f)
		}
	}
	return all
}

// cutPlace returns the file and the line of a place.
func cutPlace(place string) (file string, line int, ok bool) {
	i := strings.LastIndexByte(place, ':')
	if i <= 0 {
		return "", 0, false
	}
	line, err := strconv.Atoi(place[i+1:])
	return place[:i], line, err == nil && line > 0
}

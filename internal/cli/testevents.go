package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/printable"
	"github.com/heisen-go/heisen/report"
)

// testEvents is the output of go test -json with the reports of heisen between its lines.
//
// A report is an event that every reader of such streams knows: output of the test whose goroutine made
// the access, or of the package if no test runs.
type testEvents struct {
	name string // of the command
	mu   sync.Mutex
	w    io.Writer
	line []byte // start of an unfinished line of go test

	reports placedReports

	advice map[string][]string // on functions that did not link, by the import path of the build
}

// testEvent is an event as in go doc test2json, with one more field.
type testEvent struct {
	Time    time.Time
	Action  string
	Package string          `json:",omitempty"`
	Test    string          `json:",omitempty"`
	Output  string          `json:",omitempty"`
	Finding json.RawMessage `json:",omitempty"`
}

// Write takes the output of go test and writes whole lines.
func (e *testEvents) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.line = append(e.line, p...)
	end := bytes.LastIndexByte(e.line, '\n') + 1
	if end == 0 {
		return len(p), nil
	}
	_, err := e.w.Write(e.reported(e.advised(e.line[:end])))
	e.line = append(e.line[:0], e.line[end:]...)
	return len(p), err
}

// reported returns lines of go test with the reports that have their places between them.
func (e *testEvents) reported(lines []byte) []byte {
	var out []byte
	for line := range bytes.Lines(lines) {
		before, after := e.reports.follow(line)
		out = append(appendEvents(out, before), line...)
		out = appendEvents(out, after)
	}
	return out
}

// buildEvent is an event of a build, as in go help buildjson.
type buildEvent struct {
	ImportPath string
	Action     string
	Output     string `json:",omitempty"`
}

// advised returns lines of go test with what to do about functions that did not link, as output of the
// builds, before the events that these have failed.
func (e *testEvents) advised(lines []byte) []byte {
	if !bytes.Contains(lines, []byte(`"Action":"build-`)) {
		return lines
	}
	var out []byte
	for line := range bytes.Lines(lines) {
		var event buildEvent
		if bytes.Contains(line, []byte(`"Action":"build-`)) && json.Unmarshal(line, &event) == nil {
			switch event.Action {
			case "build-output":
				e.keepAdvice(event)
			case "build-fail":
				for _, advice := range e.advice[event.ImportPath] {
					more := buildEvent{event.ImportPath, "build-output", e.name + " test: " + advice + "\n"}
					if text, err := json.Marshal(more); err == nil {
						out = append(append(out, text...), '\n')
					}
				}
				delete(e.advice, event.ImportPath)
			}
		}
		out = append(out, line...)
	}
	return out
}

// keepAdvice keeps what to do about what a build has printed.
func (e *testEvents) keepAdvice(event buildEvent) {
	for _, advice := range build.StackAdvice(event.Output) {
		if known := e.advice[event.ImportPath]; !slices.Contains(known, advice) {
			if e.advice == nil {
				e.advice = map[string][]string{}
			}
			e.advice[event.ImportPath] = append(known, advice)
		}
	}
}

// Close writes an unfinished line of go test.
func (e *testEvents) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, err := e.w.Write(append(appendEvents(nil, e.reports.rest()), e.line...))
	e.line = nil
	return err
}

// printer returns a function that prints findings as text, with an event for each line, where its place is.
func (e *testEvents) printer(to *reports) func(*report.Finding) error {
	return func(f *report.Finding) error {
		var b bytes.Buffer
		if err := to.textTo(&b, to.inFull(), false)(f); err != nil {
			return err
		}
		return e.text(f, b.Bytes())
	}
}

// text prints the report of a finding.
func (e *testEvents) text(f *report.Finding, text []byte) error {
	var events []testEvent
	for line := range bytes.Lines(text) {
		events = append(events, testEvent{Package: f.Package, Output: string(line)})
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	_, err := e.w.Write(appendEvents(nil, e.reports.add(f, events)))
	return err
}

// finding prints a finding as JSON, with a line of text, after the tests: as output of the package.
func (e *testEvents) finding(f *report.Finding) error {
	output := e.name + ": " + string(f.Kind) + ": " + f.Message + ", fingerprint " + f.Fingerprint + "\n"
	var line bytes.Buffer
	if err := report.WriteJSON(&line, f); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	_, err := e.w.Write(appendEvents(nil, []testEvent{{Package: f.Package, Output: output, Finding: bytes.TrimSpace(line.Bytes())}}))
	return err
}

// appendEvents appends lines of output.
func appendEvents(to []byte, events []testEvent) []byte {
	var lines bytes.Buffer
	enc := json.NewEncoder(printable.NewWriter(&lines))
	enc.SetEscapeHTML(false)
	for _, event := range events {
		event.Time, event.Action = time.Now(), "output"
		_ = enc.Encode(event) // of strings, to memory
	}
	return append(to, lines.Bytes()...)
}

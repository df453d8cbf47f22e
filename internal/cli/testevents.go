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
// A report is an event that every reader of such streams knows: output of a package. It names no
// test, because readers drop the output of tests that pass, and the test may have passed before the
// finding is known. The text names the tests.
type testEvents struct {
	name string // of the command
	mu   sync.Mutex
	w    io.Writer
	line []byte // start of an unfinished line of go test

	advice map[string][]string // on functions that did not link, by the import path of the build
}

// testEvent is an event as in go doc test2json, with one more field.
type testEvent struct {
	Time    time.Time
	Action  string
	Package string          `json:",omitempty"`
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
	_, err := e.w.Write(e.advised(e.line[:end]))
	e.line = append(e.line[:0], e.line[end:]...)
	return len(p), err
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
	_, err := e.w.Write(e.line)
	e.line = nil
	return err
}

// text prints a finding as text, with an event for each line.
func (e *testEvents) text(f *report.Finding) error {
	var b bytes.Buffer
	if err := report.WriteText(&b, f); err != nil {
		return err
	}
	for line := range bytes.Lines(b.Bytes()) {
		if err := e.put(testEvent{Package: f.Package, Output: string(line)}); err != nil {
			return err
		}
	}
	return nil
}

// finding prints a finding as JSON, with a line of text.
func (e *testEvents) finding(f *report.Finding) error {
	output := e.name + ": " + string(f.Kind) + ": " + f.Message + ", fingerprint " + f.Fingerprint + "\n"
	var line bytes.Buffer
	if err := report.WriteJSON(&line, f); err != nil {
		return err
	}
	return e.put(testEvent{Package: f.Package, Output: output, Finding: bytes.TrimSpace(line.Bytes())})
}

func (e *testEvents) put(event testEvent) error {
	event.Time, event.Action = time.Now(), "output"
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(event); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	_, err := printable.NewWriter(e.w).Write(line.Bytes())
	return err
}

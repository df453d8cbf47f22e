package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/heisen-go/heisen/report"
)

// testEvents is the output of go test -json, with heisen's between its lines.
//
// What heisen says are events of the kind that every reader of such streams
// knows: output of a package. They name no test, for the test may have ended with
// success before the finding is known, and readers drop the output of such tests;
// which tests it was stands in the text.
type testEvents struct {
	mu   sync.Mutex
	w    io.Writer
	line []byte // the start of a line that go test has not finished
}

// testEvent is an event in the words of go doc test2json, and one field more.
type testEvent struct {
	Time    time.Time
	Action  string
	Package string          `json:",omitempty"`
	Output  string          `json:",omitempty"`
	Finding *report.Finding `json:",omitempty"`
}

// Write takes what go test prints and hands on whole lines.
func (e *testEvents) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.line = append(e.line, p...)
	end := bytes.LastIndexByte(e.line, '\n') + 1
	if end == 0 {
		return len(p), nil
	}
	_, err := e.w.Write(e.line[:end])
	e.line = append(e.line[:0], e.line[end:]...)
	return len(p), err
}

// Close hands on what go test has left of a line.
func (e *testEvents) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, err := e.w.Write(e.line)
	e.line = nil
	return err
}

// text prints a finding as people read it, line by line.
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

// finding prints a finding for programs, and a line for people.
func (e *testEvents) finding(f *report.Finding) error {
	output := "heisen: " + string(f.Kind) + ": " + f.Message + ", fingerprint " + f.Fingerprint + "\n"
	return e.put(testEvent{Package: f.Package, Output: output, Finding: f})
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
	_, err := e.w.Write(line.Bytes())
	return err
}

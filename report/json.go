package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/heisen-go/heisen/internal/option"
	"github.com/heisen-go/heisen/internal/printable"
)

// ErrFinding is wrapped by the errors of ReadJSON for a line that is JSON but no finding, and by those
// of WriteJSON for a finding that ReadJSON would not accept: one without a kind or a fingerprint.
var ErrFinding = errors.New("not a finding")

// WriteJSON writes f as one line of JSON, with the version of this form in the field version, 1. If w or f is nil, the error wraps heisen.ErrOption. If f has
// no kind or no fingerprint, nothing is written, and the error wraps ErrFinding.
func WriteJSON(w io.Writer, f *Finding) error {
	if err := checkArguments("report.WriteJSON", w, f); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return fmt.Errorf("writing a finding: %w", err)
	}
	if f.Accesses == nil {
		empty := *f
		empty.Accesses = []Access{} // in JSON a list, not null
		f = &empty
	}
	enc := json.NewEncoder(printable.NewWriter(w))
	enc.SetEscapeHTML(false) // expressions such as <-ch stay readable
	if err := enc.Encode(versioned{f, jsonVersion}); err != nil {
		return fmt.Errorf("writing finding %s: %w", f.Fingerprint, err)
	}
	return nil
}

// jsonVersion is the version of the JSON form. Version 1 is documented in docs/finding.schema.json.
// New fields do not change it.
const jsonVersion = 1

// versioned is a finding with the version of its form.
type versioned struct {
	*Finding
	Version int `json:"version"`
}

// check returns an error if f lacks what every finding has.
func (f *Finding) check() error {
	if f.Kind == "" || f.Fingerprint == "" {
		return fmt.Errorf("%w: kind or fingerprint is missing", ErrFinding)
	}
	return nil
}

// checkArguments returns the error of a function that was given a nil writer or finding.
func checkArguments(function string, w io.Writer, f *Finding) error {
	switch {
	case w == nil:
		return fmt.Errorf("%s: %w", function, option.Errorf("the writer is nil"))
	case f == nil:
		return fmt.Errorf("%s: %w", function, option.Errorf("the finding is nil"))
	}
	return nil
}

// noReader returns the error of a function that was given a nil reader.
func noReader(function string) error {
	return fmt.Errorf("%s: %w", function, option.Errorf("the reader is nil"))
}

// maxLine bounds one finding in JSON, in bytes; a witness is its largest part.
const maxLine = 64 << 20

// ReadJSON reads findings in the form that WriteJSON writes, until the end of r. It skips empty lines
// and ignores unknown fields. An error names the line. The findings before it are returned with it.
// A line may have up to 64 MB. If r is nil, the error wraps heisen.ErrOption.
func ReadJSON(r io.Reader) (findings []Finding, err error) {
	if r == nil {
		return nil, noReader("report.ReadJSON")
	}
	err = eachLine(r, func(line []byte) error {
		var f Finding
		err := readLine(line, &f, &f)
		if err == nil {
			findings = append(findings, f)
		}
		return err
	})
	return findings, err
}

// eachLine calls read with the lines that are not empty, until it returns an error. Errors name the line.
func eachLine(r io.Reader, read func(line []byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		if line := bytes.TrimSpace(lines.Bytes()); len(line) > 0 {
			if err := read(line); err != nil {
				return fmt.Errorf("line %d: %w", n, err)
			}
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("line %d: %w", n+1, err)
	}
	return nil
}

// readLine reads a line into a value that has a finding.
func readLine(line []byte, into any, f *Finding) error {
	err := json.Unmarshal(line, into)
	if err != nil && json.Valid(line) {
		err = fmt.Errorf("%w: %w", ErrFinding, err)
	}
	if err == nil {
		err = f.check()
	}
	return err
}

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

// ErrFinding is wrapped by the errors of ReadJSON for a line that is JSON but no finding.
var ErrFinding = errors.New("not a finding")

// WriteJSON writes f as one line of JSON. If w or f is nil, the error wraps heisen.ErrOption.
func WriteJSON(w io.Writer, f *Finding) error {
	if err := checkArguments("report.WriteJSON", w, f); err != nil {
		return err
	}
	enc := json.NewEncoder(printable.NewWriter(w))
	enc.SetEscapeHTML(false) // expressions such as <-ch stay readable
	if err := enc.Encode(f); err != nil {
		return fmt.Errorf("writing finding %s: %w", f.Fingerprint, err)
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
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		var f Finding
		if err := json.Unmarshal(line, &f); err != nil {
			return findings, fmt.Errorf("line %d: %w", n, err)
		}
		if f.Kind == "" || f.Fingerprint == "" {
			return findings, fmt.Errorf("line %d: %w: kind or fingerprint is missing", n, ErrFinding)
		}
		findings = append(findings, f)
	}
	if err := lines.Err(); err != nil {
		return findings, fmt.Errorf("line %d: %w", n+1, err)
	}
	return findings, nil
}

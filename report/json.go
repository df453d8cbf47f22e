package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ErrFinding is wrapped by the errors of ReadJSON for a line that is JSON but no finding, and by
// those of WriteJSON and WriteText for a nil Finding.
var ErrFinding = errors.New("no finding")

// errNil is the error for a nil reader or writer.
var errNil = errors.New("nil reader or writer")

// WriteJSON writes f as one line of JSON.
func WriteJSON(w io.Writer, f *Finding) error {
	if err := writable(w, f); err != nil {
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // expressions such as <-ch stay readable
	if err := enc.Encode(f); err != nil {
		return fmt.Errorf("report: write finding %s: %w", f.Fingerprint, err)
	}
	return nil
}

func writable(w io.Writer, f *Finding) error {
	switch {
	case f == nil:
		return fmt.Errorf("report: %w", ErrFinding)
	case w == nil:
		return fmt.Errorf("report: write finding %s: %w", f.Fingerprint, errNil)
	}
	return nil
}

// maxLine bounds one finding in JSON, in bytes; a witness is its largest part.
const maxLine = 64 << 20

// ReadJSON reads findings in the form that WriteJSON writes, until the end of r. It skips empty lines
// and ignores unknown fields. An error names the line. The findings before it are returned with it.
// A line may have up to 64 MB.
func ReadJSON(r io.Reader) (findings []Finding, err error) {
	if r == nil {
		return nil, fmt.Errorf("report: read findings: %w", errNil)
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
			return findings, fmt.Errorf("report: line %d: %w", n, err)
		}
		if f.Kind == "" || f.Fingerprint == "" {
			return findings, fmt.Errorf("report: line %d: %w: kind or fingerprint is missing", n, ErrFinding)
		}
		findings = append(findings, f)
	}
	if err := lines.Err(); err != nil {
		return findings, fmt.Errorf("report: line %d: %w", n+1, err)
	}
	return findings, nil
}

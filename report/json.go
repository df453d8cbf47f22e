package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Encode writes f as one line of JSON.
func Encode(w io.Writer, f *Finding) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // names such as <-ch are for people, too
	if err := enc.Encode(f); err != nil {
		return fmt.Errorf("report: write finding %s: %w", f.Fingerprint, err)
	}
	return nil
}

// maxLine bounds one finding in JSON, in bytes; a witness is its largest part.
const maxLine = 64 << 20

// ErrFinding is the error of Decode for a line that is JSON but no finding.
var ErrFinding = errors.New("no finding")

// Decode reads findings in the form that Encode writes, until the end of r.
// Empty lines and unknown fields are passed over. An error names the line; the
// findings before it are returned with it.
func Decode(r io.Reader) (findings []Finding, err error) {
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

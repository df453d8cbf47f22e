package report

import (
	"fmt"
	"io"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/option"
)

// Baseline is a list of findings that are known already. A baseline file has the findings as lines
// of JSON, as WriteJSON writes them. A Baseline contains every finding whose fingerprint it has,
// whichever detector found it.
//
// A fingerprint has the name that the compiler gives to a function literal, and Go 1.27 gives another one than
// Go 1.26 to literals in functions that are inlined. A Baseline also contains a finding that is equal but
// for such names, as far as is known: the functions in which the literals stand are the same, and so are the
// operations, the statements, and the lines counted from where the literals begin. Of a failure in which goroutines are blocked,
// it contains one with the same message in which they wait in the same functions for the same things.
//
// The zero Baseline is empty and ready to use. A nil Baseline contains nothing.
// Several goroutines may use a Baseline as long as none of them calls Add.
type Baseline struct {
	findings []Finding
	known    map[string]bool // by fingerprint
}

// ReadBaseline reads a baseline file to its end. Errors are those of ReadJSON.
func ReadBaseline(r io.Reader) (*Baseline, error) {
	if r == nil {
		return nil, noReader("report.ReadBaseline")
	}
	findings, err := ReadJSON(r)
	if err != nil {
		return nil, err
	}
	b := &Baseline{}
	for _, f := range findings {
		b.Add(f)
	}
	return b, nil
}

// Contains reports whether the baseline has a finding with the fingerprint of f, or one that is the same but for the
// names of function literals, or of what blocked goroutines wait for. It contains no finding without a fingerprint.
func (b *Baseline) Contains(f *Finding) bool {
	if b == nil || f == nil || f.Fingerprint == "" {
		return false
	}
	return b.known[f.Fingerprint] || slices.ContainsFunc(b.findings, func(known Finding) bool { return sameButLiterals(&known, f) })
}

// Add appends a finding. Write refuses one without a kind or a fingerprint.
func (b *Baseline) Add(f Finding) {
	if b == nil {
		return
	}
	if b.known == nil {
		b.known = map[string]bool{}
	}
	b.known[f.Fingerprint] = true
	b.findings = append(b.findings, f)
}

// Write writes the baseline file: the findings in the order in which they were read and added. If one
// of them has no kind or no fingerprint, nothing is written, and the error wraps ErrFinding.
func (b *Baseline) Write(w io.Writer) error {
	switch {
	case b == nil:
		return heisen.ErrZero
	case w == nil:
		return fmt.Errorf("report.Baseline.Write: %w", option.Errorf("the writer is nil"))
	}
	for i := range b.findings {
		if err := b.findings[i].check(); err != nil {
			return fmt.Errorf("writing a baseline: finding %d: %w", i+1, err)
		}
	}
	for i := range b.findings {
		if err := WriteJSON(w, &b.findings[i]); err != nil {
			return err
		}
	}
	return nil
}

package report

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/option"
	"github.com/heisen-go/heisen/internal/printable"
)

// Baseline is a list of findings that are known already. A baseline file has a line of JSON for each, with what identifies the finding: its
// kind, its fingerprints, its certainty, and the places without the calls that led there. What differs between runs, such as addresses and
// the numbers of goroutines, is not in it. ReadBaseline also reads lines as WriteJSON writes them. A Baseline contains every finding whose
// fingerprint it has, whichever detector found it, unless the finding is more certain than the known one. It contains every race of which
// it has the two places, too: so it was written before races on one variable were one finding, or where no source files were.
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
	entries []baselined
	known   map[string][]int // indexes of entries, by fingerprint
}

// baselined is a finding in a baseline. It is known how certain it was, although nothing else is kept of its executions.
type baselined struct {
	Finding
	certainty Certainty
}

// ReadBaseline reads a baseline file to its end. Errors are those of ReadJSON.
func ReadBaseline(r io.Reader) (*Baseline, error) {
	if r == nil {
		return nil, noReader("report.ReadBaseline")
	}
	b := &Baseline{}
	err := eachLine(r, func(line []byte) error {
		var one struct {
			Finding
			Certainty string `json:"certainty"`
		}
		if err := readLine(line, &one, &one.Finding); err != nil {
			return err
		}
		certainty := one.Finding.Certainty()
		for c := Suspected; c <= Confirmed; c++ {
			if c.String() == one.Certainty {
				certainty = c
			}
		}
		b.add(baselined{one.Finding, certainty})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Contains reports whether the baseline has a finding with the fingerprint of f that is as certain as f, or one that is the same but for the
// names of function literals, or of what blocked goroutines wait for. So what was only suspected does not hide what has happened. It contains
// no finding without a fingerprint.
func (b *Baseline) Contains(f *Finding) bool {
	return slices.ContainsFunc(b.Matching(f), func(i int) bool { return b.entries[i].certainty >= f.Certainty() })
}

// Matching returns the indexes of the findings of Findings that are the same bug as f, whatever their certainty is.
func (b *Baseline) Matching(f *Finding) (indexes []int) {
	if b == nil || f == nil || f.Fingerprint == "" {
		return nil
	}
	for i := range b.entries {
		if sameButLiterals(&b.entries[i].Finding, f) {
			indexes = append(indexes, i)
		}
	}
	return slices.Concat(b.known[f.Fingerprint], b.known[f.PairFingerprint()], indexes)
}

// Findings returns the findings in the order in which they were read and added. Those that were read have what the file has of them.
func (b *Baseline) Findings() (all []Finding) {
	if b == nil {
		return nil
	}
	for i := range b.entries {
		all = append(all, b.entries[i].Finding)
	}
	return all
}

// Add appends a finding. Write refuses one without a kind or a fingerprint.
func (b *Baseline) Add(f Finding) {
	if b != nil {
		b.add(baselined{f, f.Certainty()})
	}
}

func (b *Baseline) add(one baselined) {
	if b.known == nil {
		b.known = map[string][]int{}
	}
	prints := []string{one.Fingerprint, one.PairFingerprint()}
	for i := range one.Pairs {
		prints = append(prints, one.Pairs[i].Fingerprint)
	}
	slices.Sort(prints)
	for _, p := range slices.Compact(prints) {
		b.known[p] = append(b.known[p], len(b.entries))
	}
	b.entries = append(b.entries, one)
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
	for i := range b.entries {
		if err := b.entries[i].check(); err != nil {
			return fmt.Errorf("writing a baseline: finding %d: %w", i+1, err)
		}
	}
	enc := json.NewEncoder(printable.NewWriter(w))
	enc.SetEscapeHTML(false)
	for i := range b.entries {
		if err := enc.Encode(lineOf(&b.entries[i])); err != nil {
			return fmt.Errorf("writing a baseline: %w", err)
		}
	}
	return nil
}

// The form of a line in a baseline file. The names are those of a Finding in JSON.
type (
	baselineLine struct {
		Detector    string          `json:"detector"`
		Kind        heisen.Kind     `json:"kind"`
		Fingerprint string          `json:"fingerprint"`
		Certainty   string          `json:"certainty"`
		Message     string          `json:"message"`
		Package     string          `json:"package,omitempty"`
		Variable    string          `json:"variable,omitempty"`
		Identity    string          `json:"identity,omitempty"`
		Cycle       []string        `json:"cycle,omitempty"`
		Accesses    []baselinePlace `json:"accesses,omitempty"`
		Blocked     []baselinePlace `json:"blocked,omitempty"`
		Pair        string          `json:"pair,omitempty"`
		Pairs       []baselinePair  `json:"pairs,omitempty"`
	}
	baselinePlace struct {
		Op       string  `json:"op,omitempty"`
		Reason   string  `json:"reason,omitempty"`
		Variable string  `json:"variable,omitempty"`
		Source   string  `json:"source,omitempty"`
		Stack    []Frame `json:"stack,omitempty"` // the innermost function
	}
	baselinePair struct {
		Fingerprint string `json:"fingerprint"`
	}
)

func lineOf(f *baselined) baselineLine {
	line := baselineLine{
		Detector: f.Detector, Kind: f.Kind, Fingerprint: f.Fingerprint, Certainty: f.certainty.String(), Message: lasting(f.Message), Package: f.Package,
		Variable: lasting(f.Variable), Identity: f.Identity, Pair: f.Pair,
	}
	for _, name := range f.Cycle {
		line.Cycle = append(line.Cycle, lasting(name))
	}
	for i := range f.Accesses {
		a := &f.Accesses[i]
		line.Accesses = append(line.Accesses, baselinePlace{Op: a.Op, Source: a.Source, Stack: innermost(a.Stack)})
	}
	for i := range f.Blocked {
		g := &f.Blocked[i]
		line.Blocked = append(line.Blocked, baselinePlace{Reason: g.Reason, Variable: lasting(g.Variable), Stack: innermost(g.Stack)})
	}
	for i := range f.Pairs {
		line.Pairs = append(line.Pairs, baselinePair{f.Pairs[i].Fingerprint})
	}
	return line
}

func innermost(stack []Frame) []Frame { return stack[:min(1, len(stack))] }

// passing matches what differs between runs.
var passing = regexp.MustCompile(`0x[0-9a-f]+|goroutine [0-9]+`)

// lasting returns a text without what differs between runs.
func lasting(text string) string {
	return strings.TrimSpace(passing.ReplaceAllStringFunc(text, func(s string) string {
		if strings.HasPrefix(s, "0x") {
			return ""
		}
		return "goroutine #"
	}))
}

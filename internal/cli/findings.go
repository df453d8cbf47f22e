package cli

import (
	"fmt"
	"io"
	"sync"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/report"
)

// findings gathers what is found in all streams of an invocation: equal findings
// of different processes or traces are one. Its methods may be called by several
// goroutines.
type findings struct {
	mu      sync.Mutex
	sources *report.Sources
	order   []*finding
	known   map[findingKey]*finding
	text    io.Writer // where to print each as it is first seen; nil: not at all
}

type finding struct {
	report.Finding
	reverse bool // which order of the accesses was seen first
}

// findingKey is what makes two findings the same.
type findingKey struct{ detector, fingerprint string }

func keyOf(item report.Item) findingKey {
	return findingKey{item.Finding.Detector, item.Fingerprint}
}

func newFindings(text io.Writer) *findings {
	return &findings{
		sources: report.NewSources(),
		known:   map[findingKey]*finding{},
		text:    text,
	}
}

// collect returns a collector for one stream, and a function that adds its
// counts when the stream has ended.
func (f *findings) collect(symbols *heisen.Symbols) (c *report.Collector, done func()) {
	c = report.NewCollector(symbols, func(item report.Item) { f.see(item, symbols) })
	return c, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, item := range c.All() {
			known := f.known[keyOf(item)]
			known.Count += item.Count
			if item.Reverse != known.reverse {
				known.Reverse.Count += item.Count
			}
		}
	}
}

// see takes a finding that is new in its stream, or new there in this order.
func (f *findings) see(item report.Item, symbols *heisen.Symbols) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.known[keyOf(item)]
	if known != nil && (known.reverse == item.Reverse || known.Reverse != nil) {
		return
	}
	resolved := report.Resolve(item, symbols, f.sources)
	if known != nil {
		known.Reverse = resolved.Order()
		known.Reverse.Count = 0 // the streams' counts come when they end
		return
	}
	if f.text != nil {
		report.WriteText(f.text, &resolved) // what cannot be printed is still counted
	}
	resolved.Count = 0
	known = &finding{resolved, item.Reverse}
	f.known[keyOf(item)] = known
	f.order = append(f.order, known)
}

// count returns how many findings there are.
func (f *findings) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.order)
}

// writeJSON writes all findings, one a line, with their final counts.
func (f *findings) writeJSON(w io.Writer) error {
	return f.write(w, report.Encode)
}

// writeText writes all findings, with their final counts, for people.
func (f *findings) writeText(w io.Writer) error {
	return f.write(w, report.WriteText)
}

func (f *findings) write(w io.Writer, one func(io.Writer, *report.Finding) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, known := range f.order {
		if err := one(w, &known.Finding); err != nil {
			return err
		}
	}
	return nil
}

// summary says how many findings there are, in the words of Go's race detector.
// What several detectors have found counts once. Where findings were printed as
// they were seen, it says how often each of them was.
func (f *findings) summary(w io.Writer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	counted := map[string]bool{}
	numbers := map[heisen.Kind]int{}
	var kinds []heisen.Kind
	for _, known := range f.order {
		if counted[known.Fingerprint] {
			continue
		}
		counted[known.Fingerprint] = true
		if numbers[known.Kind]++; numbers[known.Kind] == 1 {
			kinds = append(kinds, known.Kind)
		}
	}
	for _, kind := range kinds {
		fmt.Fprintf(w, "Found %d %s\n", numbers[kind], plural(kind))
	}
	if f.text == nil {
		return
	}
	for _, known := range f.order {
		if times := report.Times(&known.Finding); times != "" {
			fmt.Fprintf(w, "  %s (%s): %s\n", known.Fingerprint, known.Detector, times)
		}
	}
}

func plural(kind heisen.Kind) string {
	switch kind {
	case heisen.Race:
		return "data race(s)"
	case heisen.Atomicity:
		return "atomicity violation(s)"
	case heisen.Deadlock:
		return "potential deadlock(s)"
	}
	return string(kind) + " finding(s)"
}

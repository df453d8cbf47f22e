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
	order   []findingKey
	known   map[findingKey]*report.Finding
	text    io.Writer // where to print each as it is first seen; nil: not at all
}

// findingKey is what makes two findings the same.
type findingKey struct {
	detector, fingerprint string
	reverse               bool
}

func keyOf(item report.Item) findingKey {
	return findingKey{item.Finding.Detector, item.Fingerprint, item.Reverse}
}

// twin is the key of the same race in the other order. As text the two are one.
func (k findingKey) twin() findingKey {
	k.reverse = !k.reverse
	return k
}

func newFindings(text io.Writer) *findings {
	return &findings{
		sources: report.NewSources(),
		known:   map[findingKey]*report.Finding{},
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
			f.known[keyOf(item)].Count += item.Count
		}
	}
}

// see takes a finding that is new in its stream.
func (f *findings) see(item report.Item, symbols *heisen.Symbols) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := keyOf(item)
	if f.known[key] != nil {
		return
	}
	found := report.Resolve(item, symbols, f.sources)
	if f.text != nil && f.known[key.twin()] == nil {
		report.WriteText(f.text, &found) // what cannot be printed is still counted
	}
	found.Count = 0 // the streams' counts come when they end
	f.known[key] = &found
	f.order = append(f.order, key)
}

// count returns how many findings there are.
func (f *findings) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.order)
}

// writeJSON writes all findings, one a line, with their final counts. Races in
// both orders are two lines with one fingerprint.
func (f *findings) writeJSON(w io.Writer) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, key := range f.order {
		if err := report.Encode(w, f.known[key]); err != nil {
			return err
		}
	}
	return nil
}

// writeText writes all findings, with their final counts, for people.
func (f *findings) writeText(w io.Writer) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	written := map[findingKey]bool{}
	for _, key := range f.order {
		if written[key.twin()] {
			continue
		}
		written[key] = true
		found := *f.known[key]
		if other := f.known[key.twin()]; other != nil {
			found.Count += other.Count
		}
		if err := report.WriteText(w, &found); err != nil {
			return err
		}
	}
	return nil
}

// summary says how many findings there are, in the words of Go's race detector.
// What several detectors have found counts once.
func (f *findings) summary(w io.Writer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	kinds := map[heisen.Kind]int{}
	counted := map[string]bool{}
	for _, key := range f.order {
		if !counted[key.fingerprint] {
			counted[key.fingerprint] = true
			kinds[f.known[key].Kind]++
		}
	}
	names := []struct {
		kind heisen.Kind
		name string
	}{{heisen.Race, "data race(s)"}, {heisen.Atomicity, "atomicity violation(s)"}, {heisen.Deadlock, "potential deadlock(s)"}}
	for _, n := range names {
		if kinds[n.kind] > 0 {
			fmt.Fprintf(w, "Found %d %s\n", kinds[n.kind], n.name)
		}
	}
}

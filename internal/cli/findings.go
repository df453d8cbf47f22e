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
	order   []string
	known   map[string]*report.Finding
	text    io.Writer // where to print each as it is first seen; nil: not at all
}

func newFindings(text io.Writer) *findings {
	return &findings{
		sources: report.NewSources(),
		known:   map[string]*report.Finding{},
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
			f.known[item.Finding.Detector+item.Fingerprint].Count += item.Count
		}
	}
}

// see takes a finding that is new in its stream.
func (f *findings) see(item report.Item, symbols *heisen.Symbols) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := item.Finding.Detector + item.Fingerprint
	if f.known[key] != nil {
		return
	}
	found := report.Resolve(item, symbols, f.sources)
	if f.text != nil {
		report.WriteText(f.text, &found) // what cannot be printed is still counted
	}
	found.Count = 0 // the streams' counts come when they end
	f.known[key] = &found
	f.order = append(f.order, key)
}

// count returns how many different findings there are.
func (f *findings) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.order)
}

// write prints all findings, with their final counts, by the given function.
func (f *findings) write(w io.Writer, print func(io.Writer, *report.Finding) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, key := range f.order {
		if err := print(w, f.known[key]); err != nil {
			return err
		}
	}
	return nil
}

// summary says how many findings there are, in the words of Go's race detector.
func (f *findings) summary(w io.Writer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	kinds := map[heisen.Kind]int{}
	var times uint64
	for _, found := range f.known {
		kinds[found.Kind]++
		times += found.Count
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
	if times > uint64(len(f.order)) {
		fmt.Fprintf(w, "(seen %d times in all)\n", times)
	}
}

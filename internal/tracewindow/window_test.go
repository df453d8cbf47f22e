package tracewindow_test

import (
	"bytes"
	"context"

	"flag"
	"fmt"

	"os"
	"path/filepath"

	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/diagram"
	"github.com/heisen-go/heisen/internal/tracewindow"
	"github.com/heisen-go/heisen/lockset"
	"github.com/heisen-go/heisen/mcm"
	"github.com/heisen-go/heisen/trace"
	"github.com/heisen-go/heisen/vclock"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// detectors are those of the tests.
var detectors = map[string]func(*heisen.Symbols, heisen.Sink) ([]heisen.Detector, error){
	"none": func(*heisen.Symbols, heisen.Sink) ([]heisen.Detector, error) { return nil, nil },
	"fasttrack": func(_ *heisen.Symbols, sink heisen.Sink) ([]heisen.Detector, error) {
		d, err := vclock.NewFastTrack(vclock.WithSink(sink))
		return []heisen.Detector{d}, err
	},
	"lockorder": func(_ *heisen.Symbols, sink heisen.Sink) ([]heisen.Detector, error) {
		d, err := lockset.NewLockOrder(lockset.WithSink(sink))
		return []heisen.Detector{d}, err
	},
	"mcm": func(_ *heisen.Symbols, sink heisen.Sink) ([]heisen.Detector, error) {
		d, err := mcm.NewDetector(mcm.WithSink(sink))
		return []heisen.Detector{d}, err
	},
}

// ask returns a query for a trace as text or bytes.
func ask(text []byte, detector string) *tracewindow.Query {
	return &tracewindow.Query{
		Open:      func() (tracewindow.Source, error) { return trace.NewReader(bytes.NewReader(text)) },
		Detectors: detectors[detector],
		Events:    tracewindow.DefaultEvents,
	}
}

// text is a diagram as text: a line for each event with the numbers of those that happen before it.
func text(w *tracewindow.Window) string {
	d := w.Diagram()
	var b strings.Builder
	for _, l := range d.Lanes {
		fmt.Fprintf(&b, "lane %s\n", l.Name)
	}
	for _, s := range d.Starts {
		fmt.Fprintf(&b, "%s starts %s at %s\n", d.Lanes[s.Parent].Name, d.Lanes[s.Child].Name, s.Site)
	}
	for i, e := range d.Events {
		for _, g := range d.Gaps {
			if g.Row == e.Row {
				fmt.Fprintf(&b, "    %s\n", g.Text)
			}
		}
		fmt.Fprintf(&b, "%4d  %s%s: %s %s", e.Number, strings.Repeat("        ", e.Lane), d.Lanes[e.Lane].Name, e.Verb, e.What)
		if e.Site != "" {
			fmt.Fprintf(&b, " at %s", e.Site)
		}
		if e.Access >= 0 {
			fmt.Fprintf(&b, ", access %d", e.Access)
		}
		for _, edge := range d.Edges {
			if edge.To == i && edge.Kind == diagram.Order {
				fmt.Fprintf(&b, ", after %d", d.Events[edge.From].Number)
			} else if edge.To == i {
				fmt.Fprintf(&b, ", %s: %d", edge.Label, d.Events[edge.From].Number)
			}
		}
		b.WriteByte('\n')
	}
	for _, bar := range d.Bars {
		fmt.Fprintf(&b, "%s holds %s from %d to %d", d.Lanes[bar.Lane].Name, bar.Lock, d.Events[bar.From].Number, d.Events[bar.To].Number)
		if bar.Before {
			b.WriteString(", before")
		}
		if bar.After {
			b.WriteString(", after")
		}
		b.WriteByte('\n')
	}
	for _, n := range d.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	return b.String()
}

// TestGolden draws windows of small traces.
func TestGolden(t *testing.T) {
	var out strings.Builder
	for _, test := range []struct {
		name, trace, detector string
		change                func(*tracewindow.Query)
	}{
		{"the race of a program with locks", "lock", "fasttrack", nil},
		{"with few events", "lock", "fasttrack", func(q *tracewindow.Query) { q.Events = 6 }},
		{"the same by name, and lock operations are not shown", "lock", "fasttrack", func(q *tracewindow.Query) { q.Finding, q.Objects = "1", []string{"x"} }},
		{"a lock of one goroutine", "lock", "fasttrack", func(q *tracewindow.Query) { q.Objects, q.Goroutines = []string{"L"}, []string{"T1"} }},
		{"a range", "lock", "fasttrack", func(q *tracewindow.Query) { q.First, q.Last = 5, 8 }},
		{"the events before one", "lock", "none", func(q *tracewindow.Query) { q.Last, q.Events = 8, 3 }},
		{"memory that is allocated again", "reuse", "fasttrack", nil},
		{"a goroutine that starts between the accesses", "late", "fasttrack", func(q *tracewindow.Query) { q.Finding, q.Events = "1", 4 }},
		{"the same by name", "late", "fasttrack", func(q *tracewindow.Query) { q.Objects = []string{"x"} }},
		{"a predicted race that the trace orders", "predicted", "mcm", nil},
	} {
		data, err := os.ReadFile(filepath.Join("testdata", test.trace+".std"))
		if err != nil {
			t.Fatal(err)
		}
		q := ask(data, test.detector)
		if test.change != nil {
			test.change(q)
		}
		fmt.Fprintf(&out, "== %s\n", test.name)
		w, err := tracewindow.Select(context.Background(), q)
		if err != nil {
			fmt.Fprintln(&out, err)
			continue
		}
		fmt.Fprintf(&out, "finding %d of %d, %d events, ordered: %v\n%s", w.Number, w.Findings, w.Total, w.Ordered, text(w))
	}
	file := filepath.Join("testdata", "windows.golden")
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("-want +got; -update rewrites it:\n%s", diff)
	}
}

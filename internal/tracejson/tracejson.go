// Package tracejson writes findings in the JSON trace format that Perfetto and Chrome's tracing page
// show: each finding is a process, each goroutine a thread, each event of its diagram a slice, and
// each edge an arrow. One step takes a millisecond of the trace, whatever it took in the program.
package tracejson

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/heisen-go/heisen/internal/diagram"
	"github.com/heisen-go/heisen/internal/wording"
	"github.com/heisen-go/heisen/report"
)

// Length of a step and of its slice, in microseconds.
const (
	stepTime  = 1000
	sliceTime = 800
)

// event is an event of the trace. The format is described at
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
type event struct {
	Name     string         `json:"name"`
	Category string         `json:"cat,omitempty"`
	Phase    string         `json:"ph"`
	Time     int            `json:"ts"`
	Duration int            `json:"dur,omitempty"`
	Process  int            `json:"pid"`
	Thread   int            `json:"tid"`
	ID       int            `json:"id,omitempty"`
	Binding  string         `json:"bp,omitempty"`
	Args     map[string]any `json:"args,omitempty"`
}

// Write writes the diagrams of the findings as one trace.
func Write(w io.Writer, findings []report.Finding) error {
	t := trace{events: []event{}}
	for n, i := range wording.InOrder(findings) {
		t.finding(n+1, &findings[i])
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(map[string]any{"traceEvents": t.events, "displayTimeUnit": "ms"}); err != nil {
		return fmt.Errorf("writing findings as a trace: %w", err)
	}
	return nil
}

type trace struct {
	events []event
	arrows int
}

func (t *trace) add(e event) { t.events = append(t.events, e) }

// arrow adds an arrow between the slices at two times.
func (t *trace) arrow(name string, process, thread, at, toThread, toTime int) {
	t.arrows++
	t.add(event{Name: name, Category: name, Phase: "s", Time: at, Process: process, Thread: thread, ID: t.arrows})
	t.add(event{Name: name, Category: name, Phase: "f", Binding: "e", Time: toTime, Process: process, Thread: toThread, ID: t.arrows})
}

func (t *trace) finding(process int, f *report.Finding) {
	d := diagram.Of(f)
	t.add(event{Name: "process_name", Phase: "M", Process: process, Args: map[string]any{"name": wording.Subject(f)}})
	for i, l := range d.Lanes {
		t.add(event{Name: "thread_name", Phase: "M", Process: process, Thread: i + 1, Args: map[string]any{"name": l.Name}})
		t.add(event{Name: "thread_sort_index", Phase: "M", Process: process, Thread: i + 1, Args: map[string]any{"sort_index": i}})
	}
	for i, s := range d.Starts { // each in a step of its own before the rows
		at := i * stepTime
		t.add(event{Name: "starts " + d.Lanes[s.Child].Name, Category: "start", Phase: "X", Time: at, Duration: sliceTime / 2, Process: process,
			Thread: s.Parent + 1, Args: map[string]any{"site": s.Site}})
		t.add(event{Name: "started", Category: "start", Phase: "X", Time: at + sliceTime/2, Duration: sliceTime / 2, Process: process, Thread: s.Child + 1})
		t.arrow("start", process, s.Parent+1, at, s.Child+1, at+sliceTime/2)
	}
	row := func(e *diagram.Event) int { return (len(d.Starts) + e.Row) * stepTime }
	for i := range d.Events {
		e := &d.Events[i]
		args := map[string]any{"site": e.Site, "object": e.Object}
		category := "step"
		if e.Access >= 0 {
			category = "access"
			args["finding"], args["fingerprint"], args["held"] = wording.Sentence(f), f.Fingerprint, d.Held[e.Access]
		}
		if e.Times > 1 {
			args["times"] = e.Times
		}
		t.add(event{Name: e.Verb + " " + e.What, Category: category, Phase: "X", Time: row(e), Duration: sliceTime, Process: process, Thread: e.Lane + 1, Args: args})
	}
	for _, e := range d.Edges {
		from, to := &d.Events[e.From], &d.Events[e.To]
		t.arrow(string(e.Kind), process, from.Lane+1, row(from), to.Lane+1, row(to))
	}
	for _, note := range d.Notes {
		t.add(event{Name: "process_labels", Phase: "M", Process: process, Args: map[string]any{"labels": note}})
	}
}

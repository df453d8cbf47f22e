package htmlreport

import (
	_ "embed" // the parts of the page
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/heisen-go/heisen/internal/diagram"
	"github.com/heisen-go/heisen/internal/printable"
	"github.com/heisen-go/heisen/internal/repository"
	"github.com/heisen-go/heisen/internal/wording"
	"github.com/heisen-go/heisen/report"
)

//go:embed trace.tmpl
var traceText string

//go:embed trace.js
var traceScript string

var tracePage = template.Must(template.Must(page.Clone()).New("trace").Parse(traceText))

// Trace is what the page of a trace shows.
type Trace struct {
	Name     string           // of the file
	Range    string           // which events of the trace these are, in a sentence
	Problems []string         // why the trace or the findings are not complete
	Diagram  *diagram.Diagram // of events with numbers, at least one
	Finding  *report.Finding  // that the window is about; nil if there is none
}

// WriteTrace writes the page of a trace. It shows lines of source files in the repository only.
func WriteTrace(w io.Writer, t *Trace, tool string, root repository.Root) error {
	v, err := traceViewOf(t, tool, root)
	if err != nil {
		return err
	}
	return v.write(w, tracePage, v)
}

// traceView is what the template shows.
type traceView struct {
	frame
	ID, Name, Range       string
	First, Last           uint64 // events
	Problems              []string
	Finding               bool
	Title, What, Sentence string
	Level                 string // certain or suspected
	Drawing               drawing
	Legend                []sign
	Notes                 []string
	Excerpts              []excerpt
	Rows                  []traceRow
	Text                  string
}

// sign is a sign in the diagram and what it means.
type sign struct{ Class, Text string }

// traceRow is an event in the table.
type traceRow struct {
	Number                        uint64
	Class                         string
	Goroutine, What, Where, After string
}

func traceViewOf(t *Trace, tool string, root repository.Root) (*traceView, error) {
	d := t.Diagram
	v := &traceView{
		frame: frameOf(tool, themeScript+traceScript), ID: "trace", Name: printable.Text(t.Name), Range: printable.Text(t.Range),
		First: d.Events[0].Number, Last: d.Events[len(d.Events)-1].Number,
		Drawing: draw(d), Legend: legendOf(d), Rows: rowsOf(d),
	}
	for _, p := range t.Problems {
		v.Problems = append(v.Problems, printable.Text(p))
	}
	for _, n := range d.Notes {
		v.Notes = append(v.Notes, printable.Text(n))
	}
	f := t.Finding
	if f == nil {
		f = &report.Finding{}
	} else {
		var text strings.Builder
		if err := report.WriteText(&text, f); err != nil {
			return nil, err
		}
		v.Finding, v.Text, v.Level = true, text.String(), "suspected"
		if wording.Certain(f) {
			v.Level = "certain"
		}
		v.Title, v.What, v.Sentence = kindOf(f), printable.Text(wording.What(f)), sentenceOf(f)
	}
	files := sources{root: root, inside: true, files: map[string][]string{}}
	v.Excerpts = files.excerpts(f, d)
	return v, nil
}

// legendOf explains the signs that a diagram has.
func legendOf(d *diagram.Diagram) (signs []sign) {
	add := func(has bool, class, text string) {
		if has {
			signs = append(signs, sign{class, text})
		}
	}
	edges := map[diagram.EdgeKind]bool{}
	conflict := ""
	for _, e := range d.Edges {
		edges[e.Kind] = true
		if e.Kind == diagram.Conflict {
			conflict = "the two accesses: " + e.Label
		}
	}
	marked, waits := false, false
	for i := range d.Events {
		e := &d.Events[i]
		marked, waits = marked || e.Access >= 0 && !e.Waits, waits || e.Waits
	}
	add(marked, "access", "an access of the finding")
	add(waits, "waiting", "waits")
	add(edges[diagram.Conflict], "conflict", conflict)
	add(edges[diagram.WaitsFor], "waits", "waits for what another one holds")
	add(edges[diagram.Order], "order", "happens before")
	add(len(d.Starts) > 0, "start", "starts a goroutine")
	add(len(d.Bars) > 0, "bar", "holds a lock")
	return signs
}

func rowsOf(d *diagram.Diagram) (rows []traceRow) {
	for i := range d.Events {
		e := &d.Events[i]
		r := traceRow{
			Number: e.Number, Goroutine: printable.Text(d.Lanes[e.Lane].Name),
			What: printable.Text(strings.TrimSpace(e.Verb + " " + e.What)), Where: printable.Text(e.Site),
		}
		if e.Access >= 0 {
			r.Class = "access"
		}
		var after []string
		for _, edge := range d.Edges {
			if edge.Kind == diagram.Order && edge.To == i {
				after = append(after, fmt.Sprint(d.Events[edge.From].Number))
			}
		}
		r.After = strings.Join(after, ", ")
		rows = append(rows, r)
	}
	return rows
}

// Below is the height below the names of the lanes.
func (d drawing) Below() int { return d.Height - namesHeight }

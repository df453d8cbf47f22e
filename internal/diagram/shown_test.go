package diagram_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/diagram"
	"github.com/heisen-go/heisen/internal/testaid/diagramtest"
	"github.com/heisen-go/heisen/report"
)

// recorded are the findings of package report's tests: made-up ones, and those of programs.
func recorded(t *testing.T) (all []report.Finding) {
	t.Helper()
	files, err := filepath.Glob("../../report/testdata/*.json*")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		found, err := report.ReadJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

// TestShown: diagrams show their findings.
func TestShown(t *testing.T) {
	races, cycles, kinds := 0, 0, map[heisen.Kind]int{}
	for _, f := range recorded(t) {
		if err := diagramtest.Check(&f); err != nil {
			t.Error(err)
		}
		kinds[f.Kind]++
		if diagramtest.IsRace(&f) {
			races++
		}
		if diagramtest.IsCycle(&f) {
			cycles++
		}
	}
	if races < 8 || cycles < 4 || kinds[heisen.Failure] < 3 || kinds[heisen.Leak] < 2 {
		t.Errorf("%d races, %d cycles, %v: too few", races, cycles, kinds)
	}
}

// TestNotShown: diagrams that lack something do not show their findings.
func TestNotShown(t *testing.T) {
	tried := map[string]int{}
	lacks := func(what string, f *report.Finding, change func(d *diagram.Diagram) bool) {
		if d := diagram.Of(f); change(d) {
			tried[what]++
			if diagramtest.Shows(d, f) == nil {
				t.Errorf("%s: without %s, the diagram still shows the finding\n%s", f.Fingerprint, what, diagramtest.Text(d))
			}
		}
	}
	for _, f := range recorded(t) {
		lacks("an arrow", &f, func(d *diagram.Diagram) bool {
			i := slices.IndexFunc(d.Edges, func(e diagram.Edge) bool { return e.Kind == diagram.WaitsFor })
			if i >= 0 {
				d.Edges = slices.Delete(d.Edges, i, i+1)
			}
			return i >= 0
		})
		lacks("a bar", &f, func(d *diagram.Diagram) bool {
			i := slices.IndexFunc(d.Bars, func(b diagram.Bar) bool { return !b.Before && !b.After })
			if i >= 0 {
				d.Bars = slices.Delete(d.Bars, i, i+1)
			}
			return i >= 0
		})
		lacks("the end of a lane", &f, func(d *diagram.Diagram) bool {
			i := slices.IndexFunc(d.Events, func(e diagram.Event) bool { return e.Waits })
			if i >= 0 {
				later := d.Events[i]
				later.Row, later.Waits, later.Access, later.Op = d.Rows, false, -1, heisen.Read.String()
				d.Rows, d.Events = d.Rows+1, append(d.Events, later)
			}
			return i >= 0
		})
		if !diagramtest.IsRace(&f) {
			continue
		}
		lacks("one access of the race", &f, func(d *diagram.Diagram) bool {
			i := slices.IndexFunc(d.Events, func(e diagram.Event) bool { return e.Access == 0 })
			if i >= 0 {
				d.Events[i].Op, d.Events[i].Site = "another one", "elsewhere"
			}
			return i >= 0
		})
		lacks("its being a race", &f, func(d *diagram.Diagram) bool {
			i := slices.IndexFunc(d.Events, func(e diagram.Event) bool { return e.Access == 1 })
			j := slices.IndexFunc(d.Events, func(e diagram.Event) bool { return e.Access == 0 })
			if i < 0 || j < 0 {
				return false
			}
			first, second := d.Events[min(i, j)], d.Events[max(i, j)]
			send, receive := first, second
			send.Op, send.Object, send.Access = heisen.Send.String(), "in between", -1
			receive.Op, receive.Object, receive.Access = heisen.Receive.String(), "in between", -1
			d.Events = slices.Insert(d.Events, max(i, j), receive)
			d.Events = slices.Insert(d.Events, min(i, j)+1, send)
			for k := range d.Events {
				d.Events[k].Row = k
			}
			d.Rows = len(d.Events)
			return true
		})
	}
	for _, what := range []string{"an arrow", "a bar", "the end of a lane", "one access of the race", "its being a race"} {
		if tried[what] < 3 {
			t.Errorf("without %s, %d diagrams were tried", what, tried[what])
		}
	}
}

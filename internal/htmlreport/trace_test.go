package htmlreport

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/diagram"
	"github.com/heisen-go/heisen/internal/repository"
	"github.com/heisen-go/heisen/report"
)

// inTrace is the finding of bank with the events of a trace around it, all names of which have text
// before and after them.
func inTrace(t *testing.T, before, after string) (folder string, page *Trace) {
	t.Helper()
	folder, f := bank(t)
	name := func(s string) string { return before + s + after }
	f.Accesses[0], f.Accesses[1] = f.Accesses[1], f.Accesses[0]
	f.Message, f.Variable = name(f.Message), name(f.Variable)
	d := &diagram.Diagram{Ordered: true, Rows: 40, Starts: []diagram.Start{{Parent: 0, Child: 1, Site: filepath.Join(folder, "main.go:12")}}}
	for i, n := range []string{"main goroutine", "goroutine 7", "goroutine 8"} {
		d.Lanes = append(d.Lanes, diagram.Lane{Thread: f.Goroutines[0].Thread, Name: name(n), Test: name("Test")})
		d.Lanes[i].Thread = []report.Goroutine{f.Goroutines[0], f.Goroutines[2], f.Goroutines[1]}[i].Thread
	}
	for row := range d.Rows {
		e := diagram.Event{
			Lane: 1 + row/20, Row: row, Number: uint64(100 + row), Op: "acquire", Verb: "locks", What: name("from.mu"), Object: name("0x1"),
			Site: filepath.Join(folder, name("main.go:4")), Access: -1, Times: 1,
		}
		if row == 12 || row == 31 {
			e.Op, e.Verb, e.What, e.Access, e.Site = "write", "writes", name("to.balance"), row/31, filepath.Join(folder, "main.go:7")
		}
		d.Events = append(d.Events, e)
	}
	d.Gaps = []diagram.Gap{{Row: 20, Text: "17 events not shown"}}
	d.Edges = []diagram.Edge{{Kind: diagram.Order, From: 2, To: 25}, {Kind: diagram.Conflict, From: 12, To: 31, Label: "not ordered"}}
	d.Bars = []diagram.Bar{
		{Lane: 1, From: 2, To: 14, Lock: name("from.mu")}, {Lane: 1, From: 5, To: 8, Lock: name("to.mu")},
		{Lane: 1, From: 15, To: 17, Lock: name("from.mu")}, {Lane: 2, From: 30, To: 39, Lock: name("from.mu"), After: true},
	}
	d.Distinguish(f.Accesses)
	return folder, &Trace{Name: name("bank.heisen"), Range: name("Events 100 to 139."), Problems: []string{name("trace is cut off")}, Diagram: d, Finding: &f}
}

func writeTrace(t *testing.T, folder string, page *Trace) (file, text string) {
	t.Helper()
	var out bytes.Buffer
	if err := WriteTrace(&out, page, "heisen test", repository.At(folder)); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "trace.html")
	if err := os.WriteFile(file, out.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return file, out.String()
}

// TestTraceInBrowser shows the page of a trace: it loads without errors, on a wide and on a narrow screen, the
// diagram is there and shows the accesses, no texts of a lane overlap, and the keys work.
func TestTraceInBrowser(t *testing.T) {
	b := startBrowser(t)
	folder, page := inTrace(t, "", "")
	file, text := writeTrace(t, folder, page)
	for _, wrong := range []string{"http:", "https:", "src=", "@import", "style=\"", "ZgotmplZ"} {
		if strings.Contains(text, wrong) {
			t.Errorf("the page contains %s", wrong)
		}
	}
	for _, width := range []int{1280, 390} {
		b.size(width, 844)
		b.open(file)
		for selector, want := range map[string]float64{
			".rows .lane": 3, ".event": 40, ".event.access": 2, ".edge.order": 1, ".edge.conflict": 1, ".edge.start": 1, ".bar": 4 + 1, ".gap": 1,
			".number": 40, ".line.access": 1, "table.events tbody tr": 40, ".problem": 1, "title:not(svg title)": 1,
		} {
			if selector == ".number" {
				selector = "svg .number"
			}
			b.want(fmt.Sprintf("document.querySelectorAll(%q).length", selector), want)
		}
		b.want("document.documentElement.scrollWidth <= innerWidth", true)
		b.want("document.querySelector('.lanes').getBoundingClientRect().bottom <= innerHeight", true)
		// The first access is in sight, below the names of the lanes.
		b.want(`(() => {
			const lanes = document.querySelector(".lanes").getBoundingClientRect(), names = document.querySelector(".names").getBoundingClientRect();
			const at = document.querySelector(".event.access circle").getBoundingClientRect();
			return names.top >= lanes.top && names.bottom < at.top && at.bottom < lanes.bottom && at.right < lanes.right;
		})()`, true)
		b.want(`(() => {
			const texts = [...document.querySelectorAll(".rows .event text")].map((t) => t.getBoundingClientRect());
			const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top + 3 || b.bottom <= a.top + 3;
			return texts.every((a, i) => texts.slice(i + 1).every((b) => apart(a, b)));
		})()`, true)
		b.want(`(() => {
			const bars = [...document.querySelectorAll("rect.bar")].map((r) => r.getBoundingClientRect());
			const lines = [...document.querySelectorAll(".rows .lane line")].map((l) => l.getBoundingClientRect());
			const texts = [...document.querySelectorAll(".rows .event text")].map((t) => t.getBoundingClientRect());
			const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
			return bars.every((a, i) => bars.slice(i + 1).every((b) => apart(a, b)) && lines.every((l) => apart(a, l)) && texts.every((t) => apart(a, t)));
		})()`, true)
		focused := func() any { return b.value("document.activeElement.querySelector('title')?.textContent.split(':')[0]") }
		for _, key := range []struct{ key, want string }{
			{"n", "Event 112"}, {"j", "Event 113"}, {"n", "Event 131"}, {"p", "Event 112"}, {"k", "Event 111"}, {"k", "Event 110"},
		} {
			b.press(key.key)
			if got := focused(); got != key.want {
				t.Errorf("after %s, the focus is on %v, want %s", key.key, got, key.want)
			}
		}
		b.want(`(() => {
			const lanes = document.querySelector(".lanes").getBoundingClientRect(), at = document.activeElement.querySelector("circle").getBoundingClientRect();
			return at.top > lanes.top && at.bottom < lanes.bottom;
		})()`, true)
		b.theme("dark")
		b.want("getComputedStyle(document.body).backgroundColor", "rgb(20, 23, 27)")
		b.picture(fmt.Sprint("trace-dark-", width))
		b.value("document.getElementById('theme').click()")
		b.want("getComputedStyle(document.body).backgroundColor", "rgb(255, 255, 255)")
		b.theme("light")
		b.fine()
	}

}

// TestHostileTrace shows pages with names that look like parts of a page, and one without a finding.
func TestHostileTrace(t *testing.T) {
	b := startBrowser(t)
	folder, page := inTrace(t, "<img src=x onerror=alert(1)>\"'`{{.}}</title></svg><script>alert(2)</script>\u202e\x1b[2J", "</script>")
	file, _ := writeTrace(t, folder, page)
	b.open(file)
	b.want("document.querySelectorAll('img, iframe, object, embed').length", 0.0)
	b.want("document.querySelectorAll('script').length", 1.0)
	b.want("document.body.textContent.includes('<img src=x onerror=alert(1)>')", true)
	b.want("document.body.textContent.includes('\\u202e')", false)
	b.want("document.querySelectorAll('.event').length", 40.0)
	b.fine()

	page.Finding, page.Problems = nil, nil
	for i := range page.Diagram.Events {
		page.Diagram.Events[i].Access = -1
	}
	file, _ = writeTrace(t, folder, page)
	b.open(file)
	b.want("document.querySelector('h1').textContent", "Events of a trace")
	b.want("document.querySelectorAll('.problem, .sentence, pre').length", 0.0)
	b.press("n")
	b.press("j")
	b.want("document.activeElement.querySelector('title').textContent.startsWith('Event 100')", true)
	b.fine()
}

// TestTraceReadsInside: the page of a trace has lines of files in the repository only, also if the trace names
// others, or links to others.
func TestTraceReadsInside(t *testing.T) {
	folder, page := inTrace(t, "", "")
	_, text := writeTrace(t, folder, page)
	if !strings.Contains(text, "class=\"excerpt\"") {
		t.Error("the source is not shown")
	}
	for _, root := range []string{filepath.Join(folder, "sub"), t.TempDir()} {
		if _, text := writeTrace(t, root, page); strings.Contains(text, "class=\"excerpt\"") {
			t.Errorf("a file outside of %s is shown", root)
		}
	}
	elsewhere := t.TempDir()
	link := filepath.Join(elsewhere, "link.go")
	if err := os.Symlink(filepath.Join(folder, "main.go"), link); err != nil {
		t.Fatal(err)
	}
	for i := range page.Diagram.Events {
		page.Diagram.Events[i].Site = link + ":7"
	}
	page.Finding = nil
	page.Diagram.Starts = nil
	if _, text := writeTrace(t, elsewhere, page); strings.Contains(text, "class=\"excerpt\"") {
		t.Error("a file outside of the repository is shown, to which a link leads")
	}
}

// TestColumns: bars of a lane that are open at the same time are beside each other, and others take their place.
func TestColumns(t *testing.T) {
	bars := func(ends ...int) *diagram.Diagram {
		d := &diagram.Diagram{}
		for i := 0; i < len(ends); i += 3 {
			d.Bars = append(d.Bars, diagram.Bar{Lane: ends[i], From: ends[i+1], To: ends[i+2]})
		}
		return d
	}
	for _, test := range []struct {
		d    *diagram.Diagram
		want string
	}{
		{bars(), "[] 1"},
		{bars(0, 1, 4, 0, 2, 3, 0, 5, 6, 1, 1, 4), "[0 1 0 0] 2"},
		{bars(0, 2, 3, 0, 1, 4), "[1 0] 2"},
		{bars(0, 1, 2, 0, 2, 3), "[0 1] 2"}, // they share a row
		{bars(0, 1, 9, 0, 1, 9, 0, 1, 9, 0, 1, 9, 0, 1, 9), "[0 1 2 3 3] 4"},
	} {
		columns, most := columnsOf(test.d)
		if got := fmt.Sprint(columns, most); got != test.want {
			t.Errorf("%+v: %s, want %s", test.d.Bars, got, test.want)
		}
	}
}

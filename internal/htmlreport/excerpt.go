package htmlreport

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/diagram"
	"github.com/heisen-go/heisen/internal/printable"
	"github.com/heisen-go/heisen/internal/repository"
	"github.com/heisen-go/heisen/internal/wording"
	"github.com/heisen-go/heisen/report"
)

// Bounds on excerpts.
const (
	around      = 4       // lines before and after a line
	maxExcerpts = 6       // of a finding
	maxSource   = 4 << 20 // bytes of a file
	maxColumns  = 200     // characters of a line
	maxMarks    = 4       // of a line
)

// excerpt is a part of a source file.
type excerpt struct {
	File  string
	Lines []line

	path        string
	first, last int
}

type line struct {
	Number int
	Text   string
	Class  string // access for lines of the accesses, mark for other marked ones
	Marks  []string
	More   int // marks that are not shown
}

// sources reads source files.
type sources struct {
	root   repository.Root
	inside bool                // only files in root are read
	files  map[string][]string // lines by file; nil if it cannot be read
}

// mark says what happens at a line.
type mark struct {
	file   string
	line   int
	text   string
	access bool
	starts bool // only a goroutine is started there
}

// excerpts returns the parts of the sources around the events of a finding, those with accesses first. That package testing starts the
// goroutine of a test, or a library one of its own, is nothing that a reader looks for.
func (s *sources) excerpts(f *report.Finding, d *diagram.Diagram) (out []excerpt) {
	for _, m := range marksOf(f, d) {
		lines := s.lines(m.file)
		if m.line < 1 || m.line > len(lines) || m.starts && len(out) > 0 && s.inLibrary(m.file) {
			continue
		}
		first, last := max(1, m.line-around), min(len(lines), m.line+around)
		i := slices.IndexFunc(out, func(e excerpt) bool { return e.path == m.file && first <= e.last+1 && last >= e.first-1 })
		if i < 0 {
			if len(out) == maxExcerpts {
				continue
			}
			i = len(out)
			out = append(out, excerpt{File: s.name(m.file), path: m.file, first: first, last: last})
		}
		e := &out[i]
		e.first, e.last = min(e.first, first), max(e.last, last)
		k := slices.IndexFunc(e.Lines, func(l line) bool { return l.Number == m.line })
		if k < 0 {
			k = len(e.Lines)
			e.Lines = append(e.Lines, line{Number: m.line, Class: "mark"})
		}
		l := &e.Lines[k]
		if m.access {
			l.Class = "access"
		}
		if !slices.Contains(l.Marks, m.text) {
			l.Marks = append(l.Marks, m.text)
		}
	}
	for i := range out {
		s.fill(&out[i])
	}
	return out
}

// inLibrary reports whether a file is not in the repository.
func (s *sources) inLibrary(file string) bool {
	_, within := s.root.Rel(file)
	return !within
}

// fill adds the lines without marks, and the texts, and bounds the marks.
func (s *sources) fill(e *excerpt) {
	marked := e.Lines
	e.Lines = nil
	for n := e.first; n <= e.last; n++ {
		l := line{Number: n}
		if k := slices.IndexFunc(marked, func(m line) bool { return m.Number == n }); k >= 0 {
			l = marked[k]
		}
		if len(l.Marks) > maxMarks {
			l.Marks, l.More = l.Marks[:maxMarks], len(l.Marks)-maxMarks
		}
		l.Text = shorten(printable.Text(strings.ReplaceAll(s.files[e.path][n-1], "\t", "    ")), maxColumns)
		e.Lines = append(e.Lines, l)
	}
}

// marksOf returns the marked lines: those of the accesses first, then those of other events.
func marksOf(f *report.Finding, d *diagram.Diagram) (out []mark) {
	for i := range f.Accesses {
		a := &f.Accesses[i]
		frame := wording.UserFrame(a.Stack)
		verb := wording.Op(a.Op)
		if f.Kind == heisen.Misuse {
			verb = wording.Does(f, a)
		}
		if k := slices.IndexFunc(d.Events, func(e diagram.Event) bool { return e.Access == i && e.Waits }); k >= 0 {
			verb = d.Events[k].Verb
		}
		out = append(out, mark{frame.File, frame.Line, printable.Text(a.Goroutine + " " + verb), true, false})
	}
	for i := range d.Events {
		e := &d.Events[i]
		same := func(a report.Access) bool { return a.Site == e.Site && a.Thread == d.Lanes[e.Lane].Thread }
		if e.Access < 0 && !slices.ContainsFunc(f.Accesses, same) { // the line has the mark of the access
			file, number := place(e.Site)
			out = append(out, mark{file, number, printable.Text(d.Lanes[e.Lane].Name + " " + e.Verb + " " + e.What), false, false})
		}
	}
	for _, s := range d.Starts {
		file, number := place(s.Site)
		out = append(out, mark{file, number, printable.Text("starts " + d.Lanes[s.Child].Name), false, true})
	}
	slices.SortStableFunc(out, func(a, b mark) int { // so that an excerpt grows around its accesses
		if a.access != b.access {
			return cmp.Compare(fmt.Sprint(b.access), fmt.Sprint(a.access))
		}
		return 0
	})
	return out
}

// place returns the file and the line of a site.
func place(site string) (file string, number int) {
	i := strings.LastIndexByte(site, ':')
	if i < 0 {
		return "", 0
	}
	number, err := strconv.Atoi(site[i+1:])
	if err != nil {
		return "", 0
	}
	return site[:i], number
}

// lines returns the lines of a source file, or nothing. It reads ordinary files with Go source only:
// a trace may name any file, and the page may be shown to others.
func (s *sources) lines(name string) []string {
	if lines, known := s.files[name]; known {
		return lines
	}
	s.files[name] = nil
	if !filepath.IsAbs(name) || filepath.Ext(name) != ".go" || s.inside && !s.root.Contains(name) {
		return nil
	}
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() || info.Size() > maxSource {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSource))
	if err != nil {
		return nil
	}
	var lines []string
	for l := range bytes.Lines(text) {
		lines = append(lines, strings.TrimRight(string(l), "\r\n"))
	}
	s.files[name] = lines
	return lines
}

// name returns how a file is called in the page.
func (s *sources) name(file string) string {
	if name, ok := s.root.Rel(file); ok {
		return printable.Text(name)
	}
	return printable.Text(file)
}

// Package htmlreport writes findings as one HTML page that needs no other files and no network: an
// overview, and for each finding what it means, a diagram with a lane for each goroutine, excerpts of
// the sources, and the report as text.
//
// Names and sources may come from anybody. The page is made with html/template, and its policy for
// content lets a browser run its own script only.
package htmlreport

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the parts of the page
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/internal/diagram"
	"github.com/heisen-go/heisen/internal/printable"
	"github.com/heisen-go/heisen/internal/repository"
	"github.com/heisen-go/heisen/internal/wording"
	"github.com/heisen-go/heisen/report"
)

//go:embed page.tmpl
var pageText string

//go:embed page.css
var style string

//go:embed theme.js
var themeScript string

//go:embed page.js
var pageScript string

var page = template.Must(template.New("page").Parse(pageText))

// Write writes the page. tool is the name and the version of the command. The source files are read
// where they are.
func Write(w io.Writer, findings []report.Finding, tool string, root repository.Root) error {
	return writeAll(w, findings, tool, sources{root: root, files: map[string][]string{}})
}

// WriteForeign is Write for findings that may come from anybody: only source files in the repository are
// read.
func WriteForeign(w io.Writer, findings []report.Finding, tool string, root repository.Root) error {
	return writeAll(w, findings, tool, sources{root: root, inside: true, files: map[string][]string{}})
}

func writeAll(w io.Writer, findings []report.Finding, tool string, sources sources) error {
	v := view{frame: frameOf(tool, themeScript+pageScript), Overview: overviewOf(findings)}
	for n, i := range wording.InOrder(findings) {
		f, err := findingOf(&findings[i], n, &sources)
		if err != nil {
			return err
		}
		v.Findings = append(v.Findings, f)
	}
	return v.write(w, page, v)
}

// frame is what all pages have: a style and a script, and a policy that lets a browser run nothing else.
type frame struct {
	Tool, Policy string
	Style        template.CSS
	Script       template.JS
}

func frameOf(tool, script string) frame {
	return frame{
		Tool: tool, Style: template.CSS(style), Script: template.JS(script),
		Policy: fmt.Sprintf("default-src 'none'; img-src data:; style-src '%s'; script-src '%s'", hash(style), hash(script)),
	}
}

// write writes a page.
func (frame) write(w io.Writer, page *template.Template, contents any) error {
	var b bytes.Buffer
	err := page.Execute(&b, contents)
	if err == nil {
		_, err = w.Write(b.Bytes())
	}
	if err != nil {
		return fmt.Errorf("writing HTML: %w", err)
	}
	return nil
}

// hash names a script or style in a content security policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// view is what the template shows.
type view struct {
	frame
	Overview overview
	Findings []findingView
}

// findingView is a finding in the page.
type findingView struct {
	ID, Kind, Package, Search     string
	Title, What, Sentence, Reason string
	Message                       string
	Level                         string // certain or suspected
	First                         bool   // to look at
	Detector, Fingerprint, Times  string
	Drawing                       drawing
	Legend                        []sign
	Notes                         []string
	Excerpts                      []excerpt
	Pairs                         []string // further pairs of accesses
	Replay, Text                  string
}

func findingOf(f *report.Finding, n int, sources *sources) (findingView, error) {
	var text strings.Builder
	if err := report.WriteText(&text, f); err != nil {
		return findingView{}, err
	}
	d := diagram.Of(f)
	v := findingView{
		ID: fmt.Sprintf("finding-%d", n+1), Kind: kindOf(f), Package: packageOf(f),
		Title: kindOf(f), What: printable.Text(wording.What(f)), Sentence: sentenceOf(f),
		Reason: wording.Reason(f), Level: "suspected", First: n == 0,
		Detector: printable.Text(f.By()), Fingerprint: printable.Text(f.Fingerprint), Times: f.Times(),
		Drawing: draw(d), Legend: legendOf(d), Notes: d.Notes, Excerpts: sources.excerpts(f, d), Replay: printable.Text(f.Replay), Text: text.String(),
	}
	for i := range f.Pairs {
		v.Pairs = append(v.Pairs, f.Pairs[i].String())
	}
	if wording.Certain(f) {
		v.Level = "certain"
	}
	v.Message = printable.Text(f.Message)
	if strings.EqualFold(v.Message, v.Sentence) { // it stands in the line above
		v.Sentence = ""
	}
	v.Search = strings.ToLower(strings.Join([]string{v.Title, v.What, v.Package, v.Detector, v.Text}, "\n"))
	return v, nil
}

// sentenceOf returns what a finding means.
func sentenceOf(f *report.Finding) string { return printable.Text(wording.Sentence(f)) }

func kindOf(f *report.Finding) string { return printable.Text(wording.Title(f)) }

func packageOf(f *report.Finding) string {
	if p := wording.Package(f); p != "" {
		return printable.Text(p)
	}
	return "(unknown package)"
}

// overview counts the findings of each package by kind.
type overview struct {
	Total int
	Kinds []string
	Rows  []overviewRow
}

type overviewRow struct {
	Package string
	Counts  []overviewCell // by kind
}

type overviewCell struct {
	Kind  string
	Count int
}

func overviewOf(findings []report.Finding) overview {
	o := overview{Total: len(findings)}
	for _, i := range wording.InOrder(findings) {
		kind, pkg := kindOf(&findings[i]), packageOf(&findings[i])
		if !slices.Contains(o.Kinds, kind) {
			o.Kinds = append(o.Kinds, kind)
		}
		if !slices.ContainsFunc(o.Rows, func(r overviewRow) bool { return r.Package == pkg }) {
			o.Rows = append(o.Rows, overviewRow{Package: pkg})
		}
	}
	for r := range o.Rows {
		row := &o.Rows[r]
		for _, kind := range o.Kinds {
			cell := overviewCell{Kind: kind}
			for i := range findings {
				if kindOf(&findings[i]) == kind && packageOf(&findings[i]) == row.Package {
					cell.Count++
				}
			}
			row.Counts = append(row.Counts, cell)
		}
	}
	return o
}

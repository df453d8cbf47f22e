// Package sarif writes findings in the Static Analysis Results Interchange Format (SARIF), version
// 2.1.0, which services for code reviews and editors read.
//
// The ids of rules are the kinds of findings and stay the same. A result has the fingerprint of its
// finding as a partial fingerprint. Files in the repository have names relative to its root. The
// events of a finding are a code flow with a thread flow for each goroutine.
package sarif

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/internal/diagram"
	"github.com/heisen-go/heisen/internal/filename"
	"github.com/heisen-go/heisen/internal/repository"
	"github.com/heisen-go/heisen/internal/wording"
	"github.com/heisen-go/heisen/report"
)

// Tool is the program that reports.
type Tool struct{ Name, Version string }

const (
	schema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

	// fingerprintKey names the version of heisen's fingerprints.
	fingerprintKey = "heisenFingerprint/v1"

	// baseID stands for the root of the repository in names of files.
	baseID = "%SRCROOT%"
)

// Write writes one run with all findings.
func Write(w io.Writer, findings []report.Finding, tool Tool, root repository.Root) error {
	rules := rulesOf(findings)
	r := run{
		Tool:       toolOf(tool, rules),
		ColumnKind: "utf16CodeUnits",
		Bases:      map[string]artifactLocation{baseID: {Description: &message{"The root of the repository."}}},
		Results:    []result{},
	}
	in := writer{root: root}
	for i := range findings {
		f := &findings[i]
		index := slices.IndexFunc(rules, func(r rule) bool { return r.ID == string(f.Kind) })
		r.Results = append(r.Results, in.result(f, index))
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(sarif{Schema: schema, Version: "2.1.0", Runs: []run{r}}); err != nil {
		return fmt.Errorf("writing findings as SARIF: %w", err)
	}
	return nil
}

type writer struct{ root repository.Root }

// level says how serious a finding is.
func level(f *report.Finding) string {
	if wording.Certain(f) {
		return "error"
	}
	return "warning"
}

func (w writer) result(f *report.Finding, rule int) result {
	r := result{
		Rule: string(f.Kind), RuleIndex: rule, Level: level(f), Kind: "fail",
		Message:      message{strings.TrimSpace(wording.Subject(f) + ". " + wording.Sentence(f))},
		Fingerprints: map[string]string{fingerprintKey: f.Fingerprint},
		Locations:    []location{},
		Count:        max(f.Count, 1),
		Properties:   properties{Detector: f.Detector, Message: f.Message, Variable: f.Variable, Package: f.Package, Replay: f.Replay},
	}
	if f.Trials != nil {
		r.Properties.Executions, r.Properties.Confirmed, r.Properties.Harmful = f.Trials.Executions, f.Trials.Confirmed, f.Trials.Harmful
	}
	for i := len(f.Accesses) - 1; i >= 0; i-- { // the latest one is where the result stands
		a := &f.Accesses[i]
		l := w.access(f, a)
		if len(r.Locations) == 0 {
			r.Locations = append(r.Locations, l)
		} else {
			r.relate(l)
		}
	}
	for _, pair := range f.EachPair()[1:] {
		for i := range pair.Accesses {
			l := w.access(&pair, &pair.Accesses[i])
			l.Message.Text += ", in another pair of accesses"
			r.relate(l)
		}
	}
	if at := wording.SiteOf(f, w.root.InPackage); len(r.Locations) == 0 && at != "" {
		r.Locations = append(r.Locations, w.site(at, f.Message))
	}
	r.Stacks = w.stacks(f)
	if d := diagram.Of(f); len(d.Events) > 0 {
		r.Flows = []codeFlow{w.flow(d)}
	}
	return r
}

// relate adds a related location, unless there is one with the same place and message.
func (r *result) relate(l location) {
	if slices.ContainsFunc(r.Related, func(known location) bool {
		known.ID = nil
		return reflect.DeepEqual(known, l)
	}) {
		return
	}
	id := len(r.Related) + 1
	l.ID = &id
	r.Related = append(r.Related, l)
}

// stacks returns the stacks of the accesses and of the starts of goroutines, each once.
func (w writer) stacks(f *report.Finding) (all []stack) {
	add := func(what string, frames []report.Frame) {
		s := stack{Message: &message{what}, Frames: w.frames(frames)}
		if len(frames) > 0 && !slices.ContainsFunc(all, func(other stack) bool { return reflect.DeepEqual(s, other) }) {
			all = append(all, s)
		}
	}
	for i := len(f.Accesses) - 1; i >= 0; i-- {
		a := &f.Accesses[i]
		add(a.Goroutine+" "+wording.Does(f, a), a.Stack)
	}
	for i := range f.Goroutines {
		if g := &f.Goroutines[i]; g.Parent != nil {
			add(g.Name+" was started", g.Stack)
		}
	}
	return all
}

// flow returns a thread flow for each goroutine of the diagram that has events. Events have a
// number in the order of execution if that is known; those that are next at the same time have the
// same one.
func (w writer) flow(d *diagram.Diagram) codeFlow {
	var flow codeFlow
	if len(d.Notes) > 0 {
		flow.Message = &message{strings.Join(d.Notes, " ")}
	}
	for lane := range d.Lanes {
		l := &d.Lanes[lane]
		thread := threadFlow{ID: l.Name}
		if l.Test != "" {
			thread.Message = &message{l.Name + " (" + l.Test + ")"}
		}
		if len(l.Labels) > 0 {
			thread.Properties = &threadProperties{Labels: map[string]string{}}
			for _, label := range l.Labels {
				thread.Properties.Labels[label.Key] = label.Value
			}
		}
		for _, s := range d.Starts {
			if s.Parent == lane && s.Site != "" {
				thread.Locations = append(thread.Locations, threadFlowLocation{
					Location: w.site(s.Site, "starts "+d.Lanes[s.Child].Name), Importance: "important", Kinds: []string{"call"}})
			}
		}
		for i := range d.Events {
			e := &d.Events[i]
			if e.Lane != lane {
				continue
			}
			text := e.Verb + " " + e.What
			if e.Times > 1 {
				text += fmt.Sprintf(", %d times", e.Times)
			}
			at := threadFlowLocation{Location: w.site(e.Site, text), Importance: "important", Kinds: kinds(e.Op)}
			if d.Ordered {
				at.Order = e.Row + 1
			}
			if e.Access >= 0 {
				at.Importance = "essential"
			}
			thread.Locations = append(thread.Locations, at)
		}
		if len(thread.Locations) > 0 {
			flow.Threads = append(flow.Threads, thread)
		}
	}
	return flow
}

// kinds returns the words of SARIF for an operation.
func kinds(op string) []string {
	switch op {
	case "acquire", "acquire-shared":
		return []string{"acquire", "lock"}
	case "release", "release-shared":
		return []string{"release", "lock"}
	}
	return nil
}

// isWithin reports whether a frame is in a file of the repository.
func (w writer) isWithin(f report.Frame) bool {
	_, within := w.root.Rel(f.File)
	return within
}

// access returns the location of an access: the innermost line in the repository, where services show results, else the one where its
// goroutine was started there, else that of the program's own code.
func (w writer) access(f *report.Finding, a *report.Access) location {
	frame, source := wording.UserFrame(a.Stack), a.Source
	text := a.Goroutine + " " + wording.Does(f, a)
	if i := slices.IndexFunc(a.Stack, w.isWithin); i >= 0 {
		if a.Stack[i] != frame {
			frame, source = a.Stack[i], ""
		}
	} else if start := wording.StartOf(f, a); slices.ContainsFunc(start, w.isWithin) {
		frame, source = start[slices.IndexFunc(start, w.isWithin)], ""
		text += ", and was started here"
	}
	l := w.site(a.Site, text)
	if frame.File != "" {
		l.Physical = w.physical(frame.File, frame.Line, source)
	}
	if frame.Func != "" {
		l.Logical = []logicalLocation{{Name: frame.Func[strings.LastIndexByte(frame.Func, '/')+1:], Full: frame.Func, Kind: "function"}}
	}
	return l
}

// site returns the location of a site. One of a text trace has no file.
func (w writer) site(site, text string) location {
	l := location{Message: &message{strings.TrimSpace(text)}}
	if i := strings.LastIndexByte(site, ':'); i > 0 {
		var line int
		if n, err := fmt.Sscanf(site[i+1:], "%d", &line); n == 1 && err == nil {
			l.Physical = w.physical(site[:i], line, "")
			return l
		}
	}
	if site != "" {
		l.Logical = []logicalLocation{{Name: site}}
	}
	return l
}

func (w writer) physical(file string, line int, source string) *physicalLocation {
	p := &physicalLocation{Artifact: w.artifact(file)}
	if line > 0 {
		p.Region = &region{Line: line}
		if source != "" {
			p.Region.Snippet = &message{source}
		}
	}
	return p
}

// artifact names a file: relative to the root of the repository, or by its absolute name.
func (w writer) artifact(file string) artifactLocation {
	if name, ok := w.root.Rel(file); ok {
		return artifactLocation{URI: escaped(name), Base: baseID}
	}
	if filename.IsAbs(file) {
		return artifactLocation{URI: filename.URI(file)}
	}
	return artifactLocation{URI: escaped(filepath.ToSlash(file))}
}

// escaped returns a relative name as a URI, in which a colon is not the end of a scheme.
func escaped(name string) string { return (&url.URL{Path: name}).String() }

func (w writer) frames(frames []report.Frame) (out []stackFrame) {
	for _, f := range frames {
		l := location{Logical: []logicalLocation{{Full: f.Func}}} // of a text trace, a place
		if f.File != "" {
			l.Logical[0].Kind = "function"
			l.Physical = w.physical(f.File, f.Line, "")
		}
		out = append(out, stackFrame{l})
	}
	return out
}

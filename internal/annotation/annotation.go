// Package annotation writes findings as annotations of GitHub: commands to a workflow that show a
// message beside a line of code in a pull request.
package annotation

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/heisen-go/heisen/internal/printable"
	"github.com/heisen-go/heisen/internal/repository"
	"github.com/heisen-go/heisen/internal/wording"
	"github.com/heisen-go/heisen/report"
)

// Write writes findings, each as one line: an error if it is a bug that has happened or certainly can
// happen, else a warning. The annotation stands at the latest access in a file of the repository. Findings
// at the same line of code are one annotation, which is an error if one of them is. A finding without such
// a line is an annotation of the whole run.
func Write(w io.Writer, all []report.Finding, root repository.Root) error {
	for _, group := range byLine(all, root) {
		if _, err := io.WriteString(w, group.command(root)); err != nil {
			return fmt.Errorf("writing finding %s: %w", group.findings[0].Fingerprint, err)
		}
	}
	return nil
}

// A group has the findings of a line of code.
type group struct {
	file     string // empty if there is no line
	line     int
	findings []*report.Finding
}

// byLine groups findings, in the order of the first of each group.
func byLine(all []report.Finding, root repository.Root) (groups []*group) {
	type at struct {
		file string
		line int
	}
	known := map[at]*group{}
	for i := range all {
		file, line, ok := place(&all[i], root)
		g := known[at{file, line}]
		if g == nil || !ok {
			g = &group{file: file, line: line}
			groups = append(groups, g)
			known[at{file, line}] = g
		}
		g.findings = append(g.findings, &all[i])
	}
	return groups
}

// command returns the line of a group. Its title is that of the first finding that is certain, or else of
// the first.
func (g *group) command(root repository.Root) string {
	level, first := "warning", g.findings[0]
	if i := slices.IndexFunc(g.findings, wording.Certain); i >= 0 {
		level, first = "error", g.findings[i]
	}
	title := wording.Subject(first)
	if n := len(g.findings) - 1; n > 0 {
		title = fmt.Sprintf("%s, and %d more", title, n)
	}
	var properties []string
	if g.file != "" {
		properties = append(properties, "file="+property(g.file), fmt.Sprintf("line=%d", g.line))
	}
	properties = append(properties, "title="+property(title))
	messages := []string{message(first, root)}
	for _, f := range g.findings {
		if f != first {
			messages = append(messages, message(f, root))
		}
	}
	return fmt.Sprintf("::%s %s::%s\n", level, strings.Join(properties, ","), data(strings.Join(messages, "\n\n")))
}

// place returns where the annotation stands: the innermost frame of the latest access that is in the
// repository, else where the goroutine of an access was started there, or where a finding without accesses stands.
func place(f *report.Finding, root repository.Root) (file string, line int, ok bool) {
	for i := len(f.Accesses) - 1; i >= 0; i-- {
		a := &f.Accesses[i]
		for _, frame := range slices.Concat(a.Stack, wording.StartOf(f, a)) {
			if file, ok = root.Rel(frame.File); ok {
				return file, frame.Line, true
			}
		}
	}
	if at := wording.SiteOf(f, root.InPackage); len(f.Accesses) == 0 && at != "" {
		colon := strings.LastIndexByte(at, ':')
		if file, ok = root.Rel(at[:max(colon, 0)]); ok {
			line, err := strconv.Atoi(at[colon+1:])
			return file, line, err == nil
		}
	}
	return "", 0, false
}

// message says what the finding means, where its accesses are, and how to repeat it.
func message(f *report.Finding, root repository.Root) string {
	lines := []string{wording.Sentence(f)}
	for i := range f.Accesses {
		a := &f.Accesses[i]
		frame := wording.UserFrame(a.Stack)
		at := a.Site
		if file, ok := root.Rel(frame.File); ok {
			at = fmt.Sprintf("%s:%d", file, frame.Line)
		}
		in := ""
		if frame.Func != "" {
			in = " in " + frame.Func
		}
		lines = append(lines, fmt.Sprintf("%s %s%s at %s", a.Goroutine, wording.Does(f, a), in, at))
	}
	if f.Replay != "" {
		lines = append(lines, "Replay: "+f.Replay)
	}
	lines = append(lines, fmt.Sprintf("Found by %s, fingerprint %s", f.By(), f.Fingerprint))
	for i, line := range lines {
		lines[i] = printable.Text(line)
	}
	return strings.Join(lines, "\n")
}

// data returns the message of a command: GitHub undoes the escapes.
func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

// property returns the value of a property of a command, on one line.
func property(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(printable.Text(s)))
}

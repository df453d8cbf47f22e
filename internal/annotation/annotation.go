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

// Write writes a finding as one line: an error if it is a bug that has happened or certainly can
// happen, else a warning. The annotation stands at the latest access in a file of the repository. A
// finding without one is an annotation of the whole run.
func Write(w io.Writer, f *report.Finding, root repository.Root) error {
	level := "warning"
	if wording.Certain(f) {
		level = "error"
	}
	title := wording.Subject(f)
	var properties []string
	if file, line, ok := place(f, root); ok {
		properties = append(properties, "file="+property(file), fmt.Sprintf("line=%d", line))
	}
	properties = append(properties, "title="+property(title))
	_, err := fmt.Fprintf(w, "::%s %s::%s\n", level, strings.Join(properties, ","), data(message(f, root)))
	if err != nil {
		return fmt.Errorf("writing finding %s: %w", f.Fingerprint, err)
	}
	return nil
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
	lines = append(lines, fmt.Sprintf("Found by %s, fingerprint %s", f.Detector, f.Fingerprint))
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

package corpus

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/report"
)

// Expects reports whether a finding is one that is expected of the program's test with the bug: it is of a
// kind that is wanted, at a line of one of its stacks. A failure has a text in its message instead.
func (p *Program) Expects(f *report.Finding) bool {
	return slices.ContainsFunc(p.Wants, func(w Want) bool {
		switch {
		case w.Kind == heisen.Failure:
			return f.Kind == heisen.Failure && strings.Contains(f.Message, w.Text)
		case w.Kind == heisen.Deadlock && f.Kind == heisen.Failure: // a program that got stuck
			return strings.HasPrefix(f.Message, "deadlock") && p.passes(f, w.Line)
		}
		return w.Kind == f.Kind && p.passes(f, w.Line)
	})
}

// passes reports whether a line of the program is in one of the stacks of a finding.
func (p *Program) passes(f *report.Finding, line int) bool {
	return slices.ContainsFunc(stacks(f), func(stack []report.Frame) bool {
		return slices.ContainsFunc(stack, func(frame report.Frame) bool {
			return frame.Line == line && p.in(frame.File)
		})
	})
}

// in reports whether a file is that of the program.
func (p *Program) in(file string) bool {
	return filepath.Base(file) == p.File && filepath.Base(filepath.Dir(file)) == p.Class
}

// stacks returns the stacks of a finding's accesses and of the goroutines that wait.
func stacks(f *report.Finding) (all [][]report.Frame) {
	for i := range f.Accesses {
		all = append(all, f.Accesses[i].Stack)
	}
	for i := range f.Blocked {
		all = append(all, f.Blocked[i].Stack)
	}
	return all
}

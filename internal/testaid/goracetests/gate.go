package main

import (
	"strings"

	"github.com/heisen-go/heisen"
)

// gate is a detector that notes when the test starts: package testing starts a
// goroutine for it. What races before is the initialisation of the data's
// packages, which some files do on purpose.
type gate struct {
	symbols  *heisen.Symbols
	detector heisen.Detector
	open     bool
	before   uint64 // events that came before
}

// Handle implements heisen.Detector.
func (g *gate) Handle(e heisen.Event) {
	if !g.open && e.Op() == heisen.Fork {
		for _, frame := range g.symbols.Site(e.Site()).Frames {
			g.open = g.open || strings.HasPrefix(frame.Func, "testing.(*T).Run")
		}
	}
	if !g.open {
		g.before++
	}
	g.detector.Handle(e)
}

// within reports whether the later access of a finding, which may be reported some
// time after it, is made when the test has started.
func (g *gate) within(f heisen.Finding) bool {
	return g.open && f.Accesses[len(f.Accesses)-1].Index > g.before
}

// Flush implements heisen.Detector.
func (g *gate) Flush() error { return g.detector.Flush() }

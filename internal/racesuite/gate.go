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
}

// Handle implements heisen.Detector.
func (g *gate) Handle(e heisen.Event) {
	if !g.open && e.Op() == heisen.Fork {
		for _, frame := range g.symbols.Site(e.Site()).Frames {
			g.open = g.open || strings.HasPrefix(frame.Func, "testing.(*T).Run")
		}
	}
	g.detector.Handle(e)
}

// Flush implements heisen.Detector.
func (g *gate) Flush() error { return g.detector.Flush() }

package main

import (
	"strings"

	"github.com/heisen-go/heisen"
)

// A gate passes all events on to a detector and records when the test function starts, which is
// when package testing starts a goroutine for it. The initialization of the test data's packages
// races on purpose in some files. The gate serves to ignore those races.
type gate struct {
	symbols  *heisen.Symbols
	detector heisen.Detector
	open     bool   // the test function has started
	before   uint64 // number of events before it started
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

// within reports whether the test function had started when the later access of a finding was made.
// A detector may report the finding some time after that access.
func (g *gate) within(f heisen.Finding) bool {
	return g.open && f.Accesses[len(f.Accesses)-1].Index > g.before
}

// Flush implements heisen.Detector.
func (g *gate) Flush() error { return g.detector.Flush() }

package controlled

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/observed"
	"github.com/heisen-go/heisen/internal/recorder"
)

// influenceOf describes an input from outside, and where the program first got it.
func influenceOf(r *observed.Resolver, in recorder.Influence, symbols *heisen.Symbols) string {
	text := in.Kind.String()
	if in.Site == 0 {
		return text
	}
	f := r.Resolve(heisen.Finding{Accesses: []heisen.Access{{Site: in.Site}}}, symbols)
	return text + " at " + f.Accesses[0].Site
}

// measuredNames has what programs measure, by the bits of recorder.MeasuredKinds.
var measuredNames = []struct {
	kind recorder.MeasuredKinds
	name string
}{
	{recorder.MeasuredMemory, "memory"},
	{recorder.MeasuredGoroutines, "the number of goroutines"},
	{recorder.MeasuredMetrics, "metrics"},
	{recorder.MeasuredPauses, "collections"},
	{recorder.MeasuredFreed, "what a collection frees"},
}

// measuredBy says what a program has measured, and where first.
func measuredBy(r *observed.Resolver, m recorder.Measured, symbols *heisen.Symbols) string {
	var names []string
	for _, n := range measuredNames {
		if m.Kinds&n.kind != 0 && (n.kind != recorder.MeasuredPauses || m.Kinds&recorder.MeasuredMemory == 0) {
			names = append(names, n.name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	text := strings.Join(names, ", ")
	if m.Site == 0 {
		return text
	}
	f := r.Resolve(heisen.Finding{Accesses: []heisen.Access{{Site: m.Site}}}, symbols)
	place := f.Accesses[0].Site
	for _, frame := range f.Accesses[0].Stack {
		if frame.File != "" && !r.Toolchain.InLibrary(frame.File) { // the compiler may have inlined others into it
			place = fmt.Sprintf("%s:%d", frame.File, frame.Line)
			break
		}
	}
	return text + " at " + place
}

// heldBack says which goroutine was held back, and how long.
func heldBack(r *observed.Resolver, s recorder.Starved, symbols *heisen.Symbols) string {
	f := r.Resolve(heisen.Finding{Accesses: []heisen.Access{{Thread: s.Thread}}}, symbols)
	text := f.Accesses[0].Goroutine
	if len(f.Goroutines) > 0 && len(f.Goroutines[0].Stack) > 0 {
		if at := f.Goroutines[0].Stack[0]; at.File != "" && !r.Toolchain.InLibrary(at.File) {
			text += fmt.Sprintf(", started at %s:%d,", at.File, at.Line)
		}
	}
	return fmt.Sprintf("%s could go on and did not for %v", text, s.Time.Round(time.Millisecond))
}

// Freed is what a test does that is told what a collection frees.
const Freed = recorder.MeasuredCollection | recorder.MeasuredFreed

// MayBeMeasured reports whether the outcome of an execution may be due to what the program has measured by then.
func (o Outcome) MayBeMeasured(e *Execution) bool {
	kinds := o.Measured(e)
	return e.Measured != "" && (kinds&^Freed != 0 || kinds&Freed == Freed)
}

// Measured returns what a program has measured in an execution before it came to the outcome, as far as that is known.
// A test may fail early and go on.
func (o Outcome) Measured(e *Execution) recorder.MeasuredKinds {
	m := &e.Execution.Measured
	if o.Class == TestFailed && m.Failed && onlyFailed(e.Output, o.Message) {
		return m.Before
	}
	return m.Kinds
}

// onlyFailed reports whether package testing has printed that a test failed, and no other one but its subtests.
func onlyFailed(printed []byte, name string) bool {
	failed := FailedTests(printed)
	return len(failed) > 0 && !slices.ContainsFunc(failed, func(test string) bool { return TopLevel(test) != TopLevel(name) })
}

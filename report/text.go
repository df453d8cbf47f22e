package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/heisen-go/heisen"
)

// frameLine stands before and after a report, as in Go's own race reports.
const frameLine = "=================="

// Bounds on what is printed of one stack, the innermost frames, and of a
// witness, the last steps. The JSON form has them all.
const (
	maxFrames = 50
	maxSteps  = 40
)

// WriteText prints f in the manner of Go's own race reports, so that what
// searches logs for those finds these.
func WriteText(w io.Writer, f *Finding) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nWARNING: %s\n", frameLine, title(f))
	switch {
	case len(f.Cycle) > 0:
		fmt.Fprintf(&b, "%s: %s\n", f.Message, strings.Join(f.Cycle, " -> "))
	case f.Variable != "":
		fmt.Fprintf(&b, "%s: %s\n", f.Variable, f.Message)
	default:
		fmt.Fprintf(&b, "%s\n", f.Message)
	}
	fmt.Fprintf(&b, "Found by %s", f.Detector)
	if times := Times(f); times != "" {
		fmt.Fprintf(&b, " %s", times)
	}
	fmt.Fprintf(&b, ", fingerprint %s\n", f.Fingerprint)
	if len(f.Locks) > 0 {
		fmt.Fprintf(&b, "Held until then: %s\n", held(f.Locks))
	}
	if isSection(f) {
		writeSection(&b, f)
	}
	writeAccesses(&b, f)
	for i := range f.Allocations {
		writeAllocation(&b, &f.Allocations[i])
	}
	for i := range f.Goroutines {
		writeGoroutine(&b, f, &f.Goroutines[i])
	}
	writeBlocked(&b, f.Blocked)
	writeTrials(&b, f)
	writeWitness(&b, f.Witness)
	if f.Replay != "" {
		fmt.Fprintf(&b, "\nReplay: %s\n", f.Replay)
	}
	fmt.Fprintf(&b, "%s\n", frameLine)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("report: write finding %s: %w", f.Fingerprint, err)
	}
	return nil
}

func title(f *Finding) string {
	switch f.Kind {
	case heisen.Race:
		return "DATA RACE"
	case heisen.Atomicity:
		return "ATOMICITY VIOLATION"
	case heisen.Deadlock:
		if f.Trials != nil && f.Trials.Confirmed > 0 {
			return "DEADLOCK"
		}
		return "POTENTIAL DEADLOCK"
	case heisen.PotentialRace:
		return "POTENTIAL DATA RACE"
	case heisen.Discipline:
		return "LOCKING DISCIPLINE"
	case heisen.Failure:
		return "FAILING EXECUTION"
	}
	return strings.ToUpper(string(f.Kind))
}

// Times says how often a finding was found; nothing if once.
func Times(f *Finding) string {
	switch {
	case f.Count <= 1:
		return ""
	case f.Reverse != nil && f.Reverse.Count > 0:
		return fmt.Sprintf("%d times, %d of them in the other order", f.Count, f.Reverse.Count)
	}
	return fmt.Sprintf("%d times", f.Count)
}

// latestFirst reports whether the accesses of a kind are sides of the latest one,
// and not steps.
func latestFirst(kind heisen.Kind) bool {
	return kind == heisen.Race || kind == heisen.PotentialRace || kind == heisen.Discipline
}

// held names locks.
func held(locks []Lock) string {
	var names []string
	for _, l := range locks {
		names = append(names, nameAndObject(l.Variable, l.Lock))
	}
	return strings.Join(names, ", ")
}

func nameAndObject(variable, object string) string {
	if variable == "" {
		return object
	}
	return variable + " " + object
}

// writeAccesses prints the sides of a race from the latest back, as Go does;
// the steps of other bugs in their order, for that is the bug.
func writeAccesses(b *strings.Builder, f *Finding) {
	n := len(f.Accesses)
	section := isSection(f)
	for i := range f.Accesses {
		a := &f.Accesses[i]
		op := words(a.Op)
		switch {
		case latestFirst(f.Kind):
			a = &f.Accesses[n-1-i]
			op = words(a.Op)
			switch {
			case i > 0 && f.Trials != nil: // either may have come first
				op = "concurrent " + op
			case i > 0:
				op = "previous " + op
			}
		case section && i == 0:
			op = "entry: " + op
		case section && i == n-1:
			op = "end: " + op
		case section:
			op = "in between: " + op
		case f.Kind == heisen.Atomicity && i > 0:
			op = "then " + op
		}
		who := a.Goroutine
		if a.Test != "" {
			who += " (" + a.Test + ")"
		}
		if len(f.Cycle) > 0 {
			fmt.Fprintf(b, "\n%s wants %s (%s):\n", heading(who), nameAndObject(a.Variable, a.Object), wantedMode(a.Op))
		} else {
			fmt.Fprintf(b, "\n%s by %s at %s:\n", capital(op), who, a.Object)
		}
		writeAccess(b, a)
	}
}

// wantedMode is the mode of Lock that an acquisition brings about.
func wantedMode(op string) string {
	if op == heisen.AcquireShared.String() {
		return "read"
	}
	return "write"
}

func writeAccess(b *strings.Builder, a *Access) {
	if len(a.Stack) == 0 {
		fmt.Fprintf(b, "  %s\n", a.Site)
	}
	writeStack(b, a.Stack, a.Source)
	for _, l := range a.Locks {
		fmt.Fprintf(b, "  holding %s (%s), acquired at %s\n", nameAndObject(l.Variable, l.Lock), l.Mode, l.Site)
	}
	if len(a.Locks) == 0 {
		fmt.Fprintf(b, "  holding no locks\n")
	}
}

// writeStack prints a stack in the form of Go's, and source below the innermost
// frame of the program proper.
func writeStack(b *strings.Builder, stack []Frame, source string) {
	user := userFrame(stack)
	for i, f := range stack {
		if i == maxFrames {
			fmt.Fprintf(b, "  (%d more frames)\n", len(stack)-i)
			return
		}
		if f.File == "" {
			fmt.Fprintf(b, "  %s\n", f.Func)
			continue
		}
		fmt.Fprintf(b, "  %s()\n      %s:%d\n", f.Func, f.File, f.Line)
		if f == user && source != "" {
			fmt.Fprintf(b, "        %s\n", source)
			source = "" // once, also in a recursion
		}
	}
}

// writeAllocation prints where an object was allocated.
func writeAllocation(b *strings.Builder, a *Allocation) {
	who := a.Goroutine
	if a.Test != "" {
		who += " (" + a.Test + ")"
	}
	fmt.Fprintf(b, "\nMemory at %s, byte %d of %d, allocated by %s at:\n", a.Object, a.Offset, a.Size, who)
	if len(a.Stack) == 0 {
		fmt.Fprintf(b, "  %s\n", a.Site)
	}
	writeStack(b, a.Stack, "")
}

// writeGoroutine prints where a goroutine was started; the main goroutine and
// threads of unknown origin have nothing to print.
func writeGoroutine(b *strings.Builder, f *Finding, g *Goroutine) {
	if g.Parent == nil {
		return
	}
	parent := fmt.Sprintf("goroutine %d", *g.Parent)
	for _, other := range f.Goroutines {
		if other.Thread == *g.Parent {
			parent = other.Name
		}
	}
	if len(g.Stack) == 0 {
		fmt.Fprintf(b, "\n%s created by %s\n", heading(g.Name), parent)
		return
	}
	fmt.Fprintf(b, "\n%s created by %s at:\n", heading(g.Name), parent)
	writeStack(b, g.Stack, "")
}

func writeWitness(b *strings.Builder, steps []Step) {
	if len(steps) == 0 {
		return
	}
	fmt.Fprintf(b, "\nA schedule of %d steps shows it:\n", len(steps))
	if more := len(steps) - maxSteps; more > 0 {
		fmt.Fprintf(b, "  (%d earlier steps)\n", more)
		steps = steps[more:]
	}
	for _, s := range steps {
		fmt.Fprintf(b, "  %s: %s %s at %s\n", s.Name, words(s.Op), nameAndObject(s.Variable, s.Object), s.Site)
	}
}

// heading is a thread's name at the start of a sentence. The names of a text
// trace are not ours to change.
func heading(name string) string {
	if strings.HasPrefix(name, "goroutine ") || strings.HasPrefix(name, "main goroutine") {
		return capital(name)
	}
	return name
}

// capital returns s, which begins with an ASCII letter, with that in upper case.
func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

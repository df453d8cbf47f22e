package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/internal/printable"
)

// frameLine stands before and after a report, as in the reports of Go's race detector.
const frameLine = "=================="

// The innermost frames of a stack and the last steps of a witness are printed. The JSON form has
// all of them.
const (
	maxFrames = 50
	maxSteps  = 40
)

// WriteText prints f in the style of the reports of go test -race. A report begins and ends with a
// line of equals signs, and its second line begins with "WARNING:", so that tools that search logs
// for race reports find it. Characters that are not graphic are replaced, so that no name controls a
// terminal or looks like a line of the report. If w or f is nil, the error wraps heisen.ErrOption.
func WriteText(w io.Writer, f *Finding) error {
	if err := checkArguments("report.WriteText", w, f); err != nil {
		return err
	}
	return writeText(w, f, plain)
}

// WriteColorText is WriteText with sequences that color the text on a terminal.
func WriteColorText(w io.Writer, f *Finding) error {
	if err := checkArguments("report.WriteColorText", w, f); err != nil {
		return err
	}
	return writeText(w, f, colors)
}

// Marks of what stands out in a text, up to the mark of the end. No finding has them, because they
// are not graphic characters and clean replaces those.
const (
	asWarning = "\uE000"
	asHeading = "\uE001"
	asSource  = "\uE002"
	asIs      = "\uE003"
)

var (
	plain  = strings.NewReplacer(asWarning, "", asHeading, "", asSource, "", asIs, "")
	colors = strings.NewReplacer(asWarning, "\x1b[1;31m", asHeading, "\x1b[1m", asSource, "\x1b[36m", asIs, "\x1b[m")
)

// writeText prints f, with marks as a Replacer has it.
func writeText(w io.Writer, f *Finding, marks *strings.Replacer) error {
	one := clean(*f)
	f = &one
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%sWARNING: %s%s\n", frameLine, asWarning, title(f), asIs)
	fmt.Fprintf(&b, "%s%s%s\n", asHeading, f.headline(), asIs)
	fmt.Fprintf(&b, "%s\n", foundBy(f))
	if told := f.History.told(); told != "" {
		fmt.Fprintf(&b, "%s\n", told)
	}
	if where := failedIn(f); where != "" {
		fmt.Fprintf(&b, "%s\n", where)
	}
	if why := f.Reservation(); why != "" {
		fmt.Fprintf(&b, "Not certain: %s\n", why)
	}
	if len(f.Locks) > 0 {
		fmt.Fprintf(&b, "Held until then: %s\n", held(f.Locks, nameAndObject))
	}
	if isSection(f) {
		writeSection(&b, f)
	} else if begin := transaction(f); begin >= 0 {
		writeTransaction(&b, f, begin, nameAndObject)
	}
	writeAccesses(&b, f)
	writePrinted(&b, f)
	for i := range f.Allocations {
		writeAllocation(&b, &f.Allocations[i])
	}
	for i := range f.Goroutines {
		writeGoroutine(&b, f, &f.Goroutines[i])
	}
	for i := range f.Blocked {
		if g := &f.Blocked[i]; !slices.ContainsFunc(f.Accesses, func(a Access) bool { return g == blockedAt(f, &a) }) {
			writeBlocked(&b, g)
		}
	}
	writeWaitCycle(&b, f, nameAndObject)
	writePairs(&b, f)
	writeTrials(&b, f)
	writeFollowing(&b, f)
	writeWitness(&b, f)
	if f.Replay != "" {
		fmt.Fprintf(&b, "\nReplay: %s%s%s\n", asHeading, f.Replay, asIs)
	}
	fmt.Fprintf(&b, "%s\n", frameLine)
	if _, err := io.WriteString(w, marks.Replace(b.String())); err != nil {
		return fmt.Errorf("writing finding %s: %w", f.Fingerprint, err)
	}
	return nil
}

// foundBy says which detector has found a finding how often, and how it can be named.
func foundBy(f *Finding) string {
	text := "Found"
	if f.Detector != "" {
		text += " by " + f.By()
	}
	if times := f.Times(); times != "" {
		text += " " + times
	}
	return text + ", fingerprint " + f.Fingerprint
}

// failedIn says in which package something has failed. It is empty for findings of other kinds, whose places say that.
func failedIn(f *Finding) string {
	if f.Kind != heisen.Failure || f.Package == "" {
		return ""
	}
	tested := strings.HasPrefix(f.Message, "test failed") || slices.ContainsFunc(f.Accesses, func(a Access) bool { return a.Test != "" }) ||
		slices.ContainsFunc(f.Blocked, func(b Blocked) bool { return b.Test != "" })
	if tested {
		return "In the tests of " + f.Package
	}
	return "In " + f.Package
}

func title(f *Finding) string {
	if f.Potential() && f.Kind != heisen.Deadlock {
		return "POTENTIAL " + titleOf(f)
	}
	return titleOf(f)
}

func titleOf(f *Finding) string {
	switch f.Kind {
	case heisen.Race:
		return "DATA RACE"
	case heisen.Atomicity:
		return "ATOMICITY VIOLATION"
	case heisen.Deadlock:
		if f.Certainty() == Confirmed {
			return "DEADLOCK"
		}
		return "POTENTIAL DEADLOCK"
	case heisen.PotentialRace:
		return "POTENTIAL DATA RACE"
	case heisen.Discipline:
		return "LOCKING DISCIPLINE"
	case heisen.Leak:
		return "GOROUTINE LEAK"
	case heisen.Unstoppable:
		return "UNSTOPPABLE GOROUTINE"
	case heisen.Misuse:
		return "MISUSE"
	case heisen.Failure:
		return "FAILING EXECUTION"
	}
	return strings.ToUpper(string(f.Kind))
}

// latestFirst reports whether a finding of the kind is about its latest access, and not about a
// sequence of steps.
func latestFirst(kind heisen.Kind) bool {
	return kind == heisen.Race || kind == heisen.PotentialRace || kind == heisen.Discipline
}

// held names locks. name is as in writeWaitCycle.
func held(locks []Lock, name func(variable, object string) string) string {
	var names []string
	for _, l := range locks {
		names = append(names, name(l.Variable, l.Lock))
	}
	return strings.Join(names, ", ")
}

func goroutineAndTest(goroutine, test string) string {
	if test == "" {
		return goroutine
	}
	return goroutine + " (" + test + ")"
}

// goroutineAt names a goroutine, with its test and its labels.
func goroutineAt(goroutine, test string, labels []Label) string {
	who := goroutineAndTest(goroutine, test)
	if len(labels) > 0 {
		who += " " + FormatLabels(labels)
	}
	return who
}

func nameAndObject(variable, object string) string {
	if variable == "" {
		return object
	}
	return variable + " " + object
}

// unknownSite is the text of a site of which nothing is known.
const unknownSite = "?"

// noObject is the object 0, in hexadecimal.
const noObject = "0x0"

// endless says what the goroutine of a finding does, of kinds that are about one goroutine.
var endless = map[heisen.Kind]string{
	heisen.Leak:        "waits for ever",
	heisen.Unstoppable: "goes on for ever, each time that a timer fires",
}

// roleOf returns the i-th access to print, and what its op is in the finding. The accesses of a race are printed from the latest back, as
// Go does; those of other bugs in their order, because the order is the bug.
func roleOf(f *Finding, i int) (role string, a *Access) {
	n := len(f.Accesses)
	a = &f.Accesses[i]
	if latestFirst(f.Kind) {
		a = &f.Accesses[n-1-i]
	}
	op := words(a.Op)
	section := isSection(f)
	switch {
	case latestFirst(f.Kind) && i > 0 && f.Trials != nil: // either may have come first
		return "concurrent " + op, a
	case latestFirst(f.Kind) && i > 0:
		return "previous " + op, a
	case latestFirst(f.Kind):
		return op, a
	case section && i == 0:
		return "entry: " + op, a
	case section && i == n-1:
		return "end: " + op, a
	case section:
		return "in between: " + op, a
	case f.Unproved() && a.Thread != f.Accesses[0].Thread:
		return fmt.Sprintf("no lock or message keeps that %s apart from: %s", words(f.Accesses[i-1].Op), op), a
	case f.Kind == heisen.Atomicity && i > 0:
		return "then " + op, a
	}
	return op, a
}

// writeAccesses prints the accesses.
func writeAccesses(b *strings.Builder, f *Finding) {
	for i := range f.Accesses {
		op, a := roleOf(f, i)
		who := goroutineAt(a.Goroutine, a.Test, a.Labels)
		if verb := endless[f.Kind]; verb != "" {
			at := ", at " + a.Object
			if a.Object == noObject { // several channels, or none
				at = ""
			}
			fmt.Fprintf(b, "\n%s%s %s%s:%s\n", asHeading, heading(who), verb, at, asIs)
		} else if len(f.Cycle) > 0 {
			fmt.Fprintf(b, "\n%s%s wants %s (%s):%s\n", asHeading, heading(who), nameAndObject(a.Expression(), a.Object), wantedMode(a.Op), asIs)
		} else if isNameless(a) || f.Kind == heisen.Misuse || f.Kind == heisen.Failure {
			fmt.Fprintf(b, "\n%s%s by %s:%s\n", asHeading, capital(op), who, asIs)
		} else {
			fmt.Fprintf(b, "\n%s%s by %s at %s:%s\n", asHeading, capital(op), who, a.Object, asIs)
		}
		if f.Kind == heisen.Misuse { // no lock makes the call right
			one := *a
			one.Locks, one.LocksUnknown = nil, true
			a = &one
		}
		writeAccess(b, a)
		if i == 0 {
			writeWait(b, f.Wait)
		}
		if g := blockedAt(f, a); g != nil {
			writeWait(b, g.Wait)
		}
	}
}

// blockedAt returns the blocked goroutine that waits in an access of a deadlock, nil if there is none.
func blockedAt(f *Finding, a *Access) *Blocked {
	if len(f.Cycle) == 0 {
		return nil
	}
	i := slices.IndexFunc(f.Blocked, func(g Blocked) bool { return g.Thread == a.Thread && slices.Equal(g.Stack, a.Stack) })
	if i < 0 {
		return nil
	}
	return &f.Blocked[i]
}

// writePrinted prints what the program has printed about a failure.
func writePrinted(b *strings.Builder, f *Finding) {
	if len(f.Printed) == 0 {
		return
	}
	fmt.Fprintf(b, "\nThe program printed:\n")
	for _, line := range f.Printed {
		fmt.Fprintf(b, "  %s\n", printable.Text(line))
	}
}

// wantedMode returns the Mode of the Lock after an acquisition.
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
	if len(a.Locks) == 0 && !a.LocksUnknown {
		fmt.Fprintf(b, "  holding no locks\n")
	}
}

// writeStack prints a stack in the form of Go's, and source below the innermost frame that does not
// belong to package sync or the like.
func writeStack(b *strings.Builder, stack []Frame, source string) {
	user := userFrame(stack)
	for i, f := range stack {
		if i == maxFrames {
			fmt.Fprintf(b, "  (%s)\n", plural.Of(len(stack)-i, "more frame"))
			return
		}
		if f.File == "" {
			fmt.Fprintf(b, "  %s\n", f.Func)
			continue
		}
		fmt.Fprintf(b, "  %s()\n      %s:%d\n", f.Func, f.File, f.Line)
		if f == user && source != "" {
			fmt.Fprintf(b, "        %s%s%s\n", asSource, source, asIs)
			source = "" // once, also in a recursion
		}
	}
}

// writeAllocation prints where an object was allocated.
func writeAllocation(b *strings.Builder, a *Allocation) {
	who := goroutineAndTest(a.Goroutine, a.Test)
	fmt.Fprintf(b, "\nMemory at %s, byte %d of %d, allocated by %s at:\n", a.Object, a.Offset, a.Size, who)
	if len(a.Stack) == 0 {
		fmt.Fprintf(b, "  %s\n", a.Site)
	}
	writeStack(b, a.Stack, "")
}

// writeGoroutine prints where a goroutine was started. It prints nothing for the main goroutine and
// for threads of unknown origin.
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

// writeBlocked prints where a goroutine is blocked.
func writeBlocked(b *strings.Builder, g *Blocked) {
	who := goroutineAt(g.Goroutine, g.Test, g.Labels)
	fmt.Fprintf(b, "\n%s is blocked: %s", heading(who), g.Reason)
	if g.Object != "" {
		fmt.Fprintf(b, ", %s", nameAndObject(g.Variable, g.Object))
	}
	b.WriteString("\n")
	writeStack(b, g.Stack, "")
	for _, l := range g.Locks {
		fmt.Fprintf(b, "  holding %s (%s), acquired at %s\n", nameAndObject(l.Variable, l.Lock), l.Mode, l.Site)
	}
	writeWait(b, g.Wait)
}

// String returns what WriteText prints about a blocked goroutine: an empty line, the reason, the
// stack and the locks held, in lines.
func (g Blocked) String() string {
	var b strings.Builder
	g = clean(g)
	writeBlocked(&b, &g)
	return plain.Replace(b.String())
}

// writeWitness prints the schedule of a bug. The acquisitions at the end of a deadlock's are no steps
// of it, because they cannot happen.
func writeWitness(b *strings.Builder, f *Finding) {
	steps := f.Witness
	if len(steps) == 0 {
		return
	}
	waits := func(s Step) bool { return s.Pending && f.Kind == heisen.Deadlock }
	waiting := 0
	for _, s := range steps {
		if waits(s) {
			waiting++
		}
	}
	fmt.Fprintf(b, "\nA schedule of %s shows it", plural.Of(len(steps)-waiting, "step"))
	if shared := sharedSteps(f); len(steps) > maxSteps && 0 < len(shared) && len(shared) < len(steps) {
		steps = shared
		b.WriteString(". These are about what several goroutines use")
	}
	b.WriteString(":\n")
	if more := len(steps) - maxSteps; more > 0 {
		fmt.Fprintf(b, "  (%s)\n", plural.Of(more, "earlier step"))
		steps = steps[more:]
	}
	for _, s := range steps {
		what := cmp.Or(s.Verb, words(s.Op))
		if waits(s) {
			what = "waits to " + what
		}
		fmt.Fprintf(b, "  %s: %s %s at %s", s.Name, what, nameAndObject(s.Expression(), s.Object), s.Site)
		if s.Call != "" {
			fmt.Fprintf(b, ", in %s, called at %s", s.Call, s.Caller)
		}
		b.WriteString("\n")
	}
}

// sharedSteps returns the steps of a finding's schedule that may matter to other goroutines: what the program does with what several
// goroutines use in it, and the starts of these goroutines. The accesses of the finding are among the steps.
func sharedSteps(f *Finding) (shared []Step) {
	users := map[string]heisen.Thread{}
	several := map[string]bool{}
	for _, s := range f.Witness {
		if user, used := users[s.Object]; used && user != s.Thread {
			several[s.Object] = true
		}
		users[s.Object] = s.Thread
	}
	goroutines := map[string]bool{}
	for i := range f.Goroutines {
		goroutines[f.Goroutines[i].Name] = true
	}
	for _, s := range f.Witness {
		if isShared(f, &s, several) {
			goroutines[s.Name] = true
		}
	}
	starts := heisen.Fork.String()
	for _, s := range f.Witness {
		if isShared(f, &s, several) || s.Op == starts && goroutines[s.Object] {
			shared = append(shared, s)
		}
	}
	return shared
}

// isShared reports whether a step is one with an object that several goroutines use, or an access of the finding. Those of the runtime
// and at unknown places are none.
func isShared(f *Finding, s *Step, several map[string]bool) bool {
	if s.Pending || slices.ContainsFunc(f.Accesses, func(a Access) bool { return a.Thread == s.Thread && a.Site == s.Site && a.Op == s.Op }) {
		return true
	}
	return matters(s.Op) && several[s.Object] && s.Site != unknownSite && !strings.Contains(s.Site, "/src/runtime/")
}

// matters reports whether an operation on an object can matter to other goroutines that use it.
func matters(op string) bool {
	switch op {
	case heisen.Fork.String(), heisen.Begin.String(), heisen.End.String(), heisen.Alloc.String(), heisen.Free.String(), heisen.Call.String(), heisen.Return.String(), heisen.Branch.String():
		return false
	}
	return true
}

// heading returns a thread's name for the start of a sentence. The names in a text trace stay as they
// are.
func heading(name string) string {
	for _, own := range []string{"goroutine ", "main goroutine", "cleanup ", "a goroutine that "} {
		if strings.HasPrefix(name, own) {
			return capital(name)
		}
	}
	return name
}

// capital returns s, which begins with an ASCII letter, with the letter in upper case.
func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

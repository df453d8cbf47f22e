package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/option"
	"github.com/heisen-go/heisen/internal/plural"
)

// Brief writes findings as text in a short form, for people who look at a finding for the first time: what it is about, the places
// with their statements, who holds what, who started whom, what harm it does and how to repeat it. WriteText has the rest: all frames
// of the stacks, the addresses, the schedule. The text is safe to print, as that of WriteText is. The zero Brief writes without colors
// and with file names as they are.
type Brief struct {
	Folder string // files in this folder and below have their names relative to it; empty if none have
	Full   string // command that prints a finding in full when the fingerprint follows, such as "heisen show"; empty if there is none
	Color  bool   // the text is colored, for a terminal
}

// maxBriefLines is the number of lines that Brief keeps to where leaving out frames of stacks is enough for that.
const maxBriefLines = 25

// Parts of a short report have this many lines or less.
const (
	maxBriefFrames  = 6 // of a stack; fewer if the report would be too long
	minBriefFrames  = 2
	maxBriefStarts  = 4
	maxBriefBlocked = 4
	maxBriefUsers   = 2
	maxBriefPrinted = 5
	maxBriefSteps   = 5
	maxBriefPairs   = 2
)

// Write writes f. If b, w or f is nil, the error wraps heisen.ErrOption.
func (b *Brief) Write(w io.Writer, f *Finding) error {
	if b == nil {
		return fmt.Errorf("report.Brief.Write: %w", option.Errorf("the Brief is nil"))
	}
	if err := checkArguments("report.Brief.Write", w, f); err != nil {
		return err
	}
	one := clean(*f)
	text := ""
	for frames := maxBriefFrames; frames >= minBriefFrames; frames-- {
		t := &briefText{form: b, f: &one, frames: frames, names: namesOf(&one)}
		text = t.text()
		if strings.Count(text, "\n") <= maxBriefLines {
			break
		}
	}
	marks := plain
	if b.Color {
		marks = colors
	}
	if _, err := io.WriteString(w, marks.Replace(text)); err != nil {
		return fmt.Errorf("writing finding %s: %w", f.Fingerprint, err)
	}
	return nil
}

// briefText is the text of a Brief about a finding.
type briefText struct {
	strings.Builder
	form   *Brief
	f      *Finding
	frames int // how many lines a stack has at most, and a schedule, and the starts of goroutines
	names  objectNames
	above  []string // lines of the stack before
}

func (t *briefText) linef(format string, args ...any) { fmt.Fprintf(t, format+"\n", args...) }

// headingf begins a part of the text.
func (t *briefText) headingf(format string, args ...any) {
	t.linef("\n%s%s%s", asHeading, fmt.Sprintf(format, args...), asIs)
}

func (t *briefText) text() string {
	f := t.f
	t.linef("%s\n%sWARNING: %s%s", frameLine, asWarning, title(f), asIs)
	t.linef("%s%s%s", asHeading, t.headline(), asIs)
	t.linef("%s", foundBy(f))
	if told := f.History.told(); told != "" {
		t.linef("%s", told)
	}
	if where := failedIn(f); where != "" {
		t.linef("%s", where)
	}
	if why := f.Reservation(); why != "" {
		t.linef("Not certain: %s", why)
	}
	if len(f.Locks) > 0 {
		t.linef("Held until then: %s", held(f.Locks, t.names.of))
	}
	if isSection(f) {
		writeSection(&t.Builder, f)
	} else if begin := transaction(f); begin >= 0 {
		writeTransaction(&t.Builder, f, begin, t.names.of)
	}
	for i := range f.Accesses {
		t.access(roleOf(f, i))
	}
	t.pairs()
	t.printed()
	t.blocked()
	writeWaitCycle(&t.Builder, f, t.names.of)
	t.starts()
	t.schedule()
	t.trials()
	t.following()
	if f.Replay != "" {
		t.linef("Replay: %s%s%s", asHeading, f.Replay, asIs)
	}
	if t.form.Full != "" {
		t.linef("In full: %s %s", t.form.Full, f.Fingerprint)
	}
	t.linef("%s", frameLine)
	return t.String()
}

// pairs prints the further pairs of accesses of a race, the first ones with their places.
func (t *briefText) pairs() {
	all := t.f.Pairs
	if len(all) == 0 {
		return
	}
	t.linef("")
	for i := range all[:min(len(all), maxBriefPairs)] {
		t.linef("Also: %s", &all[i])
	}
	if more := len(all) - maxBriefPairs; more > 0 {
		t.linef("and %s", t.f.morePairs(more))
	}
}

// headline is that of the finding without addresses.
func (t *briefText) headline() string {
	f := t.f
	if len(f.Cycle) == 0 {
		return f.headline()
	}
	var names []string
	for _, name := range f.Cycle {
		variable, object := "", name
		if i := strings.LastIndexByte(name, ' '); i >= 0 {
			variable, object = name[:i], name[i+1:]
		}
		if !isAddress(object) { // it has a name, or only one lock has the expression
			variable, object = "", name
		}
		names = append(names, t.names.of(variable, object))
	}
	return f.Message + ": " + strings.Join(names, " -> ")
}

// access prints an access with what its goroutine holds, and where it is.
func (t *briefText) access(role string, a *Access) {
	f := t.f
	who := goroutineAt(a.Goroutine, a.Test, a.Labels)
	said := fmt.Sprintf("%s by %s", capital(role), who)
	if f.Expression() == "" && f.Kind != heisen.Misuse && f.Kind != heisen.Failure && !isNameless(a) {
		said += " at " + a.Object // for want of a name
	}
	switch verb := endless[f.Kind]; {
	case verb != "":
		said = heading(who) + " " + verb
	case len(f.Cycle) > 0:
		said = heading(who) + " wants " + t.names.of(a.Expression(), a.Object)
		if wantedMode(a.Op) == "read" {
			said += " (read)"
		}
	}
	switch {
	case f.Kind == heisen.Misuse || a.LocksUnknown: // no lock makes a wrong call right
	case len(a.Locks) > 0:
		said += ", holding " + t.holding(a.Locks)
	case endless[f.Kind] == "" && f.Kind != heisen.Failure:
		said += ", holding no locks"
	}
	t.headingf("%s:", said)
	if len(a.Stack) == 0 {
		t.linef("  %s", t.relative(a.Site))
	}
	t.stack(a.Stack, a.Source)
	if a == &f.Accesses[0] {
		t.wait(f.Wait)
	}
}

// holding names locks with the places where they were acquired.
func (t *briefText) holding(locks []Lock) string {
	var all []string
	for _, l := range locks {
		text := t.names.of(l.Variable, l.Lock)
		if l.Mode == "read" {
			text += " (read)"
		}
		if l.Site != "" && l.Site != unknownSite {
			text += " since " + t.relative(l.Site)
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// wait prints who might have ended a wait. w may be nil.
func (t *briefText) wait(w *Wait) {
	if w == nil {
		return
	}
	if w.Missing != "" {
		t.linef("  no other goroutine has %s", w.Missing)
	}
	for i := range w.Users {
		if i == maxBriefUsers {
			t.linef("  … %s", plural.Of(len(w.Users)-i, "other user"))
			break
		}
		u := w.Users[i]
		u.Site = t.relative(u.Site)
		writeUser(&t.Builder, &u)
	}
}

// printed prints what the program has printed about a failure.
func (t *briefText) printed() {
	lines := t.f.Printed
	if len(lines) == 0 {
		return
	}
	t.linef("\nThe program printed:")
	for i, line := range lines {
		if i == maxBriefPrinted {
			t.linef("  … %s", plural.Of(len(lines)-i, "more line"))
			break
		}
		t.linef("  %s", line)
	}
}

// blocked prints the goroutines that are blocked elsewhere than at the accesses, one on a line.
func (t *briefText) blocked() {
	f := t.f
	var rest []*Blocked
	for i := range f.Blocked {
		if g := &f.Blocked[i]; !slices.ContainsFunc(f.Accesses, func(a Access) bool { return g == blockedAt(f, &a) }) {
			rest = append(rest, g)
		}
	}
	for i, g := range rest {
		if i == 0 {
			t.linef("")
		}
		if i == maxBriefBlocked && len(rest) > i+1 {
			t.linef("… %s blocked", plural.Of(len(rest)-i, "more goroutine"))
			break
		}
		text := heading(goroutineAt(g.Goroutine, g.Test, g.Labels)) + " is blocked: " + g.Reason
		if g.Object != "" {
			text += ", " + t.names.of(g.Variable, g.Object)
		}
		if at := userFrame(g.Stack); at.File != "" {
			text += " at " + t.relative(siteOf(at))
		}
		if len(g.Locks) > 0 {
			text += ", holding " + t.holding(g.Locks)
		}
		t.linef("%s", text)
	}
}

// schedule prints the last steps of a schedule, of those that matter to several goroutines, where nothing else explains the bug: a
// failure, or a prediction that no execution has confirmed.
func (t *briefText) schedule() {
	f := t.f
	if len(f.Witness) == 0 || f.Kind != heisen.Failure && (f.Kind == heisen.Deadlock || f.Trials != nil) {
		return
	}
	steps, most := f.Witness, min(maxBriefSteps, t.frames)
	if shared := sharedSteps(f); len(steps) > most && len(shared) > 0 {
		steps = shared
	}
	steps = steps[max(len(steps)-most, 0):]
	among := ""
	if len(steps) < len(f.Witness) {
		among = ", with these among them"
	}
	t.linef("\nA schedule of %s shows it%s:", plural.Of(len(f.Witness), "step"), among)
	for _, s := range steps {
		t.linef("  %s: %s %s at %s", s.Name, cmp.Or(s.Verb, words(s.Op)), t.names.of(s.Expression(), s.Object), t.relative(s.Site))
	}
}

// trials prints what executions have shown, in two or three lines.
func (t *briefText) trials() {
	tried := t.f.Trials
	if tried == nil {
		if t.f.Replay != "" || t.form.Full != "" {
			t.linef("")
		}
		return
	}
	if tried.Confirmed == 0 {
		t.linef("\nNot confirmed in %s", plural.Of(tried.Executions, "execution"))
		return
	}
	t.linef("\nConfirmed in %s%s", plural.Part(tried.Confirmed, tried.Executions, "execution"), worstEnding(t.f))
	if harm := harmOf(t.f); harm != "" {
		t.linef("%s", harm)
	}
	if len(tried.Outside) > 0 {
		t.linef("A replay may differ, because it depends on more than the schedule: %s", strings.Join(kindsOf(tried.Outside), ", "))
	} else if t.f.Replay != "" && !tried.Replayed && !tried.Again {
		t.linef("Repeating the schedule gave another execution")
	}
}

// worstEnding says how the worst of the executions with the bug have ended, and in how many, unless they have passed, or the finding
// itself says so.
func worstEnding(f *Finding) string {
	i := slices.IndexFunc(f.Trials.Endings, func(e Ending) bool { return e.Confirmed })
	if i < 0 || f.Trials.Endings[i].Outcome == "passed" {
		return ""
	}
	text, times := endingOf(&f.Trials.Endings[i]), 0
	for _, e := range f.Trials.Endings { // those of a race are told apart by its order, too
		if e.Confirmed && endingOf(&e) == text {
			times += e.Count
		}
	}
	switch {
	case times < f.Trials.Confirmed:
		return fmt.Sprintf("; in %d of them %s", times, text)
	case text == f.Message:
		return ""
	default:
		return ": " + text
	}
}

// kindsOf returns the kinds of what executions depend on, each once and without the places.
func kindsOf(outside []string) (kinds []string) {
	for _, text := range outside {
		text, _, _ = strings.Cut(text, ":")
		text, _, _ = strings.Cut(text, " at ")
		if !slices.Contains(kinds, text) {
			kinds = append(kinds, text)
		}
	}
	return kinds
}

// following says how many races follow from the finding, and from which ones it follows.
func (t *briefText) following() {
	f := t.f
	if n := len(f.Following); n > 0 {
		t.linef("%s only by way of this one", plural.Of(n, "more variable")+plural.Form(n, " races", " race"))
	}
	if len(f.Roots) > 0 {
		t.linef("What it is about is reached only through the race %s", strings.Join(f.Roots, ", "))
	}
}

// Package onepage writes the page with which heisen check ends: what is certain, what is suspected, what was not looked at, and what
// to type next.
package onepage

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/internal/printable"
	"github.com/heisen-go/heisen/internal/wording"
	"github.com/heisen-go/heisen/report"
)

// Page is what the page says.
type Page struct {
	Tool      string // name of the command
	Folder    string // to which the names of files are relative
	Arguments string // flags of go test and packages, as a shell takes them
	Took      time.Duration

	TestsFailed bool             // in the ordinary run
	Certain     []report.Finding // in the order in which to look at them
	Suspected   []report.Finding
	Unraced     int // pairs of accesses that may race, but did not
	Flaky       []Flaky

	Tests, Executions int      // of the executions under other schedules
	Untested          []string // packages without tests
	Unread            []string // why packages were not analyzed
	Unsurveyed        []string // packages whose tests did not run under other schedules
	Unsearched        []string // tests that were not searched
	Untried           int      // suspects for which there was not enough time
	Uncovered         []string // what no execution has covered
	Stopped           int      // executions that were stopped
	Unseen            []string // what may synchronize unseen
	Interrupted       bool
}

// Bounds on the length of the page.
const (
	maxCertain   = 10 // findings with their places; the others have a line
	maxSuspected = 8
	maxFlaky     = 12 // rows
	maxNames     = 4
	maxPlaces    = 4
	maxPrinted   = 3
)

// Once returns findings in which each bug is one: of those with the same fingerprint, the first one of the best known, with the pairs of
// accesses of all.
func Once(all []report.Finding) (once []report.Finding) {
	at := map[string]int{}
	for _, f := range all {
		k, known := at[f.Fingerprint]
		if !known {
			at[f.Fingerprint] = len(once)
			once = append(once, f)
			continue
		}
		if certainty(&f) > certainty(&once[k]) {
			f, once[k] = once[k], f
		}
		if f.Identity != "" {
			once[k].AddPairs(&f)
		}
	}
	return once
}

// certainty ranks what is known of a bug: suspected, found, repeated, harmful.
func certainty(f *report.Finding) int {
	switch {
	case !wording.Certain(f):
		return 0
	case f.Trials == nil || f.Trials.Confirmed == 0:
		return 1
	case !f.Trials.Harmful:
		return 2
	}
	return 3
}

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s check: %s\n", p.Tool, p.summary())
	p.writeCertain(&b)
	writeList(&b, "FLAKY TESTS (failed in some executions, passed in others)", FlakyLines(p.Flaky, maxFlaky))
	p.writeSuspected(&b)
	writeList(&b, "NOT LOOKED AT", p.left())
	writeList(&b, "NEXT", p.next())
	_, err := io.WriteString(w, b.String())
	return err
}

// summary is the first line.
func (p *Page) summary() string {
	found := "nothing certain was found"
	if n := len(p.Certain); n > 0 {
		found = plural.Of(n, "bug") + " " + plural.Form(n, "is", "are") + " certain"
	}
	if n := len(p.Suspected); n > 0 {
		found += fmt.Sprintf(", %d suspected", n)
	}
	how := ""
	if p.Executions > 0 {
		how = fmt.Sprintf(" (%s under other schedules, %s)", plural.Of(p.Tests, "test"), plural.Of(p.Executions, "execution"))
	}
	text := fmt.Sprintf("%s in %v%s", found, p.Took.Round(time.Second), how)
	if p.TestsFailed {
		text += "; tests failed in the ordinary run, see above"
	}
	return text
}

func (p *Page) writeCertain(b *strings.Builder) {
	if len(p.Certain) == 0 {
		return
	}
	fmt.Fprintf(b, "\nCERTAIN\n")
	for i := range p.Certain {
		if f := &p.Certain[i]; i < maxCertain {
			p.writeFinding(b, i+1, f)
		} else {
			fmt.Fprintf(b, " %2d  %s [%s]\n", i+1, printable.Text(Subject(f)), f.Fingerprint)
		}
	}
}

// writeFinding writes a finding with its places.
func (p *Page) writeFinding(b *strings.Builder, number int, f *report.Finding) {
	line := func(format string, args ...any) {
		fmt.Fprintf(b, "     %s\n", printable.Text(fmt.Sprintf(format, args...)))
	}
	fmt.Fprintf(b, " %2d  %s [%s]\n", number, printable.Text(Subject(f)), f.Fingerprint)
	for i := range f.Accesses[:min(len(f.Accesses), maxPlaces)] {
		a := &f.Accesses[i]
		at := wording.UserFrame(a.Stack)
		line("%s: %s%s%s", p.place(a, at), inFunction(at.Func), wording.Does(f, a), p.holding(a))
		if a.Source != "" {
			line("    %s", a.Source)
		}
	}
	if more := len(f.Accesses) - maxPlaces; more > 0 {
		line("and %s", plural.Of(more, "more place"))
	}
	if len(f.Pairs) > 0 && f.Kind == heisen.Failure && f.Identity == "" && len(f.Pairs[0].Accesses) > 1 {
		for i := range f.Pairs {
			at := f.Pairs[i].Accesses[len(f.Pairs[i].Accesses)-1]
			line("%s: %s", p.place(&at, wording.UserFrame(at.Stack)), f.Pairs[i].Message)
		}
	} else if n := len(f.Pairs); n > 0 {
		more := plural.Of(n, "more pair") + " of accesses"
		if len(f.Pairs[0].Accesses) == 1 {
			more = plural.Of(n, "more place")
		}
		line("and %s: %s show %s", more, p.Tool, f.Fingerprint)
	}
	for _, printed := range f.Printed[max(0, len(f.Printed)-maxPrinted):] {
		line("    %s", printed)
	}
	if how := shown(f); how != "" {
		line("%s", how)
	}
	if f.Replay != "" {
		line("repeat it: %s", f.Replay)
	}
}

// place returns where an access is.
func (p *Page) place(a *report.Access, at report.Frame) string {
	if at.File == "" {
		return cmp.Or(a.Site, "an unknown place")
	}
	return fmt.Sprintf("%s:%d", p.relative(at.File), at.Line)
}

// relative returns the name of a file, relative to the folder if it is below that.
func (p *Page) relative(file string) string {
	if rel, err := filepath.Rel(p.Folder, file); p.Folder != "" && err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return file
}

// inFunction returns a function without its package, as the subject of what follows.
func inFunction(name string) string {
	if name == "" {
		return ""
	}
	return strings.TrimPrefix(name[len(wording.PackageOf(name)):], ".") + " "
}

// holding says which locks are held at an access.
func (p *Page) holding(a *report.Access) string {
	if a.LocksUnknown || len(a.Locks) == 0 {
		return ""
	}
	var names []string
	for i := range a.Locks {
		names = append(names, wording.LockName(&a.Locks[i]))
	}
	return ", holding " + strings.Join(names, ", ")
}

// Subject says what a finding is about, on a line. A failure has no variable, but a message.
func Subject(f *report.Finding) string {
	if f.Kind == heisen.Failure && f.Message != "" {
		return wording.Title(f) + ": " + f.Message
	}
	return wording.Subject(f)
}

// shown says in which tests a bug was found, how often, and what it did.
func shown(f *report.Finding) string {
	var parts []string
	if tests := testsOf(f); len(tests) > 0 {
		parts = append(parts, "in "+strings.Join(tests, ", "))
	}
	t := f.Trials
	if t == nil || t.Confirmed == 0 {
		return strings.Join(append(parts, "in the ordinary run"), ", ")
	}
	parts = append(parts, "in "+plural.Part(t.Confirmed, t.Executions, "execution"))
	text := strings.Join(parts, ", ")
	if f.Kind == heisen.Failure || !t.Harmful {
		return text
	}
	for _, e := range t.Endings {
		if e.Confirmed && e.Outcome != "passed" {
			return text + "; harmful: " + strings.TrimSuffix(e.Outcome+": "+e.Message, ": ")
		}
	}
	return text + "; harmful"
}

// testsOf returns the tests of the goroutines of a finding.
func testsOf(f *report.Finding) (tests []string) {
	for i := range f.Accesses {
		if test := f.Accesses[i].Test; test != "" && !slices.Contains(tests, test) && len(tests) < maxNames {
			tests = append(tests, test)
		}
	}
	return tests
}

func (p *Page) writeSuspected(b *strings.Builder) {
	var lines []string
	for i := range p.Suspected {
		if f := &p.Suspected[i]; i < maxSuspected {
			at := ""
			if len(f.Accesses) > 0 {
				at = p.place(&f.Accesses[0], wording.UserFrame(f.Accesses[0].Stack)) + ": "
			}
			lines = append(lines, at+suspicion(f))
		}
	}
	if more := len(p.Suspected) - maxSuspected; more > 0 {
		lines = append(lines, fmt.Sprintf("%d more: %s check -report json", more, p.Tool))
	}
	if p.Unraced > 0 {
		lines = append(lines, fmt.Sprintf("%s of accesses that no lock and no message keeps apart, but that did not race when tried", plural.Of(p.Unraced, "pair")))
	}
	writeList(b, "SUSPECTED (it may be correct)", lines)
}

// suspicion says what is suspected.
func suspicion(f *report.Finding) string {
	if len(f.Cycle) == 0 && wording.What(f) == "" {
		return f.Message
	}
	return strings.ToLower(wording.Title(f)[:1]) + wording.Title(f)[1:] + " of " + wording.What(f)
}

// left lists what was not looked at.
func (p *Page) left() (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if p.Interrupted {
		add("what a signal has cut off")
	}
	lines = append(lines, p.Unread...)
	if n := len(p.Untested); n > 0 {
		add("%s without tests: %s", plural.Of(n, "package"), names(p.Untested))
	}
	if n := len(p.Unsurveyed); n > 0 {
		add("no time to run the tests of %s under other schedules: %s", plural.Of(n, "package"), names(p.Unsurveyed))
	}
	if n := len(p.Unsearched); n > 0 {
		add("no time to search %s: %s", plural.Of(n, "test"), names(p.Unsearched))
	}
	if p.Untried > 0 {
		add("not enough time to try %s", plural.Of(p.Untried, "suspect"))
	}
	if len(p.Uncovered) > 0 {
		add("not covered: %s", strings.Join(p.Uncovered, "; "))
	}
	if p.Stopped > 0 {
		add("the end of %s that took too long", plural.Of(p.Stopped, "execution"))
	}
	if len(p.Unseen) > 0 {
		add("what %s synchronizes, which is not seen", strings.Join(p.Unseen, ", "))
	}
	return lines
}

// names lists names, up to a bound.
func names(all []string) string {
	shown := strings.Join(all[:min(len(all), maxNames)], ", ")
	if more := len(all) - maxNames; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	return shown
}

// next lists what to type next.
func (p *Page) next() (lines []string) {
	with := func(command string) string { return strings.TrimSpace(p.Tool + " " + command + " " + p.Arguments) }
	add := func(what, command string) { lines = append(lines, command+"   # "+what) }
	if len(p.Certain) > 0 {
		add("shows all that is known of 1", p.Tool+" show "+p.Certain[0].Fingerprint)
	}
	repeated := slices.IndexFunc(p.Certain, func(f report.Finding) bool { return f.Replay != "" })
	if repeated >= 0 {
		add(fmt.Sprintf("repeats %d", repeated+1), p.Certain[repeated].Replay)
	}
	var races []string
	for i := range p.Certain {
		if p.Certain[i].Kind == heisen.Race {
			races = append(races, p.Certain[i].Fingerprint)
		}
	}
	if len(races) > 0 {
		add("proposes locks for the races", with("heal -patch -findings "+strings.Join(races, ","))+" > races.diff")
	}
	if len(p.Unsurveyed)+len(p.Unsearched)+p.Untried > 0 {
		add("takes more time", with("check -time 10m"))
	}
	return lines
}

// writeList writes a heading with lines, if there are any.
func writeList(b *strings.Builder, heading string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", heading)
	for _, line := range lines {
		fmt.Fprintf(b, "  %s\n", printable.Text(line))
	}
}

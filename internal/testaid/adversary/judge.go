package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/corpus"
	"github.com/heisen-go/heisen/report"
)

// The kinds of failures.
const (
	alarm   = "report"    // heisen reports what is not there
	crash   = "crash"     // a program, or heisen, fails
	changed = "result"    // a program ends with another result than without heisen
	unlike  = "replay"    // a replay differs
	missed  = "missed"    // a planted bug was not found
	fault   = "no heisen" // a program fails without heisen: the generator is wrong
)

// A failure is something that heisen must not do.
type failure struct {
	Mode     string   `json:"mode"`
	Kind     string   `json:"kind"`
	Programs []uint64 `json:"programs"` // seeds of the programs of which one may be meant
	Text     string   `json:"text"`
	Again    string   `json:"again"` // a command that tries it again
}

// A hunt is the search for a planted bug.
type hunt struct {
	Class, Bug string
	Found      bool // in the time of -search
	Late       bool // in more time
}

// An outcome is what a mode showed about a batch.
type outcome struct {
	executions int
	wrong      []failure
	hunts      []hunt
	racy       []uint64          // programs with races, for the mode broken
	results    map[uint64]string // results of programs, as they print them
}

var (
	resultLine = regexp.MustCompile(`\bresult TestP(\d+) (\d+)\b`)
	failLine   = regexp.MustCompile(`--- FAIL: TestP(\d+)\b`)
	testOf     = regexp.MustCompile(`\bTestP(\d+)\b`)
)

// seeds returns the seeds of a batch.
func (b *batch) seeds() (all []uint64) {
	for i := range b.programs {
		all = append(all, b.programs[i].seed)
	}
	return all
}

// seedsIn returns the seeds of all programs that match in a text.
func seedsIn(pattern *regexp.Regexp, text string) (all []uint64) {
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		seed, _ := strconv.ParseUint(m[1], 10, 64)
		all = append(all, seed)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// harmed reports whether a test binary failed for another reason than findings, as far as it prints one.
func harmed(printed string) bool {
	for line := range strings.Lines(printed) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return true
		}
		if strings.Contains(line, ".go:") && strings.Contains(line, ": wrong: ") {
			return true
		}
	}
	return false
}

// judge reads what a test binary has printed and how it ended. If there are findings, they fail it, too.
func (o *outcome) judge(b *batch, status int, printed string, findings bool) {
	if o.results == nil {
		o.results = map[uint64]string{}
	}
	for _, m := range resultLine.FindAllStringSubmatch(printed, -1) {
		seed, _ := strconv.ParseUint(m[1], 10, 64)
		o.results[seed] = m[2]
	}
	if status == 0 {
		return
	}
	failed := seedsIn(failLine, printed)
	if findings && !harmed(printed) {
		return
	}
	if len(failed) == 0 {
		failed = b.seeds()
	}
	o.wrong = append(o.wrong, failure{Kind: crash, Programs: failed, Text: fmt.Sprintf("exit status %d\n%s", status, essence(printed))})
}

// essence shortens the output of a test binary to what says why it failed.
func essence(printed string) string {
	var lines []string
	for line := range strings.Lines(printed) {
		switch word, _, _ := strings.Cut(strings.TrimSpace(line), " "); word {
		case "===", "result", "PASS", "FAIL", "ok":
		case "---":
			if strings.Contains(line, "--- FAIL") {
				lines = append(lines, line)
			}
		default:
			lines = append(lines, line)
		}
	}
	const most = 40
	if len(lines) > 2*most {
		lines = slices.Concat(lines[:most], []string{"...\n"}, lines[len(lines)-most:])
	}
	return strings.Join(lines, "")
}

// programsOf returns the programs that findings are about.
func programsOf(findings []report.Finding) (all []uint64) {
	for i := range findings {
		b, _ := json.Marshal(&findings[i])
		all = append(all, seedsIn(testOf, string(b))...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// report adds false alarms.
func (o *outcome) report(b *batch, findings []report.Finding) {
	for i := range findings {
		about := programsOf(findings[i : i+1])
		if len(about) == 0 {
			about = b.seeds()
		}
		o.wrong = append(o.wrong, failure{Kind: alarm, Programs: about, Text: describe(&findings[i])})
	}
}

// describe says in a few lines what a finding is about.
func describe(f *report.Finding) string {
	text := fmt.Sprintf("%s by %s: %s", f.Kind, f.Detector, f.Message)
	place := func(what string, stack []report.Frame) {
		text += "\n  " + what
		for i, frame := range stack {
			if i < 4 || strings.Contains(frame.Func, ".TestP") {
				text += fmt.Sprintf(" < %s:%d", frame.Func, frame.Line)
			}
		}
	}
	for _, a := range f.Accesses {
		place(a.Op+" of "+a.Variable, a.Stack)
	}
	for _, b := range f.Blocked {
		place("blocked", b.Stack)
	}
	return text
}

// compare adds failures for programs whose results are not what they were without heisen.
func (o *outcome) compare(b *batch, expected map[uint64]string) {
	for _, seed := range b.seeds() {
		got, have := o.results[seed]
		want, known := expected[seed]
		if known && (!have || got != want) && !slices.ContainsFunc(o.wrong, func(f failure) bool { return f.Kind == crash }) {
			o.wrong = append(o.wrong, failure{Kind: changed, Programs: []uint64{seed}, Text: fmt.Sprintf("result %q, want %q", got, want)})
		}
	}
}

// expects reports whether a finding is what a bug must lead to.
func (b *bug) expects(f *report.Finding) bool {
	p := corpus.Program{Class: name, File: b.file, Wants: b.wants}
	return p.Expects(f)
}

// explains reports whether a finding about a program with a bug may come from the bug: it is in the bug's file, or the
// program failed.
func (b *bug) explains(f *report.Finding) bool {
	if f.Kind == heisen.Failure {
		return true
	}
	text, _ := json.Marshal(f)
	return strings.Contains(string(text), "/"+b.file)
}

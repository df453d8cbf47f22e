package sarif

import (
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/wording"
	"github.com/heisen-go/heisen/report"
)

// known has the rules for heisen's own kinds of findings. Their ids must not change.
var known = []struct {
	kind        heisen.Kind
	level       string
	weakness    string // number in the Common Weakness Enumeration
	description string
	help        string
}{
	{heisen.Race, "error", "362", "Two goroutines access a variable, at least one of them writes it, and nothing orders the accesses.",
		"Guard all accesses with one lock, order them by a channel or a WaitGroup, or use package sync/atomic for all of them."},
	{heisen.Atomicity, "error", "362", "Other goroutines interfered with code that has to run as one piece.",
		"Hold one lock from the first access of the section to its last one, and at all other accesses."},
	{heisen.Deadlock, "error", "833", "Goroutines wait, or can come to wait, for each other's locks.",
		"Acquire the locks in the same order everywhere, or hold only one of them at a time."},
	{heisen.Discipline, "warning", "667", "Goroutines share a variable, and no lock was held at all accesses.",
		"Hold one lock at all accesses, unless something else orders them."},
	{heisen.PotentialRace, "warning", "362", "Two accesses share no lock and no message orders them, so they may race in another schedule.",
		"heisen fuzz tries to make the race happen. Guard both accesses with one lock."},
	{heisen.Leak, "error", "772", "A goroutine waits for something that can no longer happen.",
		"Make sure that every send has a receiver and every receive a sender or a close, also after errors; select on a context."},
	{heisen.Misuse, "error", "573", "A function was called where its package forbids that.",
		"Call FailNow, Fatal, SkipNow and the like in the goroutine that runs the test; other goroutines report by Error, or by a channel."},
	{heisen.Failure, "error", "362", "An execution under another schedule failed.",
		"The replay command repeats the execution."},
	{heisen.Unstoppable, "error", "772", "A goroutine goes on each time that a timer fires, and nothing can stop it any more.",
		"Keep the function that cancels its context, or its stop channel, and use it when the goroutine is no longer needed."},
}

// rulesOf returns the rules of heisen and those of other kinds among the findings.
func rulesOf(findings []report.Finding) (rules []rule) {
	for _, k := range known {
		rules = append(rules, rule{
			ID: string(k.kind), Name: name(k.kind), Short: message{wording.KindTitle(k.kind)}, Full: &message{k.description},
			Help: &message{k.help}, Default: configuration{k.level},
			Properties: &ruleProperties{Tags: []string{"concurrency", "correctness", "external/cwe/cwe-" + k.weakness}, Precision: "high"},
		})
	}
	for i := range findings {
		kind := findings[i].Kind
		if !slices.ContainsFunc(rules, func(r rule) bool { return r.ID == string(kind) }) {
			rules = append(rules, rule{ID: string(kind), Name: name(kind), Short: message{wording.KindTitle(kind)}, Default: configuration{"error"}})
		}
	}
	return rules
}

// name returns the name of a rule, such as DataRace.
func name(kind heisen.Kind) string {
	var b strings.Builder
	for _, word := range strings.Fields(wording.KindTitle(kind)) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

func toolOf(t Tool, rules []rule) tool {
	return tool{driver{Name: t.Name, Version: t.Version, Information: "https://github.com/heisen-go/heisen", Rules: rules}}
}

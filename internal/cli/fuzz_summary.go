package cli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/heisen-go/heisen/internal/confirm"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/report"
)

// printText returns a function that prints findings as text while programs run, or nil.
func (f *fuzzRun) printText() func(*report.Finding) error {
	if !f.reports.shows(asText) {
		return nil
	}
	print := f.reports.printTo(f.Err, f.raw.Err)
	return func(finding *report.Finding) error {
		if f.isQuiet(finding) {
			return nil
		}
		return print(finding)
	}
}

// sayMore says why a finding is printed again.
func (f *fuzzRun) sayMore(before, finding *report.Finding) {
	switch {
	case f.isQuiet(finding), f.isQuiet(before):
	case before.Certainty() < finding.Certainty():
		f.Say(fmt.Sprintf("%s was %v; now it is %v:", finding.Fingerprint, before.Certainty(), finding.Certainty()))
	default:
		f.Say(fmt.Sprintf("%s was told without harm; in the tests of %s it does harm:", finding.Fingerprint, cmp.Or(finding.Package, "another package")))
	}
}

// status describes how far a stage of the campaign has come.
func (f *fuzzRun) status(s confirm.Stage) string {
	n := f.campaign.Statistics()
	switch s {
	case confirm.Repeating:
		return fmt.Sprintf("%s: %s", s, plural.Of(n.Repeated, "execution"))
	case confirm.Surveying:
		return string(s) + " in " + plural.Part(n.Surveyed+1, len(f.config.Programs), "program")
	case confirm.Searching:
		text := fmt.Sprintf("%s of %s, %s, %s", plural.Of(n.Searched, "execution"), f.whatIsSearched(&n),
			plural.Of(n.Behaviors, "behavior"), plural.Of(f.found.count()+n.Observed, "finding"))
		if f.config.Time == untimed {
			return text
		}
		return fmt.Sprintf("%s, at most %v left", text, max(f.searchTime(n.Units)-time.Since(n.Began), 0).Round(time.Second))
	}
	text := fmt.Sprintf("%s tried, %d confirmed", plural.Part(n.Judged, n.Suspects, "suspect"), n.Confirmed)
	if n.Tried > 0 && n.Tried < n.Planned {
		left := time.Since(n.Began) / time.Duration(n.Tried) * time.Duration(n.Planned-n.Tried)
		text += fmt.Sprintf(", about %v left", left.Round(time.Second))
	}
	return text
}

// searchTime returns how long the search of units takes at most. One that is not shared with other parts has the time of all.
func (f *fuzzRun) searchTime(units []*controlled.Unit) time.Duration {
	times := 0
	for _, u := range units {
		times += f.config.Parts
		if u.Share.Parts() > 1 {
			times -= f.config.Parts - 1
		}
	}
	at := max(min(f.config.Parallel, len(units)), 1) // units at a time
	return f.config.Time * time.Duration((times+at-1)/at)
}

// whatIsSearched names the units.
func (f *fuzzRun) whatIsSearched(n *confirm.Statistics) string {
	if f.config.Origin.Verb == "run" {
		return "the program"
	}
	return plural.Of(len(n.Units), "test")
}

// followingSummary lists the races that follow from reported ones.
func (f *fuzzRun) followingSummary() {
	all, _ := f.found.all()
	for i := range all {
		one := &all[i]
		if len(one.Following) == 0 {
			continue
		}
		name := one.Fingerprint
		if one.Variable != "" {
			name += " (" + one.Variable + ")"
		}
		fmt.Fprintf(f.Err, "Reached only through the race %s, and so no findings of their own:\n", name)
		for _, next := range one.Following {
			fmt.Fprintf(f.Err, "  %s\n", next)
		}
	}
}

// summary prints the numbers of suspects, confirmed bugs and executions.
func (f *fuzzRun) summary(n *confirm.Statistics) {
	f.found.summary(f.Err, f.isQuiet)
	f.followingSummary()
	f.flakySummary()
	if !f.config.Any {
		f.suspectSummary(n)
		f.timeSummary(n)
		f.searchSummary(n)
		f.coverageSummary(n)
		f.corpusSummary(n)
	} else {
		fmt.Fprintf(f.Err, "%s: %s\n", f.tool.Name, plural.Of(n.Tried, "execution"))
	}
	if n.Unseen.Any() {
		fmt.Fprintf(f.Err, "%s: %s may synchronize, which is not seen: of races, only those are confirmed whose accesses met\n", f.tool.Name, strings.Join(n.Unseen.Reasons(), ", "))
	}
	if n.Unlooked > 0 {
		fmt.Fprintf(f.Err, "%s: %s had so many goroutines or objects that it was not looked to the end for goroutines that wait for ever; some may be missing\n", f.tool.Name, plural.Of(n.Unlooked, "execution"))
	}
	if n.Late > 0 {
		fmt.Fprintf(f.Err, "%s: %s stopped because %s took too much of the time (-time)\n", f.tool.Name, stoppedExecutions(n.Late), plural.Form(n.Late, "it", "they"))
	}
	if n.Stopped > 0 {
		fmt.Fprintf(f.Err, "%s: %s stopped at a limit: %v of real time (-limit), or %v of virtual time (-virtual)\n",
			f.tool.Name, stoppedExecutions(n.Stopped), f.config.Limit, f.config.Virtual)
	}
}

// suspectSummary prints how many suspects were confirmed. Without suspects, the line about the search says enough.
func (f *fuzzRun) suspectSummary(n *confirm.Statistics) {
	if n.Suspects == 0 && len(n.Units) > 0 {
		return
	}
	in := ""
	switch {
	case n.Tried == 0 && n.Further > 0:
		in = "executions of the search"
	case n.Further > 0:
		in = plural.Of(n.Tried, "execution") + " and those of the search"
	case n.Tried > 0:
		in = plural.Of(n.Tried, "execution")
	}
	fmt.Fprint(f.Err, suspectLine(f.tool.Name, n.Confirmed, n.Suspects, n.Harmful, n.Followed, in))
}

// suspectLine says how many suspects were confirmed in some executions, how many of them do harm, and how many follow from
// others.
func suspectLine(name string, confirmed, suspects, harmful, followed int, executions string) string {
	if suspects == 0 {
		return name + ": no suspects\n"
	}
	line := fmt.Sprintf("%s: %s confirmed", name, plural.Part(confirmed, suspects, "suspect"))
	if executions != "" {
		line += " in " + executions
	}
	if confirmed > 0 {
		line += fmt.Sprintf(", %d of them harmful", harmful)
	}
	if followed > 0 {
		line += fmt.Sprintf("; %d of them %s from others", followed, plural.Form(followed, "follows", "follow"))
	}
	return line + "\n"
}

// stoppedExecutions is the subject of a sentence about executions that were stopped.
func stoppedExecutions(n int) string {
	return plural.Of(n, "execution") + " " + plural.Form(n, "was", "were")
}

// coverageSummary prints what no execution has covered.
func (f *fuzzRun) coverageSummary(n *confirm.Statistics) {
	c := &n.Coverage
	if parts := uncoveredParts(c); len(parts) > 0 {
		fmt.Fprintf(f.Err, "%s: not covered: %s", f.tool.Name, strings.Join(parts, "; "))
		if len(c.Uncovered) > 0 && !f.uncovered {
			fmt.Fprint(f.Err, " (-uncovered lists them)")
		}
		fmt.Fprintln(f.Err)
	}
	if f.line.isTrue("v") {
		for _, line := range n.Processes {
			fmt.Fprintf(f.Err, "%s: %s\n", f.tool.Name, line)
		}
	}
	if f.uncovered {
		for _, line := range c.Uncovered {
			fmt.Fprintf(f.Err, "  %s\n", line)
		}
	}
}

// uncoveredParts says how much of each kind no execution has covered. It is empty if everything is covered.
func uncoveredParts(c *controlled.Coverage) (parts []string) {
	var never []string
	if c.NotStarted > 0 {
		never = append(never, plural.Part(c.NotStarted, c.Goroutines, "go statement"))
	}
	if c.NotChosen > 0 {
		never = append(never, plural.Part(c.NotChosen, c.Cases, "case")+" of select")
	}
	if len(never) > 0 {
		parts = append(parts, strings.Join(never, ", "))
	}
	if free := c.Locks - c.Contended; free > 0 {
		parts = append(parts, "at "+plural.Part(free, c.Locks, "lock")+" no goroutine had to wait")
	}
	return parts
}

// timeSummary prints for how many suspects there was no time.
func (f *fuzzRun) timeSummary(n *confirm.Statistics) {
	var parts []string
	if n.Untried > 0 {
		parts = append(parts, "for "+plural.Of(n.Untried, "suspect"))
	}
	if n.Interrupted > 0 {
		parts = append(parts, "to try "+plural.Of(n.Interrupted, "suspect")+" with all seeds")
	}
	if len(parts) > 0 {
		fmt.Fprintf(f.Err, "%s: there was no time %s; -time gives more\n", f.tool.Name, strings.Join(parts, ", and "))
	}
}

// searchSummary prints what was searched.
func (f *fuzzRun) searchSummary(n *confirm.Statistics) {
	if len(n.Units) == 0 {
		return
	}
	exhausted, enumerated, all := 0, 0, 0
	for _, u := range n.Units {
		switch {
		case u.All > 0:
			enumerated++
			all += u.All
		case u.Exhausted:
			exhausted++
		}
	}
	fmt.Fprintf(f.Err, "%s: searched %s in %s", f.tool.Name, f.whatIsSearched(n), plural.Of(n.Searched, "execution"))
	switch {
	case enumerated == 0:
	case all == 1 && len(n.Units) == 1:
		fmt.Fprint(f.Err, "; there is no other one")
	case enumerated == len(n.Units):
		fmt.Fprintf(f.Err, "; all %d executions were tried", all)
	default:
		fmt.Fprintf(f.Err, "; all executions of %d of the tests were tried, %d together", enumerated, all)
	}
	switch exhausted {
	case 0:
	case len(n.Units):
		fmt.Fprint(f.Err, "; more of them showed no new order of operations")
	default:
		fmt.Fprintf(f.Err, "; in %s more of them showed no new order of operations", plural.Of(exhausted, "test"))
	}
	fmt.Fprintln(f.Err)
}

package cli

import (
	"fmt"
	"strings"

	"github.com/heisen-go/heisen/internal/confirm"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/internal/recorder"
)

// summary prints the numbers of suspects, confirmed bugs and executions.
func (f *fuzzRun) summary() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.found.summary(f.Err, f.isQuiet)
	f.followingSummary()
	if f.strategy == "directed" {
		f.suspectSummary()
		f.timeSummary()
		f.searchSummary()
		f.coverageSummary()
	} else {
		fmt.Fprintf(f.Err, "%s: %s\n", f.tool.Name, plural.Of(f.tried, "execution"))
	}
	if f.unseen.Any() {
		fmt.Fprintf(f.Err, "%s: %s may synchronize, which is not seen: of races, only those are confirmed whose accesses met\n", f.tool.Name, strings.Join(f.unseen.Reasons(), ", "))
	}
	if f.late > 0 {
		fmt.Fprintf(f.Err, "%s: %s stopped because %s took too much of the time (-time)\n", f.tool.Name, stoppedExecutions(f.late), plural.Form(f.late, "it", "they"))
	}
	if f.stopped > 0 {
		fmt.Fprintf(f.Err, "%s: %s stopped at a limit: %v of real time (-limit), or %v of virtual time (-virtual)\n",
			f.tool.Name, stoppedExecutions(f.stopped), f.limit, f.virtual)
	}
}

// suspectSummary prints how many suspects were confirmed. Without suspects, the line about the search says enough.
func (f *fuzzRun) suspectSummary() {
	if f.suspects == 0 && len(f.units) > 0 {
		return
	}
	in := ""
	switch {
	case f.tried == 0 && f.further > 0:
		in = "executions of the search"
	case f.further > 0:
		in = plural.Of(f.tried, "execution") + " and those of the search"
	case f.tried > 0:
		in = plural.Of(f.tried, "execution")
	}
	fmt.Fprint(f.Err, suspectLine(f.tool.Name, f.confirmed, f.suspects, f.harmful, f.followed, in))
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

// noteStopped counts an execution that was stopped at a limit, or because there was no time left. That
// is no bug. It also notes what may have synchronized unseen.
func (f *fuzzRun) noteStopped(t *confirm.Trial) {
	if t.Execution.Unseen.Any() {
		f.unseen = t.Execution.Unseen
	}
	switch e := t.Execution; {
	case e.Outcome.Class != confirm.Hung:
	case (e.Stuck == nil || e.Stuck.Why == recorder.OutOfSteps) && e.Took < f.limit:
		f.late++
	default:
		f.stopped++
	}
}

// stoppedExecutions is the subject of a sentence about executions that were stopped.
func stoppedExecutions(n int) string {
	return plural.Of(n, "execution") + " " + plural.Form(n, "was", "were")
}

// coverageSummary prints what no execution has covered.
func (f *fuzzRun) coverageSummary() {
	c := &f.coverage
	if parts := uncoveredParts(c); len(parts) > 0 {
		fmt.Fprintf(f.Err, "%s: not covered: %s", f.tool.Name, strings.Join(parts, "; "))
		if len(c.Uncovered) > 0 && !f.uncovered {
			fmt.Fprint(f.Err, " (-uncovered lists them)")
		}
		fmt.Fprintln(f.Err)
	}
	if f.uncovered {
		for _, line := range c.Uncovered {
			fmt.Fprintf(f.Err, "  %s\n", line)
		}
	}
}

// uncoveredParts says how much of each kind no execution has covered. It is empty if everything is covered.
func uncoveredParts(c *confirm.Coverage) (parts []string) {
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
func (f *fuzzRun) timeSummary() {
	var parts []string
	if f.untried > 0 {
		parts = append(parts, "for "+plural.Of(f.untried, "suspect"))
	}
	if f.interrupted > 0 {
		parts = append(parts, "to try "+plural.Of(f.interrupted, "suspect")+" with all seeds")
	}
	if len(parts) > 0 {
		fmt.Fprintf(f.Err, "%s: there was no time %s; -time gives more\n", f.tool.Name, strings.Join(parts, ", and "))
	}
}

package cli

import (
	"fmt"
	"strings"

	"github.com/heisen-go/heisen/internal/confirm"
	"github.com/heisen-go/heisen/internal/recorder"
)

// summary prints the numbers of suspects, confirmed bugs and executions.
func (f *fuzzRun) summary() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.found.summary(f.Err)
	if f.strategy == "directed" {
		where := ""
		if f.further > 0 {
			where = " and those of the search"
		}
		fmt.Fprintf(f.Err, "%s: %d of %d suspects confirmed in %d executions%s, %d of them harmful\n", f.tool.Name, f.confirmed, f.suspects, f.tried, where, f.harmful)
		f.timeSummary()
		f.searchSummary()
		f.coverageSummary()
	} else {
		fmt.Fprintf(f.Err, "%s: %d executions\n", f.tool.Name, f.tried)
	}
	if f.unseen.Any() {
		fmt.Fprintf(f.Err, "%s: %s may synchronize, which is not seen: of races, only those are confirmed whose accesses met\n", f.tool.Name, strings.Join(f.unseen.Reasons(), ", "))
	}
	if f.late > 0 {
		fmt.Fprintf(f.Err, "%s: %d executions were stopped because they took too much of the time (-time)\n", f.tool.Name, f.late)
	}
	if f.stopped > 0 {
		fmt.Fprintf(f.Err, "%s: %d executions were stopped at a limit: %v of real time (-limit), or %v of virtual time (-virtual)\n",
			f.tool.Name, f.stopped, f.limit, f.virtual)
	}
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

// coverageSummary prints what no execution has covered.
func (f *fuzzRun) coverageSummary() {
	c := &f.coverage
	if c.Goroutines+c.Cases+c.Locks > 0 {
		fmt.Fprintf(f.Err, "%s: not covered: %d of %s, %d of %s of select; at %d of %s no goroutine had to wait", f.tool.Name,
			c.NotStarted, counted(c.Goroutines, "go statement"), c.NotChosen, counted(c.Cases, "case"), c.Locks-c.Contended, counted(c.Locks, "lock"))
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

// timeSummary prints for how many suspects there was no time.
func (f *fuzzRun) timeSummary() {
	var parts []string
	if f.untried > 0 {
		parts = append(parts, "for "+counted(f.untried, "suspect"))
	}
	if f.interrupted > 0 {
		parts = append(parts, "to try "+counted(f.interrupted, "suspect")+" with all seeds")
	}
	if len(parts) > 0 {
		fmt.Fprintf(f.Err, "%s: there was no time %s; -time gives more\n", f.tool.Name, strings.Join(parts, ", and "))
	}
}

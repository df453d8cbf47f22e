package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/plural"
)

// decidesLeaks reports whether the bug decides that executions leave goroutines that wait for ever: all do with the bug, in one order
// of its accesses, and none in another one or without the bug.
func (t *Trials) decidesLeaks() bool {
	const without, unknown = -2, -1
	leaks, counts := map[int]int{}, map[int]int{}
	for _, e := range t.Endings {
		side := unknown
		switch {
		case !e.Confirmed:
			side = without
		case e.First != nil:
			side = *e.First
		}
		leaks[side] += e.Leaks
		counts[side] += e.Count
	}
	all, none := false, false
	for side, n := range counts {
		all = all || side != without && leaks[side] == n
		none = none || leaks[side] == 0
	}
	return all && none
}

// leaving says how many of some executions leave something.
func leaving(n, of int) string {
	if n == of {
		return "leaving"
	}
	return fmt.Sprintf("%d of them leaving", n)
}

// writeTrials prints how often a suspected bug happened, and how the executions ended.
func writeTrials(b *strings.Builder, f *Finding) {
	t := f.Trials
	if t == nil {
		return
	}
	if t.Confirmed == 0 {
		fmt.Fprintf(b, "\nNot confirmed in %s (%s)\n", plural.Of(t.Executions, "execution"), t.Strategy)
	} else {
		fmt.Fprintf(b, "\nConfirmed in %s (%s):\n", plural.Part(t.Confirmed, t.Executions, "execution"), t.Strategy)
	}
	switch t.Follow {
	case "followed":
		b.WriteString("Following the predicted schedule reproduces it\n")
	case "diverged":
		b.WriteString("The program diverged from the predicted schedule: it read or waited for something else\n")
	case "missed":
		b.WriteString("Following the predicted schedule does not reproduce it\n")
	}
	for _, e := range t.Endings {
		fmt.Fprintf(b, "  %4d  %s", e.Count, endingOf(&e))
		switch {
		case !e.Confirmed && t.Confirmed > 0:
			b.WriteString(" (not confirmed)")
		case e.First != nil && 0 <= *e.First && *e.First < len(f.Accesses):
			a := &f.Accesses[*e.First]
			fmt.Fprintf(b, " (%s at %s first)", words(a.Op), a.Site)
		}
		if e.Anyway {
			b.WriteString(", for another reason: it also fails without the bug")
		}
		if e.Leaks > 0 {
			fmt.Fprintf(b, ", %s goroutines that wait for ever", leaving(e.Leaks, e.Count))
		}
		fmt.Fprintf(b, ", seed %d\n", e.Seed)
	}
	if harm := harmOf(f); harm != "" {
		fmt.Fprintf(b, "%s\n", harm)
	}
	for _, test := range f.Flaky {
		fmt.Fprintf(b, "Flaky because of it: %v\n", test)
	}
	if t.Confirmed > 0 && f.Replay != "" {
		switch {
		case t.Again:
			b.WriteString("Repeating the schedule showed it again, in another execution\n")
		case !t.Replayed:
			b.WriteString("Repeating the schedule gave another execution\n")
		case t.Choices == 0:
			b.WriteString("Reproduced by the default schedule\n")
		default:
			fmt.Fprintf(b, "Reproduced by a schedule with %s from the default\n", plural.Of(t.Choices, "deviation"))
		}
		if t.HeldBack != "" {
			fmt.Fprintf(b, "Too many to be read. In this execution, %s\n", t.HeldBack)
		}
	}
	if len(t.Outside) > 0 {
		fmt.Fprintf(b, "Depends on more than the schedule, so a replay may differ: %s\n", strings.Join(t.Outside, "; "))
	}
}

// endingOf says how executions have ended.
func endingOf(e *Ending) string {
	if e.Message == "" {
		return e.Outcome
	}
	return e.Outcome + ": " + e.Message
}

// harmOf says what harm the executions with the bug have shown. It is empty if there is nothing to say about that.
func harmOf(f *Finding) string {
	t := f.Trials
	switch {
	case t.Harmful && f.Replay != "" && !t.Replayed && !t.Again:
		return "The program failed, but not when the schedule was repeated"
	case t.Harmful && f.Kind == heisen.Deadlock && len(t.Endings) > 0 && t.Endings[0].Outcome == "passed":
		return "Harmful: these goroutines wait for ever"
	case t.Harmful && t.onlyLate():
		return "Harmful: the program fails, if a goroutine goes on only after a timer has fired"
	case t.Harmful:
		return "Harmful: the program fails"
	case t.Confirmed == 0 || endless[f.Kind] != "":
		return ""
	case t.failed():
		return "No visible harm: the program fails in the same way under the default schedule"
	case t.decidesLeaks():
		return "No visible harm in these executions but goroutines that wait for ever, which are reported as leaks"
	}
	return "No visible harm in these executions"
}

// failed reports whether the program has failed in an execution with the bug.
func (t *Trials) failed() bool {
	return slices.ContainsFunc(t.Endings, func(e Ending) bool { return e.Confirmed && e.Outcome != "passed" && e.Outcome != "hang" })
}

// onlyLate reports whether the program has failed with the bug only where a goroutine was held back while
// a timer fired.
func (t *Trials) onlyLate() bool {
	late := false
	for _, e := range t.Endings {
		if e.Confirmed && e.Outcome != "passed" && e.Outcome != "hang" {
			if !e.Timing {
				return false
			}
			late = true
		}
	}
	return late
}

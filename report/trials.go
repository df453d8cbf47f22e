package report

import (
	"fmt"
	"strings"
)

// Trials says what came of executions under control that were to bring a suspected bug
// about. A finding that has them and that was confirmed has really happened.
type Trials struct {
	Suspect    string `json:"suspect"`    // fingerprint of what was suspected, equal where the same was tried
	Strategy   string `json:"strategy"`   // that chose which goroutine went on; several are separated by commas
	Executions int    `json:"executions"` // how many
	Confirmed  int    `json:"confirmed"`  // in how many the bug happened
	// Harmful says that an execution in which it happened ended in a way in which the
	// program is not to end: a panic, a test that failed, a deadlock.
	Harmful bool     `json:"harmful"`
	Endings []Ending `json:"endings"` // the worst first
	// Follow says what came of following the predicted schedule, if there is one: it was
	// "followed" to the bug; it "diverged", as the program saw other values, the time or
	// something from outside; or it "missed" the bug.
	Follow string `json:"follow,omitempty"`
	// Replayed says that the execution of Schedule was made again with the same result.
	Replayed bool `json:"replayed,omitempty"`
	// Choices is how many choices of that schedule differ from the default, which
	// switches only where it has to: preemptions, and which of several waiting
	// goroutines goes on.
	Choices int `json:"choices,omitempty"`
	// Outside lists what the executions depended on beside the schedule, such as the
	// network, if anything: then the same schedule may not give the same execution.
	Outside []string `json:"outside,omitempty"`
}

// Ending is a way in which some of the executions ended.
type Ending struct {
	Outcome   string `json:"outcome"`           // passed, panic, test failed, deadlock, fatal error, exit, signal, hang
	Message   string `json:"message,omitempty"` // what the program said of it
	Confirmed bool   `json:"confirmed"`         // whether the bug happened in these executions
	// First is the index in the finding's accesses of the one that went first, of a
	// confirmed race.
	First *int   `json:"first,omitempty"`
	Count int    `json:"count"` // of the executions
	Seed  uint64 `json:"seed"`  // of one of them
	// Schedule is a file with which that execution can be repeated; see Finding.Replay.
	Schedule string `json:"schedule,omitempty"`
}

func choices(n int) string {
	if n == 1 {
		return "1 choice"
	}
	return fmt.Sprintf("%d choices", n)
}

// writeTrials prints how often a suspected bug happened, and what came of it.
func writeTrials(b *strings.Builder, f *Finding) {
	t := f.Trials
	if t == nil {
		return
	}
	if t.Confirmed == 0 {
		fmt.Fprintf(b, "\nNot confirmed in %d executions (%s)\n", t.Executions, t.Strategy)
	} else {
		fmt.Fprintf(b, "\nConfirmed in %d of %d executions (%s):\n", t.Confirmed, t.Executions, t.Strategy)
	}
	switch t.Follow {
	case "followed":
		b.WriteString("The predicted schedule leads to it\n")
	case "diverged":
		b.WriteString("The program has not kept to the predicted schedule: what it saw or waited for was not the same\n")
	case "missed":
		b.WriteString("The predicted schedule was followed, and it did not happen\n")
	}
	for _, e := range t.Endings {
		said := e.Outcome
		if e.Message != "" {
			said += ": " + e.Message
		}
		fmt.Fprintf(b, "  %4d  %s", e.Count, said)
		switch {
		case !e.Confirmed && t.Confirmed > 0:
			b.WriteString(" (not confirmed)")
		case e.First != nil && *e.First < len(f.Accesses):
			a := &f.Accesses[*e.First]
			fmt.Fprintf(b, " (%s at %s first)", words(a.Op), a.Site)
		}
		fmt.Fprintf(b, ", seed %d\n", e.Seed)
	}
	switch {
	case t.Harmful:
		b.WriteString("Harmful: the program does not survive it\n")
	case t.Confirmed > 0:
		b.WriteString("No visible harm in these executions\n")
	}
	if t.Confirmed > 0 && f.Replay != "" {
		switch {
		case !t.Replayed:
			b.WriteString("The same schedule did not give the same execution again\n")
		default:
			fmt.Fprintf(b, "Repeated by a schedule with %s of its own\n", choices(t.Choices))
		}
	}
	if len(t.Outside) > 0 {
		fmt.Fprintf(b, "Depends on more than the schedule, so a replay may differ: %s\n", strings.Join(t.Outside, "; "))
	}
}

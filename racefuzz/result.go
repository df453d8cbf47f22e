package racefuzz

import (
	"fmt"
	"strings"

	"github.com/heisen-go/heisen"
)

// Outcome is how an execution of a model ended.
type Outcome uint8

const (
	Finished   Outcome = iota + 1 // all goroutines have returned
	Deadlocked                    // some have not, and none can go on
	Panicked                      // one panicked
	Failed                        // one failed an assertion
	CutOff                        // at the limit of steps
)

var outcomeNames = [...]string{Finished: "finished", Deadlocked: "deadlock", Panicked: "panic", Failed: "failed", CutOff: "cut off"}

// String returns the outcome as it stands in schedules.
func (o Outcome) String() string {
	if o == 0 || int(o) >= len(outcomeNames) {
		return "outcome?"
	}
	return outcomeNames[o]
}

// Result is what came of an execution.
type Result struct {
	Seed    uint64 // that it was started with
	Outcome Outcome
	// Culprit is the goroutine that panicked or failed, Message what it said, and Panic
	// the value that it panicked with.
	Culprit uint32
	Message string
	Panic   any
	// Waiting says of a deadlock who waits for what.
	Waiting []Waiting
	// Meetings are those at the places that were given roles, in order.
	Meetings []Meeting
	// Choices are all that were not the default: with the seed, what it takes to Replay
	// the execution.
	Choices []Choice
	// Order is who made each step, and Steps how many there were.
	Order []uint32
	Steps uint64
	// Hash is a hash of Order.
	Hash uint64
	// Diverged is what the strategy said of itself, if it is a Diverger.
	Diverged uint64
	// Names are those of the goroutines.
	Names []string
	// Symbols says what the numbers of places, objects and goroutines stand for, in
	// meetings and in what a detector was told; see Trace.
	Symbols *heisen.Symbols

	// What was traced: of each event what it is of, and of each goroutine its events.
	moments []Moment
	events  map[uint32][]int
	starts  []Start
}

// Place returns the name of a place of a meeting.
func (r *Result) Place(number uint32) string { return r.Symbols.Site(heisen.Site(number)).String() }

// Waiting is a goroutine that can't go on.
type Waiting struct {
	ID        uint32
	Name      string
	Operation string   // that it waits to make, such as lock
	Object    string   // name of what it is made to
	Place     string   // empty if it has no name
	Held      []string // locks that the goroutine holds, in the order in which it took them
}

// String says in a line who waits for what.
func (w Waiting) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s waits to %s %s", w.Name, w.Operation, w.Object)
	if w.Place != "" {
		b.WriteString(" at " + w.Place)
	}
	if len(w.Held) > 0 {
		b.WriteString(", holding " + strings.Join(w.Held, ", "))
	}
	return b.String()
}

package racefuzz

import (
	"fmt"
	"strings"

	"github.com/heisen-go/heisen"
)

// Outcome says how an execution of a model ended.
type Outcome uint8

// The outcomes.
const (
	Finished   Outcome = iota + 1 // all goroutines returned
	Deadlocked                    // some goroutines did not return, and none is runnable
	Panicked                      // a goroutine panicked
	Failed                        // a goroutine failed an assertion
	CutOff                        // the execution reached the step limit
)

var outcomeNames = [...]string{Finished: "finished", Deadlocked: "deadlock", Panicked: "panic", Failed: "failed", CutOff: "cut off"}

// String returns the outcome as it stands in schedules.
func (o Outcome) String() string {
	if o == 0 || int(o) >= len(outcomeNames) {
		return "outcome?"
	}
	return outcomeNames[o]
}

// Result is the result of an execution.
type Result struct {
	Seed    uint64 // seed of the execution
	Outcome Outcome
	// Culprit is the goroutine that panicked or failed, Message the text, and Panic the value of
	// the panic.
	Culprit uint32
	Message string
	Panic   any
	// Waiting says, after a deadlock, what each goroutine waits for.
	Waiting []Waiting
	// Meetings are the confirmed bugs, in order. Only places with roles have meetings; see
	// WithRoles.
	Meetings []Meeting
	// Choices are the deviations. With the seed they suffice to Replay the execution.
	Choices []Choice
	// Order has the ID of the goroutine that made each step. Steps is the number of steps.
	Order []uint32
	Steps uint64
	// Hash is a hash of Order.
	Hash uint64
	// Diverged is the strategy's Diverged, if it is a Diverger.
	Diverged uint64
	// Names are the names of the goroutines, by ID.
	Names []string
	// Symbols names the places, objects and goroutines in meetings and in the events that the
	// detector received; see WithDetector.
	Symbols *heisen.Symbols

	// The events that the detector received.
	positions []Position       // of each event
	events    map[uint32][]int // of each goroutine
	creations []Creation
}

// Place returns the name of a place of a meeting. It returns "?" for an unknown place.
func (r *Result) Place(number uint32) string {
	return r.Symbols.Site(heisen.Site(number)).String()
}

// Waiting describes a deadlocked goroutine.
type Waiting struct {
	ID        uint32
	Name      string
	Operation string   // the operation that blocks, such as "lock"
	Object    string   // name of the object of the operation
	Place     string   // name of the place, empty if it has none
	Held      []string // locks that the goroutine holds, in the order of acquisition
}

// String returns a line such as "t1 waits to lock B at 4, holding A".
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

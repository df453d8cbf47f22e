package mcm

import (
	"errors"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/section"
)

// Window is a piece of a stream of events, from which a Model is made.
type Window struct {
	Records []heisen.Record // in stream order
	Index   []uint64        // their positions in the stream, from 1; nil if they are not known
	Held    []HeldLock      // the locks held at the start of the window
	Hidden  []heisen.Record // the earlier Hide records whose calls have not returned at the start of the window

	Executions []Execution // executions of atomic sections that begin and end in the window
}

// HeldLock is a lock that a thread holds at the start of a window. A thread that has acquired it more
// than once, as for reading, has one HeldLock for each time.
type HeldLock struct {
	Lock   heisen.Object // what the Acquire and Release events of the lock have as Object
	Thread heisen.Thread // the thread that holds it
	Shared bool          // held for reading: acquired by AcquireShared
}

// Execution is one execution of an atomic section of package section.
type Execution struct {
	Section    int           // index of the section
	Entry, End int           // the accesses at its entry and at its end: indices of Records
	Allow      section.Modes // what other threads may do to the variable in between
}

// Witness is a feasible reordering of the window that shows a bug: a prefix of each thread's records,
// in a new order. As a trace, it is the result of Records
// after the events before the window. Package racefuzz turns it into a script for a scheduler
// (Result.Turns for models, Turns for other hosts).
type Witness struct {
	Order []int // indices of the window's records
	Last  int   // the number of records at the end of Order that are next at the same time: those of the query
}

// ErrReplay is wrapped by the errors of Window.Replay: the witness is not a feasible order of the
// window's events.
var ErrReplay = errors.New("witness does not replay")

// Records returns the records of the window in the witness's order. The result is nil if the witness
// has an index that the window does not have, so that it cannot be of this window.
func (x *Witness) Records(w *Window) []heisen.Record {
	if w == nil {
		return nil
	}
	for _, i := range x.Order {
		if i < 0 || i >= len(w.Records) {
			return nil
		}
	}
	return (*window.Witness)(x).Records(w.Records)
}

// internal returns the window as the internal packages know it.
func (w *Window) internal() *window.Window {
	in := &window.Window{Records: w.Records, Index: w.Index, Hidden: w.Hidden}
	for _, held := range w.Held {
		in.Held = append(in.Held, window.HeldLock(held))
	}
	for _, x := range w.Executions {
		in.Executions = append(in.Executions, window.Execution(x))
	}
	return in
}

package mcm

import (
	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/replay"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/section"
)

// Window is a piece of a stream of events, from which a Model is made.
type Window struct {
	Records []heisen.Record // in stream order
	Index   []uint64        // their positions in the stream, from 1; nil if they are not known
	Held    []HeldLock      // the locks held where the window starts
	Hidden  []heisen.Record // the Hide records before the window whose code has not returned where it starts

	Passages []Passage // executions of atomic sections that begin and end in the window
}

// HeldLock is a lock that a thread holds where a window starts.
type HeldLock = window.HeldLock

// Passage is one execution of an atomic section of package section.
type Passage struct {
	Section    int           // index of the section
	Entry, End int           // the accesses at its entry and at its end: indices of Records
	Allow      section.Modes // what other threads may do to the variable in between
}

// Witness is a schedule: some of a window's records, a prefix of each thread's, in an order that
// every program that can show the window can show as well. As a trace, it is the result of Records
// after the events before the window. Package racefuzz turns it into a script for a scheduler
// (Result.Turns for models, Turns for other hosts).
type Witness struct {
	Order []int // indices of the window's records
	Last  int   // the last so many records are pending together: each is the next of its thread
}

// ErrReplay is wrapped by the errors of Window.Replay: the witness is not a feasible order of the
// window's events.
var ErrReplay = replay.ErrReplay

// Records returns the records of the window in the witness's order.
func (x *Witness) Records(w *Window) []heisen.Record {
	return (*window.Witness)(x).Records(w.Records)
}

// internal returns the window as the internal packages know it.
func (w *Window) internal() *window.Window {
	in := &window.Window{Records: w.Records, Index: w.Index, Held: w.Held, Hidden: w.Hidden}
	for _, p := range w.Passages {
		in.Passages = append(in.Passages, window.Passage(p))
	}
	return in
}

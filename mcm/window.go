package mcm

import (
	"slices"

	"github.com/heisen-go/heisen"
	atomicsection "github.com/heisen-go/heisen/section"
)

// Window is a piece of a stream of events: what a Model is made of.
type Window struct {
	Records []heisen.Record // in stream order
	Index   []uint64        // their positions in the stream, from 1; nil if they are not known
	Held    []Hold          // the locks held where the window starts
	Hidden  []heisen.Record // the Hide records before the window whose code has not returned where it starts

	Passages []Passage // through atomic sections, of which both accesses are in the window
}

// Passage is that a thread has gone through an atomic section of package section.
type Passage struct {
	Section    int                 // its number
	Entry, End int                 // the accesses at its entry and at its end: indices of Records
	Allow      atomicsection.Modes // what others may do to the variable in between
}

// Hold is a lock that a thread holds where a window starts.
type Hold struct {
	Lock   heisen.Object
	Thread heisen.Thread
	Shared bool // for reading
}

// position returns the position in the stream of the i-th record, 0 if it is not
// known.
func (w *Window) position(i int) uint64 {
	if w.Index == nil {
		return 0
	}
	return w.Index[i]
}

// oneLife reports whether two records touch an object whose life neither starts nor
// ends between them.
func (w *Window) oneLife(i, j int) bool {
	i, j = min(i, j), max(i, j)
	a, b := extent(&w.Records[i]), extent(&w.Records[j])
	last := func(s heisen.Span) heisen.Object { return s.Start + heisen.Object(s.Len-1) }
	from, to := max(a.Start, b.Start), min(last(a), last(b))
	var ended []heisen.Span
	for k := i + 1; k < j; k++ {
		if r := &w.Records[k]; isLife(r.Op) {
			ended = append(ended, life(r))
		}
	}
	for o := from; ; o++ {
		if !heisen.NewObjects(slices.Clone(ended)...).Meets(o, 1) {
			return true
		}
		if o == to {
			return false
		}
	}
}

// rules say how the events of a window are to be understood.
type rules struct {
	controlFlow bool                                // reads matter only where decisions depend on them
	reach       func(*heisen.Record) heisen.Objects // what the code behind a Hide event may touch
	literal     bool                                // for tests: as in Algorithm 9, to the letter
}

// defaultRules has all reads matter, and hidden code touch everything.
func defaultRules() rules {
	return rules{reach: func(*heisen.Record) heisen.Objects { return (*heisen.Symbols)(nil).Reach(0) }}
}

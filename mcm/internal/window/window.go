package window

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/section"
)

// Window is a piece of a stream of events: what a Model is made of.
type Window struct {
	Records []heisen.Record // in stream order
	Index   []uint64        // their positions in the stream, from 1; nil if they are not known
	Held    []HeldLock      // the locks held where the window starts
	Hidden  []heisen.Record // the Hide records before the window whose code has not returned where it starts

	Passages []Passage // through atomic sections, of which both accesses are in the window
}

// Passage is that a thread has gone through an atomic section of package section.
type Passage struct {
	Section    int           // its number
	Entry, End int           // the accesses at its entry and at its end: indices of Records
	Allow      section.Modes // what others may do to the variable in between
}

// Allows reports whether others may access the variable so.
func (p *Passage) Allows(op heisen.Op) bool {
	mode := section.Reads
	if op.IsWrite() {
		mode = section.Writes
	}
	return p.Allow&mode != 0
}

// HeldLock is a lock that a thread holds where a window starts.
type HeldLock struct {
	Lock   heisen.Object
	Thread heisen.Thread
	Shared bool // for reading
}

// Position returns the position in the stream of the i-th record, 0 if it is not
// known.
func (w *Window) Position(i int) uint64 {
	if w.Index == nil {
		return 0
	}
	return w.Index[i]
}

// SameAllocation reports whether two records touch an object whose life neither starts nor
// ends between them.
func (w *Window) SameAllocation(i, j int) bool {
	i, j = min(i, j), max(i, j)
	a, b := Extent(&w.Records[i]), Extent(&w.Records[j])
	last := func(s heisen.Span) heisen.Object { return s.Start + heisen.Object(s.Len-1) }
	from, to := max(a.Start, b.Start), min(last(a), last(b))
	var ended []heisen.Span
	for k := i + 1; k < j; k++ {
		if r := &w.Records[k]; IsAllocation(r.Op) {
			ended = append(ended, AllocationSpan(r))
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

// Rules say how the events of a window are to be understood.
type Rules struct {
	ControlFlow bool                                // reads matter only where decisions depend on them
	Reach       func(*heisen.Record) heisen.Objects // what the code behind a Hide event may touch
	Literal     bool                                // for tests: as in Algorithm 9, to the letter
}

// DefaultRules has all reads matter, and hidden code touch everything.
func DefaultRules() Rules {
	return Rules{Reach: func(*heisen.Record) heisen.Objects { return (*heisen.Symbols)(nil).Reach(0) }}
}

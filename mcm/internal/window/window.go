package window

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/section"
)

// Window is a part of a stream of events.
type Window struct {
	Records []heisen.Record // in stream order
	Index   []uint64        // their positions in the stream, from 1; nil if they are not known
	Held    []HeldLock      // the locks held where the window starts
	Hidden  []heisen.Record // the Hide records before the window whose code has not returned where it starts

	Executions []Execution // executions of atomic sections that begin and end in the window
}

// Execution is one execution of an atomic section of package section.
type Execution struct {
	Section    int           // index of the section
	Entry, End int           // the accesses at its entry and at its end: indices of Records
	Allow      section.Modes // what other threads may do to the variable in between
}

// Allows reports whether another thread may access the variable by op during the execution.
func (p *Execution) Allows(op heisen.Op) bool {
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

// Position returns the position in the stream of the i-th record, or 0 if it is not known.
func (w *Window) Position(i int) uint64 {
	if w.Index == nil {
		return 0
	}
	return w.Index[i]
}

// SameAllocation reports whether two records, which must overlap, touch some object in the same
// allocation epoch: no Alloc or Free of the object comes between them.
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

// Rules determine which reorderings of a window are feasible.
type Rules struct {
	ControlFlow bool                                // reads matter only as far as decisions depend on them
	Reach       func(*heisen.Record) heisen.Objects // what the hidden code behind a Hide event may touch
	Literal     bool                                // for tests: Algorithm 9 of TREE and RDIT, to the letter
}

// DefaultRules returns the rules by which all reads matter and hidden code may touch all objects.
func DefaultRules() Rules {
	return Rules{Reach: func(*heisen.Record) heisen.Objects { return (*heisen.Symbols)(nil).Reach(0) }}
}

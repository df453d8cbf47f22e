// Package intake refuses the events that a detector cannot take: those whose op is not valid, and those
// that come after the end of the stream. On demand it also notes releases of locks that nobody holds.
package intake

import (
	"errors"
	"fmt"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/shadow"
)

// Check looks at each event before a detector takes it. The zero Check is ready to use. In steady state
// it allocates nothing.
type Check struct {
	flushed  bool
	locks    *shadow.Memory[holds] // nil if releases are not checked
	problems [numKinds]problem
}

// holds says who holds a lock.
type holds struct {
	unknown   bool // a store to the lock may have changed it
	exclusive bool
	shared    uint32
}

// A kind of problem, by index in Check.problems.
const (
	badOp = iota
	late
	unheld
	numKinds
)

var kinds = [numKinds]error{badOp: heisen.ErrOp, late: heisen.ErrFlushed, unheld: heisen.ErrReleaseUnheld}

// problem counts the problems of a kind and describes the first.
type problem struct {
	count uint64
	first string
}

// CheckReleases makes c note releases of locks that nobody holds. The stream has to be whole from its
// beginning.
func (c *Check) CheckReleases() { c.locks = shadow.New[holds](nil, nil) }

// Skipped says that a filter left out events. Lock operations may be among them, so that c no longer
// knows who holds a lock.
func (c *Check) Skipped(events uint64) {
	if events > 0 {
		c.locks = nil
	}
}

// Take reports whether the detector is to take r, its event with the given number, which is 0 if it does
// not count events.
func (c *Check) Take(r *heisen.Record, event uint64) bool {
	if !c.flushed && r.Op.Valid() {
		if c.locks != nil {
			c.follow(r, event)
		}
		return true
	}
	c.refuse(r, event)
	return false
}

func (c *Check) refuse(r *heisen.Record, event uint64) {
	if c.flushed {
		c.note(late, r, event)
	}
	if !r.Op.Valid() {
		c.note(badOp, r, event)
	}
}

func (c *Check) note(kind int, r *heisen.Record, event uint64) {
	p := &c.problems[kind]
	if p.count++; p.count > 1 {
		return
	}
	p.first = fmt.Sprintf("%v by thread %d", r.Op, r.Thread)
	if !r.Op.Valid() {
		p.first = fmt.Sprintf("op %d by thread %d", r.Op, r.Thread)
	}
	if event > 0 {
		p.first = fmt.Sprintf("event %d, %s", event, p.first)
	}
}

// follow keeps count of the holders of locks.
func (c *Check) follow(r *heisen.Record, event uint64) {
	switch r.Op {
	case heisen.Acquire:
		*c.locks.At(r.Object) = holds{exclusive: true}
	case heisen.AcquireShared:
		c.locks.At(r.Object).shared++
	case heisen.Release, heisen.ReleaseShared:
		c.release(r, event)
	case heisen.AtomicWrite:
		if h := c.locks.Peek(r.Object); h != nil {
			h.unknown = true
		}
	case heisen.Alloc, heisen.Free:
		c.locks.Clear(r.Object, r.Value)
	}
}

func (c *Check) release(r *heisen.Record, event uint64) {
	h := c.locks.At(r.Object)
	switch {
	case h.unknown:
	case !h.exclusive && h.shared == 0:
		c.note(unheld, r, event)
	case h.shared > 0 && r.Op == heisen.ReleaseShared:
		h.shared--
	default: // of all holds, if the modes contradict each other
		*h = holds{}
	}
}

// Flush ends the stream. It returns an error that wraps heisen.ErrOp, heisen.ErrFlushed and
// heisen.ErrReleaseUnheld, those that apply, for the events since the last call.
func (c *Check) Flush() error {
	c.flushed = true
	var errs []error
	for kind, p := range c.problems {
		switch {
		case p.count == 1:
			errs = append(errs, fmt.Errorf("%s: %w", p.first, kinds[kind]))
		case p.count > 1:
			errs = append(errs, fmt.Errorf("%s, and %d more: %w", p.first, p.count-1, kinds[kind]))
		}
	}
	c.problems = [numKinds]problem{}
	return errors.Join(errs...)
}

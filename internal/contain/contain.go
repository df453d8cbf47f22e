// Package contain keeps a detector that panics from ending the process.
//
// A detector that panics is at fault itself, whatever the program that it observes does. The others may
// go on, and what was found so far is still true. So all commands that run detectors wrap each of them
// with [New]. The wrapped detector gets no more events after its panic, and its Flush returns a
// [*PanicError], which says which detector it was and where it happened.
package contain

import (
	"errors"
	"fmt"
	"path"
	"runtime"
	"strings"

	"github.com/heisen-go/heisen"
)

// PanicError is the error of a detector that has panicked.
type PanicError struct {
	Detector string // its name
	Event    uint64 // number of the event that it was handling, from 1 among those it was given; in a batch, the first of them; 0 at the end of the stream
	Value    any    // what it panicked with
	Place    string // function, file and line
}

// Error implements error: on one line, what happened and what to do about it.
func (e *PanicError) Error() string {
	when := "at the end of the stream"
	if e.Event > 0 {
		when = fmt.Sprintf("at event %d or soon after", e.Event)
	}
	return fmt.Sprintf("detector %s has panicked %s, in %s: %s; it looked at nothing after that. This is a bug of the detector: please report this line",
		e.Detector, when, e.Place, strings.Join(strings.Fields(fmt.Sprint(e.Value)), " "))
}

// Unwrap returns what the detector panicked with, if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Split takes a joined error apart: into the panics of detectors, and the rest, which is nil if there is
// nothing else.
func Split(err error) (panics []*PanicError, rest error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			more, other := Split(e)
			panics, rest = append(panics, more...), errors.Join(rest, other)
		}
		return panics, rest
	}
	var failed *PanicError
	if errors.As(err, &failed) {
		return []*PanicError{failed}, nil
	}
	return nil, err
}

// New returns a detector that does what d does until d panics. name is that of d in errors. A nil d
// stays nil.
func New(name string, d heisen.Detector) heisen.Detector {
	if d == nil {
		return nil
	}
	c := &contained{Detector: d, name: name}
	c.batches, _ = d.(heisen.RecordHandler)
	return c
}

type contained struct {
	heisen.Detector
	name    string
	batches heisen.RecordHandler // the detector, if it is one
	events  uint64               // given to it
	failed  *PanicError
}

// Handle implements heisen.Detector.
func (c *contained) Handle(e heisen.Event) {
	if c.failed == nil {
		defer c.recover(c.events + 1)
		c.Detector.Handle(e)
		c.events++
	}
}

// HandleRecords implements heisen.RecordHandler.
func (c *contained) HandleRecords(batch []heisen.Record) {
	if c.failed != nil {
		return
	}
	defer c.recover(c.events + 1)
	if c.batches != nil {
		c.batches.HandleRecords(batch)
	} else {
		for i := range batch {
			c.Detector.Handle(batch[i].Event())
		}
	}
	c.events += uint64(len(batch))
}

// Skip implements heisen.Skipper.
func (c *contained) Skip(events uint64) {
	if s, ok := c.Detector.(heisen.Skipper); ok && c.failed == nil {
		defer c.recover(c.events + 1)
		s.Skip(events)
	}
}

// LockUse implements heisen.LockUser.
func (c *contained) LockUse() heisen.LockUse {
	if u, ok := c.Detector.(heisen.LockUser); ok {
		return u.LockUse()
	}
	return heisen.LocksAsEvents
}

// Flush implements heisen.Detector. It does not flush a detector that has panicked, because its state
// may be anything.
func (c *contained) Flush() (err error) {
	if c.failed != nil {
		return c.failed
	}
	defer func() {
		if c.failed != nil {
			err = c.failed
		}
	}()
	defer c.recover(0)
	return c.Detector.Flush()
}

// recover notes a panic. It must be deferred.
func (c *contained) recover(event uint64) {
	if v := recover(); v != nil {
		c.failed = &PanicError{Detector: c.name, Event: event, Value: v, Place: place()}
	}
}

// place returns the innermost function of the panicking goroutine that is not of the runtime.
func place() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	panicked := false
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			panicked = true
		case panicked && !strings.HasPrefix(f.Function, "runtime."):
			return fmt.Sprintf("%s (%s:%d)", path.Base(f.Function), path.Base(f.File), f.Line)
		}
		if !more {
			return "an unknown function"
		}
	}
}

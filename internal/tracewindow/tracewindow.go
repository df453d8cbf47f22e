// Package tracewindow selects a few events of a recorded trace, so that people can look at them: those
// around a finding, those of a range, or those of some goroutines and objects. It also finds the
// happens-before edges between them.
//
// A trace may be larger than memory, so nothing is kept of it but the selection. Select reads the
// trace four times instead: to look for findings, to look for the events of one, to select, and to
// follow the order. Memory is that of the detectors, that of the trace's symbols, a few bytes for each
// place of a finding, and while the order is followed about 100 bytes for each synchronization object
// that the selected events reach.
package tracewindow

import (
	"context"
	"errors"
	"fmt"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/option"
	"github.com/heisen-go/heisen/report"
)

// Bounds on a window.
const (
	DefaultEvents = 30  // events of a window, unless Query.Events says otherwise
	MaxEvents     = 500 // that Query.Events may ask for
	MaxLanes      = 8   // goroutines of a window
	afterMarks    = 6   // events after the last one of the finding
	maxObjects    = 256 // selected addresses
	maxLives      = 256 // of a selected address
	maxAccesses   = 32  // of a finding that are marked
	maxAncestors  = 16  // of a goroutine that are remembered
)

// Errors of Select.
var (
	ErrNoFinding = errors.New("there is no such finding") // Query.Finding
	ErrNoEvents  = errors.New("no event is selected")
	ErrChanged   = errors.New("the trace has changed while it was read")
)

// Source is a trace that is read from its start.
type Source interface {
	heisen.Source
	Symbols() *heisen.Symbols
	Close() error
}

// Query says what to select. All numbers of events count from 1.
type Query struct {
	Name string // of the trace, for errors
	// Open opens the trace. All sources that it returns deliver the same events.
	Open func() (Source, error)
	// Detectors returns the detectors that look for findings.
	Detectors func(*heisen.Symbols, heisen.Sink) ([]heisen.Detector, error)
	Resolver  *report.Resolver
	Limits    heisen.Limits // of the symbols of a source

	Finding     string   // number of a finding in the order in which they are found, or its fingerprint; empty for the first one that fits the rest
	First, Last uint64   // numbers of the first and the last event; 0 if the window has no such bound
	Events      int      // most events
	Goroutines  []string // names; empty for all
	Objects     []string // names, addresses, or expressions in the source; empty for all
	Atomics     bool     // atomic operations are events and order others
}

// Window is a selection of events of a trace.
type Window struct {
	Total   uint64 // events of the trace, as far as it could be read
	Events  []Event
	Lanes   []heisen.Thread // goroutines with events, or that started such, in the order of their numbers
	Edges   []Edge
	Left    uint64 // events after the last one that are like those selected, within the range
	Others  uint64 // events left out because there are too many goroutines
	Atomic  bool   // there are atomic operations whose order was not followed
	Hidden  bool   // there are hidden calls, whose order was not followed
	Ordered bool   // the two accesses of the finding are ordered in the trace, by atomic operations too

	Finding          *report.Finding // that the window is about; nil if there is none
	Number, Findings int             // of the finding from 1, and how many there are
	Missing          int             // accesses of the finding that no event is like, or that are out of range

	symbols *heisen.Symbols
	late    []heisen.Thread // goroutines with lanes that were started between events of the window
	// released has locks that the goroutine of an event has released before its next event, by event.
	released map[int][]heisen.Object
	found    *heisen.Finding
	query    *Query
}

// Event is an event of the window.
type Event struct {
	heisen.Record
	Number uint64 // in the trace, from 1
	Access int    // index of the access of the finding that it is, or -1
	Before uint64 // number of events left out before it that are like those selected
}

// Edge says that an event of a window happens before another one in another lane. Order within lanes,
// and order that follows from other edges, has no edge.
type Edge struct{ From, To int }

// Select reads a trace. If the trace is damaged, it returns the window of what comes before the
// damage, and the error. It returns no window with other errors.
func Select(ctx context.Context, q *Query) (*Window, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	s := &selection{ctx: ctx, q: q, w: &Window{query: q, released: map[int][]heisen.Object{}}}
	damage, err := s.survey()
	if err != nil {
		return nil, err
	}
	if s.w.Total == 0 {
		return nil, errors.Join(damage, q.named(fmt.Errorf("%w: the trace has none", ErrNoEvents)))
	}
	for _, step := range []func() error{s.choose, s.locate, s.pick, s.order} {
		if err := step(); err != nil {
			return nil, errors.Join(damage, q.named(err))
		}
	}
	return s.w, damage
}

func (q *Query) check() error {
	switch {
	case q.Open == nil || q.Detectors == nil:
		return option.Errorf("tracewindow.Select: a function is nil")
	case q.Events < 1 || q.Events > MaxEvents:
		return option.Errorf("tracewindow.Select: %d events, want 1 to %d", q.Events, MaxEvents)
	case q.Last != 0 && q.Last < q.First:
		return option.Errorf("tracewindow.Select: the last event, %d, is before the first one, %d", q.Last, q.First)
	}
	return nil
}

// named puts the name of the trace before an error of Select's own. Other errors name what they are about.
func (q *Query) named(err error) error {
	for _, own := range []error{ErrNoFinding, ErrNoEvents, ErrChanged} {
		if errors.Is(err, own) {
			return fmt.Errorf("%s: %w", q.Name, err)
		}
	}
	return err
}

// selection is the state of Select.
type selection struct {
	ctx   context.Context
	q     *Query
	w     *Window
	items []item // findings
	about *item  // the chosen one; nil if there is none

	marks []mark                              // events of the accesses, in the order of the trace
	lives lives                               // of the objects that are selected
	kept  map[heisen.Thread]heisen.ThreadInfo // of goroutines that are not forgotten at their end
	names *names
}

// item is a finding.
type item struct {
	finding     heisen.Finding
	fingerprint string
	at          uint64 // number of the event at which it was found
}

// each calls visit with the events of the trace up to one. If that is the last one, what follows it, such as
// names, is read too. Threads are forgotten after their end,
// unless keep returns true. It returns how many there were, and the error of the source.
func (s *selection) each(upTo uint64, keep func(heisen.Thread, *heisen.Symbols) bool, visit func(*heisen.Record, uint64, *heisen.Symbols) error) (read uint64, symbols *heisen.Symbols, err error) {
	source, err := s.q.Open()
	if err != nil {
		return 0, nil, err
	}
	defer source.Close()
	symbols = source.Symbols()
	symbols.SetLimits(s.q.Limits)
	batch := make([]heisen.Record, 512)
	for {
		if err := s.ctx.Err(); err != nil {
			return read, symbols, err
		}
		n, err := source.Next(batch)
		for i := range batch[:n] {
			if read == upTo {
				return read, symbols, nil
			}
			read++
			r := &batch[i]
			if failed := visit(r, read, symbols); failed != nil {
				return read, symbols, failed
			}
			if r.Op == heisen.End && !keep(r.Thread, symbols) {
				symbols.EndThread(r.Thread)
			}
		}
		if err != nil {
			return read, symbols, err
		}
	}
}

// keeps reports whether a goroutine is not forgotten at its end.
func (s *selection) keeps(t heisen.Thread, _ *heisen.Symbols) bool {
	_, kept := s.kept[t]
	return kept
}

// again is each for a trace that has been read before, up to an event of it.
func (s *selection) again(upTo uint64, keep func(heisen.Thread, *heisen.Symbols) bool, visit func(*heisen.Record, uint64, *heisen.Symbols)) (*heisen.Symbols, error) {
	read, symbols, err := s.each(upTo, keep, func(r *heisen.Record, number uint64, symbols *heisen.Symbols) error {
		visit(r, number, symbols)
		return nil
	})
	switch {
	case s.ctx.Err() != nil:
		return nil, s.ctx.Err()
	case read < upTo:
		return nil, errors.Join(ErrChanged, err)
	}
	return symbols, nil
}

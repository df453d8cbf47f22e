package trace

import (
	"fmt"
	"io"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/intake"
)

// Stats is a heisen.Detector that counts what is in a trace. Its fields have the counts at any
// time. The zero Stats is ready to use. It takes memory in proportion to the distinct objects,
// sites and contexts.
type Stats struct {
	Events    uint64
	Ops       [heisen.NumOps]uint64 // events by op
	Threads   int                   // distinct threads that act
	Variables int                   // distinct objects accessed
	Shared    int                   // of these, accessed by more than one thread
	Locks     int                   // distinct locks
	Messages  int                   // distinct objects sent to or received from
	Sites     int                   // distinct sites of events, the unknown one not counted
	Contexts  int                   // distinct contexts of events, the empty one included
	MaxHeld   int                   // most locks held by one thread at a time
	MaxCalls  int                   // most calls open in one thread at a time
	MaxAlive  int                   // most threads between their first event and their end or join at a time
	Allocated uint64                // bytes of all Alloc events
	Unbounded uint64                // Hide events that reach every object
	Skipped   uint64                // accesses that a filter kept out of the trace; the caller sets it from Reader.Skipped
	Gaps      Gaps                  // what the recording leaves out; the caller sets it from Reader.Gaps

	threads   map[heisen.Thread]*threadStats
	variables map[heisen.Object]variableStats
	locks     map[heisen.Object]struct{}
	messages  map[heisen.Object]struct{}
	sites     map[heisen.Site]struct{}
	contexts  map[heisen.Context]struct{}
	alive     int
	intake    intake.Check
}

type threadStats struct {
	held, calls int
	alive       bool
}

// variableStats is the first thread that accessed a variable, and whether another one did.
type variableStats struct {
	thread heisen.Thread
	shared bool
}

// Handle implements heisen.Detector.
func (s *Stats) Handle(e heisen.Event) {
	s.add(heisen.AsRecord(e))
}

// Flush implements heisen.Detector. Its errors are those that heisen.Detector names.
func (s *Stats) Flush() error {
	return s.intake.Flush()
}

func (s *Stats) add(rec *heisen.Record) {
	if s.threads == nil {
		s.threads = map[heisen.Thread]*threadStats{}
		s.variables = map[heisen.Object]variableStats{}
		s.locks = map[heisen.Object]struct{}{}
		s.messages = map[heisen.Object]struct{}{}
		s.sites = map[heisen.Site]struct{}{}
		s.contexts = map[heisen.Context]struct{}{}
	}
	s.Events++
	if !s.intake.Take(rec, s.Events) {
		return
	}
	s.Ops[rec.Op]++
	t := s.threads[rec.Thread]
	if t == nil {
		t = &threadStats{}
		s.threads[rec.Thread] = t
		s.Threads++
	}
	s.setAlive(t, true)
	if rec.Site != 0 {
		s.Sites += note(s.sites, rec.Site)
	}
	s.Contexts += note(s.contexts, rec.Context)
	if rec.Op.IsAccess() {
		s.access(rec)
	}
	switch rec.Op {
	case heisen.Acquire, heisen.AcquireShared:
		s.Locks += note(s.locks, rec.Object)
		t.held++
		s.MaxHeld = max(s.MaxHeld, t.held)
	case heisen.Release, heisen.ReleaseShared:
		s.Locks += note(s.locks, rec.Object)
		t.held = max(t.held-1, 0)
	case heisen.Send, heisen.Receive:
		s.Messages += note(s.messages, rec.Object)
	case heisen.Call:
		t.calls++
		s.MaxCalls = max(s.MaxCalls, t.calls)
	case heisen.Return:
		t.calls = max(t.calls-1, 0)
	case heisen.End:
		s.setAlive(t, false)
	case heisen.Join:
		if joined := s.threads[rec.Object.Thread()]; joined != nil {
			s.setAlive(joined, false)
		}
	case heisen.Hide:
		if rec.Reach() == 0 {
			s.Unbounded++
		}
	case heisen.Alloc:
		s.Allocated += rec.Value
	}
}

func (s *Stats) access(rec *heisen.Record) {
	v, known := s.variables[rec.Object]
	switch {
	case !known:
		s.variables[rec.Object] = variableStats{thread: rec.Thread}
		s.Variables++
	case !v.shared && v.thread != rec.Thread:
		s.variables[rec.Object] = variableStats{shared: true}
		s.Shared++
	}
}

func (s *Stats) setAlive(t *threadStats, alive bool) {
	switch {
	case alive && !t.alive:
		s.alive++
		s.MaxAlive = max(s.MaxAlive, s.alive)
	case !alive && t.alive:
		s.alive--
	}
	t.alive = alive
}

// note adds k to set and returns 1 if it is new there.
func note[K comparable](set map[K]struct{}, k K) int {
	if _, known := set[k]; known {
		return 0
	}
	set[k] = struct{}{}
	return 1
}

// WriteTo writes the counts as a table of two columns, those of ops that occur last. It implements
// io.WriterTo.
func (s *Stats) WriteTo(w io.Writer) (int64, error) {
	if w == nil {
		return 0, noWriter("trace.Stats.WriteTo")
	}
	n, err := io.WriteString(w, s.String())
	return int64(n), err
}

// String returns the table that WriteTo writes.
func (s *Stats) String() string {
	var b strings.Builder
	row := func(name string, n uint64) { fmt.Fprintf(&b, "%-22s %12d\n", name, n) }
	row("events", s.Events)
	row("threads", uint64(s.Threads))
	row("threads alive at once", uint64(s.MaxAlive))
	row("variables", uint64(s.Variables))
	row("variables shared", uint64(s.Shared))
	row("locks", uint64(s.Locks))
	row("locks held at once", uint64(s.MaxHeld))
	row("messages", uint64(s.Messages))
	row("sites", uint64(s.Sites))
	row("contexts", uint64(s.Contexts))
	row("calls open at once", uint64(s.MaxCalls))
	row("bytes allocated", s.Allocated)
	if s.Skipped > 0 {
		var kept uint64
		for op, n := range s.Ops {
			if heisen.Op(op) == heisen.Read || heisen.Op(op) == heisen.Write {
				kept += n
			}
		}
		row("accesses skipped", s.Skipped)
		fmt.Fprintf(&b, "%-22s %11.1f%%\n", "  of plain accesses", 100*float64(s.Skipped)/float64(s.Skipped+kept))
	}
	for _, gap := range s.Gaps.texts() {
		fmt.Fprintf(&b, "%-22s %12s\n", "left out", gap)
	}
	if s.Ops[heisen.Hide] > 0 {
		row("hides of everything", s.Unbounded)
	}
	for op, n := range s.Ops {
		if n > 0 {
			row("  "+heisen.Op(op).String(), n)
		}
	}
	return b.String()
}

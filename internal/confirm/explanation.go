package confirm

import (
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/internal/source"
	"github.com/heisen-go/heisen/report"
)

// explanation is a detector that selects the steps of an execution that explain it to people: the
// first and the last operation of a goroutine between two switches, and the operations at targets.
// It finds nothing.
type explanation struct {
	symbols *heisen.Symbols
	std     string // the folder of the standard library
	targets []recorder.Target
	places  map[heisen.Site]*place

	all       []heisen.Record
	last      heisen.Record // of the running thread, if it is not in all
	pending   bool
	meetingAt int // the length of all at the latest meeting, or 0
	steps     []report.Step
}

// place is what an explanation knows about a site.
type place struct {
	program bool               // code of the program and not of the standard library
	targets []*recorder.Target // at this line
}

// Bounds on the steps before and after the latest meeting.
const (
	maxBefore = 30
	maxAfter  = 20
)

func newExplanation(symbols *heisen.Symbols, std string, targets []recorder.Target) *explanation {
	return &explanation{symbols: symbols, std: std, targets: targets, places: map[heisen.Site]*place{}}
}

// Handle implements heisen.Detector.
func (s *explanation) Handle(e heisen.Event) {
	s.handle(heisen.AsRecord(e))
}

// Flush implements heisen.Detector.
func (s *explanation) Flush() error { return nil }

func (s *explanation) handle(r *heisen.Record) {
	switch r.Op {
	case heisen.Begin, heisen.End, heisen.Alloc, heisen.Free, heisen.Call, heisen.Return:
		return
	}
	p := s.place(r.Site)
	if !p.program {
		return
	}
	if n := len(s.all); n == 0 || s.current() != r.Thread {
		s.keepLast()
		s.keep(r)
		return
	}
	for _, t := range p.targets {
		if t.Mode&modeAt(r.Op) != 0 {
			s.keep(r)
			return
		}
	}
	s.last, s.pending = *r, true
}

// current returns the running thread.
func (s *explanation) current() heisen.Thread { return s.all[len(s.all)-1].Thread }

// keepLast keeps the last operation of the thread that stops running.
func (s *explanation) keepLast() {
	if s.pending {
		s.all, s.pending = append(s.all, s.last), false
	}
}

func (s *explanation) keep(r *heisen.Record) {
	s.pending = false
	s.all = append(s.all, *r)
	if over := len(s.all) - 4*(maxBefore+maxAfter); over > 0 && (s.meetingAt == 0 || s.meetingAt > over+maxBefore) {
		s.all = append(s.all[:0], s.all[over:]...)
		s.meetingAt = max(s.meetingAt-over, 0)
	}
}

// meeting marks the latest step as the one at which goroutines met.
func (s *explanation) meeting() { s.meetingAt = len(s.all) }

// selected returns the steps around the latest meeting.
func (s *explanation) selected() []heisen.Record {
	s.keepLast()
	all := s.all
	if s.meetingAt > 0 && len(all) > s.meetingAt+maxAfter {
		all = all[:s.meetingAt+maxAfter]
	}
	return all[max(0, len(all)-maxBefore-maxAfter):]
}

func (s *explanation) place(site heisen.Site) *place {
	p := s.places[site]
	if p != nil {
		return p
	}
	p = &place{}
	s.places[site] = p
	for _, f := range s.symbols.Site(site).Frames {
		if f.File == "" || source.Synchronizes(f.Func) {
			continue
		}
		p.program = !strings.HasPrefix(f.File, s.std) && f.File != "_testmain.go"
		for i := range s.targets {
			if t := &s.targets[i]; t.File == f.File && t.Line == f.Line {
				p.targets = append(p.targets, t)
			}
		}
		break
	}
	return p
}

func modeAt(op heisen.Op) recorder.TargetMode {
	switch op {
	case heisen.Read, heisen.AtomicRead:
		return recorder.OnRead
	case heisen.Write, heisen.AtomicWrite, heisen.AtomicUpdate:
		return recorder.OnWrite
	case heisen.Acquire, heisen.AcquireShared:
		return recorder.OnLock
	}
	return 0
}

// steps resolves records as steps of a witness.
func (r *Resolver) steps(records []heisen.Record, symbols *heisen.Symbols) []report.Step {
	return r.resolve(heisen.Finding{Witness: records}, symbols).Witness
}

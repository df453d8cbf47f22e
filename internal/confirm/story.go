package confirm

import (
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/internal/source"
	"github.com/heisen-go/heisen/report"
)

// story is a detector that keeps of an execution under control what people would tell
// of it: where each goroutine begins and stops whenever another goes on, and the
// operations at targets.
type story struct {
	symbols *heisen.Symbols
	std     string // the folder of the standard library
	targets []recorder.Target
	places  map[heisen.Site]*place

	all     []heisen.Record
	last    heisen.Record // of the thread that goes on, if it is not in all
	pending bool
	met     int // the length of all at the latest meeting, or 0
	steps   []report.Step
}

// place is what a site is to a story.
type place struct {
	program bool               // code of the program and not of the standard library
	targets []*recorder.Target // at this line
}

// Bounds on what is told around the latest meeting, in steps.
const (
	maxBefore = 30
	maxAfter  = 20
)

func newStory(symbols *heisen.Symbols, std string, targets []recorder.Target) *story {
	return &story{symbols: symbols, std: std, targets: targets, places: map[heisen.Site]*place{}}
}

// Handle implements heisen.Detector.
func (s *story) Handle(e heisen.Event) {
	s.handle(heisen.AsRecord(e))
}

// Flush implements heisen.Detector.
func (s *story) Flush() error { return nil }

func (s *story) handle(r *heisen.Record) {
	switch r.Op {
	case heisen.Begin, heisen.End, heisen.Alloc, heisen.Free, heisen.Call, heisen.Return:
		return
	}
	p := s.place(r.Site)
	if !p.program {
		return
	}
	if n := len(s.all); n == 0 || s.current() != r.Thread {
		s.stop()
		s.tell(r)
		return
	}
	for _, t := range p.targets {
		if t.Mode&modeAt(r.Op) != 0 {
			s.tell(r)
			return
		}
	}
	s.last, s.pending = *r, true
}

// current returns the thread that goes on.
func (s *story) current() heisen.Thread { return s.all[len(s.all)-1].Thread }

// stop tells the last that the thread did which does not go on now.
func (s *story) stop() {
	if s.pending {
		s.all, s.pending = append(s.all, s.last), false
	}
}

func (s *story) tell(r *heisen.Record) {
	s.pending = false
	s.all = append(s.all, *r)
	if over := len(s.all) - 4*(maxBefore+maxAfter); over > 0 && (s.met == 0 || s.met > over+maxBefore) {
		s.all = append(s.all[:0], s.all[over:]...)
		s.met = max(s.met-over, 0)
	}
}

// meeting says that the latest event is that at which goroutines met.
func (s *story) meeting() { s.met = len(s.all) }

// told returns what there is to tell.
func (s *story) told() []heisen.Record {
	s.stop()
	all := s.all
	if s.met > 0 && len(all) > s.met+maxAfter {
		all = all[:s.met+maxAfter]
	}
	return all[max(0, len(all)-maxBefore-maxAfter):]
}

func (s *story) place(site heisen.Site) *place {
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

// steps resolves records.
func (r *Resolver) steps(records []heisen.Record, symbols *heisen.Symbols) []report.Step {
	return r.resolve(heisen.Finding{Witness: records}, symbols).Witness
}

package recorder

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/wire"
)

// ErrCorrupt is wrapped by errors about bytes that no recorder sends.
var ErrCorrupt = errors.New("corrupt recording")

// LostError means that a recording ended without some of its events: the program was killed, or
// hooks ran where nothing can be recorded. What was delivered is sound; races may have been missed.
type LostError struct {
	Events uint64 // a lower bound
}

func (e *LostError) Error() string {
	return fmt.Sprintf("the program ended before its recording did: at least %d events are lost", e.Events)
}

// RefusedError means that the program runs and cannot be recorded.
type RefusedError struct {
	Reason string
}

func (e *RefusedError) Error() string { return "it is not recorded: " + e.Reason }

// Symbolizer resolves program counters, as offsets into the program's text. frames[i] belongs to
// offsets[i], innermost first.
type Symbolizer interface {
	Frames(offsets []uint32) (frames [][]heisen.Frame, err error)
}

// Stream is the merged events of a program: a heisen.Source. It belongs to one goroutine.
type Stream struct {
	in    input
	hello hello
	syms  *heisen.Symbols
	pages []*[sitePage]heisen.Site // sites by pc
	fresh []uint32                 // pcs of sites that are not resolved
	solve Symbolizer

	told toldNames

	unresolved error // why later sites are not resolved

	overlap    func(Overlap)
	overlaps   []Overlap // that were not delivered
	liveResult LiveResult
	raceLosses RaceLosses
	asked      bool       // the program wants to know how many findings were reported
	askedFor   uint32     // which findings
	reported   func() int // answers that; may be nil
	leaks      func([]Blocked) int
	answer     io.Writer // to the program; may be nil
	failing    []string  // files with failing inputs

	afterPrologue []byte // the message with the schedule of the rest; nil if there is no prologue
	unseen        Unseen

	meeting   func(Meeting)
	meetings  []Meeting // that were not delivered
	execution Execution

	places  []place
	tasks   map[uint32]heisen.Site   // by number
	names   map[string]heisen.Site   // of tasks
	labels  map[uint32]heisen.Labels // by number in the recording
	called  map[uint32]bool          // hidden functions that have, or will have, a name, by text offset
	unnamed []uint32                 // those without a name yet

	joins      bool                     // accesses that continue each other are one; see Unrepeated
	tellsCalls bool                     // Call and Return events are made
	functions  map[string]heisen.Object // their objects, by name
	inside     []inside                 // the events of the batch without one
	path       []uint32                 // scratch space of callsOf

	buffers []bufferState
	from    *bufferState // the buffer of rest
	rest    []uint64     // its words that were not taken
	merge   merger

	out      []heisen.Record // a batch, or somewhat more
	done     int             // number of out that were delivered
	bye      bool
	failed   bool   // the program ends with another status than 0
	replaced bool   // the program may have become another one
	skipped  uint64 // accesses that the recorder left out
	err      error  // what ends the stream once out is delivered
}

const sitePage = 4096

// sitePages has empty pages of streams that are closed.
var sitePages = sync.Pool{New: func() any { return new([sitePage]heisen.Site) }}

// close gives up the memory that other streams can use again. Then no sites are known, and reading is an error.
func (s *Stream) close() {
	s.in.close()
	s.rest = nil
	for _, sites := range s.pages {
		if sites != nil {
			clear(sites[:])
			sitePages.Put(sites)
		}
	}
	s.pages = nil
}

// maxText bounds the size of a program's text.
const maxText = 1 << 31

type hello struct{ version, text, size, pid, child uint64 }

// bufferState is the state of a P's buffer.
type bufferState struct {
	g  *goroutine
	id heisen.Thread // of g; g's state is reused once it has ended
	at uint64        // words of g before
}

// NewStream reads the start of a recording. symbolizer may be nil; then sites have program counters
// and no frames.
func NewStream(r io.Reader, symbolizer Symbolizer) (*Stream, error) {
	s := &Stream{
		in:    newInput(r),
		syms:  heisen.NewSymbols(),
		solve: symbolizer,

		places: make([]place, 1),
		told:   toldNames{},
		tasks:  map[uint32]heisen.Site{},
		names:  map[string]heisen.Site{},
		labels: map[uint32]heisen.Labels{},
		called: map[uint32]bool{},
	}
	s.syms.SetLimits(defaultLimits)
	s.merge.init(s)
	s.syms.SetName(Collector, "garbage collector")
	s.syms.SetName(manyLocksObject, manyLocksName)
	s.syms.SetName(lostLockObject, lostLockName)
	m, err := s.in.message()
	if err != nil {
		return nil, fmt.Errorf("start of recording: %w", err)
	}
	if m.kind != wire.MsgHello || len(m.words) != helloBytes/8 {
		return nil, fmt.Errorf("start of recording: %w", ErrCorrupt)
	}
	s.hello = hello{m.words[0], m.words[1], m.words[2], m.words[3], m.words[4]}
	if s.hello.version != wire.Version {
		return nil, fmt.Errorf("start of recording: %w: version %d, not %d", ErrCorrupt, s.hello.version, wire.Version)
	}
	if s.hello.size > maxText {
		return nil, fmt.Errorf("start of recording: %w: %d bytes of text", ErrCorrupt, s.hello.size)
	}
	s.pages = make([]*[sitePage]heisen.Site, (s.hello.size+sitePage-1)/sitePage)
	return s, nil
}

// Symbols has the meaning of the numbers in the events.
func (s *Stream) Symbols() *heisen.Symbols { return s.syms }

// PID returns the program's process number.
func (s *Stream) PID() int { return int(s.hello.pid) }

// Child reports whether a recorded program has started this one.
func (s *Stream) Child() bool { return s.hello.child != 0 }

// SymbolError returns why sites are program counters without names, or nil.
func (s *Stream) SymbolError() error { return s.unresolved }

// SetSymbolizer sets the symbolizer for the sites of later events.
func (s *Stream) SetSymbolizer(symbolizer Symbolizer) { s.solve = symbolizer }

// Skipped returns the number of accesses that the program's recorder has left out so far as
// repeated; see Mode. It does not count accesses of programs that record no events.
func (s *Stream) Skipped() uint64 { return s.skipped }

// Finished reports whether the program has sent all that it recorded. Then it has ended, or waits
// for its exit status. Of a program that was killed, or that ended without its Go runtime, the last
// events may be missing.
func (s *Stream) Finished() bool { return s.bye }

// Passed reports whether the program has sent all that it recorded, and ends with status 0.
func (s *Stream) Passed() bool { return s.bye && !s.failed }

// FailingInputs returns the files in which a fuzz test has saved the inputs that make it fail.
func (s *Stream) FailingInputs() []string { return s.failing }

// LookFailed reports whether goroutines of the program may wait or go on for ever that were not found, since there was not enough time or
// memory to look.
func (s *Stream) LookFailed() bool { return s.execution.LookFailed }

// Coarse reports whether the program has acquired so many different locks, or made calls in so many
// ways, that some contexts lack locks or innermost calls. Events are not affected.
func (s *Stream) Coarse() bool { return s.syms.LimitPassed() }

// Next implements heisen.Source.
func (s *Stream) Next(batch []heisen.Record) (int, error) {
	if err := s.more(); err != nil {
		return 0, err
	}
	n := copy(batch, s.out[s.done:])
	s.done += n
	return n, nil
}

// NextBatch implements heisen.BatchSource.
func (s *Stream) NextBatch() ([]heisen.Record, error) {
	if err := s.more(); err != nil {
		return nil, err
	}
	batch := s.out[s.done:]
	s.done = len(s.out)
	return batch, nil
}

// batchSize is the number of events made before they are delivered: records that stay in the
// first-level cache while each detector processes them. A few kinds of words make more at a time.
const batchSize = 512

// full reports whether there are enough events to deliver.
func (s *Stream) full() bool { return len(s.out) >= batchSize }

// more waits until there are events to deliver or the stream has ended.
func (s *Stream) more() error {
	for s.done == len(s.out) {
		s.out, s.done = s.out[:0], 0
		if s.err != nil {
			return s.err
		}
		if err := s.step(); err != nil {
			s.err = err
		}
		s.resolve()
		for _, o := range s.overlaps {
			s.overlap(o)
		}
		s.overlaps = s.overlaps[:0]
		for _, m := range s.meetings {
			s.meeting(m)
		}
		s.meetings = s.meetings[:0]
	}
	return nil
}

// step makes events without reading if possible, else reads.
func (s *Stream) step() error {
	if err := s.merge.release(); err != nil || s.full() {
		return err
	}
	if len(s.rest) > 0 {
		return s.take()
	}
	if s.asked {
		if len(s.out) > 0 || len(s.overlaps) > 0 { // what they lead to counts, too
			return nil
		}
		s.asked = false
		s.answerCount()
	}
	return s.read()
}

// read processes the next message.
func (s *Stream) read() error {
	m, err := s.in.message()
	if err == io.EOF || hungUp(err) {
		return s.end()
	}
	if err != nil {
		return err
	}
	s.skipped += uint64(m.skipped)
	switch m.kind {
	case wire.MsgWords:
		if m.id >= maxBuffers {
			return s.corrupt("buffer %d", m.id)
		}
		for int(m.id) >= len(s.buffers) {
			s.buffers = append(s.buffers, bufferState{})
		}
		s.from, s.rest = &s.buffers[m.id], m.words
		return s.take()
	case wire.MsgPlaces:
		return s.addPlaces(m.words)
	case wire.MsgNames:
		return s.addNames(m.id, m.words)
	case wire.MsgTask:
		return s.addTask(m.id, m.words)
	case wire.MsgLabels:
		return s.addLabels(m.id, m.words)
	case wire.MsgOrigins:
		return s.addOrigins(m.words)
	case wire.MsgOverlapStats:
		return s.setLiveResult(m.id, m.words)
	case wire.MsgRaces:
		return s.setRaceLosses(m.words)
	case wire.MsgExecution:
		return s.setExecution(m.words)
	case wire.MsgStuck:
		return s.addStuck(m.id, m.words)
	case wire.MsgMeeting:
		return s.addMeeting(m.words)
	case wire.MsgMisuse:
		return s.addMisuse(m.id, m.words)
	case wire.MsgFailing:
		return s.setFailing(m.id, m.words)
	case wire.MsgMeasures:
		return s.setMeasures(m.words)
	case wire.MsgBehaviors:
		return s.addBehaviors(m.words)
	case wire.MsgChoices:
		return s.addChoices(m.words)
	case wire.MsgSteps:
		return s.addSteps(m.words)
	case wire.MsgCount:
		if m.id > wire.CountLeaks {
			return s.corrupt("count of findings of kind %d", m.id)
		}
		s.asked, s.askedFor = true, m.id
		return nil
	case wire.MsgInput:
		s.failing = append(s.failing, textOf(m.words))
		return nil
	case wire.MsgUnseen:
		return s.unseen.add(s, m.id, textOf(m.words))
	case wire.MsgReplaced:
		s.replaced = m.id != 0
		return nil
	case wire.MsgRefused:
		return &RefusedError{textOf(m.words)}
	case wire.MsgPrologue:
		if s.afterPrologue == nil {
			return s.corrupt("end of a prologue")
		}
		if s.answer != nil { // if the program is gone, the stream will show that
			s.answer.Write(s.afterPrologue)
		}
		s.afterPrologue = nil
		return nil
	case wire.MsgBarrier:
		if left := s.merge.pending(); left > 0 {
			return s.corrupt("%d words cannot be merged at a collection", left)
		}
		return nil
	case wire.MsgBye:
		s.bye, s.failed = true, m.id != 0
		var lost, stamps uint64
		if len(m.words) == byeBytes/8 {
			lost, stamps = m.words[0], m.words[1]
		}
		if s.merge.next < stamps {
			lost += s.merge.lostEvents()
		} // else the waiting words come after the end
		if lost > 0 {
			return &LostError{lost}
		}
		return io.EOF
	}
	return s.corrupt("message of kind %d", m.kind)
}

// end returns the error with which the stream ends when the program is gone. If the program has
// become another one, what its other goroutines did at that time is of no interest.
func (s *Stream) end() error {
	if s.replaced {
		s.bye = true
		return io.EOF
	}
	if left := s.merge.lostEvents(); left > 0 {
		return &LostError{left}
	}
	return io.EOF
}

func (s *Stream) corrupt(format string, args ...any) error {
	return corruptAt(s.in.offset, format, args...)
}

func corruptAt(offset int64, format string, args ...any) error {
	return fmt.Errorf("%w at byte %d: %s", ErrCorrupt, offset, fmt.Sprintf(format, args...))
}

// maxBuffers is the largest number of Ps of a program.
const maxBuffers = 4096

// take splits the words of a buffer at switches between goroutines and delivers them, until there
// are enough events.
func (s *Stream) take() error {
	for b := s.from; len(s.rest) > 0 && !s.full(); {
		words := s.rest
		if words[0]>>wire.OpShift == wire.OpSwitch {
			if len(words) < 2 {
				return s.corrupt("record %#x", words[0])
			}
			g, err := s.merge.goroutine(words[0] & wire.ArgMask)
			if err != nil {
				return err
			}
			b.g, b.id, b.at = g, g.id, words[1]
			s.rest = words[2:]
			continue
		}
		if b.g == nil {
			return s.corrupt("words of no goroutine")
		}
		if b.g.ended || b.g.id != b.id {
			return s.corrupt("goroutine %d continues after its end", b.id)
		}
		n, err := s.merge.deliver(b.g, b.at, words)
		if err != nil {
			return err
		}
		b.at += uint64(n)
		s.rest = words[n:]
	}
	return nil
}

// site returns the site at a text offset, 0 for offset 0 and outside of the text.
func (s *Stream) site(pc uint32) heisen.Site {
	page := pc / sitePage
	if int(page) >= len(s.pages) {
		return 0
	}
	sites := s.pages[page]
	if sites == nil {
		sites = sitePages.Get().(*[sitePage]heisen.Site)
		s.pages[page] = sites
	}
	site := sites[pc%sitePage]
	if site == 0 && pc != 0 {
		site = s.syms.AddSite(heisen.SiteInfo{PC: s.hello.text + uint64(pc)})
		sites[pc%sitePage] = site
		s.fresh = append(s.fresh, pc)
	}
	return site
}

// resolve resolves new sites. A symbolizer that fails is not asked again: its sites stay program
// counters.
func (s *Stream) resolve() {
	defer s.nameFunctions()
	s.nameCalls()
	if len(s.fresh) == 0 || s.solve == nil {
		return
	}
	frames, err := s.solve.Frames(s.fresh)
	if err != nil {
		s.solve, s.unresolved = nil, err
		return
	}
	for i, pc := range s.fresh {
		s.syms.SetSite(s.site(pc), heisen.SiteInfo{PC: s.hello.text + uint64(pc), Frames: frames[i]})
	}
	s.fresh = s.fresh[:0]
}

package rt

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"syscall"
	"unsafe"

	"github.com/heisen-go/heisen"
)

// ErrCorrupt is the cause of an error about bytes that no recorder sends.
var ErrCorrupt = errors.New("corrupt recording")

// LostError says that a recording ended, or went on, without some of its
// events: the program was killed, or hooks ran where nothing can be recorded.
// What was delivered is sound; races may have been missed.
type LostError struct {
	Events uint64 // how many at least
}

func (e *LostError) Error() string {
	return fmt.Sprintf("the program ended before its recording did: at least %d events are lost", e.Events)
}

// Symbolizer tells what program counters stand for, as offsets into the
// program's text; frames[i] belongs to offsets[i], innermost first.
type Symbolizer interface {
	Frames(offsets []uint32) (frames [][]heisen.Frame, err error)
}

// Stream is the events of one program, merged into one order: a heisen.Source.
// It belongs to one goroutine.
type Stream struct {
	r     *bufio.Reader
	hello hello
	syms  *heisen.Symbols
	pages []*[sitePage]heisen.Site // sites by pc
	fresh []uint32                 // pcs of sites that are not resolved
	solve Symbolizer

	words   []uint64 // the message being read
	offset  int64    // of the message in the stream, for errors
	next    int64    // offset of the one after it
	buffers []bufferState
	merge   merger

	out     []heisen.Record
	done    int    // how many of out were delivered
	skipped uint64 // accesses that the recorder passed over
	bye     bool
	err     error // what ends the stream once out is delivered
}

const sitePage = 4096

// maxText bounds the size of a program's text.
const maxText = 1 << 31

type hello struct{ version, text, size, pid uint64 }

// bufferState is where the words of a P's buffer are.
type bufferState struct {
	g  *goroutine
	at uint64 // words of g before
}

// NewStream reads the start of a recording. symbolizer may be nil; then sites
// have program counters and no frames.
func NewStream(r io.Reader, symbolizer Symbolizer) (*Stream, error) {
	s := &Stream{
		r:     bufio.NewReaderSize(r, 2*maxPayload),
		syms:  heisen.NewSymbols(),
		solve: symbolizer,
		words: make([]uint64, maxPayload/8),
	}
	s.merge.init(s)
	s.syms.SetName(collector, "garbage collector")
	kind, _, n, err := s.readMessage()
	if err != nil {
		return nil, fmt.Errorf("start of recording: %w", err)
	}
	if kind != msgHello || n != helloBytes/8 {
		return nil, fmt.Errorf("start of recording: %w", ErrCorrupt)
	}
	s.hello = hello{s.words[0], s.words[1], s.words[2], s.words[3]}
	if s.hello.version != version {
		return nil, fmt.Errorf("start of recording: %w: version %d, not %d", ErrCorrupt, s.hello.version, version)
	}
	if s.hello.size > maxText {
		return nil, fmt.Errorf("start of recording: %w: %d bytes of text", ErrCorrupt, s.hello.size)
	}
	s.pages = make([]*[sitePage]heisen.Site, (s.hello.size+sitePage-1)/sitePage)
	return s, nil
}

// Symbols says what the numbers in the events stand for.
func (s *Stream) Symbols() *heisen.Symbols { return s.syms }

// PID is the program's process number.
func (s *Stream) PID() int { return int(s.hello.pid) }

// SetSymbolizer sets who resolves the sites of events that are still to come.
func (s *Stream) SetSymbolizer(symbolizer Symbolizer) { s.solve = symbolizer }

// Skipped returns how many accesses the program's recorder has passed over so far
// because they repeat others; see Mode.
func (s *Stream) Skipped() uint64 { return s.skipped }

// Finished reports whether the program has sent all that it recorded. It has
// ended then, or waits for its exit status.
func (s *Stream) Finished() bool { return s.bye }

// Next implements heisen.Source.
func (s *Stream) Next(batch []heisen.Record) (int, error) {
	for s.done == len(s.out) {
		s.out, s.done = s.out[:0], 0
		if s.err != nil {
			return 0, s.err
		}
		if err := s.read(); err != nil {
			s.err = err
		}
		s.resolve()
	}
	n := copy(batch, s.out[s.done:])
	s.done += n
	return n, nil
}

// read takes the next message.
func (s *Stream) read() error {
	kind, id, n, err := s.readMessage()
	if err == io.EOF || errors.Is(err, syscall.ECONNRESET) { // the latter if it had an answer to read
		return s.end()
	}
	if err != nil {
		return err
	}
	switch kind {
	case msgWords:
		return s.take(id, s.words[:n])
	case msgBarrier:
		if left := s.merge.pending(); left > 0 {
			return s.corrupt("%d words cannot be merged at a collection", left)
		}
		return nil
	case msgBye:
		s.bye = true
		var lost, stamps uint64
		if n == byeBytes/8 {
			lost, stamps = s.words[0], s.words[1]
		}
		if s.merge.next < stamps {
			lost += s.merge.lost()
		} // else what waits comes after the end
		if lost > 0 {
			return &LostError{lost}
		}
		return io.EOF
	}
	return s.corrupt("message of kind %d", kind)
}

// end is what the stream ends with when the program is gone.
func (s *Stream) end() error {
	if left := s.merge.lost(); left > 0 {
		return &LostError{left}
	}
	return io.EOF
}

func (s *Stream) corrupt(format string, args ...any) error {
	return fmt.Errorf("%w at byte %d: %s", ErrCorrupt, s.offset, fmt.Sprintf(format, args...))
}

// readMessage fills s.words and returns how many words came.
func (s *Stream) readMessage() (kind, id uint32, n int, err error) {
	s.offset = s.next
	var header [headerBytes]byte
	if _, err := io.ReadFull(s.r, header[:]); err != nil {
		if err == io.ErrUnexpectedEOF {
			err = io.EOF // the program died while sending
		}
		return 0, 0, 0, err
	}
	kind = binary.LittleEndian.Uint32(header[0:])
	id = binary.LittleEndian.Uint32(header[4:])
	size := binary.LittleEndian.Uint32(header[8:])
	s.skipped += uint64(binary.LittleEndian.Uint32(header[12:]))
	if size > maxPayload || size%8 != 0 {
		return 0, 0, 0, s.corrupt("message of %d bytes", size)
	}
	n = int(size / 8)
	if n > 0 {
		// Recorder and receiver run on the same little-endian machine.
		payload := unsafe.Slice((*byte)(unsafe.Pointer(&s.words[0])), size)
		if _, err := io.ReadFull(s.r, payload); err != nil {
			if err == io.ErrUnexpectedEOF {
				err = io.EOF
			}
			return 0, 0, 0, err
		}
	}
	s.next += headerBytes + int64(size)
	return kind, id, n, nil
}

// maxBuffers is how many Ps a program may have.
const maxBuffers = 4096

// take splits the words of a buffer into runs of one goroutine each.
func (s *Stream) take(id uint32, words []uint64) error {
	if id >= maxBuffers {
		return s.corrupt("buffer %d", id)
	}
	for int(id) >= len(s.buffers) {
		s.buffers = append(s.buffers, bufferState{})
	}
	b := &s.buffers[id]
	for len(words) > 0 {
		run := 0
		for run < len(words) {
			op := words[run] >> opShift
			if op == opSwitch {
				break
			}
			n := int(recordWords[op])
			if n == 0 || run+n > len(words) {
				return s.corrupt("record %#x", words[run])
			}
			run += n
		}
		if run > 0 {
			if b.g == nil {
				return s.corrupt("words of no goroutine")
			}
			if err := s.merge.deliver(b.g, b.at, words[:run]); err != nil {
				return err
			}
			b.at += uint64(run)
			words = words[run:]
			continue
		}
		if len(words) < 2 {
			return s.corrupt("record %#x", words[0])
		}
		g, err := s.merge.goroutine(words[0] & argMask)
		if err != nil {
			return err
		}
		b.g, b.at = g, words[1]
		words = words[2:]
	}
	return nil
}

// site returns the number of the site at a text offset, 0 for offset 0 and where
// there is no text.
func (s *Stream) site(pc uint32) heisen.Site {
	page := pc / sitePage
	if int(page) >= len(s.pages) {
		return 0
	}
	sites := s.pages[page]
	if sites == nil {
		sites = new([sitePage]heisen.Site)
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

// resolve asks what the new sites are. A symboliser that fails is not asked
// again: its sites stay program counters.
func (s *Stream) resolve() {
	if len(s.fresh) == 0 || s.solve == nil {
		return
	}
	frames, err := s.solve.Frames(s.fresh)
	if err != nil {
		s.solve = nil
		return
	}
	for i, pc := range s.fresh {
		s.syms.SetSite(s.site(pc), heisen.SiteInfo{PC: s.hello.text + uint64(pc), Frames: frames[i]})
	}
	s.fresh = s.fresh[:0]
}

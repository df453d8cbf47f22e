package recorder

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/wire"
)

// testText and testPID are what the recordings of the tests begin with.
const (
	testText     = 0x401000
	testTextSize = 64 << 20
	testPID      = 4321
)

// word packs an op and its argument.
func word(op, arg uint64) uint64 { return op<<wire.OpShift | arg }

// message appends a message to a recording.
func message(rec []byte, kind, id uint32, words ...uint64) []byte {
	for _, v := range []uint32{kind, id, uint32(8 * len(words)), 0} {
		rec = binary.LittleEndian.AppendUint32(rec, v)
	}
	for _, w := range words {
		rec = binary.LittleEndian.AppendUint64(rec, w)
	}
	return rec
}

// hello starts a recording.
func helloMessage() []byte {
	return message(nil, wire.MsgHello, 0, wire.Version, testText, testTextSize, testPID, 0)
}

// messages cuts a recording after each of its messages, the first being hello.
func messages(rec []byte) (out [][]byte) {
	for len(rec) > 0 {
		n := headerBytes + binary.LittleEndian.Uint32(rec[8:])
		out = append(out, rec[:n])
		rec = rec[n:]
	}
	return out
}

// readAll reads a recording to its end.
func readAll(t testing.TB, rec []byte) (*Stream, []heisen.Record, error) {
	t.Helper()
	s, err := NewStream(bytes.NewReader(rec), nil)
	if err != nil {
		t.Fatalf("NewStream: %v", err)
	}
	out, err := drain(s)
	return s, out, err
}

// drain returns all of a stream's records and the error that is not io.EOF.
func drain(s *Stream) (out []heisen.Record, err error) {
	batch := make([]heisen.Record, 100)
	for {
		n, err := s.Next(batch)
		out = append(out, batch[:n]...)
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
	}
}

// recorder is a simple counterpart of the injected recorder: it keeps the words of each P until
// they are flushed.
type recorder struct {
	rec   []byte
	ps    []pBuffer
	gs    map[int]*recordedG
	stamp uint64

	places map[uint64]uint64 // numbers by parent and pc
	fresh  []uint64          // that were not sent
}

type pBuffer struct {
	words []uint64
	cur   int // goroutine + 1
}

type recordedG struct {
	words  uint64
	p      int // buffer of its latest words, + 1
	orphan bool
	begun  bool
	calls  []uint64 // places
}

func newRecorder(ps int) *recorder {
	return &recorder{rec: helloMessage(), ps: make([]pBuffer, ps), gs: map[int]*recordedG{}, places: map[uint64]uint64{}}
}

// goroutine introduces g. An orphan begins by itself, others by their fork.
func (r *recorder) goroutine(g int, orphan bool) { r.gs[g] = &recordedG{orphan: orphan} }

// place returns the number of the place of g at pc.
func (r *recorder) place(g int, pc uint32) uint64 {
	node := uint64(pc)
	if calls := r.gs[g].calls; len(calls) > 0 {
		node |= calls[len(calls)-1] << 32
	}
	id := r.places[node]
	if id == 0 {
		id = uint64(len(r.places) + 1)
		r.places[node] = id
		r.fresh = append(r.fresh, node)
	}
	return id
}

// call makes g call at pc.
func (r *recorder) call(g int, pc uint32) {
	r.gs[g].calls = append(r.gs[g].calls, r.place(g, pc))
}

// leave makes g return from n calls.
func (r *recorder) leave(g, calls int) {
	h := r.gs[g]
	h.calls = h.calls[:len(h.calls)-calls]
}

// task adds a task, which a call at taskPlace|id begins.
func (r *recorder) task(id uint32, name string) {
	r.rec = message(r.rec, wire.MsgTask, id, textWords(name)...)
}

// textWords returns a text with zero bytes up to a whole word.
func textWords(text string) (words []uint64) {
	bytes := append([]byte(text), make([]byte, 7)...)
	for ; len(bytes) >= 8; bytes = bytes[8:] {
		words = append(words, binary.LittleEndian.Uint64(bytes))
	}
	return words
}

// put writes a record of g to the buffer of P p.
func (r *recorder) put(p, g int, words ...uint64) {
	b, h := &r.ps[p], r.gs[g]
	if len(b.words)+3+len(words) > wire.MaxPayload/8 {
		r.flush(p)
	}
	if b.cur != g+1 || h.p != p+1 {
		b.cur, h.p = g+1, p+1
		b.words = append(b.words, word(wire.OpSwitch, uint64(g)), h.words)
	}
	if !h.begun {
		h.begun = true
		begin := word(wire.OpBegin, goid(g))
		if h.orphan {
			begin |= wire.Orphan
		}
		words = append([]uint64{begin}, words...)
	}
	b.words = append(b.words, words...)
	h.words += uint64(len(words))
}

// sync writes a synchronization record with the next stamp.
func (r *recorder) sync(p, g int, op, obj uint64, pc uint32) {
	r.put(p, g, word(op, obj), r.stamp, r.place(g, pc))
	r.stamp++
}

// access writes a record of an access, an allocation or a free.
func (r *recorder) access(p, g int, op, obj uint64, pc uint32, size uint64) {
	r.put(p, g, word(op, obj), r.place(g, pc)<<32|size)
}

func (r *recorder) flush(p int) {
	if b := &r.ps[p]; len(b.words) > 0 {
		if len(r.fresh) > 0 {
			r.rec = message(r.rec, wire.MsgPlaces, 0, r.fresh...)
			r.fresh = r.fresh[:0]
		}
		r.rec = message(r.rec, wire.MsgWords, uint32(p), b.words...)
		b.words = b.words[:0]
	}
}

func (r *recorder) flushAll() {
	for p := range r.ps {
		r.flush(p)
	}
}

func (r *recorder) barrier() {
	r.flushAll()
	r.rec = message(r.rec, wire.MsgBarrier, 0)
}

// bye flushes everything and ends the recording.
func (r *recorder) bye(lost uint64) []byte {
	r.flushAll()
	r.rec = message(r.rec, wire.MsgBye, 0, lost, r.stamp)
	return r.rec
}

// goid is the runtime's number for goroutine g; timers have none.
func goid(g int) uint64 {
	if g%7 == 6 {
		return 0
	}
	return uint64(10*g + 1)
}

// streamed returns the stream of a recording, and all of its records.
func streamed(t *testing.T, rec []byte) (*Stream, []heisen.Record) {
	t.Helper()
	s, err := NewStream(bytes.NewReader(rec), &stub{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := drain(s)
	if err != nil {
		t.Fatal(err)
	}
	return s, out
}

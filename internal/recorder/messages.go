package recorder

import (
	"io"
	"os"
	"sync"
	"unsafe"

	"github.com/heisen-go/heisen/internal/core/wire"
)

// input reads messages. Their lengths are multiples of 8, so their words are used in place.
type input struct {
	r          io.Reader
	buf        *[inputBytes / 8]uint64 // nil once it is closed
	start, end int                     // of the bytes in buf that were received and not taken
	offset     int64                   // of the last message, in the stream
	next       int64                   // of the message after it
}

// inputBytes is the size of the buffer: several messages per read.
const inputBytes = 4 * (headerBytes + wire.MaxPayload)

// inputs has buffers of inputs that are closed: an execution of a test takes milliseconds, and the collector would run every
// few of them.
var inputs = sync.Pool{New: func() any { return new([inputBytes / 8]uint64) }}

func newInput(r io.Reader) input {
	return input{r: r, buf: inputs.Get().(*[inputBytes / 8]uint64)}
}

// close gives up the buffer. Words that were taken are no longer valid.
func (in *input) close() {
	if in.buf != nil {
		inputs.Put(in.buf)
		in.buf, in.start, in.end = nil, 0, 0
	}
}

// take returns the next n bytes as words that are valid until the next call. n must be a multiple
// of 8 and at most inputBytes. The end of the stream, even within the words, is io.EOF.
func (in *input) take(n int) ([]uint64, error) {
	if in.buf == nil {
		return nil, os.ErrClosed
	}
	// Recorder and receiver run on the same little-endian machine.
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(&in.buf[0])), inputBytes)
	if in.end-in.start < n {
		if in.start+n > inputBytes || in.start == in.end {
			in.end = copy(bytes, bytes[in.start:in.end])
			in.start = 0
		}
		got, err := io.ReadAtLeast(in.r, bytes[in.end:], n-(in.end-in.start))
		in.end += got
		if err == io.ErrUnexpectedEOF {
			err = io.EOF // the program died while sending
		}
		if err != nil {
			return nil, err
		}
	}
	words := in.buf[in.start/8 : (in.start+n)/8]
	in.start += n
	return words, nil
}

// received is a message. Its words are valid until the next one.
type received struct {
	kind, id, skipped uint32
	words             []uint64
}

// message takes the next message.
func (in *input) message() (m received, err error) {
	in.offset = in.next
	header, err := in.take(headerBytes)
	if err != nil {
		return m, err
	}
	m.kind, m.id = uint32(header[0]), uint32(header[0]>>32)
	size, skipped := uint32(header[1]), uint32(header[1]>>32)
	m.skipped = skipped
	if size > wire.MaxPayload || size%8 != 0 {
		return m, corruptAt(in.offset, "message of %d bytes", size)
	}
	m.words, err = in.take(int(size))
	in.next += headerBytes + int64(size)
	return m, err
}

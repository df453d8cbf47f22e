package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/option"
)

// Format is a trace format.
type Format string

const (
	STD    Format = "std"    // the text format of RAPID and others
	Binary Format = "binary" // this package's own
)

// Reader is a heisen.Source that reads a trace in either format. It belongs to one goroutine.
type Reader struct {
	source interface {
		heisen.BatchSource
		Symbols() *heisen.Symbols
		Gaps() Gaps
		position() string
	}
	format Format
	closer io.Closer
	closed bool
}

// NewReader returns a reader of the trace r. It reads the first bytes of r to find out the format.
// A trace in either format may be compressed with gzip; the reader of such a trace does not
// continue when the input has grown. An empty input is a text trace without events. If the trace is
// damaged, NewReader returns a reader, and that reports the damage.
func NewReader(r io.Reader, opts ...ReaderOption) (*Reader, error) {
	var c readerConfig
	if err := option.Apply("trace.NewReader", &c, opts); err != nil {
		return nil, err
	}
	if r == nil {
		return nil, noReader("trace.NewReader")
	}
	return newReader(r, c)
}

// ReaderOption changes what [NewReader] returns.
type ReaderOption func(*readerConfig) error

type readerConfig struct {
	name       string
	processors int
}

// WithName sets the name of the input that errors of the reader begin with, such as that of a file.
func WithName(name string) ReaderOption {
	return func(c *readerConfig) error {
		c.name = name
		return nil
	}
}

// WithProcessors lets up to n goroutines decode the trace at the same time, at least 1, which is the default.
// The records are the same. The reader then reads ahead of what it delivers, so this is for an input
// that is complete, such as a file, and not for one that makes its reader wait. It takes up to
// half a megabyte for each of the first 16 goroutines; more are of no use.
func WithProcessors(n int) ReaderOption {
	return func(c *readerConfig) error {
		if n < 1 {
			return option.Errorf("WithProcessors: %d, want at least 1", n)
		}
		c.processors = n
		return nil
	}
}

// Open opens the trace file at path and returns a reader of it, which uses all processors if it is a
// regular file. Close closes the file. Errors of the reader name the file.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	c := readerConfig{name: path}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		c.processors = runtime.GOMAXPROCS(0)
	}
	r, err := newReader(f, c)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r.closer = f
	return r, nil
}

func newReader(r io.Reader, c readerConfig) (*Reader, error) {
	file := c.name
	in := &sniffed{r: r}
	head, err := in.peek(len(magic))
	if err == nil && bytes.HasPrefix(head, []byte("\x1f\x8b")) {
		in = &sniffed{r: unzip(in)}
		head, err = in.peek(len(magic))
	}
	if err != nil {
		return nil, fmt.Errorf("%sreading trace: %w", prefix(file), err)
	}
	// The first byte decides: no UTF-8 text starts with it, and a binary trace that is only just
	// being written may not have more of its magic number.
	if len(head) > 0 && head[0] == magic[0] {
		source, err := newBinaryReader(in, c.processors)
		if err != nil {
			return nil, err
		}
		source.blocks.file = file
		return &Reader{source: source, format: Binary}, nil
	}
	source, err := NewSTDReader(in)
	if err != nil {
		return nil, err
	}
	source.file, source.ahead = file, blocksAhead(c.processors)
	return &Reader{source: source, format: STD}, nil
}

// blocksAhead returns how many blocks are read ahead for so many processors: none for one, and otherwise one more than there are
// other processors, so that these have work when the reader's own goroutine takes a block.
func blocksAhead(processors int) int {
	if processors <= 1 {
		return 0
	}
	return min(processors, 16)
}

func prefix(file string) string {
	if file == "" {
		return ""
	}
	return file + ": "
}

// Next implements heisen.Source. See BinaryReader.Next and STDReader.Next for its errors. After
// Close, the error wraps ErrClosed.
func (r *Reader) Next(batch []heisen.Record) (int, error) {
	switch {
	case r.source == nil:
		return 0, heisen.ErrZero
	case r.closed:
		return 0, fmt.Errorf("reading: %w", ErrClosed)
	}
	return r.source.Next(batch)
}

// NextBatch implements heisen.BatchSource. Its errors are those of Next.
func (r *Reader) NextBatch() ([]heisen.Record, error) {
	switch {
	case r.source == nil:
		return nil, heisen.ErrZero
	case r.closed:
		return nil, fmt.Errorf("reading: %w", ErrClosed)
	}
	return r.source.NextBatch()
}

// Symbols returns what has been read so far of the names behind the numbers. It grows with each
// call of Next.
func (r *Reader) Symbols() *heisen.Symbols {
	if r.source == nil {
		return nil
	}
	return r.source.Symbols()
}

// Skipped returns how many redundant accesses a filter kept out of the trace. It is 0 before the
// end of a binary trace, and for text traces, which do not have the number.
func (r *Reader) Skipped() uint64 {
	if b, ok := r.source.(*BinaryReader); ok {
		return b.Skipped()
	}
	return 0
}

// Gaps returns what the recording leaves out. If nothing of the trace has been read yet, Gaps reads its beginning; Next reports
// what is wrong with that.
func (r *Reader) Gaps() Gaps {
	if r.source == nil || r.closed {
		return Gaps{}
	}
	return r.source.Gaps()
}

// Position says how far the trace has been read, in the words of the reader's errors: with the name of
// the input, if it has one, and the line of a text trace or the block of a binary one.
func (r *Reader) Position() string {
	if r.source == nil {
		return ""
	}
	return strings.TrimSuffix(r.source.position(), ": ")
}

// Format returns the trace's format.
func (r *Reader) Format() Format {
	return r.format
}

// Close ends the reading, and closes the file of a reader that Open has returned. A second Close
// does nothing.
func (r *Reader) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	if r.closer == nil {
		return nil
	}
	return r.closer.Close()
}

// sniffed is a reader whose first bytes have been looked at. Unlike io.MultiReader it does not take
// an end of the input for the last one.
type sniffed struct {
	head []byte
	r    io.Reader
}

// peek returns the first n bytes, or fewer where the input ends or cannot be unpacked. Read returns
// the error then, because readers of package gzip repeat theirs.
func (s *sniffed) peek(n int) ([]byte, error) {
	s.head = make([]byte, 0, n)
	for len(s.head) < n {
		got, err := readSome(s.r, s.head[len(s.head):n])
		s.head = s.head[:len(s.head)+got]
		if err == io.EOF || err == io.ErrUnexpectedEOF || isDamage(err) {
			break
		}
		if err != nil {
			return s.head, err
		}
	}
	return s.head, nil
}

// Read implements io.Reader.
func (s *sniffed) Read(p []byte) (int, error) {
	if len(s.head) > 0 {
		n := copy(p, s.head)
		s.head = s.head[n:]
		return n, nil
	}
	return s.r.Read(p)
}

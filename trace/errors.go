package trace

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/heisen-go/heisen/internal/option"
)

// ErrTruncated is wrapped by the error of a reader whose trace stops before its end: a text trace
// in the middle of an event, a binary trace without its end block. Every complete record has been
// delivered before. The error is not final: when the input has grown, the reader continues.
var ErrTruncated = errors.New("trace is cut off")

// ErrVersion is wrapped by the error of a reader whose trace is of a version of the binary format
// that this package does not know.
var ErrVersion = errors.New("unknown version of the trace format")

// ErrRecord is wrapped by the error of a writer that refuses a record, because no reader could
// deliver it: its op is not Valid, a thread is not below MaxThreads, or, in the binary format, a
// number is not in the Symbols.
var ErrRecord = errors.New("record cannot be written")

// ErrClosed is wrapped by the error of a writer, or of a Reader, after Close.
var ErrClosed = errors.New("trace is closed")

// refused returns the error of a writer that refuses a record.
func refused(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrRecord, fmt.Errorf(format, args...))
}

// noReader is the error of a function that was given a nil reader.
func noReader(function string) error {
	return fmt.Errorf("%s: %w", function, option.Errorf("the reader is nil"))
}

// noWriter is the error of a function that was given a nil writer.
func noWriter(function string) error {
	return fmt.Errorf("%s: %w", function, option.Errorf("the writer is nil"))
}

// write writes b to w in one call. Like bufio.Writer, it does not trust the writer to return an error
// whenever it wrote less.
func write(w io.Writer, b []byte) error {
	n, err := w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	return err
}

// A TruncatedError says where a trace stops before its end. It wraps ErrTruncated.
type TruncatedError struct {
	File   string // file name, or empty
	Line   int    // text traces: the line that is cut off, from 1; otherwise 0
	Block  int    // binary traces: the block that is cut off or missing, from 1
	Offset int64  // binary traces: the byte at which that block starts, in a compressed trace after unpacking
}

// Error implements error.
func (e *TruncatedError) Error() string {
	if e.Line > 0 {
		return position(e.File, e.Line) + ErrTruncated.Error() + ": the line has no end"
	}
	return blockPosition(e.File, e.Block, e.Offset) + ErrTruncated.Error()
}

// Unwrap returns ErrTruncated.
func (e *TruncatedError) Unwrap() error { return ErrTruncated }

// A SyntaxError is a line of a text trace that is no event.
type SyntaxError struct {
	File   string // file name, or empty
	Line   int    // from 1
	Reason string // what is wrong with it
	Text   string // the line, its first 80 bytes if it is longer
}

// maxQuoted is how much of a bad line a SyntaxError quotes.
const maxQuoted = 80

// Error implements error: one line, whatever is in the trace.
func (e *SyntaxError) Error() string {
	return position(e.File, e.Line) + e.Reason + " in " + strconv.Quote(e.Text)
}

// A CorruptError is a block of a binary trace that is not what was written, or a line of a text
// trace at which the trace cannot be unpacked.
type CorruptError struct {
	File   string // file name, or empty
	Line   int    // text traces: the first line that is not whole, from 1; otherwise 0
	Block  int    // binary traces: from 1; 0 is the file header
	Offset int64  // binary traces: the byte at which the block starts, in a compressed trace after unpacking
	Reason string // what is wrong with it
	Err    error  // cause, or nil
}

// Error implements error.
func (e *CorruptError) Error() string {
	s := blockPosition(e.File, e.Block, e.Offset)
	if e.Line > 0 {
		s = position(e.File, e.Line)
	}
	s += e.Reason
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *CorruptError) Unwrap() error {
	return e.Err
}

// unpacking is the Reason of a CorruptError whose cause isDamage.
const unpacking = "the compressed trace cannot be unpacked"

func position(file string, line int) string {
	if file == "" {
		return fmt.Sprintf("line %d: ", line)
	}
	return fmt.Sprintf("%s:%d: ", file, line)
}

func blockPosition(file string, block int, offset int64) string {
	if file != "" {
		file += ": "
	}
	if block == 0 {
		return file + "file header: "
	}
	return fmt.Sprintf("%sblock %d at byte %d: ", file, block, offset)
}

package trace

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/option"
)

const (
	// defaultLevel is the compression that costs least: higher ones make columns hardly smaller.
	defaultLevel = 1

	// defaultBlock is how many records a block holds. A block is what a crash loses at most.
	defaultBlock = 1 << 15

	// maxBlock keeps a block of records that do not compress below maxPayload.
	maxBlock = 1 << 16

	// symbolsPayload is the size at which a symbols block is cut.
	symbolsPayload = 1 << 20
)

// WriterOption changes how a [Writer] writes.
type WriterOption func(*writerConfig) error

type writerConfig struct {
	level, block int
	gaps         Gaps
}

// WithGaps says what the recording leaves out.
func WithGaps(g Gaps) WriterOption {
	return func(c *writerConfig) error {
		c.gaps = g.clone()
		return nil
	}
}

// WithCompression sets the compression level. 0 stores blocks as they are, and 1 to 22 are the
// levels of zstd. The default is 1.
func WithCompression(level int) WriterOption {
	return func(c *writerConfig) error {
		if level < 0 || level > 22 {
			return option.Errorf("WithCompression: %d, want 0 to 22", level)
		}
		c.level = level
		return nil
	}
}

// WithBlockRecords sets how many records a block holds, 1 to 65536. With small blocks less is lost
// in a crash; large blocks compress better. The default is 32768.
func WithBlockRecords(n int) WriterOption {
	return func(c *writerConfig) error {
		if n < 1 || n > maxBlock {
			return option.Errorf("WithBlockRecords: %d, want 1 to %d", n, maxBlock)
		}
		c.block = n
		return nil
	}
}

// Writer writes events in the binary format. It keeps every field of a record and everything in the
// Symbols, so that a reader of the trace has the same numbers. Each block is complete and is
// written by one call of the underlying Write, so that the trace can be read while it is being
// written.
//
// A Writer is a heisen.Detector, so that it can be part of a heisen.Tee or an argument of heisen.Run.
// They call Flush and not Close: call Close after them, because a trace without its end reads as
// one that is cut off. A Writer belongs to one goroutine; its Symbols may grow in others. In steady state, when there are no new symbols, it
// does not allocate.
type Writer struct {
	blocks  blockWriter
	tables  tableEncoder
	records *recordEncoder
	payload []byte
	block   int    // records
	gaps    Gaps   // to be written
	count   uint64 // records taken
	skipped uint64 // accesses that AddSkipped has reported
	err     error

	sites, contexts int // numbers below these are in the symbols
}

// NewWriter writes the file header to w and returns a writer of the trace. symbols says what the
// numbers in the records stand for. It may grow while the trace is written, but must contain the
// numbers of a record before the record is written. A nil symbols is an empty table.
func NewWriter(w io.Writer, symbols *heisen.Symbols, opts ...WriterOption) (*Writer, error) {
	c := writerConfig{level: defaultLevel, block: defaultBlock}
	if err := option.Apply("trace.NewWriter", &c, opts); err != nil {
		return nil, err
	}
	if w == nil {
		return nil, noWriter("trace.NewWriter")
	}
	if symbols == nil {
		symbols = heisen.NewSymbols()
	}
	out := &Writer{
		blocks:  blockWriter{w: w},
		tables:  newTableEncoder(symbols),
		records: newRecordEncoder(),
		block:   c.block,
		gaps:    c.gaps,
	}
	if c.level > 0 {
		encoder, err := zstd.NewWriter(nil,
			zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(c.level)),
			zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderCRC(false), // the block has one
			zstd.WithLowerEncoderMem(true))
		if err != nil {
			return nil, fmt.Errorf("trace.NewWriter: %w", err)
		}
		out.blocks.encoder = encoder
	}
	of := uint32(gaplessVersion)
	if len(c.gaps.texts()) > 0 {
		of = version
	}
	if err := out.blocks.start(of); err != nil {
		return nil, fmt.Errorf("writing trace: %w", err)
	}
	return out, nil
}

// Write appends records to the trace. The error wraps ErrRecord for a record whose op is not Valid,
// whose thread is not below MaxThreads, or whose site, context or set of objects is not in the
// Symbols; it wraps ErrClosed after Close. An error is final: nothing is written after it.
func (w *Writer) Write(records []heisen.Record) error {
	if w.zero() {
		return heisen.ErrZero
	}
	for i := range records {
		if w.err != nil {
			return w.err
		}
		w.add(&records[i])
	}
	return w.err
}

// Handle implements heisen.Detector. Flush returns its error.
func (w *Writer) Handle(e heisen.Event) {
	if !w.zero() && w.err == nil {
		w.add(heisen.AsRecord(e))
	}
}

// HandleRecords implements heisen.RecordHandler. Flush returns its error.
func (w *Writer) HandleRecords(records []heisen.Record) { _ = w.Write(records) }

// zero reports whether w was not made by NewWriter.
func (w *Writer) zero() bool { return w.records == nil }

func (w *Writer) add(rec *heisen.Record) {
	if w.err = w.check(rec); w.err != nil {
		return
	}
	w.count++
	w.records.add(rec)
	if w.records.count() == w.block {
		w.err = w.flush()
	}
}

func (w *Writer) check(rec *heisen.Record) error {
	if err := checkRecord(rec, w.count+1); err != nil {
		return err
	}
	// The tables only grow, so the bounds that were read last hold for most records.
	if symbols := w.tables.symbols; int(rec.Site) >= w.sites || int(rec.Context) >= w.contexts {
		w.sites, w.contexts = symbols.NumSites(), symbols.NumContexts()
	}
	if int(rec.Site) >= w.sites {
		return refused("event %d: site %d is not in the symbols", w.count+1, rec.Site)
	}
	if int(rec.Context) >= w.contexts {
		return refused("event %d: context %d is not in the symbols", w.count+1, rec.Context)
	}
	if rec.Op == heisen.Hide && !knownReach(rec.Value, uint64(w.tables.symbols.NumReaches())) {
		return refused("event %d: set of objects %d is not in the symbols", w.count+1, rec.Value)
	}
	return nil
}

// AddSkipped says that a filter in front of the writer has left out n redundant accesses. Close
// writes the sum, which Skipped of a reader returns.
func (w *Writer) AddSkipped(n uint64) {
	if !w.zero() {
		w.skipped += n
	}
}

// Flush writes everything so far, as complete blocks. It returns the first error of the writer.
func (w *Writer) Flush() error {
	if w.zero() {
		return heisen.ErrZero
	}
	if w.err == nil {
		w.err = w.flush()
	}
	return w.err
}

// Close ends the trace: it flushes and writes the end block, without which a reader reports
// ErrTruncated. It does not close the underlying writer.
func (w *Writer) Close() error {
	if w.zero() {
		return nil
	}
	if err := w.Flush(); err != nil {
		return err
	}
	end := binary.AppendUvarint(nil, w.count)
	if w.skipped > 0 {
		end = binary.AppendUvarint(end, w.skipped)
	}
	if err := w.blocks.write(endBlock, end); err != nil {
		w.err = fmt.Errorf("writing trace: %w", err)
		return w.err
	}
	w.err = ErrClosed
	return nil
}

// flush writes the gaps, what the symbols have gained, and then the records that use it.
func (w *Writer) flush() error {
	if err := w.tables.look(); err != nil {
		return err
	}
	for more := true; more; {
		w.payload = w.payload[:0]
		for _, gap := range w.gaps.texts() {
			w.payload = appendString(append(w.payload, gapEntry), gap)
		}
		w.gaps = Gaps{}
		w.payload, more = w.tables.next(w.payload, symbolsPayload)
		if len(w.payload) > 0 {
			if err := w.blocks.write(symbolsBlock, w.payload); err != nil {
				return fmt.Errorf("writing trace: %w", err)
			}
		}
	}
	if w.records.count() > 0 {
		w.payload = w.records.appendTo(w.payload[:0])
		w.records.reset()
		if err := w.blocks.write(recordsBlock, w.payload); err != nil {
			return fmt.Errorf("writing trace: %w", err)
		}
	}
	return nil
}

package trace

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/heisen-go/heisen"
)

const (
	// defaultLevel is the compression that costs least: higher ones make
	// columns hardly smaller.
	defaultLevel = 1

	// defaultBlock is how many records a block holds. A block is what a
	// crash loses at most.
	defaultBlock = 1 << 15

	// maxBlock keeps a block of records that do not compress below maxPayload.
	maxBlock = 1 << 16

	// symbolsPayload is the size at which a symbols block is cut.
	symbolsPayload = 1 << 20
)

// WriterOption changes how a Writer writes.
type WriterOption func(*Writer) error

// Compression sets the compression level: 0 stores blocks as they are, 1 to 22
// are zstd's levels. The default is 1.
func Compression(level int) WriterOption {
	return func(w *Writer) error {
		if level < 0 || level > 22 {
			return fmt.Errorf("trace: compression level %d is not within 0 to 22", level)
		}
		w.level = level
		return nil
	}
}

// BlockRecords sets how many records a block holds, 1 to 65536. Small blocks
// are complete sooner, large ones are smaller in the file. The default is
// 32768.
func BlockRecords(n int) WriterOption {
	return func(w *Writer) error {
		if n < 1 || n > maxBlock {
			return fmt.Errorf("trace: block of %d records is not within 1 to %d", n, maxBlock)
		}
		w.block = n
		return nil
	}
}

// Writer writes events in the binary format. Every field of a record is kept,
// and so is everything in the Symbols: a reader of the trace has the same
// numbers. Each block is complete and goes out in one Write, so that the trace
// can be read while it is being written.
//
// A Writer is a heisen.Detector, so that it can stand in a heisen.Tee. It
// belongs to one goroutine, that of its Symbols. Steady state allocates
// nothing.
type Writer struct {
	blocks          blockWriter
	tables          tableEncoder
	records         *recordEncoder
	payload         []byte
	level           int
	block           int
	count           uint64 // records taken
	sites, contexts int    // at least so many are in the symbols
	skipped         uint64 // and those that others left out
	err             error
}

// NewWriter writes the file header to w and returns a writer of the trace.
// symbols says what the numbers in the records stand for; it may grow, and
// learn more about its sites, while the trace is written.
func NewWriter(w io.Writer, symbols *heisen.Symbols, options ...WriterOption) (*Writer, error) {
	if symbols == nil {
		symbols = heisen.NewSymbols()
	}
	out := &Writer{
		blocks:  blockWriter{w: w},
		tables:  newTableEncoder(symbols),
		records: newRecordEncoder(),
		level:   defaultLevel,
		block:   defaultBlock,
	}
	for _, option := range options {
		if err := option(out); err != nil {
			return nil, err
		}
	}
	if out.level > 0 {
		encoder, err := zstd.NewWriter(nil,
			zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(out.level)),
			zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderCRC(false), // the block has one
			zstd.WithLowerEncoderMem(true))
		if err != nil {
			return nil, fmt.Errorf("trace: %w", err)
		}
		out.blocks.encoder = encoder
	}
	if err := out.blocks.start(); err != nil {
		return nil, fmt.Errorf("writing trace: %w", err)
	}
	return out, nil
}

// Write appends records to the trace. It refuses a record whose op is not
// Valid, whose thread is not below MaxThreads or whose site, context or set of
// objects is not in the Symbols. An error is final: nothing is written after it.
func (w *Writer) Write(records []heisen.Record) error {
	for i := range records {
		if w.err != nil {
			return w.err
		}
		w.add(&records[i])
	}
	return w.err
}

// Handle implements heisen.Detector. An error is kept for Flush.
func (w *Writer) Handle(e heisen.Event) {
	if w.err == nil {
		w.add(heisen.AsRecord(e))
	}
}

// HandleRecords implements heisen.RecordHandler. An error is kept for Flush.
func (w *Writer) HandleRecords(records []heisen.Record) { _ = w.Write(records) }

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
		return fmt.Errorf("trace: event %d: site %d is not in the symbols", w.count+1, rec.Site)
	}
	if int(rec.Context) >= w.contexts {
		return fmt.Errorf("trace: event %d: context %d is not in the symbols", w.count+1, rec.Context)
	}
	if rec.Op == heisen.Hide && rec.Value >= uint64(w.tables.symbols.NumReaches()) {
		return fmt.Errorf("trace: event %d: set of objects %d is not in the symbols", w.count+1, rec.Value)
	}
	return nil
}

// AddSkipped says that n more accesses are not in the trace because a filter in
// front of the writer found them redundant. Close writes the sum, for Skipped of
// a reader.
func (w *Writer) AddSkipped(n uint64) { w.skipped += n }

// Flush writes what is known so far as complete blocks. It returns the first
// error that the writer met.
func (w *Writer) Flush() error {
	if w.err == nil {
		w.err = w.flush()
	}
	return w.err
}

// Close ends the trace: it flushes and writes the end block, without which a
// reader takes the trace for cut off. It does not close the underlying writer.
func (w *Writer) Close() error {
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
	w.err = errClosed
	return nil
}

// flush writes what the symbols have gained, then the records that use it.
func (w *Writer) flush() error {
	if err := w.tables.look(); err != nil {
		return err
	}
	for more := true; more; {
		w.payload, more = w.tables.next(w.payload[:0], symbolsPayload)
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

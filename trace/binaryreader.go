package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/heisen-go/heisen"
)

// BinaryReader is a heisen.Source that reads a trace in the binary format. It reads block by block
// and never beyond the end block, so that something else may follow in the same stream. It takes a
// few megabytes for blocks, and for Symbols a small multiple of the size of the input.
//
// Its records are within bounds, whatever the input is: ops are Valid, threads are below
// MaxThreads, and sites, contexts and sets of objects are in Symbols. Nothing else may be added to
// the Symbols before the end of the trace.
type BinaryReader struct {
	blocks  blockReader
	tables  tableDecoder
	records recordDecoder
	count   uint64 // records delivered
	skipped uint64
	err     error
	batch   []heisen.Record // of NextBatch
}

// NewBinaryReader returns a reader of the binary trace r.
func NewBinaryReader(r io.Reader) (*BinaryReader, error) {
	if r == nil {
		return nil, noReader("trace.NewBinaryReader")
	}
	blocks, err := newBlockReader(r)
	if err != nil {
		return nil, fmt.Errorf("trace.NewBinaryReader: %w", err)
	}
	return &BinaryReader{
		blocks: blocks,
		tables: newTableDecoder(),
	}, nil
}

// Symbols returns what has been read so far of the names behind the numbers. It grows with each
// call of Next. The functions and lines of sites may come as late as with the last call.
func (r *BinaryReader) Symbols() *heisen.Symbols {
	return r.tables.symbols
}

// Skipped returns how many redundant accesses a filter kept out of the trace. It is 0 before the
// end of the trace.
func (r *BinaryReader) Skipped() uint64 {
	return r.skipped
}

// Gaps returns what the recording leaves out. If nothing of the trace has been read yet, Gaps reads its beginning; Next reports
// what is wrong with that.
func (r *BinaryReader) Gaps() Gaps {
	for r.tables.symbols != nil && r.err == nil && r.blocks.block < 2 && len(r.records.control) == 0 {
		if err := r.nextBlock(); errors.Is(err, ErrTruncated) {
			break
		} else if err != nil {
			r.err = err
		}
	}
	return r.tables.gaps.clone()
}

// Next implements heisen.Source. The error for a damaged block is a *CorruptError, which is final.
// The error for an input without an end block is a *TruncatedError, after the last complete block;
// when the input has grown, Next continues.
func (r *BinaryReader) Next(batch []heisen.Record) (n int, err error) {
	switch {
	case r.tables.symbols == nil:
		return 0, heisen.ErrZero
	case len(batch) == 0:
		return 0, nil
	}
	for r.err == nil {
		if len(r.records.control) > 0 {
			n, err := r.records.read(batch)
			r.count += uint64(n)
			if err != nil {
				r.err = r.blocks.corrupt("bad record", err)
			} else if len(r.records.control) == 0 {
				r.blocks.done()
			}
			if n > 0 {
				return n, r.err
			}
			continue
		}
		if err := r.nextBlock(); errors.Is(err, ErrTruncated) {
			return 0, err
		} else if err != nil {
			r.err = err
		}
	}
	return 0, r.err
}

// NextBatch implements heisen.BatchSource. Its errors are those of Next.
func (r *BinaryReader) NextBatch() ([]heisen.Record, error) {
	if r.batch == nil {
		r.batch = make([]heisen.Record, batchRecords)
	}
	n, err := r.Next(r.batch)
	return r.batch[:n], err
}

// position is where the reader is, as errors begin.
func (r *BinaryReader) position() string {
	return blockPosition(r.blocks.file, r.blocks.block, r.blocks.offset)
}

// nextBlock reads a block. A records block is left open, for Next to take its records; all others
// are done with.
func (r *BinaryReader) nextBlock() error {
	if r.blocks.block == 0 {
		err := r.blocks.start()
		r.tables.version = r.blocks.version
		return err
	}
	kind, payload, err := r.blocks.next()
	if err != nil {
		return err
	}
	switch kind {
	case symbolsBlock:
		if err := r.tables.read(payload); err != nil {
			return r.blocks.corrupt("bad symbols", err)
		}
	case recordsBlock:
		r.tables.closed = true
		t, reaches := &r.tables, 0
		if r.blocks.version != firstVersion {
			reaches = t.reaches + 1
		}
		if err := r.records.start(payload, t.sites+1, t.contexts+1, reaches); err != nil {
			return r.blocks.corrupt("bad records", err)
		}
		return nil
	case endBlock:
		count, n := binary.Uvarint(payload)
		if n <= 0 || count != r.count {
			return r.blocks.corrupt(fmt.Sprintf("end after %d records", r.count), errors.New("not as many as were written"))
		}
		if rest := payload[n:]; len(rest) > 0 {
			skipped, n := binary.Uvarint(rest)
			if n != len(rest) || skipped == 0 {
				return r.blocks.corrupt("bad end", errors.New("not a number of skipped accesses"))
			}
			r.skipped = skipped
		}
		return io.EOF
	}
	r.blocks.done()
	return nil
}

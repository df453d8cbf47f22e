package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync/atomic"

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
	ahead   int           // blocks that other goroutines may decode
	block   *decodedBlock // of which records are still to be delivered, or nil
	queue   []*decodedBlock
	free    []*decodedBlock
	failed  error // of the input behind the blocks
	taken   int   // blocks, with the file header
	tables  tableDecoder
	count   uint64 // records delivered
	skipped uint64
	err     error
	batch   []heisen.Record // of NextBatch
}

// decodedBlock is a block. Another goroutine may unpack it, and decode its records without knowing the tables; if that does not succeed,
// or the records refer to what is not in the tables, the reader does it again, and says what is wrong.
type decodedBlock struct {
	frame
	payload []byte // unpacked
	buf     []byte // memory of payload
	failed  error  // of unpacking
	decoder recordDecoder

	records              []heisen.Record // decoded ahead, and not delivered; nil if there are none
	memory               []heisen.Record // of records
	site, context, reach uint64          // bounds of the numbers in records
	claimed              atomic.Bool     // some goroutine decodes the block, or has done so
	decoded              chan struct{}   // has an element when that has ended
}

// maxAhead bounds the unpacked blocks that are read ahead, in bytes.
const maxAhead = 4 * maxPayload

// NewBinaryReader returns a reader of the binary trace r.
func NewBinaryReader(r io.Reader) (*BinaryReader, error) {
	if r == nil {
		return nil, noReader("trace.NewBinaryReader")
	}
	return newBinaryReader(r, 1)
}

func newBinaryReader(r io.Reader, processors int) (*BinaryReader, error) {
	ahead := blocksAhead(processors)
	blocks, err := newBlockReader(r, max(ahead, 1))
	if err != nil {
		return nil, fmt.Errorf("trace.NewBinaryReader: %w", err)
	}
	return &BinaryReader{
		blocks: blocks,
		ahead:  ahead,
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
	for r.tables.symbols != nil && r.err == nil && r.taken < 2 && r.block == nil {
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
	next, err := r.nextRecords(batch)
	return copy(batch, next), err
}

// NextBatch implements heisen.BatchSource. Its errors are those of Next.
func (r *BinaryReader) NextBatch() ([]heisen.Record, error) {
	if r.tables.symbols == nil {
		return nil, heisen.ErrZero
	}
	if r.batch == nil {
		r.batch = make([]heisen.Record, batchRecords)
	}
	return r.nextRecords(r.batch)
}

// nextRecords returns the next records, at most as many as fit into batch, in memory of the reader or in batch.
func (r *BinaryReader) nextRecords(batch []heisen.Record) (next []heisen.Record, err error) {
	for r.err == nil {
		if b := r.block; b != nil {
			if len(b.records) > 0 {
				next = b.records[:min(len(b.records), len(batch))]
				b.records = b.records[len(next):]
			} else {
				n, err := b.decoder.read(batch)
				if next = batch[:n]; err != nil {
					r.err = b.corrupt("bad record", err)
				}
			}
			r.count += uint64(len(next))
			if r.err == nil && len(b.records) == 0 && len(b.decoder.control) == 0 {
				r.done(b)
			}
			if len(next) > 0 {
				return next, r.err
			}
			continue
		}
		if err := r.nextBlock(); errors.Is(err, ErrTruncated) {
			return nil, err
		} else if err != nil {
			r.err = err
		}
	}
	return nil, r.err
}

// done ends the work on a block.
func (r *BinaryReader) done(b *decodedBlock) {
	r.block = nil
	r.taken++
	r.free = append(r.free, b)
}

// position is where the reader is, as errors begin.
func (r *BinaryReader) position() string {
	switch {
	case r.block != nil:
		return blockPosition(r.blocks.file, r.block.block, r.block.offset)
	case len(r.queue) > 0:
		return blockPosition(r.blocks.file, r.queue[0].block, r.queue[0].offset)
	}
	return blockPosition(r.blocks.file, r.blocks.block, r.blocks.offset)
}

// nextBlock takes a block. The records of a records block are left to be delivered.
func (r *BinaryReader) nextBlock() error {
	if r.blocks.block == 0 {
		err := r.blocks.start()
		if r.tables.version = r.blocks.version; err == nil {
			r.taken++
		}
		return err
	}
	b, err := r.next()
	if err != nil {
		return err
	}
	r.block = b
	if b.failed != nil {
		return b.corrupt("cannot be unpacked", b.failed)
	}
	switch b.kind {
	case symbolsBlock:
		if err := r.tables.read(b.payload); err != nil {
			return b.corrupt("bad symbols", err)
		}
	case recordsBlock:
		r.tables.closed = true
		t, reaches := &r.tables, uint64(0)
		if r.blocks.version != firstVersion {
			reaches = uint64(t.reaches) + 1
		}
		if len(b.records) > 0 && b.site <= uint64(t.sites) && b.context <= uint64(t.contexts) && b.reach <= uint64(t.reaches) {
			return nil
		}
		b.records = nil
		if err := b.decoder.start(b.payload, uint64(t.sites)+1, uint64(t.contexts)+1, reaches); err != nil {
			return b.corrupt("bad records", err)
		}
		return nil
	case endBlock:
		count, n := binary.Uvarint(b.payload)
		if n <= 0 || count != r.count {
			return b.corrupt(fmt.Sprintf("end after %d records", r.count), errors.New("not as many as were written"))
		}
		if rest := b.payload[n:]; len(rest) > 0 {
			skipped, n := binary.Uvarint(rest)
			if n != len(rest) || skipped == 0 {
				return b.corrupt("bad end", errors.New("not a number of skipped accesses"))
			}
			r.skipped = skipped
		}
		return io.EOF
	}
	r.done(b)
	return nil
}

// next returns the next block, unpacked.
func (r *BinaryReader) next() (*decodedBlock, error) {
	if len(r.queue) == 0 {
		failed := r.failed
		if r.failed = nil; failed == nil {
			failed = r.read()
		}
		if failed != nil {
			return nil, failed
		}
	}
	bytes := 0
	for _, b := range r.queue {
		bytes += b.unpacked
	}
	for r.ahead > 0 && r.failed == nil && len(r.queue) <= r.ahead && bytes < maxAhead && r.queue[len(r.queue)-1].kind != endBlock {
		if r.failed = r.read(); r.failed == nil {
			bytes += r.queue[len(r.queue)-1].unpacked
		}
	}
	b := r.queue[0]
	r.queue = append(r.queue[:0], r.queue[1:]...)
	if r.ahead == 0 {
		b.unpack(&r.blocks)
		return b, nil
	}
	if !r.help(b) {
		for _, later := range r.queue {
			if len(b.decoded) == 0 {
				r.help(later)
			}
		}
	}
	<-b.decoded
	return b, nil
}

// read appends a block of the input to the queue.
func (r *BinaryReader) read() error {
	last := len(r.free) - 1
	if last < 0 {
		r.free, last = append(r.free, &decodedBlock{decoded: make(chan struct{}, 1)}), 0
	}
	b := r.free[last]
	if err := r.blocks.next(&b.frame); err != nil {
		return err
	}
	r.free = r.free[:last]
	r.queue = append(r.queue, b)
	if r.ahead > 0 {
		b.claimed.Store(false)
		go r.help(b)
	}
	return nil
}

// help decodes a block that was read ahead, unless somebody does or has done so. It reports whether it has.
func (r *BinaryReader) help(b *decodedBlock) bool {
	if !b.claimed.CompareAndSwap(false, true) {
		return false
	}
	b.unpack(&r.blocks)
	if b.records = nil; b.failed == nil && b.kind == recordsBlock {
		b.decode(r.blocks.version)
	}
	b.decoded <- struct{}{}
	return true
}

func (b *decodedBlock) unpack(r *blockReader) {
	b.payload, b.failed = r.unpack(&b.frame, b.buf)
	if b.failed == nil && b.in[1] == zipped {
		b.buf = b.payload
	}
}

// decode decodes all records of a block, without bounds for the numbers in them. If it does not succeed, there are none.
func (b *decodedBlock) decode(version uint32) {
	reaches := uint64(math.MaxUint64)
	if version == firstVersion {
		reaches = 0
	}
	d := &b.decoder
	if d.start(b.payload, 1<<32, 1<<32, reaches) != nil || len(d.control) > maxBlock {
		d.control = nil
		return
	}
	if cap(b.memory) < len(d.control) {
		b.memory = make([]heisen.Record, len(d.control))
	}
	records := b.memory[:len(d.control)]
	if _, err := d.read(records); err != nil {
		d.control = nil
		return
	}
	b.site, b.context, b.reach = 0, 0, 0
	for i := range records {
		rec := &records[i]
		b.site = max(b.site, uint64(rec.Site))
		b.context = max(b.context, uint64(rec.Context))
		if rec.Op == heisen.Hide && rec.Reach() != heisen.Synchronized {
			b.reach = max(b.reach, rec.Value)
		}
	}
	b.records = records
}
